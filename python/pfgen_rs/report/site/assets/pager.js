// Entries in pages of twenty, with buttons that turn them.
(() => {
  const { element, tr } = pfgen;
  const onPage = 20;
  const place = document.getElementById("pager");

  /** `top`: what comes into view when a page is turned; `show(entries)`: shows those of a page, or promises to. */
  pfgen.pager = (top, show) => {
    let entries = [];
    let page = 0;
    const pages = () => Math.max(Math.ceil(entries.length / onPage), 1);
    const isThere = (number) => number >= 0 && number < pages();

    const draw = () => {
      const [before, after] = [["previous", -1], ["next", 1]].map(([label, step]) => element("button", {
        type: "button",
        disabled: !isThere(page + step),
        onclick: () => {
          turn(step);
          const [same, other] = step > 0 ? [place.lastChild, place.firstChild] : [place.firstChild, place.lastChild];
          (same.disabled ? other : same).focus({ preventScroll: true });
        },
      }, tr(label)));
      place.replaceChildren(before, tr("page_of", { page: page + 1, pages: pages() }), after);
      place.hidden = pages() === 1;
      return show(entries.slice(page * onPage, (page + 1) * onPage));
    };

    /** Turns to the page before (-1) or after (1) and promises whether there is one. */
    const turn = async (step) => {
      if (!isThere(page + step)) return false;
      page += step;
      const shown = draw();
      top.scrollIntoView();
      await shown;
      return true;
    };

    return {
      turn,

      /** Shows the first page of some entries. */
      open(all) {
        [entries, page] = [all, 0];
        return draw();
      },
    };
  };
})();
