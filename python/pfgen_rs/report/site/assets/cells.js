// Cells of the table of models: values, intervals on a common axis, and ranges of ranks.
(() => {
  const { drawn, element, t, tr } = pfgen;

  const unknown = () => [element("span", { class: "quiet", "aria-hidden": "true" }, "–"), element("span", { class: "hidden" }, t("unknown"))];
  const between = ([low, high]) => (low === high ? String(low) : `${low}–${high}`);

  /** Bounds of an interval, if there is one. */
  const bounds = (found, digits) => (found ? [element("small", {}, `${found[0].toFixed(digits)}–${found[1].toFixed(digits)}`)] : []);

  /** A value as nodes. */
  const value = ({ kind, digits }, found) => {
    if (found === null) return unknown();
    if (kind === "number") return [found.toFixed(digits)];
    return [kind === "flag" ? tr(String(found)) : pfgen.shown(found)];
  };

  const whisker = (axis, place, found) => {
    const [low, high] = found ?? [null, null];
    return place === null ? unknown() : [pfgen.whisker(axis, low, place, high), ...bounds(found, 3)];
  };

  /** Ranges of a rank among `count`: its own, and the joint one, which may come later. */
  const ranges = (own, joint, count) => {
    if (!own) return unknown();
    const bar = (kind, [low, high]) => drawn("path", { class: kind, d: `M${(60 * (low - 1)) / count} 4H${(60 * high) / count}` });
    const svg = drawn("svg", { class: "range", viewBox: "0 0 60 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("path", { class: "track", d: "M0 4H60" }), ...(joint ? [bar("joint", joint)] : []), bar("own", own));
    return [element("span", {}, between(own)), svg, element("small", {}, joint ? between(joint) : "…")];
  };

  pfgen.cells = { value, bounds, whisker, ranges };
})();
