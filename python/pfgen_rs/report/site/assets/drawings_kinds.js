// Intervals, categories, and models by questions.
(() => {
  const { drawn, t } = pfgen;
  const { columnsOf, cut, edge, formatted, headed, label, looks, made, mark, option, scaleOf, some, spot, text, valueOf } = pfgen.marks;
  const most = { intervals: 60, questions: 150 }; // what is drawn of what there is
  const left = (width) => Math.round(Math.min(240, width * 0.36));
  const isKnown = (value) => value !== null;
  const labelOf = (one) => pfgen.plain(one.label);

  /** Rows of a drawing below each other: `name`, what they say, and what they show (`nodes` of the middle); arrows lead to `at`. */
  const rowed = (rows, width, tall, top = edge.top) => rows.map(({ row = null, name, says, nodes = () => [], at = left(width), isOwn }, i) => {
    const [start, y] = [left(width), top + tall * (i + 0.5)];
    return spot(row, at, y, says, [
      drawn("rect", { class: isOwn ? "ground own" : "ground", x: 0, y: y - tall / 2, width, height: tall }),
      text(start - 8, y + 4, cut(name, start - 12), "end", tall < 16 ? "small" : ""), ...nodes(y)]);
  });

  /** Rows over an axis of a column for some values: their `nodes` and `at` are of its scale. */
  const overAxis = (column, values, rows, width, tall) => {
    const height = rows.length * tall + edge.top + edge.bottom;
    const x = scaleOf(column, values, [left(width), width - edge.right]);
    const placed = rows.map(({ nodes, at, ...one }) => ({ ...one, nodes: (y) => nodes(x, y), at: at === undefined ? at : x(at) }));
    return { height, nodes: [...pfgen.marks.acrossOf(x, [left(width), width, height]), ...rowed(placed, width, tall)] };
  };

  const intervals = ({ board, rows, state, width }) => {
    const column = board.column(state.bar);
    const sign = column.better === -1 ? 1 : -1;
    const known = rows.filter((one) => valueOf(one, column) !== null).sort((a, b) => sign * (valueOf(a, column) - valueOf(b, column)));
    const own = known.slice(0, most.intervals);
    const ends = (one) => one.interval(column.key) ?? [null, null];
    const base = {
      title: t("draw_intervals_title", { column: label(column) }),
      notes: [...pfgen.marks.missing(rows, [column]), ...some(own, known)],
      table: { head: headed("model", "value", "low", "high"), rows: known.map((one) => [one.label, one.get(column.key), ...ends(one)]) },
    };
    if (!own.length) return base;
    const all = own.flatMap((one) => [valueOf(one, column), ...ends(one).filter(isKnown)]);
    const lines = own.map((one) => {
      const [value, [low, high]] = [valueOf(one, column), ends(one)];
      const isBounded = isKnown(low) && isKnown(high);
      const said = `${label(column)}: ${formatted(column, value)}${isBounded ? ` (${formatted(column, low)} … ${formatted(column, high)})` : ""}`;
      const whisker = (x, y) => drawn("path", { class: "whisker", d: `M${x(low)} ${y - 4}v8M${x(low)} ${y}H${x(high)}M${x(high)} ${y - 4}v8` });
      const nodes = (x, y) => [...(isBounded ? [whisker(x, y)] : []), mark(0, 50, [x(value), y])];
      return { row: one, name: one.label, at: value, says: [labelOf(one), said], nodes, isOwn: one.id === state.model };
    });
    return { ...base, ...overAxis(column, all, lines, width, 18) };
  };

  const categoriesOf = (board) => columnsOf(board, "number").filter(({ group }) => group === "categories");

  /** A row for each category: one model against the median and the best of those shown, or the first of these side by side. */
  const categories = ({ board, rows, state, width }) => {
    const columns = categoriesOf(board);
    const model = [...rows, ...board.rows("best")].find(({ id }) => id === state.model);
    const valuesOf = (column) => rows.map((one) => valueOf(one, column)).filter(isKnown);
    const known = columns.filter((column) => valuesOf(column).length);
    const first = rows.filter((one) => known.some((column) => valueOf(one, column) !== null)).slice(0, looks);
    const of = (one, look) => ({ look, name: one.label, get: (column) => valueOf(one, column) });
    const best = { look: 6, name: t("draw_best"), get: (column) => d3.max(valuesOf(column)) };
    const median = { look: 3, name: t("draw_median"), get: (column) => d3.median(valuesOf(column)) };
    const series = model ? [of(model, 0), median, best] : first.map(of);
    const values = (column) => series.map(({ get }) => get(column));
    const base = {
      title: model ? `${t("draw_categories")}: ${labelOf(model)}` : t("draw_categories"),
      notes: model ? [t("draw_of_shown", { n: rows.length })] : [t("draw_reach", { n: rows.length }), ...some(first, rows)],
      table: model ? { head: headed("category", "model", "median", "best"), rows: known.map((column) => [label(column), ...values(column)]) }
        : pfgen.marks.tabled(rows, known),
    };
    if (!known.length) return base;
    const all = known.flatMap((column) => [...valuesOf(column), ...values(column).filter(isKnown)]);
    const lines = known.map((column) => {
      const own = series.map(({ look, name, get }) => ({ look, value: get(column), said: `${pfgen.plain(name)}: ${formatted(column, get(column))}` }));
      const marks = (x, y) => own.filter(({ value }) => isKnown(value)).map(({ look, value }) => mark(look, 60, [x(value), y])).reverse();
      const reach = (x, y) => drawn("path", { class: "reach", d: `M${d3.extent(valuesOf(column)).map(x).join(` ${y}H`)}` });
      return { name: label(column), says: [label(column), ...own.map(({ said }) => said)], nodes: (x, y) => [reach(x, y), ...marks(x, y)] };
    });
    return { ...base, legend: series.map(({ look, name }) => [look, name]), ...overAxis(made(t("draw_value"), 3), all, lines, width, 26) };
  };

  /** Cells of a table of models and questions, as one path for each of nine shades. */
  const shades = (grid, [low, high], [start, top, wide, tall]) => {
    const paths = Array.from({ length: 9 }, () => []);
    const cell = (i, q) => `M${(start + q * wide).toFixed(2)} ${top + i * tall}h${wide.toFixed(2)}v${tall}h-${wide.toFixed(2)}z`;
    grid.forEach((values, i) => values.forEach((value, q) => paths[Math.round(((value - low) / (high - low || 1)) * 8)].push(cell(i, q))));
    return paths.map((cells, shade) => drawn("path", { class: "shade", d: cells.join(""), "fill-opacity": 0.04 + 0.12 * shade }));
  };

  const questions = ({ board, rows, width }) => {
    const known = rows.map((one) => ({ one, means: one.means })).filter(({ means }) => means?.length && means.every(Number.isFinite));
    const own = known.slice(0, most.questions);
    const count = Math.min(own[0]?.means.length ?? 0, most.questions);
    const base = {
      title: t("draw_questions"),
      notes: [...(known.length < rows.length ? [t("draw_no_means", { n: rows.length - known.length, all: rows.length })] : []), ...some(own, known)],
      table: {
        head: [t("draw_model"), ...d3.range(count).map((q) => t("draw_question", { n: q + 1 }))],
        rows: own.map(({ one, means }) => [one.label, ...means.slice(0, count)]),
      },
    };
    if (!own.length) return base;
    const order = pfgen.marks.clustered(own.map(({ means }) => means.slice(0, count))).map((i) => own[i]);
    const across = pfgen.marks.clustered(d3.range(count).map((q) => own.map(({ means }) => means[q])));
    const [start, top, tall] = [left(width), 24, order.length > 60 ? 12 : 16];
    const grid = order.map(({ means }) => across.map((q) => means[q]));
    const ends = d3.extent(grid.flat());
    const [wide, height] = [(width - start - 8) / count, order.length * tall + 48];
    const says = ({ one, means }) => (at) => {
      const said = (q) => `${t("draw_question", { n: q + 1 })}: ${means[q].toFixed(3)}`;
      const falling = d3.range(count).sort((a, b) => means[b] - means[a]);
      const q = at === null || at < start ? null : across[Math.min(Math.floor((at - start) / wide), count - 1)];
      return [labelOf(one), ...(q === null ? [`${t("draw_best")}: ${said(falling[0])}`, `${t("draw_worst")}: ${said(falling.at(-1))}`] : [said(q)])];
    };
    const lines = rowed(order.map((found) => ({ row: found.one, name: found.one.label, says: says(found) })), width, tall, top);
    const every = Math.ceil(22 / wide);
    const numbers = across.flatMap((q, i) => (i % every ? [] : [text(start + (i + 0.5) * wide, 18, q + 1, "middle", "small")]));
    return {
      ...base, height, notes: [...base.notes, t("draw_clustered", { low: ends[0].toFixed(2), high: ends[1].toFixed(2) })],
      nodes: [...shades(grid, ends, [start, top, wide, tall]), ...numbers, ...lines,
        text((start + width) / 2, height - 6, t("draw_by_question"), "middle", "of-axis")],
    };
  };

  const { register } = pfgen.drawings;
  const barsOf = (board) => columnsOf(board, "number").filter(({ key }) => key !== "price"); // of several currencies
  const bars = (board) => [{ name: "bar", options: barsOf(board).map(option), value: "score" }];
  const models = (board) => [{ name: "model", options: [["", t("draw_side_by_side")], ...board.rows("best").map((one) => [one.id, one.label])] }];
  register({ name: "intervals", has: (board) => barsOf(board).length > 0, fields: bars, draw: intervals });
  register({ name: "categories", has: (board) => categoriesOf(board).length > 0, fields: models, draw: categories });
  register({ name: "questions", has: (board) => Boolean(board.means?.some(Boolean)), fields: () => [], draw: questions });
})();
