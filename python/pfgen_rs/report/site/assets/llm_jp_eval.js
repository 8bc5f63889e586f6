// Samples of tasks with the predictions of runs: filtered and ordered by an index, with texts loaded on demand.
(() => {
  const { element, drawn, tr, block } = pfgen;
  const { index: indexName, chunks } = pfgen.data("samples");
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const pager = document.getElementById("pager");
  const plots = document.getElementById("distributions");
  const onPage = 20;
  const unit = 10000;
  const bins = 10;
  const scale = 5; // of jsts
  let index = null;
  let rows = []; // that match, in the order of the list
  let page = 0;
  let hits = null; // { query, rows }: what the search found

  const plain = (text) => text.normalize("NFKC").toLowerCase();
  const words = () => plain(form.elements.text.value).split(/\s+/).filter(Boolean);
  const first = () => Number(form.elements.a.value);
  const second = () => (form.elements.b.value === "" ? null : Number(form.elements.b.value));
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

  const orders = {
    difference: (a, b) => (a === null || b === null ? -1 : Math.abs(a - b)),
    file: () => 0,
    lowest: (a) => (a === null ? -2 * unit : -a),
    highest: (a) => (a === null ? -1 : a),
  };

  // Texts

  const chunkOf = (row) => pfgen.chunkOf(index.starts, row);
  const chunk = pfgen.chunkLoader(chunks);

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

  const folded = (summary, make) => {
    const details = element("details", {}, element("summary", {}, summary));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(make());
    });
    return details;
  };

  const card = (row, places, texts) => {
    const text = (place) => (place < 0 ? null : texts[place]);
    const [input, gold, ...predictions] = places.map(text);
    const has = (run) => predictions[run] !== null;
    const front = [first(), second()].filter((run, i, all) => run !== null && all.indexOf(run) === i && has(run));
    const others = index.runs.map((_, run) => run).filter((run) => !front.includes(run) && has(run));
    return element("article", { class: "card sample", "data-row": row },
      element("h3", {}, `${index.tasks[index.task[row]]} ${index.number[row]}`,
        ...[index.metrics[index.task[row]]].filter(Boolean).map((metric) => element("span", { class: "chip" }, metric))),
      ...(input === null ? [] : [block(input, "text asked")]),
      element("div", { class: "beside" },
        element("section", { class: "side gold" }, element("h4", {}, tr("gold")), block(gold)),
        ...front.map((run) => side(row, run, predictions[run]))),
      ...(others.length === 0 ? [] : [folded(tr("other_runs", { n: others.length }), () =>
        element("div", { class: "beside" }, ...others.map((run) => side(row, run, predictions[run]))))]));
  };

  // The list

  const turn = (step, label, pages) => element("button", {
    type: "button",
    disabled: page + step < 0 || page + step >= pages,
    onclick: () => {
      page += step;
      show();
      document.getElementById("samples").scrollIntoView();
      pager.querySelector("button:enabled")?.focus({ preventScroll: true });
    },
  }, tr(label));

  let wanted = 0;

  const show = async () => {
    const own = (wanted += 1);
    const pages = Math.max(Math.ceil(rows.length / onPage), 1);
    page = Math.min(page, pages - 1);
    pager.replaceChildren(turn(-1, "previous", pages), tr("page_of", { page: page + 1, pages }), turn(1, "next", pages));
    pager.hidden = pages === 1;
    const shown = rows.slice(page * onPage, (page + 1) * onPage);
    list.setAttribute("aria-busy", "true");
    try {
      const loaded = await Promise.all(shown.map((row) => chunk(chunkOf(row))));
      if (own !== wanted) return; // something else was asked for meanwhile
      const cards = shown.map((row, i) => card(row, loaded[i].samples[row - index.starts[chunkOf(row)]], loaded[i].texts));
      list.replaceChildren(...(cards.length ? cards : [element("p", { class: "quiet" }, tr("no_samples"))]));
    } catch (error) {
      list.replaceChildren(element("p", { class: "problem", role: "alert" }, tr("not_loaded")));
      if (!/\.js$/.test(error.message)) throw error; // a fault, not a missing file
    } finally {
      if (own === wanted) list.removeAttribute("aria-busy");
    }
  };

  const tell = () => {
    const all = index.task.length;
    const n = rows.length;
    found.replaceChildren(tr(n === all ? "samples_found" : "samples_found_of", { n, all }));
    pfgen.say(found.textContent);
  };

  let search = 0;

  /** Rows whose texts have all words, or `null` if another search has begun. */
  const searchTexts = async (searched) => {
    const own = (search += 1);
    const result = new Set();
    for (let number = 0; number < chunks.length; number += 1) {
      if (chunks.length > 4) found.replaceChildren(tr("searching", { n: number, all: chunks.length }));
      const loaded = await chunk(number);
      if (own !== search) return null;
      const texts = loaded.texts.map(plain);
      loaded.samples.forEach((places, i) => {
        const own_texts = places.filter((place) => place >= 0).map((place) => texts[place]);
        if (searched.every((word) => own_texts.some((text) => text.includes(word)))) result.add(index.starts[number] + i);
      });
    }
    return result;
  };

  const filter = () => {
    const [a, b] = [first(), second()];
    const { show: kind, task, order } = form.elements;
    const values = (row) => [value(a, row), b === null ? null : value(b, row)];
    rows = index.task.map((_, row) => row).filter((row) =>
      (task.value === "" || index.task[row] === Number(task.value))
      && kinds[kind.value](...values(row))
      && (hits === null || hits.rows.has(row)));
    if (order.value !== "file") {
      const key = new Map(rows.map((row) => [row, orders[order.value](...values(row))]));
      rows.sort((i, j) => key.get(j) - key.get(i) || i - j);
    }
    tell();
  };

  const again = async () => {
    const searched = words();
    const query = searched.join(" ");
    if (!query) {
      search += 1; // ends one that is going on
      hits = null;
    } else if (hits?.query !== query) {
      let result;
      try {
        result = await searchTexts(searched);
      } catch {
        list.replaceChildren(element("p", { class: "problem", role: "alert" }, tr("not_loaded")));
        return;
      }
      if (result === null) return;
      hits = { query, rows: result };
    }
    page = 0;
    filter();
    await show();
  };

  // Distributions

  const counts = (run, task) => {
    const found_in = new Array(bins).fill(0);
    index.values[run].forEach((own, row) => {
      if (own !== null && index.task[row] === task) found_in[Math.min(Math.floor(own * bins / unit), bins - 1)] += 1;
    });
    return found_in;
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
    const chosen = [first(), second()].filter((run, i, all) => run !== null && all.indexOf(run) === i);
    const sides = chosen.map((run, i) => {
      const own = counts(run, task);
      const n = own.reduce((sum, each) => sum + each, 0);
      return { look: "ab"[i], n, full: own.at(-1), none: own[0], shares: own.map((each) => each / Math.max(n, 1)) };
    }).filter(({ n }) => n);
    if (!sides.length) return [];
    return [element("figure", {}, histogram(sides), element("figcaption", {},
      element("b", {}, index.tasks[task]), " ", index.metrics[task] === "pearson" ? tr("closeness") : index.metrics[task],
      ...sides.flatMap((each, i) => [element("br"), element("span", { class: `key ${each.look}` }, `${chosen[i] + 1}`), " ",
        tr("lowest_and_highest", { none: each.none, full: each.full, n: each.n })])))];
  };

  const showDistributions = () => plots.replaceChildren(...index.tasks.flatMap((_, task) => distribution(task)));

  // Choices

  const changed = (event) => {
    const { b, show: kind } = form.elements;
    for (const name of ["differ", "better", "worse"]) kind.querySelector(`[value=${name}]`).disabled = b.value === "";
    if (kind.selectedOptions[0]?.disabled) kind.value = "all";
    if (event === undefined || ["a", "b"].includes(event.target?.name)) showDistributions();
    return again();
  };

  const begin = (loaded) => {
    index = loaded;
    form.elements.task.append(...index.tasks.map((name, i) => element("option", { value: i }, name)));
    if (index.runs.length > 1) form.elements.b.options[2].defaultSelected = true;
    form.reset();
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => event.target.name === "text" || changed(event));
    form.elements.text.addEventListener("input", pfgen.later(again));
    form.addEventListener("reset", () => setTimeout(changed)); // it empties its fields after this event
    changed();
  };

  pfgen.loadInto(list, indexName, begin);
})();
