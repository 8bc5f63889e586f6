// Leaderboard: filters, the best run of each model, pages, and runs chosen for comparison, all in the address.
(() => {
  const { address, element, t, tr } = pfgen;
  const onPage = 50;
  const table = document.querySelector("table.leaderboard");
  const body = table.tBodies[0];
  const form = document.getElementById("filters");
  const output = document.getElementById("count");
  const pager = document.getElementById("pages");
  const box = document.getElementById("comparison");
  const comparison = pfgen.data("comparison");
  const plain = (text) => text.normalize("NFKC").toLowerCase();
  const bare = (text) => plain(text).replace(/[^\p{L}\p{N}]/gu, ""); // "GPT-4o" is found as "gpt4o"
  const choices = ["mode", "engine", "organisation"];

  const rows = table.sorting.rows.map((row) => ({
    row,
    data: row.dataset,
    name: row.querySelector(".model"),
    score: row.querySelector(".score").textContent,
    texts: [row.querySelector(".model").textContent, row.dataset.label, row.dataset.organisation].map(bare),
  }));
  const entries = new Map(rows.map((entry) => [entry.row, entry]));
  const runsOf = new Map(); // by model
  for (const entry of rows) runsOf.set(entry.data.model, [...(runsOf.get(entry.data.model) ?? []), entry]);
  let page = 1; // 0 for all
  const isStep = address.steps();

  /** Rows that match the filters: of each model the best unless all runs are asked for (rows come best first). */
  const matching = () => {
    const wanted = new FormData(form);
    const words = plain(wanted.get("text")).split(/\s+/).map(bare).filter(Boolean);
    const chosen = choices.filter((name) => wanted.get(name));
    const found = rows.filter(({ data, texts }) =>
      chosen.every((name) => data[name] === wanted.get(name)) && words.every((word) => texts.some((text) => text.includes(word))));
    if (wanted.get("runs")) return found;
    const models = new Set();
    return found.filter(({ data }) => !models.has(data.model) && models.add(data.model));
  };

  /** The other runs of a row's model, which it stands for. */
  const folded = ({ row, data, name }, isAll) => {
    name.querySelector(".folded")?.remove();
    const others = isAll ? [] : runsOf.get(data.model).filter((other) => other.row !== row);
    if (!others.length) return;
    const items = others.map((other) => {
      const link = other.name.querySelector("a")?.getAttribute("href");
      const text = [pfgen.shown(other.data.mode || "–"), ` ${other.score}`];
      return element("span", {}, ...(link ? [element("a", { href: link }, ...text)] : text));
    });
    name.append(element("small", { class: "folded" }, tr("folded"), " ", ...items.flatMap((item, i) => (i ? [" · ", item] : [item]))));
  };

  const count = () => {
    const isAll = Boolean(form.elements.runs.value);
    const counted = isAll ? rows : rows.filter(({ row }) => !row.classList.contains("system")); // which are no models
    const n = counted.filter(({ row }) => !row.hidden).length;
    const all = isAll ? rows.length : new Set(counted.map(({ data }) => data.model)).size;
    output.textContent = t(isAll ? "count" : "count_models", { n, all });
  };

  const between = ([low, high]) => (low === high ? String(low) : `${low}–${high}`);
  let tested = []; // entries of runs with the same questions
  let ranking = null; // of some of these, by their numbers
  let asked = new AbortController(); // for joint ranges

  /** Show the ranks of models, the best first, among themselves, and the ranges that tests leave open. */
  const rank = (models) => {
    models.forEach(({ row }, i) => {
      row.querySelector(".rank").textContent = String(i + 1);
    });
    if (!ranking) return;
    const shown = new Set(models);
    const numbers = [...tested.keys()].filter((i) => shown.has(tested[i]));
    const bar = ([low, high]) => `M${((60 * (low - 1)) / models.length).toFixed(1)} 4H${((60 * high) / models.length).toFixed(1)}`;
    const show = (name, place, ranges) => ranges.forEach((range, i) => {
      const cell = tested[numbers[i]].row.querySelector(".ranks");
      if (name === "own") cell.dataset.v = range[0];
      cell.querySelector(place).textContent = between(range);
      cell.querySelector(`.${name}`).setAttribute("d", bar(range));
    });
    show("own", "span", ranking.own(numbers));
    asked.abort();
    asked = new AbortController();
    ranking.joint(numbers, asked.signal).then((ranges) => show("joint", "small", ranges), () => {}); // or asked again
    table.sorting.refresh("rank_range");
  };

  /** Show the rows of the page; the others stay there for printing. */
  const turn = () => {
    const shown = [...body.rows].filter((row) => !row.hidden);
    const last = Math.max(Math.ceil(shown.length / onPage), 1);
    page = Math.min(page, last);
    const isAll = Boolean(form.elements.runs.value);
    shown.forEach((row, i) => {
      const isHere = page === 0 || (i >= (page - 1) * onPage && i < page * onPage);
      row.classList.toggle("beyond", !isHere);
      if (isHere) folded(entries.get(row), isAll);
    });
    const button = (key, target, isOff = false) => element("button", { type: "button", disabled: isOff, "data-page": target, onclick: () => open(target, key) }, tr(key));
    pager.hidden = last === 1;
    pager.replaceChildren(...(page === 0 ? [button("by_pages", 1)] : [
      button("previous", page - 1, page === 1), tr("page_of", { page, pages: last }), button("next", page + 1, page === last), button("all_pages", 0)]));
  };

  const open = (target, key) => {
    page = target;
    turn();
    remember(isStep(false));
    const again = pager.querySelector(`button:has([data-t="${key}"]):enabled`) ?? pager.querySelector("button:enabled");
    again?.focus({ preventScroll: true });
    if (table.getBoundingClientRect().top < 0) table.scrollIntoView();
  };

  const filter = () => {
    const kept = matching();
    for (const entry of rows) entry.row.hidden = true;
    for (const entry of kept) entry.row.hidden = false;
    rank(kept.filter(({ row }) => !row.classList.contains("system")));
    turn();
    count();
  };

  const changed = (isTyped) => {
    page = 1;
    filter();
    remember(isStep(isTyped));
  };

  // The text's own `change` comes when a click elsewhere leaves the field, and would take the clicked button away.
  form.addEventListener("change", ({ target }) => target === form.elements.text || changed(false));
  form.elements.text.addEventListener("input", pfgen.later(() => changed(true), 80));
  form.addEventListener("reset", () => {
    table.sorting.reset();
    setTimeout(changed, 0, false); // the form empties its fields after this event
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  table.addEventListener("sorted", () => {
    page = Math.min(page, 1);
    turn();
    remember(isStep(false));
  });

  const chosenRows = () => rows.filter(({ row }) => row.querySelector("input:checked"));

  const clear = () => {
    for (const { row } of chosenRows()) row.querySelector("input").checked = false;
    choose();
  };

  const fragment = (chosen) => `#runs=${chosen.map((row) => row.id).join("+")}`;

  const next = (chosen) => {
    const { page: target, most } = comparison;
    if (chosen.length < 2) return [element("p", {}, tr("compare_more"))];
    if (chosen.length > most) return [element("p", { class: "problem" }, tr("compare_too_many", { most, n: chosen.length - most }))];
    const href = `${pfgen.root}${target}${fragment(chosen)}`;
    return [element("p", {}, element("a", { href, class: "open" }, tr("compare_open")))];
  };

  /** A chosen run, which a click leaves out again. */
  const chip = ({ row, data }) => element("li", {},
    element("button", { type: "button", class: "chip", title: t("compare_drop"), "data-t-title": "compare_drop", onclick: () => {
      row.querySelector("input").checked = false;
      choose();
    } }, pfgen.shown(data.label), element("span", { "aria-hidden": "true" }, " ×")));

  const tray = () => {
    const chosen = chosenRows();
    address.lead("compare", chosen.length ? fragment(chosen.map(({ row }) => row)) : "");
    box.hidden = chosen.length === 0;
    const button = element("button", { type: "button", onclick: clear }, tr("compare_clear"));
    box.replaceChildren(element("ul", {}, ...chosen.map(chip)), ...next(chosen.map(({ row }) => row)), button);
  };

  const choose = () => {
    tray();
    remember(false);
  };

  /** The view as the address has it; `isNew`: a step from the one before. */
  const remember = (isNew) => {
    const fields = ["text", "runs", ...choices].map((name) => [name, form.elements[name].value.trim()]);
    address.set({
      ...Object.fromEntries(fields),
      sort: table.sorting.state(),
      page: page === 0 ? "all" : page > 1 ? String(page) : "",
      chosen: chosenRows().map(({ row }) => row.id).join(" "),
    }, { isStep: isNew });
  };

  const recall = () => {
    for (const name of ["text", "runs", ...choices]) {
      const field = form.elements[name];
      const value = address.get(name);
      if (name === "text" || [...field.options].some((option) => option.value === value)) field.value = value;
    }
    table.sorting.recall(address.get("sort"));
    page = address.get("page") === "all" ? 0 : Math.max(Math.trunc(Number(address.get("page"))) || 1, 1);
  };

  const recallChosen = () => {
    const ids = new Set(address.get("chosen").split(" "));
    for (const { row } of rows) {
      const input = row.querySelector("input");
      if (input) input.checked = ids.has(row.id);
    }
  };

  // Headings and rows are scrolled sideways together; headings alone stay in sight (leaderboard.css).
  const together = (from, to) => from.addEventListener("scroll", () => {
    if (to.scrollLeft !== from.scrollLeft) to.scrollLeft = from.scrollLeft;
  });
  together(body, table.tHead);
  together(table.tHead, body);

  body.addEventListener("change", choose);
  pfgen.onLanguage(count);
  addEventListener("popstate", () => {
    recall();
    filter();
    remember(false); // with the runs that are chosen now
  });
  recall();
  recallChosen();
  filter();
  tray();
  pfgen.load("means").then(({ level, means }) => {
    if (!means.some(Boolean)) return;
    tested = rows.filter((_, i) => means[i]);
    ranking = pfgen.ranking(means.filter(Boolean), level);
    filter();
  });
})();
