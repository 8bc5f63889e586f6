// Long tables: of all lines only those in sight are in the page, and all of them when it is printed.
(() => {
  const spare = 6; // lines above and below those in sight
  const most = 2000; // printed

  /** Show lines in a table's body, all equally high, within a box that scrolls: `make(number)` gives a line's row. Returns what redraws. */
  pfgen.virtualRows = (box, body, make) => {
    const gap = () => pfgen.element("tr", { class: "gap", "aria-hidden": "true" }, pfgen.element("td"));
    const [above, below] = [gap(), gap()];
    const made = new Map(); // number of a line -> its row
    let [count, height, isPrinted] = [0, 40, false];

    const draw = () => {
      const first = Math.floor(box.scrollTop / height);
      const from = isPrinted ? 0 : Math.max(Math.min(first - spare, count - 1), 0);
      const to = Math.min(count, isPrinted ? most : Math.ceil((box.scrollTop + box.clientHeight) / height) + spare);
      for (const [number, row] of made) {
        if (number >= from && number < to) continue;
        row.remove();
        made.delete(number);
      }
      let last = above;
      for (let number = from; number < to; number += 1) {
        if (!made.has(number)) made.set(number, make(number));
        const row = made.get(number);
        if (last.nextSibling !== row) last.after(row);
        last = row;
      }
      above.style.height = `${from * height}px`;
      below.style.height = `${Math.max(count - to, 0) * height}px`;
    };

    const measured = () => {
      const own = made.values().next().value?.getBoundingClientRect().height;
      if (!own || isPrinted || Math.abs(own - height) < 0.01) return;
      height = own;
      draw();
    };

    body.replaceChildren(above, below);
    box.addEventListener("scroll", draw, { passive: true });
    new ResizeObserver(() => {
      draw();
      measured();
    }).observe(box);
    matchMedia("print").addEventListener("change", ({ matches }) => {
      isPrinted = matches;
      draw();
    });

    return (number) => {
      for (const row of made.values()) row.remove();
      made.clear();
      count = number;
      below.style.height = `${count * height}px`; // the box is as high as it will be, else lines in sight were missing
      draw();
      measured();
    };
  };
})();
