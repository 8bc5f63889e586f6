// Tables of a comparison: the chosen runs, all pairs of them, and two of them in detail.
// Their functions take a view: { data, chosen (numbers of runs), found (what `pfgen.compared` gave), metric, pair (places of A and
// B in the choice) }. A column is its heading, and what makes a cell of a row.
(() => {
  const { element, tr } = pfgen;

  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;

  /** A p-value, as a bound where it is no more than what random signs resolve (`smallest`), as `shown_p` in Python has it. */
  const shownP = (p, smallest) => (p < 0.0001 ? "< 0.0001" : `${p <= Math.min(smallest * (1 + 1e-9), 0.5) ? "≤ " : ""}${p.toFixed(4)}`);

  /** A p-value after its sign, for sentences: in one line. */
  const equal = (text) => (/^[<≤]/.test(text) ? text : `= ${text}`).replace(" ", "\u00a0");
  const metricKey = (metric) => (metric === "average" ? "score" : metric);
  const metricIs = (metric) => element("span", {}, tr("metric"), ": ", element("b", {}, tr(metricKey(metric))));
  const name = ({ data, chosen }, place) => data.runs[chosen[place]].name;
  const isSure = ({ data }, p) => p <= 1 - data.level;
  const uncorrected = ({ found }, { p }) => shownP(p, found.smallest);
  const corrected = ({ found }, { holm, family }) => shownP(holm, found.smallest * family);

  /** What random signs resolve, if p-values are not exact. */
  const resolution = ({ found: { smallest } }) =>
    (smallest ? [tr("about_resolution", { n: Math.round(1 / smallest) - 1, p: String(Number(smallest.toPrecision(2))) })] : []);

  /** A pair's figures for the first minus the second. */
  const between = ({ found }, metric, first, second) => {
    const own = found.metrics[metric].pairs.find(({ i, j }) => (i === first && j === second) || (i === second && j === first));
    if (own.i === first) return own;
    return { ...own, i: first, j: second, difference: -own.difference, low: -own.high, high: -own.low };
  };

  // Columns

  const heading = (title, sort = "number", more = {}, ...children) =>
    element("th", { scope: "col", "data-sort": sort, class: sort === "number" ? "number" : null, ...more }, title, ...children);
  const number = (text, value = null) => element("td", { class: "number", "data-v": value }, text);
  const named = (look, value, ...nodes) => element("th", { scope: "row", class: look, "data-v": value }, ...nodes);

  const difference = (key = "difference") => [heading(tr(key)), (row) => number(signed(row.difference), row.difference)];
  const sides = (value) => ["A", "B"].map((letter, side) => [heading(letter), (row) => number(value(row, side).toFixed(4))]);

  const spread = (axis, { low, high }, middle, text, value) => element("td", { class: "strong spread", "data-v": value },
    pfgen.whisker(axis, low, middle, high), " ", element("small", {}, text));

  /** Differences on an axis, and their intervals. */
  const size = (rows, more = {}) => {
    const axis = pfgen.axisAround(rows.flatMap((row) => [row.difference, row.low, row.high]).filter((value) => value !== null));
    const bounds = ({ low, high }) => (low === null ? "–" : `${signed(low)} … ${signed(high)}`);
    return [heading(tr("size"), "number", { class: "spread", ...more }, pfgen.scale(axis)),
      (row) => spread(axis, row, row.difference, bounds(row), Math.abs(row.difference))];
  };

  const tests = (view) => {
    const head = (key) => heading(tr(key), "number", { "data-first": "rising" });
    const look = ({ holm }) => (isSure(view, holm) ? "number better" : "number");
    return [[head("p"), (row) => number(uncorrected(view, row), row.p)],
      [head("p_holm"), (row) => element("td", { class: look(row), "data-v": row.holm }, corrected(view, row))]];
  };

  const tableOf = (label, columns, rows, notes, look = () => null) => {
    const caption = element("div", { class: "caption" }, tr(label), ...notes.flatMap((more) => [element("br"), more]));
    const lines = rows.map((row) => element("tr", { class: look(row) }, ...columns.map(([, cell]) => cell(row))));
    const table = pfgen.table({ class: "rows sortable" }, caption, columns.map(([head]) => head), lines);
    pfgen.sortable(table);
    const about = { class: "scroll", tabindex: "0", role: "region", "aria-label": pfgen.t(label), "data-t-aria-label": label };
    return element("div", about, table);
  };

  // Tables

  const runName = (view, place) => {
    const { name: shown, page } = view.data.runs[view.chosen[place]];
    return page ? element("a", { href: pfgen.root + page }, pfgen.shown(shown)) : pfgen.shown(shown);
  };

  const letterOf = (view, place) => ["A", "B"].filter((_, side) => view.pair[side] === place)
    .flatMap((letter) => [element("b", { class: "letter" }, letter), " "]);

  /** Places in the choice, the highest value of a metric first. */
  const ordered = ({ found, chosen }, metric) => [...chosen.keys()].sort((i, j) =>
    found.metrics[metric].estimates[j].mean - found.metrics[metric].estimates[i].mean);

  /** The chosen runs with their scores, and the ranks that remain possible among them. */
  pfgen.chosenTable = (view) => {
    const { data, chosen, found: { metrics: { average, ...others } } } = view;
    const { estimates, ranks } = average;
    const axis = pfgen.axisOf(estimates.flatMap(({ low, high }) => [low, high]));
    const range = (place) => number(ranks[place] === null ? "–" : [...new Set(ranks[place])].join("–"), ranks[place]?.[0] ?? "");
    const interval = (own) => spread(axis, own, own.mean, `${own.low.toFixed(3)}–${own.high.toFixed(3)}`, own.mean);
    return tableOf("chosen_runs", [
      [heading(tr("rank_range_here"), "number", { "data-first": "rising" }), range],
      [heading(tr("run"), "text"), (place) => named("long", name(view, place), ...letterOf(view, place), runName(view, place))],
      [heading(tr("score")), (place) => number(element("b", {}, estimates[place].mean.toFixed(4)), estimates[place].mean)],
      [heading(tr("interval95"), "number", { class: "spread" }, pfgen.scale(axis)), (place) => interval(estimates[place])],
      ...Object.entries(others).map(([metric, own]) => [heading(tr(metric)), (place) => number(own.estimates[place].mean.toFixed(3))]),
    ], ordered(view, "average"), [tr("about_rank_range_here")], (place) => (data.runs[chosen[place]].system ? "system" : null));
  };

  /** Every two of the chosen runs in the metric of the view; `choose` is called with the places of those to show in detail. */
  pfgen.pairsTable = (view, choose) => {
    const { metric, pair } = view;
    const order = ordered(view, metric);
    const rows = pfgen.pairsOf(order.length).map(([i, j]) => between(view, metric, order[i], order[j]));
    const isOpen = ({ i, j }) => pair.includes(i) && pair.includes(j);
    const run = (place) =>
      element("td", { class: "long", "data-v": name(view, place) }, ...letterOf(view, place), pfgen.shown(name(view, place)));
    const opener = (row) => element("button", {
      type: "button", class: "link", "aria-pressed": String(isOpen(row)), onclick: () => choose([row.i, row.j]),
    }, tr("in_detail"));
    return tableOf("all_pairs", [
      [heading(tr("higher_run"), "text"), ({ i }) => run(i)],
      [heading(tr("lower_run"), "text"), ({ j }) => run(j)],
      difference("difference_plain"), size(rows), ...tests(view),
      [element("th", { scope: "col" }, tr("in_detail")), (row) => element("td", {}, opener(row))],
    ], rows, [metricIs(metric), tr("about_pairs"), ...resolution(view)], (row) => (isOpen(row) ? "open" : null));
  };

  /** What the difference of A and B in the score says, and what is left of it once all pairs are thought of. */
  const verdict = (view) => {
    const own = between(view, "average", ...view.pair);
    const key = !isSure(view, own.p) ? "alike" : own.difference > 0 ? "more" : "less";
    const shown = key === "alike" ? signed(own.difference) : Math.abs(own.difference).toFixed(4);
    const [a, b] = view.pair.map((place) => name(view, place));
    const level = Number((100 * view.data.level).toPrecision(6));
    const values = { a, b, level, difference: shown, low: signed(own.low), high: signed(own.high), p: equal(uncorrected(view, own)) };
    const after = isSure(view, own.holm) ? "stands" : isSure(view, own.p) ? "falls" : "falls_too";
    return element("p", { class: "verdict", role: "status" }, tr(key, values),
      ...(own.family < 2 ? [] : [" ", tr(after, { n: own.family, p: equal(corrected(view, own)) })]));
  };

  const metricsTable = (view) => {
    const rows = view.data.metrics.map((metric) => ({ metric, ...between(view, metric, ...view.pair) }));
    return tableOf("by_metric", [
      [heading(tr("metric"), "text"), ({ metric }) => named(null, null, tr(metricKey(metric)))],
      ...sides(({ metric }, side) => view.found.metrics[metric].estimates[view.pair[side]].mean), difference(), size(rows), ...tests(view),
      [heading(tr("detectable")), ({ detectable }) => number(detectable.toFixed(4))],
    ], rows, resolution(view));
  };

  /** Differences by question: with Welch's intervals for the score, without for other metrics. */
  const questionsTable = (view, lead) => {
    const { data, found, metric, pair } = view;
    const rows = pfgen.byQuestion(data, found, metric, ...pair).map((row) => ({ ...data.questions[row.question], ...row }));
    rows.sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference));
    const opener = ({ question, text }) =>
      element("button", { type: "button", class: "link", onclick: () => lead(question) }, pfgen.shown(text, "ja"));
    return tableOf("by_question", [
      [heading(tr("id"), "text"), (row) => element("td", {}, pfgen.shown(row.name))],
      [heading(tr("question"), "text"), (row) => named("long", row.text, opener(row))],
      [heading(tr("category"), "text"), ({ category }) => element("td", { class: "words" }, pfgen.known("category", category))],
      ...sides(({ a, b }, side) => [a, b][side]), difference(), size(rows, { "aria-sort": "descending" }),
    ], rows, [metricIs(metric), tr(metric === "average" ? "about_by_question" : "about_by_question_metric")]);
  };

  const categoriesTable = (view) => {
    const { data, found, metric, pair } = view;
    const rows = pfgen.byCategory(data, found, metric, ...pair);
    return rows.length === 0 ? [] : [tableOf("by_category", [
      [heading(tr("category"), "text"), (row) => named(null, null, pfgen.known("category", row.name))],
      [heading(tr("questions")), (row) => number(row.questions)], difference(), size(rows),
    ], rows, [metricIs(metric), tr("about_by_category")])];
  };

  /** Two runs in detail; `lead` is called with the place of a question whose answers are to be shown. */
  pfgen.pairDetail = (view, lead) => [verdict(view), metricsTable(view), questionsTable(view, lead), ...categoriesTable(view)];
})();
