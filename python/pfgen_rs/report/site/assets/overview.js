// The overview: the best run of each model against size and date of release.
(() => {
  const { board: name, means } = pfgen.data("page");
  pfgen.loadEach(document.getElementById("sizes"), [name, means], 1).then((loaded) => {
    if (!loaded) return;
    const board = pfgen.board(...loaded);
    for (const [place, x] of [["sizes", "parameters"], ["dates", "released"]]) {
      pfgen.drawings.mount(document.getElementById(place), board, { kinds: ["scatter"], state: { x, y: "score", colour: "organisation", show: "frontier names" } });
    }
  });
})();
