// Cells of the table of models: values, intervals on a common axis, and ranges of ranks.
(() => {
  const { drawn, element, t, tr } = pfgen;
  const [length, edge] = [180, 8];

  const unknown = () => [element("span", { class: "quiet", "aria-hidden": "true" }, "–"), element("span", { class: "hidden" }, t("unknown"))];
  const between = ([low, high]) => (low === high ? String(low) : `${low}–${high}`);
  const bounds = ([low, high], digits) => element("small", {}, `${low.toFixed(digits)}–${high.toFixed(digits)}`);

  /** A value as nodes. */
  const value = ({ kind, digits }, found) => {
    if (found === null) return unknown();
    if (kind === "number") return [found.toFixed(digits)];
    return [kind === "flag" ? tr(String(found)) : pfgen.shown(found)];
  };

  /** An axis for intervals, without the lowest eighth of them, which would squeeze the others (`charts.Axis.of_most`). */
  const axis = (intervals) => {
    const [lows, highs] = [0, 1].map((side) => intervals.map((each) => each[side]).sort((a, b) => a - b));
    const low = Math.floor(10 * (lows[Math.floor(lows.length / 8)] ?? 0) + 1e-9);
    const high = Math.max(Math.ceil(10 * (highs.at(-1) ?? 1) - 1e-9), low + 1);
    const at = (place) => Number((edge + Math.min(Math.max((10 * place - low) / (high - low), 0), 1) * (length - 2 * edge)).toFixed(1));
    const holds = (place) => 10 * place >= low - 1e-8 && 10 * place <= high + 1e-8;
    const every = high - low <= 6 ? 1 : 2;
    const ticks = Array.from({ length: high - low + 1 }, (_, i) => (low + i) / 10).filter((_, i) => i % every === 0);
    const line = ([from, to]) => `M${at(from)} 8H${at(to)}${[from, to].filter(holds).map((end) => `M${at(end)} 4V12`).join("")}`;
    const point = (place) => {
      const tip = 10 * place < low ? -edge : edge; // of a triangle, for what lies beyond the axis
      return holds(place) ? drawn("circle", { cx: at(place), cy: 8, r: 3.5 }) : drawn("path", { class: "beyond", d: `M${at(place)} 3.5V12.5L${at(place) + tip} 8Z` });
    };
    const grid = ticks.map((tick) => `M${at(tick)} 0V16`).join("");
    const svg = (height, ...children) => drawn("svg", { class: "interval", viewBox: `0 0 ${length} ${height}`, "aria-hidden": "true" }, ...children);
    return {
      scale: () => svg(12, ...ticks.map((tick) => drawn("text", { x: at(tick), y: 10, "text-anchor": "middle" }, tick.toFixed(1)))),
      whisker: (place, found) => (place === null ? unknown() : [
        svg(16, drawn("path", { class: "grid", d: grid }), ...(found ? [drawn("path", { class: "whisker", d: line(found) })] : []), point(place)),
        ...(found ? [bounds(found, 3)] : [])]),
    };
  };

  /** Ranges of a rank among `count`: its own, and the joint one, which may come later. */
  const ranges = (own, joint, count) => {
    if (!own) return unknown();
    const bar = (kind, [low, high]) => drawn("path", { class: kind, d: `M${(60 * (low - 1)) / count} 4H${(60 * high) / count}` });
    const svg = drawn("svg", { class: "range", viewBox: "0 0 60 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("path", { class: "track", d: "M0 4H60" }), ...(joint ? [bar("joint", joint)] : []), bar("own", own));
    return [element("span", {}, between(own)), svg, element("small", {}, joint ? between(joint) : "…")];
  };

  pfgen.cells = { value, bounds, axis, ranges };
})();
