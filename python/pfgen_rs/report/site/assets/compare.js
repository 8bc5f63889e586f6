// Two of the compared runs: figures, differences by question and category, answers side by side.
(() => {
  const { element, tr } = pfgen;
  const { reading, comparison } = pfgen.data("compare");
  const pairForm = document.getElementById("pair-choice");
  const sideForm = document.getElementById("side-choice");
  const result = document.getElementById("pair-result");
  const answers = document.getElementById("answers");
  const note = document.getElementById("pair-note");
  const unit = 100000;
  let data = null;

  const signed = (value, digits = 4) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
  const small = (p) => (p < 0.0001 ? "< 0.0001" : p.toFixed(4));

  /** A p-value after its sign, for sentences. */
  const equal = (text) => (/^[<≤]/.test(text) ? text : `= ${text}`);
  const number = (text, value = null) => element("td", { class: "number", "data-v": value }, text);
  const heading = (key, sort = "number", more = {}, ...children) =>
    element("th", { scope: "col", "data-sort": sort, class: sort === "number" ? "number" : "", ...more }, tr(key), ...children);

  const letter = (name, more = {}) => element("th", { scope: "col", class: "number", ...more }, name);

  const a = () => Number(pairForm.elements.a.value);
  const b = () => Number(pairForm.elements.b.value);
  const metricName = (metric) => (metric === "average" ? "score" : metric);

  /** Where the pair of two runs, the first before the second, stands among all. */
  const place = (i, j) => i * data.runs.length - (i * (i + 1)) / 2 + (j - i - 1);

  /** Difference and bounds with the sign that they have for A minus B. */
  const turned = ([difference, low, high]) =>
    a() < b() ? [difference, low, high] : [-difference, high === null ? null : -high, low === null ? null : -low];

  const pair = (metric) => {
    const row = data.pairs[metric][place(Math.min(a(), b()), Math.max(a(), b()))];
    return { bounds: turned(row), p: row[3], detectable: row[4], holm: row[5], family: row[6] };
  };

  /** A corrected p-value; one that rests on the smallest p that permutations resolve is a bound. */
  const corrected = ({ p, holm }) =>
    (p <= data.smallest_p && holm >= 0.0001 && holm < 1 ? `≤ ${holm.toFixed(4)}` : small(holm));

  const isSure = (p) => p <= 1 - data.level + 1e-9;

  /** Rows of a table by question or category: [difference, low, high]. */
  const rows = (table, metric) => {
    const columns = table[metric][place(Math.min(a(), b()), Math.max(a(), b()))];
    return columns[0].map((_, i) => turned(columns.map((column) => (column[i] === null ? null : column[i] / unit))));
  };

  const known = (all) => all.flat().filter((value) => value !== null);

  const interval = (axis, [difference, low, high]) => element("td", { class: "strong spread", "data-v": Math.abs(difference) },
    pfgen.whisker(axis, low, difference, high), " ",
    element("small", {}, low === null ? "–" : `${signed(low, 3)} … ${signed(high, 3)}`));

  const verdict = () => {
    const found = pair("average");
    const [difference, low, high] = found.bounds;
    const key = !isSure(found.p) ? "alike" : difference > 0 ? "more" : "less";
    const size = key === "alike" ? signed(difference) : Math.abs(difference).toFixed(4);
    const names = { a: pfgen.plain(data.runs[a()].name), b: pfgen.plain(data.runs[b()].name) };
    const values = { level: 100 * data.level, difference: size, low: signed(low), high: signed(high), p: equal(small(found.p)) };
    return element("p", { class: "verdict", role: "status" }, tr(key, { ...names, ...values }), ...afterCorrection(found));
  };

  /** What is left of a verdict once all pairs are thought of. */
  const afterCorrection = (found) => {
    if (found.family < 2) return [];
    const key = isSure(found.holm) ? "stands" : isSure(found.p) ? "falls" : "falls_too";
    return [" ", tr(key, { n: found.family, p: equal(corrected(found)) })];
  };

  const tableOf = (label, headings, body, { sortable = false, about = null } = {}) => {
    const caption = element("caption", {}, tr(label), ...(about === null ? [] : [element("br"), tr(about)]));
    const table = element("table", { class: sortable ? "rows sortable" : "rows" }, caption,
      element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...body));
    if (sortable) pfgen.sortable(table);
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": pfgen.t(label), "data-t-aria-label": label }, table);
  };

  const metricsTable = () => {
    const found = data.metrics.map((metric) => ({ metric, ...pair(metric) }));
    const axis = pfgen.axisAround(known(found.map(({ bounds }) => bounds)));
    const body = found.map(({ metric, bounds, p, holm, detectable }) => element("tr", {},
      element("th", { scope: "row" }, tr(metricName(metric))),
      ...[a(), b()].map((run) => number(data.estimates[metric][run].toFixed(4))),
      number(signed(bounds[0])), interval(axis, bounds),
      number(small(p)), element("td", { class: isSure(holm) ? "number better" : "number" }, corrected({ p, holm })), number(detectable.toFixed(4))));
    const plain = (key) => element("th", { scope: "col", class: "number" }, tr(key));
    return tableOf("pair", [element("th", { scope: "col" }, tr("metric")), letter("A"), letter("B"), plain("difference"),
      element("th", { scope: "col", class: "spread" }, tr("size"), pfgen.scale(axis)), ...["p", "p_holm", "detectable"].map(plain)], body);
  };

  const lead = (i) => {
    sideForm.elements.question.value = i;
    side();
    document.getElementById("side").scrollIntoView();
    sideForm.elements.question.focus({ preventScroll: true });
  };

  const questionsTable = () => {
    const found = rows(data.by_question, "average");
    const axis = pfgen.axisAround(known(found));
    const order = [...found.keys()].sort((i, j) => Math.abs(found[j][0]) - Math.abs(found[i][0]));
    const body = order.map((i) => element("tr", {},
      element("td", {}, pfgen.shown(data.questions[i].name)),
      element("th", { scope: "row", class: "long", "data-v": data.questions[i].text },
        element("button", { type: "button", class: "link", onclick: () => lead(i) }, pfgen.shown(data.questions[i].text))),
      element("td", {}, pfgen.known("category", data.questions[i].category)),
      ...[a(), b()].map((run) => number((data.means.average[run][i] / unit).toFixed(4))),
      number(signed(found[i][0]), found[i][0]), interval(axis, found[i])));
    return tableOf("by_question", [heading("id", "text"), heading("question", "text"), heading("category", "text"),
      letter("A", { "data-sort": "number" }), letter("B", { "data-sort": "number" }),
      heading("difference"), heading("size", "number", { class: "spread", "aria-sort": "descending" }, pfgen.scale(axis))], body,
    { sortable: true, about: "about_by_question" });
  };

  const categoriesTable = () => {
    const found = rows(data.by_category, "average");
    const axis = pfgen.axisAround(known(found));
    const body = found.map((bounds, i) => element("tr", {}, element("th", { scope: "row" }, pfgen.known("category", data.categories[i])),
      number(signed(bounds[0]), bounds[0]), interval(axis, bounds)));
    return tableOf("by_category", [heading("category", "text"), heading("difference"),
      heading("size", "number", { class: "spread" }, pfgen.scale(axis))], body, { sortable: true });
  };

  const show = () => {
    history.replaceState(null, "", `#${data.runs[a()].slug}+${data.runs[b()].slug}`);
    result.replaceChildren(verdict(), metricsTable(), questionsTable(),
      ...(data.categories.length ? [categoriesTable()] : []));
    side();
  };

  /** Row of the answer to show: at a quantile, or at a rank. */
  const row = (found) => {
    const { which, rank } = sideForm.elements;
    if (which.value !== "rank") return found.quantiles[Number(which.value)];
    return Math.min(Math.max(Number(rank.value) || 1, 1), found.texts.length) - 1;
  };

  const card = (run, letter, answer, table, differs) => element("article", { class: "card answer" },
    element("h3", {}, element("b", {}, letter), " ", pfgen.shown(data.runs[run].name)),
    element("p", {}, element("b", { class: "average" }, answer.average.toFixed(5)), " ",
      tr("rank_of", { rank: answer.rank, total: answer.total })),
    pfgen.answerText(answer, table, reading, { classes: (i) => (differs.has(i) ? "differs" : "") }),
    ...pfgen.answerFigures(answer, reading),
    pfgen.answerRules(answer));

  const legend = (differing) => document.getElementById("legend").replaceChildren(
    differing ? element("p", { class: "quiet" }, tr("about_difference")) : pfgen.legend());

  let wanted = 0;

  const side = async () => {
    const question = data.questions[Number(sideForm.elements.question.value)];
    const own = (wanted += 1);
    document.getElementById("asked").replaceChildren(pfgen.shown(question.text)); // printed, where choices are not
    const values = await pfgen.loadEach(answers, [question.windows, question.answers[a()], question.answers[b()]]);
    if (!values || own !== wanted) return; // something else was asked for meanwhile
    const [windows, first, second] = values;
    const table = pfgen.windowTable(windows);
    const both = [pfgen.answer(first, row(first)), pfgen.answer(second, row(second))];
    const differing = sideForm.elements.marks.value === "difference";
    const differs = differing ? pfgen.differences(both[0].characters, both[1].characters) : [new Set(), new Set()];
    legend(differing);
    answers.replaceChildren(element("div", { class: differing ? "beside differing" : "beside" },
      card(a(), "A", both[0], table, differs[0]), card(b(), "B", both[1], table, differs[1])));
  };

  const options = (values, text) => values.map((value, i) => element("option", { value: i }, pfgen.plain(text(value))));

  /** The two best runs, systems only where there are no others. */
  const best = () => [...data.runs.keys()].sort((i, j) =>
    data.runs[i].system - data.runs[j].system || data.estimates.average[j] - data.estimates.average[i]).slice(0, 2);

  /** The two runs of the address, if it names two. */
  const addressed = (address) => {
    const found = address.replace(/^runs=/, "").split("+").map((slug) => data.runs.findIndex((run) => run.slug === slug));
    return found.length === 2 && !found.includes(-1) && found[0] !== found[1] ? found : null;
  };

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a stray per cent sign
    }
  };

  /** Say what was done to a choice that cannot be, or nothing. */
  const remark = (key = null, values = {}) => {
    note.hidden = key === null;
    note.replaceChildren(...(key === null ? [] : [tr(key, values)]));
  };

  const choose = () => {
    const address = decoded(location.hash.slice(1));
    const found = addressed(address);
    if (address && !found && !document.getElementById(address)) remark("bad_address", { names: address.slice(0, 200) });
    else remark();
    [pairForm.elements.a.value, pairForm.elements.b.value] = found ?? best();
    show();
  };

  /** A run is not compared with itself: the other choice makes way. */
  const changed = (event) => {
    remark();
    if (a() === b()) {
      const other = event.target.name === "a" ? "b" : "a";
      const free = best().find((run) => run !== a());
      pairForm.elements[other].value = free;
      remark("not_itself", { letter: other.toUpperCase(), name: data.runs[free].name });
    }
    show();
  };

  const swap = () => {
    const { a: first, b: second } = pairForm.elements;
    remark();
    [first.value, second.value] = [second.value, first.value];
    show();
  };

  const begin = (value) => {
    data = value;
    for (const name of ["a", "b"]) pairForm.elements[name].append(...options(data.runs, (run) => run.name));
    sideForm.elements.question.append(...options(data.questions, (question) => `${question.name} ${question.text}`));
    pairForm.addEventListener("change", changed);
    document.getElementById("swap").addEventListener("click", swap);
    sideForm.addEventListener("change", side);
    sideForm.elements.rank.addEventListener("input", () => {
      sideForm.elements.which.value = "rank";
      side();
    });
    for (const form of [pairForm, sideForm]) form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", choose);
    choose();
  };

  pfgen.loadInto(result, comparison, begin);
})();
