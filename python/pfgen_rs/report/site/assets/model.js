// The page of a model: its rank among all models of the site, and its categories beside theirs.
pfgen.loadBoard(document.getElementById("standing"), async (board) => {
  const { model } = pfgen.data("page");
  const best = board.rows("best");
  const ranked = best.filter((row) => !row.system && row.get("score") !== null);
  const tested = ranked.filter((row) => row.means);
  const place = ranked.findIndex((row) => row.id === model);
  const ranking = await pfgen.ranking(tested.map((row) => row.means), board.level);
  const own = ranking.own([...tested.keys()])[tested.indexOf(ranked[place])];
  if (own) {
    const values = { rank: place + 1, all: ranked.length, low: own[0], high: own[1] };
    document.getElementById("standing").replaceChildren(pfgen.tr("standing", values));
  }
  const drawing = document.getElementById("categories");
  const row = best.find((each) => each.id === model);
  const isKnown = board.columns.some(({ group, key }) => group === "categories" && row?.get(key) !== null);
  if (row && isKnown) pfgen.drawings.mount(drawing, board, { kinds: ["categories"], state: { model } });
  else drawing.remove();
});
