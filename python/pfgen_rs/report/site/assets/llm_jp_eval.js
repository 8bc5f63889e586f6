// Samples of tasks with the predictions of runs: filtered and ordered by an index, with texts loaded on demand.
(() => {
  const { element, drawn, tr, block } = pfgen;
  const { index: indexName, chunks } = pfgen.data("samples");
  const form = document.getElementById("filters");
  const { a, b, show: kind, task, order } = form.elements;
  const unit = 10000;
  const bins = 10;
  const scale = 5; // of jsts
  let index = null;

  const second = () => (b.value === "" ? null : Number(b.value));

  /** The chosen runs that `has` holds for. */
  const chosen = (has = () => true) => [...new Set([Number(a.value), second()])].filter((run) => run !== null && has(run));
  const value = (run, row) => index.values[run][row];
  const isCorrelated = (row) => index.metrics[index.task[row]] === "pearson";

  /** Samples to show, by name: whether a row is one, for values of the first and the other run. */
  const kinds = {
    all: () => true,
    wrong: (a) => a !== null && a < unit,
    right: (a) => a === unit,
    differ: (a, b) => a !== null && b !== null && a !== b,
    better: (a, b) => a !== null && b !== null && a > b,
    worse: (a, b) => a !== null && b !== null && a < b,
  };

  /** Orders by name: a number of the values, the lowest first. */
  const orders = {
    difference: (a, b) => (a === null || b === null ? 1 : -Math.abs(a - b)),
    file: () => 0,
    lowest: (a) => a ?? 2 * unit,
    highest: (a) => -(a ?? -1),
  };

  // A sample

  const told = (row, own) => {
    if (own === null) return tr("no_value");
    if (isCorrelated(row)) return tr("off_by", { value: (scale * (1 - own / unit)).toFixed(1) });
    return document.createTextNode((own / unit).toFixed(2));
  };

  const side = (row, run, text) => {
    const own = value(run, row);
    const look = own === unit ? "right" : own === 0 ? "wrong" : "partly";
    return element("section", { class: `side ${look}`, "data-run": run },
      element("h4", {}, `${run + 1}: `, pfgen.shown(index.runs[run]), element("small", {}, told(row, own))),
      block(text));
  };

  const card = (row, [input, gold, ...predictions]) => {
    const has = (run) => predictions[run] !== null;
    const front = chosen(has);
    const others = [...index.runs.keys()].filter((run) => !front.includes(run) && has(run));
    const beside = (...sides) => element("div", { class: "beside" }, ...sides);
    const sides = (runs) => runs.map((run) => side(row, run, predictions[run]));
    return element("article", { class: "card sample", "data-row": row },
      element("h3", {}, `${index.tasks[index.task[row]]} ${index.number[row]}`,
        ...[index.metrics[index.task[row]]].filter(Boolean).map((metric) => element("span", { class: "chip" }, metric))),
      ...(input === null ? [] : [block(input, "text asked")]),
      beside(element("section", { class: "side gold" }, element("h4", {}, tr("gold")), block(gold)), ...sides(front)),
      ...(others.length === 0 ? [] : [pfgen.folded(tr("other_runs", { n: others.length }), () => [beside(...sides(others))])]));
  };

  // The list

  const values = (row) => [Number(a.value), second()].map((run) => (run === null ? null : value(run, row)));

  const matching = (isFound) => [...index.task.keys()].filter((row) =>
    (task.value === "" || index.task[row] === Number(task.value)) && kinds[kind.value](...values(row)) && isFound(row));

  // Distributions

  const counts = (run, task) => {
    const values = index.values[run].filter((own, row) => own !== null && index.task[row] === task);
    const bin = (own) => Math.min(Math.floor(own * bins / unit), bins - 1);
    return Array.from({ length: bins }, (_, i) => values.filter((own) => bin(own) === i).length);
  };

  const histogram = (sides) => {
    const tallest = Math.max(...sides.flatMap(({ shares }) => shares), 0.001);
    const width = 100 / bins / sides.length;
    return drawn("svg", { class: "histogram", viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...sides.flatMap(({ look, shares }, i) => shares.map((share, bin) => drawn("rect", {
        class: look,
        x: bin * 100 / bins + i * width + 0.3,
        y: 40 - 38 * share / tallest,
        width: width - 0.6,
        height: 38 * share / tallest,
      }))));
  };

  const distribution = (task) => {
    const runs = chosen();
    const sides = runs.map((run, i) => {
      const own = counts(run, task);
      const n = own.reduce((sum, each) => sum + each, 0);
      return { look: "ab"[i], n, full: own.at(-1), none: own[0], shares: own.map((each) => each / Math.max(n, 1)) };
    }).filter(({ n }) => n);
    if (!sides.length) return [];
    return [element("figure", {}, histogram(sides), element("figcaption", {},
      element("b", {}, index.tasks[task]), " ", index.metrics[task] === "pearson" ? tr("closeness") : index.metrics[task],
      ...sides.flatMap((each, i) => [element("br"), element("span", { class: `key ${each.look}` }, `${runs[i] + 1}`), " ",
        tr("lowest_and_highest", { none: each.none, full: each.full, n: each.n })])))];
  };

  // Choices

  const changed = ({ target } = {}) => {
    for (const name of ["differ", "better", "worse"]) kind.querySelector(`[value=${name}]`).disabled = b.value === "";
    if (kind.selectedOptions[0]?.disabled) kind.value = "all";
    if ([undefined, a, b].includes(target)) {
      document.getElementById("distributions").replaceChildren(...[...index.tasks.keys()].flatMap(distribution));
    }
  };

  const begin = (loaded) => {
    index = loaded;
    task.append(...index.tasks.map((name, i) => element("option", { value: i }, name)));
    if (index.runs.length > 1) b.options[2].defaultSelected = true;
    pfgen.listing({
      kind: "samples",
      size: index.task.length,
      chunks,
      starts: index.starts,
      entry: ({ samples, texts }, place) => samples[place].map((text) => texts[text] ?? null),
      texts: (_, entry) => entry.filter((text) => text !== null),
      matching,
      key: () => (row) => orders[order.value](...values(row)),
      card,
      changed,
    }).again();
  };

  pfgen.loadInto(document.getElementById("list"), indexName, begin);
})();
