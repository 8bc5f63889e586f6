// A pair with its answers, the verdicts of judges in both orders, and those of people. Columns of the index are by row.
(() => {
  const { element, drawn, tr, t, block } = pfgen;
  const unit = 10000;
  const rules = ["probability", "strict", "tie", "first"];
  const orders = [0, 1];

  const isLetter = (letter) => letter === "A" || letter === "B" || letter === "C";
  const wasJudged = (letter) => letter !== "." && letter !== " ";
  const wasSeen = (own, row) => wasJudged(own.v1[row]) || wasJudged(own.v2[row]);
  const isInvalid = (own, row) => own.v1[row] === "-" || own.v2[row] === "-";
  const isUnequal = (own, row) => isLetter(own.v1[row]) && isLetter(own.v2[row]) && own.v1[row] !== own.v2[row];
  const isFlipped = (own, row) => isUnequal(own, row) && own.v1[row] !== "C" && own.v2[row] !== "C";
  const isAgainst = (index, own, rule, row) => isLetter(index.majority[row]) && wasSeen(own, row) && own[rule][row] !== index.majority[row];
  const probabilitiesOf = (own, order, row) => ["a", "b", "c"].map((letter) => own[`${order}_${letter}`][row]);
  Object.assign(pfgen, { isLetter, wasSeen, isInvalid, isUnequal, isFlipped, isAgainst, probabilitiesOf });

  /** Texts of a pair, by its place in a chunk; `null` for none. */
  pfgen.pairTexts = ({ texts, pairs, judges }, place) => {
    const text = (number) => texts[number] ?? null;
    const [question, reference, ...answers] = pairs[place].map(text);
    const sample = ([output, problem, letter]) => ({ output: text(output), problem: text(problem), letter: text(letter) ?? "-" });
    const said = judges.map((all) => all[place]).map(([criteria, ...samples]) =>
      ({ criteria: text(criteria), said: samples.map((order) => order.map(sample)) }));
    return { question, reference, answers, judges: said };
  };

  /** All texts of a pair but letters. */
  pfgen.allTexts = ({ question, reference, answers, judges }) => [question, reference, ...answers, ...judges.flatMap(({ criteria, said }) =>
    [criteria, ...said.flat().flatMap(({ output, problem }) => [output, problem])])].filter((text) => text !== null);

  pfgen.letterMark = (letter) => (isLetter(letter)
    ? element("span", { class: `letter ${letter.toLowerCase()}` }, letter)
    : element("span", { class: "problem" }, tr(letter === "-" ? "verdict_invalid" : "verdict_missing")));

  const chip = (...content) => element("span", { class: "chip" }, ...content);

  // Probabilities

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

  const probabilities = (own, name, row, letter) => {
    const p = probabilitiesOf(own, name, row);
    return p.includes(null) ? [element("span", { class: "quiet" }, tr("no_probabilities"))] : [bar(p), values(p, letter)];
  };

  /** How often the samples of an order chose each letter, if there are several. */
  const votes = (samples) => {
    if (samples.length < 2) return [];
    const counts = ["A", "C", "B", "-"].map((letter) => [letter, samples.filter((each) => each.letter === letter).length]);
    return [element("div", { class: "values" }, tr("samples", { n: samples.length }), ...counts.filter(([, n]) => n).flatMap(([letter, n]) =>
      [" ", pfgen.letterMark(letter), ` × ${n}`]))];
  };

  const problems = { empty: "problem_empty", "no verdict": "problem_none", "cut off by the token limit": "problem_cut" };
  const invalidity = (problem) => element("div", { class: "problem" }, tr("why_invalid"), " ", Object.hasOwn(problems, problem) ? tr(problems[problem]) : pfgen.shown(problem));

  const verdictRow = (own, row, [label, name, letter, samples]) => {
    const cells = [...probabilities(own, name, row, letter), ...votes(samples)];
    if (name === "p" && own.margin[row] !== null) {
      cells.push(element("div", { class: "values" }, tr("margin_of", { value: (own.margin[row] / unit).toFixed(4) })));
    }
    if (samples.length === 1 && samples[0].problem) cells.push(invalidity(samples[0].problem));
    return [element("th", { scope: "row" }, tr(label)), element("td", {}, pfgen.letterMark(letter)), element("td", { class: "wide" }, ...cells)];
  };

  const verdictTable = (own, row, said) => pfgen.table({ class: "probabilities" }, null,
    ["presented", "verdict", "probabilities"].map((key) => element("th", { scope: "col" }, tr(key))), [
      ["shown_first_a", "p1", own.v1[row], said[0]],
      ["shown_first_b", "p2", own.v2[row], said[1]],
      ["mean_of_orders", "p", own.probability[row], []],
    ].map((each) => verdictRow(own, row, each)));

  // Both orders, as judges saw them

  const sampleText = ({ output, problem, letter }, number, isAlone) => element("div", { class: "sample" },
    element("div", { class: "facts" }, ...(isAlone ? [] : [tr("sample_number", { n: number + 1 })]),
      ...(problem ? [invalidity(problem)] : isAlone ? [] : [pfgen.letterMark(letter)])),
    block(output));

  const judgeInOrder = (own, row, samples, order) => {
    const letter = order ? own.v2[row] : own.v1[row];
    const texts = samples.map((each, number) => sampleText(each, number, samples.length === 1));
    return element("section", { class: "said" },
      element("h5", {}, pfgen.shown(own.name), " ", pfgen.letterMark(letter)),
      ...probabilities(own, order ? "p2" : "p1", row, letter), ...votes(samples), ...texts.slice(0, 1),
      ...(texts.length > 1 ? [pfgen.folded(tr("other_samples", { n: texts.length - 1 }), () => texts.slice(1))] : []));
  };

  const inOrder = (index, row, texts, order) => {
    const places = order ? [1, 0] : [0, 1]; // of the answers, as they were shown
    const model = (place) => index.models[index["ab"[place]][row]];
    return element("section", { class: "order" },
      element("h4", {}, tr(order ? "order_second" : "order_first")),
      ...places.flatMap((place, i) => [
        element("h5", { class: "ab"[place] }, tr("shown_as", { shown: "AB"[i], letter: "AB"[place] }), " ", pfgen.shown(model(place))),
        block(texts.answers[place])]),
      element("p", { class: "quiet" }, tr("reasons_as_shown", { a: model(places[0]), b: model(places[1]) })),
      ...index.judges.flatMap((own, i) => {
        const samples = texts.judges[i].said[order];
        return samples.length ? [judgeInOrder(own, row, samples, order)] : [];
      }));
  };

  const bothOrders = (index, row, texts, isOpen) => {
    const details = pfgen.folded(tr("both_orders"), () => [element("div", { class: "beside orders" }, ...orders.map((order) => inOrder(index, row, texts, order)))], isOpen);
    details.dataset.both = "";
    return details;
  };

  // The card

  const decided = (own, row) => element("p", { class: "facts" }, tr("decided_as"), ...rules.filter((rule) => rule !== "probability" || !own.isWithoutProbabilities).map((rule) => {
    const letter = own[rule][row];
    const none = rule === "strict" && isUnequal(own, row) ? "undecided" : "invalid";
    return chip(tr(`rule_${rule}`), " ", letter === "-" ? tr(none) : pfgen.letterMark(letter));
  }));

  const raters = (index, row) => {
    const said = index.raters.map((name, i) => [name, index.letters[i][row]]).filter(([, letter]) => isLetter(letter));
    if (!said.length) return [];
    const majority = index.majority[row];
    return [element("p", { class: "facts" }, tr("raters_said"),
      ...said.map(([name, letter]) => chip(pfgen.shown(name), " ", pfgen.letterMark(letter))),
      isLetter(majority) ? tr("raters_majority", { letter: majority }) : tr("raters_split"))];
  };

  const others = (index, own, rule, row) => {
    const known = index.judges.filter((each) => each !== own && wasSeen(each, row));
    if (!known.length) return [];
    return [element("p", { class: "facts" }, tr("other_judges"), ...known.map((each) =>
      chip(pfgen.shown(each.name), " ", pfgen.letterMark(each[rule][row]))))];
  };

  const badges = (index, own, rule, row) => [
    !wasSeen(own, row) && "unseen",
    wasSeen(own, row) && isInvalid(own, row) && "invalid",
    isUnequal(own, row) && (isFlipped(own, row) ? "flipped" : "unequal"),
    isAgainst(index, own, rule, row) && "against",
  ].filter(Boolean).map((name) => element("span", { class: "chip badge" }, tr(`badge_${name}`)));

  const side = (index, own, rule, row, number, text) => {
    const letter = "AB"[number];
    const isWinner = own[rule][row] === letter;
    return element("section", { class: `side ${letter.toLowerCase()}${isWinner ? " winner" : ""}` },
      element("h4", {}, tr("answer_of", { letter }), " ", pfgen.shown(index.models[index["ab"[number]][row]]),
        isWinner ? element("span", { class: "chip met" }, tr("chosen")) : "",
        index.majority[row] === letter ? chip(tr("chosen_by_raters")) : "",
        element("small", {}, tr("characters_long", { n: Array.from(text).length }))),
      block(text));
  };

  /** Criteria and reference, unfolded at once if `isOpen`. */
  pfgen.standards = (criteria, reference, isOpen) => [["criteria", criteria], ["reference", reference]].filter(([, text]) => text !== null)
    .map(([key, text]) => pfgen.folded(tr(key), () => [block(text)], isOpen));

  /** `own`: the judge that is looked at; `isOpen`: whether both orders are unfolded. */
  pfgen.pairCard = (index, row, texts, { own, rule, isOpen }) => {
    const said = texts.judges[index.judges.indexOf(own)];
    const id = index.ids[row];
    const task = index.task[row];
    const beside = element("div", { class: "beside" }, ...orders.map((number) => side(index, own, rule, row, number, texts.answers[number])));
    const swap = element("button", {
      type: "button",
      class: "swap",
      "aria-pressed": "false",
      onclick: () => {
        beside.append(beside.firstElementChild);
        swap.setAttribute("aria-pressed", String(beside.firstElementChild.classList.contains("b")));
      },
    }, tr("swap_answers"));
    return element("article", { class: "card pair", "data-row": row, tabindex: "-1", "aria-label": pfgen.plain(id) },
      element("h3", {}, element("a", { href: `#pair=${encodeURIComponent(id.toWellFormed?.() ?? id)}`, title: t("link_to_pair"), "data-t-title": "link_to_pair" }, pfgen.shown(id)),
        task < 0 ? "" : chip(pfgen.shown(index.tasks[task])), ...badges(index, own, rule, row), swap),
      block(texts.question, "text prompted"),
      beside,
      ...(wasSeen(own, row) ? [verdictTable(own, row, said.said), decided(own, row)] : []),
      ...raters(index, row), ...others(index, own, rule, row),
      ...(index.judges.some((each) => wasSeen(each, row)) ? [bothOrders(index, row, texts, isOpen)] : []),
      ...pfgen.standards(said.criteria, texts.reference, false));
  };
})();
