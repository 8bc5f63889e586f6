// Tables of a comparison: the chosen runs, all pairs of them, and two of them in detail.
// Their functions take a view: { data, chosen (numbers of runs), found (what `pfgen.compared` gave), metric, pair (places of A and
// B in the choice) }.
(() => {
  const { element, tr } = pfgen;

  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;

  /** A p-value, as a bound where it is no more than what random signs resolve (`smallest`), as `shown_p` in Python has it. */
  const shownP = (p, smallest) => (p < 0.0001 ? "< 0.0001" : `${p <= Math.min(smallest * (1 + 1e-9), 0.5) ? "≤ " : ""}${p.toFixed(4)}`);

  /** A p-value after its sign, for sentences: in one line. */
  const equal = (text) => (/^[<≤]/.test(text) ? text : `= ${text}`).replace(" ", "\u00a0");
  const number = (text, value = null) => element("td", { class: "number", "data-v": value }, text);
  const heading = (key, sort = "number", more = {}, ...children) =>
    element("th", { scope: "col", "data-sort": sort, class: sort === "number" ? "number" : "", ...more }, tr(key), ...children);
  const letterHeading = (letter) => element("th", { scope: "col", class: "number", "data-sort": "number" }, letter);
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

  const boundsOf = (all) => all.flatMap(({ difference, low, high }) => [difference, low, high]).filter((value) => value !== null);

  const interval = (axis, { difference, low, high }) => element("td", { class: "strong spread", "data-v": Math.abs(difference) },
    pfgen.whisker(axis, low, difference, high), " ",
    element("small", {}, low === null ? "–" : `${signed(low)} … ${signed(high)}`));

  const tableOf = (label, headings, body, ...about) => {
    const caption = element("caption", {}, element("div", { class: "caption" }, tr(label), ...about.flatMap((more) => [element("br"), more])));
    const table = element("table", { class: "rows sortable" }, caption,
      element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...body));
    pfgen.sortable(table);
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": pfgen.t(label), "data-t-aria-label": label }, table);
  };

  const runName = (view, place) => {
    const { name: shown, page } = view.data.runs[view.chosen[place]];
    return page ? element("a", { href: pfgen.root + page }, pfgen.shown(shown)) : pfgen.shown(shown);
  };

  const letterOf = (view, place) => (view.pair.includes(place) ? [element("b", { class: "letter" }, "AB"[view.pair.indexOf(place)]), " "] : []);

  /** Places in the choice, the highest value of a metric first. */
  const ordered = ({ found, chosen }, metric) => [...chosen.keys()].sort((i, j) =>
    found.metrics[metric].estimates[j].mean - found.metrics[metric].estimates[i].mean);

  const rankCell = (range) => element("td", { class: "number", "data-v": range ? range[0] : "" },
    range === null ? "–" : range[0] === range[1] ? String(range[0]) : range.join("–"));

  /** The chosen runs with their scores, and the ranks that remain possible among them. */
  pfgen.chosenTable = (view) => {
    const { data, chosen, found } = view;
    const { estimates, ranks } = found.metrics.average;
    const axis = pfgen.axisOf(estimates.flatMap(({ low, high }) => [low, high]));
    const others = data.metrics.filter((metric) => metric !== "average");
    const body = ordered(view, "average").map((place) => element("tr", { class: data.runs[chosen[place]].system ? "system" : "" },
      rankCell(ranks[place]),
      element("th", { scope: "row", class: "long", "data-v": name(view, place) }, ...letterOf(view, place), runName(view, place)),
      element("td", { class: "number", "data-v": estimates[place].mean }, element("b", {}, estimates[place].mean.toFixed(4))),
      element("td", { class: "strong spread", "data-v": estimates[place].mean },
        pfgen.whisker(axis, estimates[place].low, estimates[place].mean, estimates[place].high), " ",
        element("small", {}, `${estimates[place].low.toFixed(3)}–${estimates[place].high.toFixed(3)}`)),
      ...others.map((metric) => number(found.metrics[metric].estimates[place].mean.toFixed(3)))));
    return tableOf("chosen_runs", [heading("rank_range_here", "number", { "data-first": "rising" }), heading("run", "text"),
      heading("score"), heading("interval95", "number", { class: "spread" }, pfgen.scale(axis)),
      ...others.map((metric) => heading(metric))], body, tr("about_rank_range_here"));
  };

  /** Every two of the chosen runs in the metric of the view; `choose` is called with the places of those to show in detail. */
  pfgen.pairsTable = (view, choose) => {
    const { metric, pair } = view;
    const order = ordered(view, metric);
    const all = pfgen.pairsOf(order.length).map(([i, j]) => between(view, metric, order[i], order[j]));
    const axis = pfgen.axisAround(boundsOf(all));
    const cell = (place) => element("td", { class: "long", "data-v": name(view, place) }, ...letterOf(view, place), pfgen.shown(name(view, place)));
    const body = all.map((own) => {
      const isOpen = pair.includes(own.i) && pair.includes(own.j);
      return element("tr", { class: isOpen ? "open" : "" }, cell(own.i), cell(own.j), number(signed(own.difference), own.difference),
        interval(axis, own), number(uncorrected(view, own), own.p),
        element("td", { class: isSure(view, own.holm) ? "number better" : "number", "data-v": own.holm }, corrected(view, own)),
        element("td", {}, element("button", { type: "button", class: "link", "aria-pressed": String(isOpen), onclick: () => choose([own.i, own.j]) }, tr("in_detail"))));
    });
    return tableOf("all_pairs", [heading("higher_run", "text"), heading("lower_run", "text"), heading("difference_plain"),
      heading("size", "number", { class: "spread" }, pfgen.scale(axis)), heading("p", "number", { "data-first": "rising" }),
      heading("p_holm", "number", { "data-first": "rising" }), element("th", { scope: "col" }, tr("in_detail"))],
    body, metricIs(metric), tr("about_pairs"), ...resolution(view));
  };

  /** What the difference of A and B in the score says, and what is left of it once all pairs are thought of. */
  const verdict = (view) => {
    const own = between(view, "average", ...view.pair);
    const key = !isSure(view, own.p) ? "alike" : own.difference > 0 ? "more" : "less";
    const size = key === "alike" ? signed(own.difference) : Math.abs(own.difference).toFixed(4);
    const [a, b] = view.pair.map((place) => pfgen.plain(name(view, place)));
    const values = { a, b, level: Number((100 * view.data.level).toPrecision(6)), difference: size, low: signed(own.low), high: signed(own.high), p: equal(uncorrected(view, own)) };
    const after = isSure(view, own.holm) ? "stands" : isSure(view, own.p) ? "falls" : "falls_too";
    return element("p", { class: "verdict", role: "status" }, tr(key, values),
      ...(own.family < 2 ? [] : [" ", tr(after, { n: own.family, p: equal(corrected(view, own)) })]));
  };

  const metricsTable = (view) => {
    const found = view.data.metrics.map((metric) => ({ metric, ...between(view, metric, ...view.pair) }));
    const axis = pfgen.axisAround(boundsOf(found));
    const body = found.map((own) => element("tr", {},
      element("th", { scope: "row" }, tr(metricKey(own.metric))),
      ...view.pair.map((place) => number(view.found.metrics[own.metric].estimates[place].mean.toFixed(4))),
      number(signed(own.difference), own.difference), interval(axis, own), number(uncorrected(view, own), own.p),
      element("td", { class: isSure(view, own.holm) ? "number better" : "number", "data-v": own.holm }, corrected(view, own)),
      number(own.detectable.toFixed(4))));
    return tableOf("by_metric", [heading("metric", "text"), letterHeading("A"), letterHeading("B"), heading("difference"),
      heading("size", "number", { class: "spread" }, pfgen.scale(axis)), heading("p", "number", { "data-first": "rising" }),
      heading("p_holm", "number", { "data-first": "rising" }), heading("detectable")], body, ...resolution(view));
  };

  /** Differences by question: with Welch's intervals for the score, without for other metrics. */
  const questionsTable = (view, lead) => {
    const { data, found, metric, pair: [a, b] } = view;
    const rows = pfgen.byQuestion(data, found, metric, a, b);
    const axis = pfgen.axisAround(boundsOf(rows));
    rows.sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference));
    const body = rows.map((row) => {
      const { name: id, text, category } = data.questions[row.question];
      return element("tr", {}, element("td", {}, pfgen.shown(id)),
        element("th", { scope: "row", class: "long", "data-v": text },
          element("button", { type: "button", class: "link", onclick: () => lead(row.question) }, pfgen.shown(text, "ja"))),
        element("td", { class: "words" }, pfgen.known("category", category)),
        number(row.a.toFixed(4)), number(row.b.toFixed(4)), number(signed(row.difference), row.difference), interval(axis, row));
    });
    return tableOf("by_question", [heading("id", "text"), heading("question", "text"), heading("category", "text"),
      letterHeading("A"), letterHeading("B"), heading("difference"),
      heading("size", "number", { class: "spread", "aria-sort": "descending" }, pfgen.scale(axis))], body,
    metricIs(metric), tr(metric === "average" ? "about_by_question" : "about_by_question_metric"));
  };

  const categoriesTable = (view) => {
    const { data, found, metric, pair: [a, b] } = view;
    const rows = pfgen.byCategory(data, found, metric, a, b);
    if (!rows.length) return [];
    const axis = pfgen.axisAround(boundsOf(rows));
    const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, pfgen.known("category", row.name)),
      number(row.questions), number(signed(row.difference), row.difference), interval(axis, row)));
    return [tableOf("by_category", [heading("category", "text"), heading("questions"), heading("difference"),
      heading("size", "number", { class: "spread" }, pfgen.scale(axis))], body, metricIs(metric), tr("about_by_category"))];
  };

  /** Two runs in detail; `lead` is called with the place of a question whose answers are to be shown. */
  pfgen.pairDetail = (view, lead) => [verdict(view), metricsTable(view), questionsTable(view, lead), ...categoriesTable(view)];
})();
