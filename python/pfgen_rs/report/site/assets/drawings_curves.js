// Learning curves: a panel for each of what is measured, with lines, intervals and points by step or tokens.
(() => {
  const { drawn, t } = pfgen;
  const { axesOf, edge, headed, looks, made, mark, scaleOf, some, spot } = pfgen.marks;
  const most = { curves: 40, points: 600 }; // of what there is, in a panel
  const wide = 420; // pixels of a panel at least
  const normal = 1.959964; // 95 % of a normal distribution are within so many standard errors
  const limits = { score: [0, Infinity], fluency: [0, Infinity], truthfulness: [0, 1], helpfulness: [0, 1] }; // of what can be
  const isKnown = Number.isFinite;
  const within = ([least, highest], value) => Math.min(Math.max(value, least), highest);
  const isBounded = ({ low, high }) => isKnown(low) && isKnown(high);

  /** Points of a curve in a column; those without a value are gaps. */
  const pointsOf = (rows, key, across) => rows.filter((row) => isKnown(row[across])).map((row) => {
    const [value, error] = [row[key], row[`${key}_se`]];
    if (!isKnown(value)) return { x: row[across] };
    const [low, high] = isKnown(error) ? [value - normal * error, value + normal * error] : [row[`${key}_low`], row[`${key}_high`]];
    return { x: row[across], value, low, high };
  });
  const valuesOf = ({ points }) => points.filter(({ value }) => isKnown(value));

  /** What is measured: the `key` in rows, a `label`, and the curves that have it. Those of a site have their scores alone. */
  const panelsOf = ({ curves, panels }, across) => {
    const ofScores = () => [{ key: "score", label: t("draw_score"), rows: curves.map(({ steps, values }) => steps.map((step, i) => ({ step, score: values[i] }))) }];
    return (panels ?? ofScores)().map(({ key, label, rows }) => {
      const lines = rows.slice(0, most.curves).map((own, i) => ({ ...curves[i], look: i % looks, points: pointsOf(own, key, across) }));
      return { key, label, lines: lines.filter((line) => valuesOf(line).length) };
    }).filter(({ lines }) => lines.length);
  };

  const panelOf = ({ key, label, lines }, across, [left, top, width, height]) => {
    const known = lines.flatMap(valuesOf);
    const [least, highest] = limits[key] ?? [-Infinity, Infinity];
    const ends = [Math.min(least, d3.min(known, ({ value }) => value)), Math.max(highest, d3.max(known, ({ value }) => value))];
    const heights = known.flatMap((point) => [point.value, ...(isBounded(point) ? [point.low, point.high] : [])]);
    const x = scaleOf(made(t(`draw_${across}`), 0), known.map((point) => point.x), [edge.left, width - edge.right]);
    const y = scaleOf(made(label, 3), heights.map((value) => within(ends, value)), [height - edge.bottom, edge.top]);
    y.domain(y.domain().map((value) => within(ends, value))).clamp(true);
    const across0 = y.domain()[0] < 0 ? [drawn("path", { class: "zero", d: `M${edge.left} ${y(0)}H${width - edge.right}` })] : [];
    const band = d3.area().defined(isBounded).x((point) => x(point.x)).y0(({ low }) => y(low)).y1(({ high }) => y(high));
    const line = d3.line().defined(({ value }) => isKnown(value)).x((point) => x(point.x)).y(({ value }) => y(value));
    const paths = (name, path) => lines.map(({ look, points }) => drawn("path", { class: `${name} c${look}`, d: path(points) }));
    const every = Math.ceil(known.length / most.points);
    const says = (name, { x: at, value, low, high }) => [pfgen.plain(name), `${t(`draw_${across}`)}: ${at.toLocaleString("en")}`,
      `${label}: ${value.toFixed(4)}${isBounded({ low, high }) ? ` (${low.toFixed(4)} … ${high.toFixed(4)})` : ""}`];
    const spots = lines.flatMap((own) => valuesOf(own).filter((_, i, all) => i % every === 0 || i === all.length - 1).map((point) => {
      const at = [left + x(point.x), top + y(point.value)];
      return spot(own, ...at, says(own.name, point), [mark(own.look, 30, at)]);
    }));
    return [drawn("g", { class: "panel", transform: `translate(${left} ${top})` },
      ...axesOf(x, y, width, height), ...across0, ...paths("band", band), ...paths("curve", line)), ...spots];
  };

  const draw = ({ board, state, width }) => {
    const panels = panelsOf(board, state.x);
    const own = board.curves.slice(0, most.curves);
    const rows = panels.flatMap(({ label, lines }) => lines.flatMap((line) =>
      valuesOf(line).map(({ x, value, low = null, high = null }) => [line.name, label, x, value, low, high])));
    const base = {
      title: t("draw_curves"), notes: some(own, board.curves), table: { head: headed("curve", "bar", state.x, "value", "low", "high"), rows },
    };
    if (!panels.length) return base;
    const columns = within([1, panels.length], Math.floor(width / wide));
    const size = [Math.floor(width / columns), panels.length > 1 ? 250 : Math.round(within([280, 480], width * 0.45))];
    const nodes = panels.flatMap((panel, i) => panelOf(panel, state.x, [(i % columns) * size[0], Math.floor(i / columns) * size[1], ...size]));
    return { ...base, height: Math.ceil(panels.length / columns) * size[1], legend: own.map(({ name }, i) => [i % looks, name]), nodes };
  };

  /** The field for what is across, where curves have tokens too. */
  const fields = (board) => [{ name: "x", options: ["step", ...(board.hasTokens ? ["tokens"] : [])].map((name) => [name, t(`draw_${name}`)]), value: "step" }];

  pfgen.drawings.register({ name: "curves", has: (board) => board.curves?.length > 0, fields, draw });
})();
