// Intervals, categories, learning curves, and models by questions.
(() => {
  const { drawn, t } = pfgen;
  const { columnsOf, cut, edge, formatted, label, mark, nothing, option, scaleOf, spot, valueOf } = pfgen.marks;
  const most = { intervals: 60, categories: 12, curves: 40, points: 600, questions: 150 };
  const row = 18; // pixels
  const looks = 7;
  const number = (key, digits) => ({ key, group: "", kind: "number", digits, better: 0, label: [t(key), t(key)] });
  const left = (width) => Math.round(Math.min(240, width * 0.36));
  const some = (found, all) => (found.length < all.length ? [t("draw_some", { n: found.length, all: all.length })] : []);
  const isKnown = (value) => value !== null;
  const labelOf = (one) => pfgen.plain(one.label);

  /** A row of a drawing: its name at the left, and what it shows. */
  const lineOf = (text, [start, width], y, tall, nodes, own = "") => [
    drawn("rect", { class: `ground ${own}`, x: 0, y: y - tall / 2, width, height: tall }),
    drawn("text", { class: tall < row - 2 ? "small" : "", x: start - 8, y: y + 4, "text-anchor": "end" }, cut(text, start - 12)), ...nodes];

  const intervals = ({ board, rows, state, width }) => {
    const column = board.column(state.bar);
    const sign = column.better === -1 ? 1 : -1;
    const known = rows.filter((one) => valueOf(one, column) !== null).sort((a, b) => sign * (valueOf(a, column) - valueOf(b, column)));
    const own = known.slice(0, most.intervals);
    const ends = (one) => one.interval(column.key) ?? [null, null];
    const base = {
      title: t("draw_intervals_title", { column: label(column) }),
      notes: [...pfgen.marks.missing(rows, [column]), ...some(own, known)],
      table: { head: ["model", "value", "low", "high"].map((key) => t(`draw_${key}`)), rows: known.map((one) => [one.label, one.get(column.key), ...ends(one)]) },
    };
    if (!own.length) return nothing(base);
    const [start, height] = [left(width), own.length * row + edge.top + edge.bottom];
    const x = scaleOf(column, own.flatMap((one) => [valueOf(one, column), ...ends(one).filter(isKnown)]), [start, width - edge.right]);
    const lines = own.map((one, i) => {
      const [value, [low, high], y] = [valueOf(one, column), ends(one), edge.top + row * (i + 0.5)];
      const between = isKnown(low) && isKnown(high) ? ` (${formatted(column, low)} … ${formatted(column, high)})` : "";
      const whisker = between ? [drawn("path", { class: "whisker", d: `M${x(low)} ${y - 4}v8M${x(low)} ${y}H${x(high)}M${x(high)} ${y - 4}v8` })] : [];
      return spot(one, x(value), y, [labelOf(one), `${label(column)}: ${formatted(column, value)}${between}`],
        lineOf(one.label, [start, width], y, row, [...whisker, mark(0, 50, [x(value), y])], one.id === state.model ? "own" : ""));
    });
    return { ...base, height, nodes: [...pfgen.marks.acrossOf(x, [start, width, height]), ...lines] };
  };

  const categoriesOf = (board) => columnsOf(board, "number").filter(({ group }) => group === "categories");
  const barScale = (values, pixels) => d3.scaleLinear().domain([Math.min(0, ...values), Math.max(...values) || 1]).range(pixels);

  /** One model against the median and the best of those shown, a row for each category. */
  const oneModel = (columns, rows, model, width) => {
    const found = columns.map((column) => {
      const values = rows.map((one) => valueOf(one, column)).filter(isKnown);
      return { column, ends: d3.extent(values), median: d3.median(values), best: column.better === -1 ? d3.min(values) : d3.max(values), own: valueOf(model, column) };
    }).filter(({ median }) => median !== undefined);
    const names = [model.label, t("draw_median"), t("draw_best")];
    const base = {
      title: `${t("draw_categories")}: ${labelOf(model)}`,
      notes: [t("draw_of_shown", { n: rows.length })],
      table: { head: [t("draw_category"), ...names], rows: found.map(({ column, median, best, own }) => [label(column), own, median, best]) },
    };
    if (!found.length) return nothing(base);
    const [start, tall] = [left(width), 24];
    const height = found.length * tall + edge.top + edge.bottom;
    const x = scaleOf(number("draw_value", 3), found.flatMap(({ ends, own }) => [...ends, own ?? ends[0]]), [start, width - edge.right]);
    const lines = found.map(({ column, ends, median, best, own }, i) => {
      const y = edge.top + tall * (i + 0.5);
      const marks = [[6, best, 50], [3, median, 50], [0, own, 90]].filter(([, value]) => isKnown(value));
      return spot(null, x(own ?? median), y, [label(column), ...[own, median, best].map((value, at) => `${pfgen.plain(names[at])}: ${formatted(column, value)}`)],
        lineOf(label(column), [start, width], y, tall, [drawn("path", { class: "reach", d: `M${x(ends[0])} ${y}H${x(ends[1])}` }), ...marks.map(([look, value, size]) => mark(look, size, [x(value), y]))]));
    });
    return { ...base, height, legend: [0, 3, 6].map((look, i) => [look, names[i]]), nodes: [...pfgen.marks.acrossOf(x, [start, width, height]), ...lines] };
  };

  /** Bars of the first models, a panel for each category. */
  const panels = (columns, rows, width) => {
    const own = rows.filter((one) => columns.some((column) => valueOf(one, column) !== null)).slice(0, most.categories);
    const base = {
      title: t("draw_categories"), notes: some(own, rows),
      table: { head: [t("draw_model"), ...columns.map(label)], rows: rows.map((one) => [one.label, ...columns.map(({ key }) => one.get(key))]) },
    };
    if (!own.length) return nothing(base);
    const start = Math.min(left(width), 200);
    const each = Math.min(columns.length, Math.max(1, Math.floor((width - start) / 150)));
    const [wide, tall] = [(width - start) / each, own.length * row + 34];
    const x = barScale(own.flatMap((one) => columns.map((column) => valueOf(one, column) ?? 0)), [0, wide - 52]);
    const bar = (one, column, at, y) => {
      const value = valueOf(one, column);
      const [from, to] = [x(0), x(value ?? 0)].sort((a, b) => a - b);
      return spot(one, at + to, y, [labelOf(one), `${label(column)}: ${formatted(column, value)}`], [
        drawn("rect", { class: "ground", x: at, y: y - row / 2, width: wide - 8, height: row }), drawn("rect", { class: "bar", x: at + from, y: y - 5, width: to - from, height: 10 }),
        drawn("text", { x: at + to + 5, y: y + 4 }, formatted(column, value))]);
    };
    const nodes = columns.flatMap((column, i) => {
      const [at, top] = [start + (i % each) * wide, Math.floor(i / each) * tall];
      const y = (place) => top + 26 + row * (place + 0.5);
      return [drawn("text", { class: "of-axis", x: at, y: top + 18 }, cut(label(column), wide - 8, 13)), drawn("path", { class: "zero", d: `M${at + x(0)} ${top + 26}v${own.length * row}` }),
        ...(i % each ? [] : own.flatMap((one, place) => lineOf(one.label, [start, 0], y(place), row, []))), ...own.map((one, place) => bar(one, column, at, y(place)))];
    });
    return { ...base, height: Math.ceil(columns.length / each) * tall, nodes };
  };

  const categories = ({ board, rows, all, state, width }) => {
    const model = all.find(({ id }) => id === state.model) ?? board.rows("best").find(({ id }) => id === state.model);
    return model ? oneModel(categoriesOf(board), rows, model, width) : panels(categoriesOf(board), rows, width);
  };

  const curves = ({ board, width }) => {
    const own = board.curves.slice(0, most.curves).map(({ name, page, steps, values }, i) => (
      { name, page, look: i % looks, dash: Math.floor(i / looks) % 4, points: steps.map((step, at) => [step, values[at]]).filter(([, value]) => Number.isFinite(value)) }));
    const all = own.flatMap(({ points }) => points);
    const base = {
      title: t("draw_curves"), notes: some(own, board.curves),
      table: { head: ["curve", "step", "score"].map((key) => t(`draw_${key}`)), rows: own.flatMap(({ name, points }) => points.map((point) => [name, ...point])) },
    };
    if (!all.length) return nothing(base);
    const height = Math.round(Math.min(Math.max(width * 0.45, 280), 480));
    const x = scaleOf(number("draw_step", 0), all.map(([step]) => step), [edge.left, width - edge.right]);
    const y = scaleOf(number("draw_score", 3), all.map(([, value]) => value), [height - edge.bottom, edge.top]);
    const every = Math.ceil(all.length / most.points);
    const at = (point) => [x(point[0]), y(point[1])];
    const pointsOf = ({ name, page, look, points }) => points.filter((_, i) => i % every === 0 || i === points.length - 1).map((point) => spot({ page }, ...at(point),
      [pfgen.plain(name), `${t("draw_step")}: ${point[0].toLocaleString("en")}`, `${t("draw_score")}: ${point[1].toFixed(4)}`], [mark(look, 30, at(point))]));
    const lines = own.map(({ look, dash, points }) => drawn("path", { class: `curve c${look} dash${dash}`, d: d3.line()(points.map(at)) }));
    return { ...base, height, legend: own.map(({ look, name }) => [look, name]), nodes: [...pfgen.marks.axesOf(x, y, width, height), ...lines, ...own.flatMap(pointsOf)] };
  };

  /** Cells of a table of models and questions, as one path for each of nine shades. */
  const shades = (grid, [low, high], [start, top, wide, tall]) => {
    const paths = Array.from({ length: 9 }, () => []);
    const cell = (i, q) => `M${(start + q * wide).toFixed(2)} ${top + i * tall}h${wide.toFixed(2)}v${tall}h-${wide.toFixed(2)}z`;
    grid.forEach((values, i) => values.forEach((value, q) => paths[Math.round(((value - low) / (high - low || 1)) * 8)].push(cell(i, q))));
    return paths.map((cells, shade) => drawn("path", { class: "shade", d: cells.join(""), "fill-opacity": 0.04 + 0.12 * shade }));
  };

  const questions = ({ board, rows, width }) => {
    const known = rows.map((one) => ({ one, means: one.means })).filter(({ means }) => means?.length);
    const own = known.slice(0, most.questions);
    const count = own[0]?.means.length ?? 0;
    const base = {
      title: t("draw_questions"),
      notes: [...(known.length < rows.length ? [t("draw_no_means", { n: rows.length - known.length, all: rows.length })] : []), ...some(own, known)],
      table: { head: [t("draw_model"), ...d3.range(1, count + 1).map((n) => t("draw_question", { n }))], rows: own.map(({ one, means }) => [one.label, ...means]) },
    };
    if (!own.length) return nothing(base);
    const order = pfgen.marks.clustered(own.map(({ means }) => means)).map((i) => own[i]);
    const across = pfgen.marks.clustered(d3.range(count).map((q) => own.map(({ means }) => means[q])));
    const [start, top, tall] = [left(width), 24, order.length > 60 ? 12 : 16];
    const ends = d3.extent(order.flatMap(({ means }) => means));
    const [wide, height] = [(width - start - 8) / count, order.length * tall + 48];
    const says = ({ one, means }) => (at) => {
      const said = (q) => `${t("draw_question", { n: q + 1 })}: ${means[q].toFixed(3)}`;
      const falling = d3.range(count).sort((a, b) => means[b] - means[a]);
      const q = at === null || at < start ? null : across[Math.min(Math.floor((at - start) / wide), count - 1)];
      return [labelOf(one), ...(q === null ? [`${t("draw_best")}: ${said(falling[0])}`, `${t("draw_worst")}: ${said(falling.at(-1))}`] : [said(q)])];
    };
    const lines = order.map((found, i) => {
      const y = top + (i + 0.5) * tall;
      return spot(found.one, start, y, says(found), lineOf(found.one.label, [start, width], y, tall, []));
    });
    const every = Math.ceil(22 / wide);
    const numbers = across.flatMap((q, i) => (i % every ? [] : [drawn("text", { class: "small", x: start + (i + 0.5) * wide, y: 18, "text-anchor": "middle" }, q + 1)]));
    return {
      ...base, height, notes: [...base.notes, t("draw_clustered", { low: ends[0].toFixed(2), high: ends[1].toFixed(2) })],
      nodes: [...shades(order.map(({ means }) => across.map((q) => means[q])), ends, [start, top, wide, tall]), ...numbers, ...lines,
        drawn("text", { class: "of-axis", x: (start + width) / 2, y: height - 6, "text-anchor": "middle" }, t("draw_by_question"))],
    };
  };

  const { register } = pfgen.drawings;
  const bars = (board) => [{ name: "bar", options: columnsOf(board, "number").map(option), value: "score" }];
  const models = (board) => [{ name: "model", options: [["-", t("draw_side_by_side")], ...board.rows("best").map((one) => [one.id, one.label])], value: "-" }];
  register({ name: "intervals", has: (board) => columnsOf(board, "number").length > 0, fields: bars, draw: intervals });
  register({ name: "categories", has: (board) => categoriesOf(board).length > 0, fields: models, draw: categories });
  register({ name: "curves", has: (board) => Boolean(board.curves?.length), fields: () => [], draw: curves });
  register({ name: "questions", has: (board) => Boolean(board.means?.some(Boolean)), fields: () => [], draw: questions });
})();
