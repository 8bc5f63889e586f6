// Tables sorted by a click on a heading. Cells carry their values (`data-v`) where their text is not it.
(() => {
  const collator = new Intl.Collator("ja", { numeric: true });

  /** The order of two values, numbers or texts: those that are unknown (`null`) come last. `sign`: -1 if values fall. */
  pfgen.order = (a, b, sign) => (a === null) - (b === null) || (a === b ? 0 : sign * (typeof a === "string" ? collator.compare(a, b) : a - b));

  const value = (cell, isNumber) => {
    const text = cell.dataset.v ?? cell.textContent.trim();
    if (!isNumber) return text || null;
    return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
  };

  /** Give headings with `data-sort` (`number`, `text`) buttons; the first click on numbers sorts them falling. */
  pfgen.sortable = (table) => {
    const body = table.tBodies[0];
    const original = [...body.rows]; // ties keep the order of the page
    const headings = [...table.tHead.rows[0].cells].filter((heading) => heading.dataset.sort);

    const sort = (heading) => {
      const before = heading.getAttribute("aria-sort");
      const { sort: kind, first = kind === "number" ? "falling" : "rising" } = heading.dataset;
      const falls = before === null ? first === "falling" : before === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const keyed = original.map((row) => ({ row, key: value(row.cells[heading.cellIndex], kind === "number") }));
      body.replaceChildren(...keyed.sort((a, b) => pfgen.order(a.key, b.key, falls ? -1 : 1)).map(({ row }) => row));
      pfgen.say(pfgen.t(falls ? "sorted_falling" : "sorted_rising", { column: heading.textContent.trim() }));
    };

    for (const heading of headings) {
      const button = pfgen.element("button", { type: "button", class: "sort", onclick: () => sort(heading) });
      button.append(heading.firstChild); // what else is there, such as an axis, stays below
      heading.prepend(button);
    }
  };

  for (const table of document.querySelectorAll("table.sortable")) pfgen.sortable(table);
})();
