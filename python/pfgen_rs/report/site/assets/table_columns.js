// The columns of the table of models: those of the board, and those that follow from what is shown.
(() => {
  const { t, cells } = pfgen;

  /**
   * Columns, each with `get(row)`, `draw(row)` (nodes) and `bounds` (intervals by key). `place(row)`: its `rank`, `tier`, `own` and
   * `joint` range among the `tested()` models that have ranges.
   */
  pfgen.tableColumns = (board, place, tested) => {
    const axis = pfgen.axisOfMost(board.rows("best").flatMap((row) => (row.system ? [] : [row.interval("score")].filter(Boolean))));
    const made = (key, get, about) => {
      const column = { key, get, group: "pfgen", kind: "number", digits: 0, better: -1, bounds: [], draw: (row) => cells.value(column, get(row)), ...about };
      return Object.defineProperty(column, "label", { get: () => [t(key), t(key)] });
    };
    const ofBoard = (column) => {
      const [get, bounds] = [(row) => row.get(column.key), (row) => row.interval(column.key)];
      if (!column.isBounded || column.key === "score") return { ...column, get, bounds: [], draw: (row) => cells.value(column, get(row)) };
      return { ...column, get, bounds: [[column.key, bounds]], draw: (row) => [...cells.value(column, get(row)), ...cells.bounds(bounds(row), column.digits)] };
    };
    const of = (name) => (row) => place(row)?.[name] ?? null;
    const [score, interval, own, joint] = [(row) => row.get("score"), (row) => row.interval("score"), of("own"), of("joint")];
    const derived = [
      made("interval", score, { kind: "whiskers", better: 1, digits: 4, scale: () => pfgen.scale(axis), bounds: [["score", interval]], draw: (row) => cells.whisker(axis, score(row), interval(row)) }),
      made("ranks", (row) => own(row)?.[0] ?? null, { isDrawn: true, bounds: [["own", own], ["joint", joint]], draw: (row) => cells.ranges(own(row), joint(row), tested()) }),
      made("tier", of("tier")),
    ];
    const at = board.known.findIndex(({ key }) => key === "score") + 1;
    const part = ({ key, get, kind, digits }, label) => ({ key, label, get, digits, isNumber: kind === "number" });
    return {
      fixed: [made("rank", of("rank")), made("name", (row) => row.name, { kind: "text" })],
      run: made("run", (row) => row.label, { kind: "text" }),
      composite: (get) => made("composite", get, { digits: 3, better: 1 }),
      views: board.known.map(ofBoard).toSpliced(at, 0, ...(at ? derived : [])),
      /** What files have of a column: its value, and the ends of its intervals. */
      parts: (column) => [
        ...(column.isDrawn || column.scale ? [] : [part(column, pfgen.named(column))]),
        ...column.bounds.flatMap(([key, get]) => ["low", "high"].map((end, i) => part(
          { ...column, kind: "number", key: `${key}_${end}`, get: (row) => get(row)?.[i] ?? null }, `${key === column.key ? pfgen.named(column) : t(key)} (${t(end)})`)))],
    };
  };
})();
