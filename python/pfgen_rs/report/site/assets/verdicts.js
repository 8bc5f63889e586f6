// Pairs with the verdicts of judges: filtered and ordered by an index, with texts loaded on demand.
(() => {
  const { element, tr, isLetter, wasSeen } = pfgen;
  const { index: indexName, chunks } = pfgen.data("verdicts");
  const form = document.getElementById("filters");
  const { judge: judges, rule: rules, task, models, order, everywhere } = form.elements;
  const onlyNote = document.getElementById("only");
  const fewChunks = 40; // up to so many, searches go through all texts unless told otherwise
  let index = null;
  let given = null; // raters and letters of the index
  let listing = null;
  let onChoice = null; // shows figures for other choices
  let only = null; // row of the linked pair

  const judge = () => index.judges[Number(judges.value)];
  const rule = () => rules.value;
  const decision = (own, row) => own[rule()][row];
  const raterLetters = (row) => index.letters.map((letters) => letters[row]).filter(isLetter);
  const judgeLetters = (row) => index.judges.filter((each) => wasSeen(each, row)).map((each) => decision(each, row));
  const differ = (letters) => new Set(letters).size > 1;

  /** Kinds of pairs by name: whether a row is one, for the chosen judge and rule. */
  const kinds = {
    unequal: pfgen.isUnequal,
    flipped: pfgen.isFlipped,
    unstable: (own, row) => own.unstable[row],
    judges_differ: (own, row) => differ(judgeLetters(row)),
    against: (own, row) => pfgen.isAgainst(index, own, rule(), row),
    people_differ: (own, row) => differ(raterLetters(row)),
    split: (own, row) => index.majority[row] === "-" && raterLetters(row).length > 0,
    with: (own, row) => isLetter(index.majority[row]) && decision(own, row) === index.majority[row],
    no_decision: (own, row) => wasSeen(own, row) && !isLetter(decision(own, row)),
    invalid: pfgen.isInvalid,
  };

  /** The share of pairs of votes that differ: those of every judge in both orders, and of every rater. */
  const dissent = (row) => {
    const votes = [...index.judges.flatMap((each) => [each.v1[row], each.v2[row]]).filter(isLetter), ...raterLetters(row)];
    const alike = ["A", "B", "C"].map((letter) => votes.filter((each) => each === letter).length);
    const n = votes.length;
    return n > 1 ? 1 - alike.reduce((total, count) => total + count * (count - 1), 0) / (n * (n - 1)) : 0;
  };

  /** How far the probabilities of both orders are apart, in units; 0 if unknown. */
  const apart = (own, row) => {
    const [p1, p2] = ["p1", "p2"].map((order) => pfgen.probabilitiesOf(own, order, row));
    return p1.includes(null) || p2.includes(null) ? 0 : p1.reduce((total, p, i) => total + Math.abs(p - p2[i]), 0);
  };

  /** Orders by name: a number of a row, the lowest first. */
  const orders = {
    file: () => 0,
    closest: (own, row) => own.margin[row] ?? Number.MAX_VALUE,
    clearest: (own, row) => -(own.margin[row] ?? -1),
    dissent: (own, row) => -dissent(row) - apart(own, row) * 1e-12, // the latter where votes differ alike
  };

  // Filters

  const boxes = () => [...form.querySelectorAll("[name=show]")];

  /** Rows that match all filters. */
  const matching = (isFound = listing.isFound) => {
    const own = judge();
    const chosen = boxes().filter((box) => box.checked && !box.disabled).map((box) => kinds[box.value]);
    return [...index.ids.keys()].filter((row) => chosen.every((is) => is(own, row)) &&
      (task.value === "" || index.task[row] === Number(task.value)) &&
      (models.value === "" || modelsOf(row).join(" ") === models.value) && isFound(row));
  };

  /** The rows to show; beside each kind stands how many of the matching pairs are one, where there are raters or judges to differ. */
  const shown = (isFound) => {
    for (const box of boxes()) {
      box.disabled = index[box.dataset.of].length < Number(box.dataset.least);
      box.closest("label").hidden = box.disabled;
    }
    const all = matching(isFound);
    const own = judge();
    for (const box of boxes()) {
      const n = all.filter((row) => kinds[box.value](own, row)).length;
      box.closest("label").querySelector(".count").textContent = n.toLocaleString("en");
    }
    return only === null ? all : [only];
  };

  const modelsOf = (row) => [index.a[row], index.b[row]].sort((x, y) => x - y);

  const changed = () => {
    if (only !== null) pfgen.address.set({}, { place: "" });
    only = null;
    onlyNote.hidden = true;
    onChoice();
  };

  /** Count the letters of a rater, a text by row, among those given; `null` for none. */
  const setRater = (name, letters) => {
    const raters = new Map(given.raters.map((each, i) => [each, given.letters[i]]));
    if (letters !== null) raters.set(name, letters);
    index.raters = [...raters.keys()];
    index.letters = [...raters.values()];
    index.majority = index.ids.map((_, row) => pfgen.majorityOf(index.letters.map((each) => each[row])));
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
        element("button", { type: "button", class: "link", onclick: () => {
          listing.again();
          form.elements.rule.focus();
        } }, tr("show_them_all")));
    }
    return listing.update();
  };

  // Choices

  const offer = (field, choices) => field.append(...choices.map(([value, text]) => element("option", { value }, pfgen.plain(text))));

  const modelPairs = () => {
    const known = new Map(index.ids.map((_, row) => [modelsOf(row).join(" "), modelsOf(row)]));
    return [...known].map(([value, [a, b]]) => [value, `${index.models[a]} – ${index.models[b]}`])
      .sort(([, x], [, y]) => x.localeCompare(y, "ja", { numeric: true }));
  };

  const begin = (value) => {
    index = value;
    given = { raters: index.raters, letters: index.letters };
    offer(task, [...index.tasks.entries()]);
    task.closest("label").hidden = index.tasks.length < 2;
    offer(models, modelPairs());
    everywhere.defaultChecked = chunks.length <= fewChunks;
    // Judges without probabilities are decided by what both orders say, as on the command line.
    for (const own of index.judges.filter((each) => ![...each.probability].some(isLetter))) {
      own.probability = own.strict;
      own.isWithoutProbabilities = true;
    }
    rules.querySelector("[value=strict]").defaultSelected = index.judges[0].isWithoutProbabilities ?? false;
    listing = pfgen.listing({
      kind: "pairs",
      size: index.ids.length,
      chunks,
      starts: index.starts,
      entry: pfgen.pairTexts,
      texts: (row, entry) => [index.ids[row], index.questions[index.question[row]], ...modelsOf(row).map((model) => index.models[model]),
        ...(entry ? pfgen.allTexts(entry) : [])],
      matching: shown,
      key: () => orders[order.value].bind(null, judge()),
      card: (row, entry) => pfgen.pairCard(index, row, entry, { own: judge(), rule: rule(), isOpen: only !== null }),
      changed,
    });
    pfgen.turnPage = listing.turn;
    onChoice = pfgen.judgeBlind({ index, given, judge, rule, matching, entry: listing.entry, follow, setRater });
  };

  pfgen.loadInto(document.getElementById("list"), indexName, begin);
})();
