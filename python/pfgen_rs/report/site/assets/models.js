// The table of models: columns, filters, order, groups, ranks among what is shown. All of it is in the address.
(() => {
  const { address, element, t, tr } = pfgen;
  const form = document.getElementById("filters");
  const table = document.querySelector("table.models");
  const box = document.getElementById("board");
  const comparison = pfgen.data("comparison");
  const usual = ["score", "interval", "ranks", "fluency", "truthfulness", "helpfulness", "length", "trials", "mode", "parameters", "released"];
  const choices = ["best", "latest", "mean", "all"];

  /** A value as an address has it, and back: `null` for what is none. */
  const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const parsed = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  };
  const listed = (text) => (Array.isArray(parsed(text)) ? parsed(text).map(String) : null);

  const start = (board) => {
    const state = {}; // what the address has
    const isStep = address.steps();
    let base = {}; // rows of the choice, which filters then leave out
    let found = { rows: [], lines: [], tested: 0 };
    let places = new Map(); // row -> its rank, and its ranges once they are known
    let shown = []; // columns
    let testing = new AbortController();
    let tests = {};
    const [everyModel, everyRun] = ["best", "all"].map((choice) => board.rows(choice));
    const { fixed: [rank, name], run, views, parts, composite: weighed } = pfgen.tableColumns(board, (row) => places.get(row), () => found.tested);
    const byKey = new Map([rank, name, ...views].map((each) => [each.key, each]));
    const initial = [...usual, ...board.benchmarks.map(({ column }) => column)].filter((key, i, all) => byKey.has(key) && all.indexOf(key) === i);
    /** The column of weighted means, if there are weights. */
    const composite = () => (Object.keys(state.weights).length ? weighed(pfgen.weights.composite(board, state.weights)) : null);
    const columnOf = (key) => (key === "composite" ? composite() : byKey.get(key));
    const plainKey = (key) => key.replace(/^-/, "");
    const orders = () => (state.sort.length ? state.sort : ["rank"]);

    // What is shown, and in which order.
    const tested = ([key, filter]) => [key, pfgen.filters.test(board.column(key), filter)];
    const isOfRuns = ([key]) => board.column(key).of === "run" && board.column(key).kind !== "number";
    const passes = (filters) => (get) => filters.every(([key, test]) => test(get(key)));
    const basis = () => {
      const filters = Object.entries(state.filters).filter(isOfRuns);
      const key = JSON.stringify([state.choice, filters]);
      if (base.key !== key) base = { key, rows: board.rows(state.choice, passes(filters.map(tested))) };
      return base.rows;
    };
    const ordered = (rows) => {
      const by = state.sort.map((key) => ({ column: columnOf(plainKey(key)), sign: key.startsWith("-") ? -1 : 1 })).filter(({ column }) => column);
      if (!by.length) return rows;
      const keyed = rows.map((row) => ({ row, values: by.map(({ column }) => column.get(row)) }));
      return keyed.sort((a, b) => by.reduce((so, { sign }, i) => so || pfgen.order(a.values[i], b.values[i], sign), 0)).map(({ row }) => row);
    };
    const lined = (rows) => {
      if (!state.group) return rows.map((row) => ({ row }));
      const groups = Map.groupBy(rows, (row) => row.get(state.group));
      const last = groups.get(null);
      if (last) groups.delete(null) && groups.set(null, last);
      return [...groups].flatMap(([value, own]) => {
        const isClosed = state.closed.includes(String(value));
        return [{ value, isClosed, count: own.length }, ...(isClosed ? [] : own.map((row) => ({ row })))];
      });
    };
    const ranked = (rows) => rows.filter((row) => !row.system && row.get("score") !== null);
    const show = () => {
      const isFound = pfgen.filters.search(state.text);
      const passed = passes(Object.entries(state.filters).filter((each) => !isOfRuns(each)).map(tested));
      const all = basis().filter((row) => passed(row.get) && isFound([row.name, row.label, row.get("organisation") ?? ""]));
      const rows = state.brush ? all.filter(({ id }) => state.brush.includes(id)) : all;
      places = new Map(ranked(rows).map((row, i) => [row, { rank: i + 1 }]));
      found = { best: rows, tested: 0 };
      testing.abort();
      arrange();
      tell({ rows: found.rows, all });
      range(ranked(rows)).catch((reason) => reason.name === "AbortError" || Promise.reject(reason));
    };
    /** Drawings follow once changes have come to an end. */
    const tell = pfgen.later((detail) => document.dispatchEvent(new CustomEvent("shown", { detail })));
    const arrange = () => {
      found.rows = ordered(found.best);
      found.lines = lined(found.rows);
      head();
      draw();
      count();
    };

    // Ranges of ranks come after the table: they take longer.
    const range = async (rows) => {
      const { signal } = (testing = new AbortController());
      await new Promise((resolve) => setTimeout(resolve, 0));
      const isMean = state.choice === "mean";
      const source = isMean ? (base.means ??= base.rows.map((row) => row.means)) : board.means;
      if (signal.aborted || !source?.some(Boolean)) return;
      if (tests.source !== source) tests = { source, ranking: pfgen.ranking(source, board.level) };
      const ranking = await tests.ranking;
      if (signal.aborted) return;
      const numberOf = (row) => (isMean ? base.rows.indexOf(row) : row.used[0]);
      const among = rows.filter((row) => source[numberOf(row)]);
      const numbers = among.map(numberOf);
      const note = (name, values) => {
        if (signal.aborted) return;
        among.forEach((row, i) => Object.assign(places.get(row), { [name]: values[i] }));
        found.tested = among.length;
      };
      note("own", ranking.own(numbers));
      note("tier", ranking.tiers(numbers));
      arrange();
      note("joint", await ranking.joint(numbers, signal));
      if (!signal.aborted) draw();
    };

    // The table.
    const own = ["rank", "name", "ranks", "score"]; // columns that look their own way
    const look = ({ kind, key }) => (own.includes(key) ? `${kind} ${key}` : kind);
    let isShifted = false; // Firefox tells a key's shift to the key's event alone, not to the click that it makes
    for (const kind of ["keydown", "keyup"]) table.tHead.addEventListener(kind, (event) => (isShifted = event.shiftKey));
    const header = (column) => element("th", { scope: "col", class: look(column), "data-key": column.key },
      element("button", { type: "button", class: "sort", onclick: (event) => sort(column, event.detail ? event.shiftKey : isShifted) }, pfgen.shown(pfgen.named(column))),
      ...(column.scale ? [column.scale()] : column.key === "ranks" ? [element("small", {}, t("own_then_joint"))] : []));
    const head = () => {
      shown = [rank, name, columnOf("composite"), ...views.filter(({ key }) => state.columns.includes(key))].filter(Boolean);
      const looks = JSON.stringify([pfgen.language(), shown.map(({ key }) => key)]);
      if (table.dataset.looks !== looks) {
        table.dataset.looks = looks;
        const choose = element("th", { scope: "col", class: "choose" }, tr("compare_choose"));
        table.tHead.replaceChildren(element("tr", { "aria-rowindex": 1 }, choose, ...shown.map(header)));
      }
      const by = orders();
      for (const cell of table.tHead.querySelectorAll("[data-key]")) {
        const order = by.findIndex((key) => plainKey(key) === cell.dataset.key);
        const falls = by[order]?.startsWith("-");
        cell.removeAttribute("aria-sort");
        if (order === 0) cell.setAttribute("aria-sort", falls ? "descending" : "ascending");
        cell.firstChild.dataset.order = order < 0 ? "↕" : `${falls ? "▼" : "▲"}${by.length > 1 ? order + 1 : ""}`;
      }
    };
    const sort = (column, isMore) => {
      const first = column.kind === "date" || (column.kind !== "text" && column.better >= 0) ? `-${column.key}` : column.key;
      const now = orders();
      const place = now.findIndex((key) => plainKey(key) === column.key);
      const turned = now[place]?.startsWith("-") ? column.key : `-${column.key}`;
      if (!isMore) state.sort = [place < 0 || now.length > 1 ? first : turned];
      else if (place < 0) state.sort = [...now, first];
      else state.sort = now[place] === first ? now.with(place, turned) : now.toSpliced(place, 1);
      if (String(state.sort) === "rank") state.sort = [];
      changed(false);
      const said = orders().map((key) => t(key.startsWith("-") ? "falling" : "rising", { column: pfgen.named(columnOf(plainKey(key))) }));
      pfgen.say(t("sorted_by", { columns: said.join(", ") }));
    };

    const named = (row) => {
      const [, path, own] = /^(.*\/)?([^]*)$/s.exec(row.name);
      return element("a", { href: pfgen.root + row.page, title: pfgen.plain(row.name) }, ...(path ? [element("span", { class: "path" }, pfgen.shown(path))] : []), pfgen.shown(own));
    };
    /** Which of a model's runs a row is of, and the others. */
    const folded = (row) => {
      if (state.choice === "all") return [pfgen.shown(row.label)];
      if (state.choice === "mean") return row.used.length > 1 ? [tr("mean_of", { n: row.used.length })] : [];
      const others = row.runs.filter(({ id }) => id !== board.runs[row.used[0]].id);
      const items = others.map(({ page, mode, score }) => element(page ? "a" : "span", { href: page ? pfgen.root + page : null }, pfgen.shown(mode ?? "–"), ` ${score?.toFixed(4) ?? "–"}`));
      return others.length ? [tr("folded"), " ", ...items.flatMap((item, i) => (i ? [" · ", item] : [item]))] : [];
    };
    const chooser = (row) => {
      const run = board.runs[row.used[0]];
      if (!run?.page || !comparison.page) return [];
      return [element("input", { type: "checkbox", value: run.id, checked: tray.has(run.id), "aria-label": t("compare_run", { name: run.label }) })];
    };
    const nameOf = (row, others = folded(row)) => element("div", { class: others.length ? "two" : null }, named(row), element("small", {}, ...others));
    const rowOf = (row) => element("tr", { class: row.system ? "system" : null, "data-id": row.id },
      element("td", { class: "choose" }, ...chooser(row)),
      element("td", { class: "number rank" }, ...rank.draw(row)),
      element("th", { scope: "row", class: "name" }, nameOf(row)),
      ...shown.slice(2).map((column) => element("td", { class: look(column) }, ...column.draw(row))));
    const fold = (value) => {
      const key = String(value);
      state.closed = state.closed.includes(key) ? state.closed.filter((each) => each !== key) : [...state.closed, key];
      changed(false);
      [...table.querySelectorAll(".group button")].find((button) => button.dataset.value === key)?.focus();
    };
    const groupOf = ({ value, isClosed, count: number }) => element("tr", { class: "group" }, element("th", { scope: "rowgroup", colspan: shown.length + 1 },
      element("button", { type: "button", "aria-expanded": String(!isClosed), "data-value": String(value), onclick: () => fold(value) },
        ...pfgen.cells.value(board.column(state.group), value), element("small", {}, ` ${number}`))));
    const redraw = pfgen.virtualRows(box, table.tBodies[0], (number) => {
      const line = found.lines[number];
      return pfgen.filled(line.row ? rowOf(line.row) : groupOf(line), { "aria-rowindex": number + 2 }, []);
    });
    const draw = () => {
      table.setAttribute("aria-rowcount", found.lines.length + 1);
      redraw(found.lines.length);
    };
    const count = () => {
      const isAll = state.choice === "all";
      const models = (rows) => (isAll ? rows : rows.filter(({ system }) => !system)).length;
      document.getElementById("count").textContent = t(isAll ? "count" : "count_models", { n: models(found.rows), all: models(isAll ? everyRun : everyModel) });
    };

    // Controls.
    const control = (id, ...children) => document.getElementById(id).replaceChildren(...children);
    const byGroup = (all, make) => board.groups.map(([key, label]) => [pfgen.named({ label }), all.filter(({ group }) => group === key)])
      .filter(([, own]) => own.length).map(([label, own]) => make(label, own));
    const option = (chosen) => (column) => element("option", { value: column.key, selected: chosen === column.key }, pfgen.plain(pfgen.named(column)));
    const refilter = (filters, place) => {
      state.filters = filters;
      changed(false);
      controls();
      document.querySelector(place).focus();
    };
    const filterFields = () => Object.entries(state.filters).map(([key, filter]) => {
      const values = ["text", "flag"].includes(board.column(key).kind) ? everyRun.map((row) => row.get(key)) : [];
      const set = (now, isTyped) => {
        state.filters = { ...state.filters, [key]: now };
        (isTyped ? soon : changed)(isTyped);
      };
      const drop = () => refilter(Object.fromEntries(Object.entries(state.filters).filter(([other]) => other !== key)), "#column");
      return pfgen.filters.fields(board.column(key), filter, values, set, drop);
    });
    const addFilter = () => {
      const { value } = document.getElementById("column");
      refilter({ ...state.filters, [value]: state.filters[value] ?? {} }, `.filter[data-column="${CSS.escape(value)}"] :is(input, summary)`);
    };
    const choosable = (column) => element("label", {}, element("input", { type: "checkbox", checked: state.columns.includes(column.key), onchange: ({ target }) => {
      state.columns = views.map(({ key }) => key).filter((key) => (key === column.key ? target.checked : state.columns.includes(key)));
      changed(false);
    } }), " ", pfgen.shown(pfgen.named(column)), ...(column.about ? [element("small", {}, " ", pfgen.shown(pfgen.named({ label: column.about })))] : []));
    const controls = () => {
      form.elements.text.value = state.text;
      form.elements.choice.value = state.choice;
      const groups = board.known.filter(({ kind }) => kind === "text" || kind === "flag");
      form.elements.group.replaceChildren(element("option", { value: "", "data-t": "no_group" }, t("no_group")), ...groups.map(option(state.group)));
      control("column", ...byGroup(board.known, (label, own) => element("optgroup", { label: pfgen.plain(label) }, ...own.map(option(null)))));
      control("chosen-filters", ...filterFields());
      control("columns", ...byGroup(views, (label, own) => element("fieldset", {}, element("legend", {}, pfgen.shown(label)), ...own.map(choosable))));
      control("weights", ...pfgen.weights.sliders(board, state.weights, (weights, isTyped) => {
        state.weights = weights;
        changed(isTyped);
      }));
    };

    // The address.
    /** What it has, by name, as read from its text; what follows from an empty one is not in it. */
    const kept = {
      text: (text) => text,
      choice: (text) => (choices.includes(text) ? text : "best"),
      group: (text) => (["text", "flag"].includes(board.column(text)?.kind) ? text : ""),
      columns: (text) => listed(text)?.filter((key) => byKey.has(key)) ?? initial,
      filters: (text) => Object.fromEntries(Object.entries(parsed(text) ?? {}).filter(([key]) => board.column(key))
        .map(([key, filter]) => [key, pfgen.filters.checked(board.column(key), filter)])),
      weights: (text) => pfgen.weights.checked(board, parsed(text)),
      sort: (text) => (listed(text) ?? []).filter((key) => columnOf(plainKey(key))), // of the weights before
      closed: (text) => listed(text) ?? [],
      brush: listed,
    };
    const remember = (isNew) => {
      const texts = Object.entries(kept).map(([key, read]) => [key, written(state[key]) === written(read("")) ? "" : written(state[key])]);
      address.set({ ...Object.fromEntries(texts), chosen: tray.ids().join(" ") }, { isStep: isNew });
    };
    const recall = (get = address.get) => {
      for (const [key, read] of Object.entries(kept)) state[key] = read(get(key));
      controls();
    };
    const changed = (isTyped, isNew = isStep(isTyped)) => {
      show();
      remember(isNew);
    };
    const soon = pfgen.later(changed, 80);
    pfgen.restrict = (ids) => {
      state.brush = ids && [...ids];
      changed(true);
    };

    const tray = pfgen.tray(document.getElementById("comparison"), comparison, board.runs, (ids) => {
      for (const input of table.tBodies[0].querySelectorAll("input")) if (ids.includes(input.value)) input.checked = tray.has(input.value);
      remember(false);
    });
    table.tBodies[0].addEventListener("change", ({ target }) => tray.toggle(target.value));
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const key of ["text", "choice", "group"]) form.elements[key].addEventListener("input", ({ target }) => {
      state[key] = target.value;
      if (key === "group") state.closed = [];
      (key === "text" ? soon : changed)(key === "text");
    });
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      recall(() => "");
      changed(false, true);
    });
    document.getElementById("add").addEventListener("click", addFilter);
    control("exports", ...pfgen.exports("models", () => {
      const columns = [rank, name, ...(state.choice === "all" ? [run] : []), ...shown.slice(2)].flatMap(parts);
      return [columns, found.rows.map((row) => columns.map(({ get }) => get(row)))];
    }));
    pfgen.onLanguage(() => {
      controls();
      arrange();
    });
    addEventListener("popstate", () => {
      recall();
      show();
      remember(false); // with the runs that are chosen now
    });
    tray.set(address.get("chosen").split(" "));
    for (const each of document.querySelectorAll("[data-ready]")) each.hidden = false;
    table.classList.add("live");
    recall();
    pfgen.drawings.mount(document.getElementById("drawings"), board);
    show();
  };

  pfgen.loadBoard(document.getElementById("loading"), start);
})();
