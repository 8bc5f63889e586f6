// The overview: the best run of each model against size and date of release.
pfgen.loadBoard(document.getElementById("sizes"), (board) => {
  for (const [place, x] of [["sizes", "parameters"], ["dates", "released"]]) {
    pfgen.drawings.mount(document.getElementById(place), board, { kinds: ["scatter"], state: { x, y: "score", colour: "organisation", show: "frontier names" } });
  }
});
