// The overview: the best run of each model against size and date of release.
(() => {
  const { board: name, means } = pfgen.data("page");
  Promise.all([pfgen.load(name), pfgen.load(means)]).then(([payload, found]) => {
    const board = pfgen.board(payload, found);
    for (const [place, x] of [["sizes", "parameters"], ["dates", "released"]]) {
      pfgen.drawings.mount(document.getElementById(place), board, { kinds: ["scatter"], state: { x, y: "score", colour: "organisation", show: "frontier names" } });
    }
  });
})();
