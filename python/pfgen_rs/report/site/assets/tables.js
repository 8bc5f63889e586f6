// Tables sorted by a click on a heading. Cells carry their values (`data-v`) where their text is not it.
(() => {
  const collator = new Intl.Collator("ja", { numeric: true });

  const value = (row, column, isNumber) => {
    const cell = row.cells[column];
    const text = cell.dataset.v ?? cell.textContent.trim();
    if (!isNumber) return text;
    return text === "" || text === "–" ? NaN : Number(text);
  };

  /** Rows by falling or rising value; what has none comes last, and ties keep the order of the page. */
  const sorted = (keyed, isNumber, falling) => {
    const sign = falling ? -1 : 1;
    const compare = isNumber
      ? (a, b) => (Number.isNaN(a.key) - Number.isNaN(b.key)) || sign * (a.key - b.key) || 0
      : (a, b) => (a.key === "") - (b.key === "") || sign * collator.compare(a.key, b.key);
    return keyed.toSorted(compare).map(({ row }) => row);
  };

  const announce = (heading) => {
    const order = heading.getAttribute("aria-sort");
    pfgen.say(pfgen.t(order === "ascending" ? "sorted_rising" : "sorted_falling",
      { column: heading.textContent.trim() }));
  };

  /** Give headings with `data-sort` (`number`, `text`) buttons; the first click on numbers sorts them falling. */
  pfgen.sortable = (table) => {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const keys = new Map(); // column -> rows with their values, read once
    const headings = [...table.tHead.rows[0].cells];

    const arrange = (heading, falling) => {
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const isNumber = heading.dataset.sort === "number";
      const column = heading.cellIndex;
      if (!keys.has(column)) keys.set(column, original.map((row) => ({ row, key: value(row, column, isNumber) })));
      body.replaceChildren(...sorted(keys.get(column), isNumber, falling));
    };

    const sort = (heading, falling) => {
      arrange(heading, falling);
      announce(heading);
      table.dispatchEvent(new Event("sorted"));
    };

    const clicked = (heading) => {
      const before = heading.getAttribute("aria-sort");
      const falling = heading.dataset.first ? heading.dataset.first === "falling" : heading.dataset.sort === "number";
      sort(heading, before === null ? falling : before === "ascending");
    };

    for (const heading of headings.filter((h) => h.dataset.sort)) {
      const button = pfgen.element("button", { type: "button", class: "sort", onclick: () => clicked(heading) });
      button.append(heading.firstChild); // what else is there, such as an axis, stays below
      heading.prepend(button);
    }
    pfgen.onLanguage(() => keys.clear()); // texts may have changed
    const isInitial = (heading) => heading.dataset.initial !== undefined && heading.getAttribute("aria-sort") === "ascending";
    const name = (heading) => heading.querySelector("[data-t]")?.dataset.t;

    return {
      rows: original,
      /** The order as an address has it: the heading's name, after "-" if values fall; "" for that of the page. */
      state() {
        const heading = headings.find((h) => h.hasAttribute("aria-sort"));
        if (!heading || isInitial(heading)) return "";
        return (heading.getAttribute("aria-sort") === "descending" ? "-" : "") + name(heading);
      },
      /** Sort as an address says; what it cannot mean is passed over. */
      recall(state) {
        const heading = headings.find((h) => h.dataset.sort && name(h) === state.replace(/^-/, ""));
        if (heading) arrange(heading, state.startsWith("-"));
        else if (this.state()) this.reset();
      },
      /** Values of a column have changed, by which the table may be sorted. */
      refresh(key) {
        const heading = headings.find((h) => name(h) === key);
        keys.delete(heading.cellIndex);
        if (heading.hasAttribute("aria-sort")) arrange(heading, heading.getAttribute("aria-sort") === "descending");
      },
      /** The order of the page. */
      reset() {
        for (const heading of headings) heading.removeAttribute("aria-sort");
        headings.find((h) => h.dataset.initial !== undefined)?.setAttribute("aria-sort", "ascending");
        body.replaceChildren(...original);
      },
    };
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    table.sorting = pfgen.sortable(table);
  }
})();
