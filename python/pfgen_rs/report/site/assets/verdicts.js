// Pairs with the verdicts of judges: filtered and ordered by an index, with texts loaded on demand.
(() => {
  const { element, drawn, tr, t, block } = pfgen;
  const { index: indexName, chunks } = pfgen.data("verdicts");
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const pager = document.getElementById("pager");
  const onlyNote = document.getElementById("only");
  const onPage = 20;
  const unit = 10000;
  const fewChunks = 40; // up to so many, searches go through all texts unless told otherwise
  const rules = ["probability", "strict", "tie", "first"];
  let index = null;
  let rows = []; // that match, in the order of the list
  let page = 0;
  let only = null; // row of the linked pair
  let hits = null; // { query, rows }: what the search of all texts found

  const plain = (text) => text.normalize("NFKC").toLowerCase();
  const words = () => plain(form.elements.text.value).split(/\s+/).filter(Boolean);
  const judge = () => index.judges[Number(form.elements.judge.value)];
  const isLetter = (letter) => letter === "A" || letter === "B" || letter === "C";
  const wasSeen = (own, row) => own.v1[row] !== "." || own.v2[row] !== ".";
  const isInvalid = (own, row) => own.v1[row] === "-" || own.v2[row] === "-";
  const isUnequal = (own, row) => isLetter(own.v1[row]) && isLetter(own.v2[row]) && own.v1[row] !== own.v2[row];
  const isFlipped = (own, row) => isUnequal(own, row) && own.v1[row] !== "C" && own.v2[row] !== "C";
  const decision = (own, row) => own[form.elements.rule.value][row];

  /** Pairs to show, by name: whether a row is one, for the chosen judge and rule. */
  const kinds = {
    all: () => true,
    unequal: (own, row) => isUnequal(own, row),
    flipped: (own, row) => isFlipped(own, row),
    no_decision: (own, row) => wasSeen(own, row) && !isLetter(decision(own, row)),
    invalid: (own, row) => isInvalid(own, row),
    against: (own, row) => isLetter(index.majority[row]) && wasSeen(own, row) && decision(own, row) !== index.majority[row],
    with: (own, row) => isLetter(index.majority[row]) && decision(own, row) === index.majority[row],
    split: (own, row) => index.majority[row] === "-" && index.letters.some((letters) => isLetter(letters[row])),
    judges_differ: (own, row) =>
      new Set(index.judges.filter((each) => wasSeen(each, row)).map((each) => decision(each, row))).size > 1,
  };

  const orders = {
    file: () => 0,
    closest: (a, b) => a - b,
    clearest: (a, b) => b - a,
  };

  // Texts

  const chunkOf = (row) => pfgen.chunkOf(index.starts, row);
  const chunk = pfgen.chunkLoader(chunks);

  /** Texts of a pair; `null` for none. */
  const textsOf = (value, row, start) => {
    const text = (place) => (place < 0 ? null : value.texts[place]);
    const [question, reference, a, b] = value.pairs[row - start].map(text);
    const judges = value.judges.map((all) => {
      const [criteria, output1, problem1, output2, problem2] = all[row - start].map(text);
      return { criteria, outputs: [output1, output2], problems: [problem1, problem2] };
    });
    return { question, reference, answers: [a, b], judges };
  };

  // A pair

  const letterMark = (letter) => (isLetter(letter)
    ? element("span", { class: `letter ${letter.toLowerCase()}` }, letter)
    : element("span", { class: "problem" }, tr(letter === "-" ? "verdict_invalid" : "verdict_missing")));

  const bar = (p) => {
    const [a, b, c] = p;
    const parts = [["a", 0, a], ["c", a, c], ["b", a + c, b]];
    return drawn("svg", { class: "bar3", viewBox: `0 0 ${unit} 10`, preserveAspectRatio: "none", "aria-hidden": "true" },
      ...parts.map(([name, x, width]) => drawn("rect", { class: name, x, y: 0, width, height: 10 })));
  };

  const values = (p, letter) => element("div", { class: "values" }, ...["A", "C", "B"].flatMap((name, i) => {
    const number = (p[{ A: 0, B: 1, C: 2 }[name]] / unit).toFixed(4);
    return [i ? " · " : "", element(name === letter ? "b" : "span", {}, `${name} ${number}`)];
  }));

  const probabilities = (own, name, row) => {
    const p = ["a", "b", "c"].map((letter) => own[`${name}_${letter}`][row]);
    return p.includes(null) ? null : p;
  };

  const verdictRow = (own, row, [label, name, letter, problem]) => {
    const p = probabilities(own, name, row);
    const cells = p === null
      ? [element("span", { class: "quiet" }, tr("no_probabilities"))]
      : [bar(p), values(p, letter)];
    if (name === "p" && own.margin[row] !== null) {
      cells.push(element("div", { class: "values" }, tr("margin_of", { value: (own.margin[row] / unit).toFixed(4) })));
    }
    if (problem) cells.push(element("div", { class: "problem" }, tr("why_invalid"), " ", pfgen.shown(problem)));
    return element("tr", {}, element("th", { scope: "row" }, tr(label)),
      element("td", {}, letterMark(letter)), element("td", { class: "wide" }, ...cells));
  };

  const verdictTable = (own, row, said) => element("table", { class: "probabilities" },
    element("thead", {}, element("tr", {}, ...["presented", "verdict", "probabilities"].map((key) =>
      element("th", { scope: "col" }, tr(key))))),
    element("tbody", {}, ...[
      ["shown_first_a", "p1", said.outputs[0] === null ? "." : own.v1[row], said.problems[0]],
      ["shown_first_b", "p2", said.outputs[1] === null ? "." : own.v2[row], said.problems[1]],
      ["mean_of_orders", "p", own.probability[row], null],
    ].map((each) => verdictRow(own, row, each))));

  const decided = (own, row) => element("p", { class: "facts" }, tr("decided_as"), ...rules.map((rule) => {
    const letter = own[rule][row];
    const none = rule === "strict" && isUnequal(own, row) ? "undecided" : "invalid";
    return element("span", { class: "chip" }, tr(`rule_${rule}`), " ", letter === "-" ? tr(none) : letterMark(letter));
  }));

  const raters = (row) => {
    const said = index.raters.map((name, i) => [name, index.letters[i][row]]).filter(([, letter]) => isLetter(letter));
    if (!said.length) return [];
    const majority = index.majority[row];
    return [element("p", { class: "facts" }, tr("raters_said"),
      ...said.map(([name, letter]) => element("span", { class: "chip" }, pfgen.shown(name), " ", letterMark(letter))),
      isLetter(majority) ? tr("raters_majority", { letter: majority }) : tr("raters_split"))];
  };

  const others = (own, row) => {
    const known = index.judges.filter((each) => each !== own && wasSeen(each, row));
    if (!known.length) return [];
    return [element("p", { class: "facts" }, tr("other_judges"), ...known.map((each) =>
      element("span", { class: "chip" }, pfgen.shown(each.name), " ", letterMark(decision(each, row)))))];
  };

  const badges = (own, row) => [
    !wasSeen(own, row) && "unseen",
    wasSeen(own, row) && isInvalid(own, row) && "invalid",
    isUnequal(own, row) && (isFlipped(own, row) ? "flipped" : "unequal"),
    kinds.against(own, row) && "against",
  ].filter(Boolean).map((name) => element("span", { class: "chip badge" }, tr(`badge_${name}`)));

  const side = (row, number, text, own) => {
    const letter = "AB"[number];
    const model = index.models[index["ab"[number]][row]];
    const isWinner = decision(own, row) === letter;
    return element("section", { class: `side ${letter.toLowerCase()}${isWinner ? " winner" : ""}` },
      element("h4", {}, tr("answer_of", { letter }), " ", pfgen.shown(model),
        isWinner ? element("span", { class: "chip met" }, tr("chosen")) : "",
        index.majority[row] === letter ? element("span", { class: "chip" }, tr("chosen_by_raters")) : "",
        element("small", {}, tr("characters_long", { n: Array.from(text).length }))),
      block(text));
  };

  const folded = (summary, ...content) => {
    const details = element("details", {}, element("summary", {}, ...summary));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(...content.flatMap((make) => make()));
    });
    return details;
  };

  const reasons = (row, said) => [0, 1].filter((order) => said.outputs[order] !== null).map((order) => {
    const names = [index.models[index.a[row]], index.models[index.b[row]]];
    const [a, b] = order ? names.toReversed() : names;
    return folded([tr(order ? "output_first_b" : "output_first_a")],
      () => [element("p", { class: "quiet" }, tr("reasons_as_shown", { a, b })), block(said.outputs[order])]);
  });

  const card = (row, texts) => {
    const own = judge();
    const said = texts.judges[index.judges.indexOf(own)];
    const id = index.ids[row];
    const task = index.task[row];
    return element("article", { class: "card pair", "data-row": row },
      element("h3", {}, element("a", { href: `#pair=${encodeURIComponent(id.toWellFormed?.() ?? id)}`, title: t("link_to_pair"), "data-t-title": "link_to_pair" }, pfgen.shown(id)),
        task < 0 ? "" : element("span", { class: "chip" }, pfgen.shown(index.tasks[task])), ...badges(own, row)),
      block(texts.question, "text prompted"),
      element("div", { class: "beside" }, ...[0, 1].map((number) => side(row, number, texts.answers[number], own))),
      ...(wasSeen(own, row) ? [verdictTable(own, row, said), decided(own, row)] : []),
      ...raters(row), ...others(own, row),
      ...reasons(row, said),
      ...(said.criteria === null ? [] : [folded([tr("criteria")], () => [block(said.criteria)])]),
      ...(texts.reference === null ? [] : [folded([tr("reference")], () => [block(texts.reference)])]));
  };

  // The list

  const turn = (step, label, pages) => element("button", {
    type: "button",
    disabled: page + step < 0 || page + step >= pages,
    onclick: () => {
      page += step;
      show();
      document.getElementById("pairs").scrollIntoView();
      (pager.querySelector(step > 0 ? "button:last-child:enabled" : "button:first-child:enabled") ?? pager.querySelector("button:enabled"))?.focus({ preventScroll: true });
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
      const values = await Promise.all(shown.map((row) => chunk(chunkOf(row))));
      if (own !== wanted) return; // something else was asked for meanwhile
      const cards = shown.map((row, i) => card(row, textsOf(values[i], row, index.starts[chunkOf(row)])));
      list.replaceChildren(...(cards.length ? cards : [element("p", { class: "quiet" }, tr("no_pairs"))]));
    } catch (error) {
      list.replaceChildren(element("p", { class: "problem", role: "alert" }, tr("not_loaded")));
      if (!/\.js$/.test(error.message)) throw error; // a fault, not a missing file
    } finally {
      if (own === wanted) list.removeAttribute("aria-busy");
    }
  };

  const tell = () => {
    const all = index.ids.length;
    const n = rows.length;
    found.replaceChildren(tr(n === all ? "pairs_found" : "pairs_found_of", { n, all }));
    pfgen.say(found.textContent);
  };

  let listed = null; // texts of the index by row, made when something is searched

  const textOfIndex = (row) => {
    listed ??= index.ids.map((id, i) => [id, index.questions[index.question[i]], index.models[index.a[i]], index.models[index.b[i]]])
      .map((texts) => plain(texts.join("\n")));
    return listed[row];
  };

  const matches = (text, searched) => searched.every((word) => text.includes(word));

  let search = 0;

  /** Rows whose texts have all words, or `null` if another search has begun. */
  const searchTexts = async (searched) => {
    const own = (search += 1);
    const result = new Set();
    for (let number = 0; number < chunks.length; number += 1) {
      if (chunks.length > 4) found.replaceChildren(tr("searching", { n: number, all: chunks.length }));
      const value = await chunk(number);
      if (own !== search) return null;
      if (number + 1 < chunks.length) chunk(number + 1).catch(() => null); // meanwhile; awaited next
      const texts = value.texts.map(plain);
      const start = index.starts[number];
      value.pairs.forEach((places, i) => {
        const all = [...places, ...value.judges.flatMap((judges) => judges[i])];
        const text = [textOfIndex(start + i), ...all.filter((place) => place >= 0).map((place) => texts[place])];
        if (searched.every((word) => text.some((each) => each.includes(word)))) result.add(start + i);
      });
    }
    return result;
  };

  const filter = () => {
    const own = judge();
    const searched = words();
    const { show: kind, task, models, order } = form.elements;
    const [a, b] = models.value ? models.value.split(" ").map(Number) : [];
    const isOfModels = (row) => !models.value ||
      (index.a[row] === a && index.b[row] === b) || (index.a[row] === b && index.b[row] === a);
    const isFound = hits ? (row) => hits.rows.has(row) : (row) => matches(textOfIndex(row), searched);
    rows = only !== null ? [only] : [...index.ids.keys()].filter((row) => kinds[kind.value](own, row) &&
      (task.value === "" || index.task[row] === Number(task.value)) && isOfModels(row) &&
      (!searched.length || isFound(row)));
    if (order.value !== "file") {
      const compare = orders[order.value];
      const margins = own.margin;
      rows.sort((i, j) => (margins[i] === null) - (margins[j] === null) || compare(margins[i], margins[j]));
    }
    tell();
  };

  const again = async () => {
    const searched = words();
    const query = searched.join(" ");
    const everywhere = form.elements.everywhere.checked;
    if (!query || !everywhere) {
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

  const changed = () => {
    if (only !== null) history.replaceState(null, "", "#");
    only = null;
    onlyNote.hidden = true;
    return again();
  };

  // Links to pairs

  const follow = () => {
    const linked = /^#pair=(.*)$/s.exec(location.hash);
    const id = linked && pfgen.decoded(linked[1]);
    const row = linked ? index.ids.indexOf(id) : -1;
    only = row < 0 ? null : row;
    onlyNote.hidden = !linked;
    if (linked) {
      onlyNote.replaceChildren(row < 0 ? tr("no_such_pair", { id: id.slice(0, 200) }) : tr("only_pair"), " ",
        element("button", { type: "button", class: "link", onclick: changed }, tr("show_them_all")));
    }
    return again();
  };

  // Choices

  const option = (value, text) => element("option", { value }, pfgen.plain(text));

  const modelPairs = () => {
    const known = new Map();
    index.a.forEach((a, row) => {
      const pair = [a, index.b[row]].sort((x, y) => x - y);
      known.set(pair.join(" "), pair);
    });
    return [...known].map(([value, [a, b]]) => [value, `${index.models[a]} – ${index.models[b]}`])
      .sort(([, x], [, y]) => x.localeCompare(y, "ja", { numeric: true }));
  };

  const begin = (value) => {
    index = value;
    form.elements.task.append(...index.tasks.map((name, i) => option(i, name)));
    form.elements.task.closest("label").hidden = index.tasks.length < 2;
    form.elements.models.append(...modelPairs().map(([key, text]) => option(key, text)));
    form.elements.everywhere.defaultChecked = chunks.length <= fewChunks;
    if ([...judge().probability].every((letter) => !isLetter(letter))) {
      form.elements.rule.querySelector("[value=strict]").defaultSelected = true;
    }
    form.reset();
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => event.target.name === "text" || changed());
    form.elements.text.addEventListener("input", pfgen.later(changed));
    form.addEventListener("reset", () => setTimeout(changed)); // it empties its fields after this event
    addEventListener("hashchange", follow);
    follow();
  };

  pfgen.loadInto(list, indexName, begin);
})();
