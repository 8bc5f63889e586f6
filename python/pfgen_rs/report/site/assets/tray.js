// Runs chosen for comparison, in a tray below the table and in the address of the page that compares them.
(() => {
  const { element, t, tr } = pfgen;

  /** The tray in `box` for runs (`id`, `label`). `changed(ids)`: what is chosen now. Returns `has(id)`, `set(ids)`, `toggle(id)`. */
  pfgen.tray = (box, { page, most }, runs, changed) => {
    const known = new Map(runs.map((run) => [run.id, run]));
    const chosen = new Set();

    const next = (ids) => {
      if (ids.length < 2) return element("p", {}, tr("compare_more"));
      if (ids.length > most) return element("p", { class: "problem" }, tr("compare_too_many", { most, n: ids.length - most }));
      return element("p", {}, element("a", { href: `${pfgen.root}${page}#runs=${ids.join("+")}`, class: "open" }, tr("compare_open")));
    };
    /** A chosen run, which a click leaves out again. */
    const chip = (id) => element("li", {}, element("button", {
      type: "button", class: "chip", title: t("compare_drop"), "data-t-title": "compare_drop", onclick: () => toggle(id),
    }, pfgen.shown(known.get(id).label), element("span", { "aria-hidden": "true" }, " ×")));

    const draw = () => {
      const ids = [...chosen];
      const place = [...box.querySelectorAll("button")].indexOf(document.activeElement);
      pfgen.address.lead("compare", ids.length ? `#runs=${ids.join("+")}` : "");
      box.hidden = !ids.length;
      const clear = element("button", { type: "button", onclick: () => set([]) || changed(ids) }, tr("compare_clear"));
      box.replaceChildren(element("ul", {}, ...ids.map(chip)), next(ids), clear);
      if (place < 0) return; // else the focus goes to the next run, or to the table above
      (ids.length ? box.querySelectorAll("button")[place] : box.previousElementSibling).focus({ preventScroll: true });
    };
    const set = (ids) => {
      chosen.clear();
      for (const id of ids) if (known.has(id)) chosen.add(id);
      draw();
    };
    const toggle = (id) => {
      if (!chosen.delete(id)) chosen.add(id);
      draw();
      changed([id]);
    };
    return { has: (id) => chosen.has(id), ids: () => [...chosen], set, toggle };
  };
})();
