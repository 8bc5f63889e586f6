// The page of a model: its rank among all models of the site, and its categories beside theirs.
(() => {
  const { board: name, means, model } = pfgen.data("page");
  pfgen.loadEach(document.getElementById("standing"), [name, means], 1).then((loaded) => {
    if (!loaded) return;
    const board = pfgen.board(...loaded);
    const rows = board.rows("best").filter((row) => !row.system && row.get("score") !== null);
    const place = rows.findIndex((row) => row.id === model);
    const tested = rows.filter((row) => row.means);
    const ranks = pfgen.ranking(tested.map((row) => row.means), board.level);
    const own = ranks.own([...tested.keys()])[tested.indexOf(rows[place])];
    if (place >= 0 && own) {
      document.getElementById("standing").replaceChildren(
        pfgen.tr("standing", { rank: place + 1, all: rows.length, low: own[0], high: own[1] }));
    }
    const drawing = document.getElementById("categories");
    const row = board.rows("best").find((each) => each.id === model);
    const known = board.columns.some(({ group, key }) => group === "categories" && (row?.get(key) ?? null) !== null);
    if (known) pfgen.drawings.mount(drawing, board, { kinds: ["categories"], state: { model } });
    else drawing.remove();
  });
})();
