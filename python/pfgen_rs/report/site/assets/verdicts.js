// Pairs with the verdicts of judges: filtered and ordered by an index, with texts loaded on demand.
(() => {
  const { element, tr, isLetter, wasSeen } = pfgen;
  const { index: indexName, chunks } = pfgen.data("verdicts");
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const pager = document.getElementById("pager");
  const onlyNote = document.getElementById("only");
  const onPage = 20;
  const fewChunks = 40; // up to so many, searches go through all texts unless told otherwise
  let index = null;
  let given = null; // raters, letters and majority of the index
  let rows = []; // that match, in the order of the list
  let page = 0;
  let only = null; // row of the linked pair
  let hits = null; // { query, rows }: what the search of all texts found

  const plain = (text) => text.normalize("NFKC").toLowerCase();
  const words = () => plain(form.elements.text.value).split(/\s+/).filter(Boolean);
  const judge = () => index.judges[Number(form.elements.judge.value)];
  const rule = () => form.elements.rule.value;
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
    against: (own, row) => isLetter(index.majority[row]) && wasSeen(own, row) && decision(own, row) !== index.majority[row],
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
    const [p1, p2] = ["p1", "p2"].map((order) => ["a", "b", "c"].map((x) => own[`${order}_${x}`][row]));
    return p1.includes(null) || p2.includes(null) ? 0 : p1.reduce((total, p, i) => total + Math.abs(p - p2[i]), 0);
  };

  const orders = {
    closest: (own) => (i, j) => (own.margin[i] === null) - (own.margin[j] === null) || own.margin[i] - own.margin[j],
    clearest: (own) => (i, j) => (own.margin[i] === null) - (own.margin[j] === null) || own.margin[j] - own.margin[i],
    dissent: (own) => {
      const of = new Map(rows.map((row) => [row, dissent(row)]));
      return (i, j) => of.get(j) - of.get(i) || apart(own, j) - apart(own, i);
    },
  };

  // The list

  const chunk = pfgen.chunkLoader(chunks);

  /** Promise of the texts of a pair. */
  const textsOf = async (row) => {
    const number = pfgen.chunkOf(index.starts, row);
    return pfgen.pairTexts(await chunk(number), row, index.starts[number]);
  };

  const pagesOf = () => Math.max(Math.ceil(rows.length / onPage), 1);

  const turnTo = (number) => {
    page = number;
    document.getElementById("pairs").scrollIntoView();
    return show();
  };

  const turn = (step, label, pages) => element("button", {
    type: "button",
    disabled: page + step < 0 || page + step >= pages,
    onclick: () => {
      turnTo(page + step);
      (pager.querySelector(step > 0 ? "button:last-child:enabled" : "button:first-child:enabled") ?? pager.querySelector("button:enabled"))?.focus({ preventScroll: true });
    },
  }, tr(label));

  const failed = (error) => {
    list.replaceChildren(element("p", { class: "problem", role: "alert" }, tr("not_loaded")));
    if (!/\.js$/.test(error.message)) throw error; // a fault, not a missing file
  };

  let wanted = 0;

  const show = async () => {
    const own = (wanted += 1);
    const pages = pagesOf();
    page = Math.min(page, pages - 1);
    pager.replaceChildren(turn(-1, "previous", pages), tr("page_of", { page: page + 1, pages }), turn(1, "next", pages));
    pager.hidden = pages === 1;
    const shown = rows.slice(page * onPage, (page + 1) * onPage);
    list.setAttribute("aria-busy", "true");
    try {
      const texts = await Promise.all(shown.map(textsOf));
      if (own !== wanted) return; // something else was asked for meanwhile
      const chosen = { own: judge(), rule: rule(), isOpen: only !== null };
      const cards = shown.map((row, i) => pfgen.pairCard(index, row, texts[i], chosen));
      list.replaceChildren(...(cards.length ? cards : [element("p", { class: "quiet" }, tr("no_pairs"))]));
    } catch (error) {
      failed(error);
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

  // Filters

  let listed = null; // texts of the index by row, made when something is searched

  const textOfIndex = (row) => {
    listed ??= index.ids.map((id, i) => [id, index.questions[index.question[i]], index.models[index.a[i]], index.models[index.b[i]]])
      .map((texts) => plain(texts.join("\n")));
    return listed[row];
  };

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
      const start = index.starts[number];
      value.pairs.forEach((_, i) => {
        const { question, reference, answers, judges } = pfgen.pairTexts(value, start + i, start);
        const said = judges.flatMap((each) => [each.criteria, ...each.said.flat().flatMap(({ output, problem }) => [output, problem])]);
        const texts = [question, reference, ...answers, ...said].filter((text) => text !== null).map(plain);
        if (searched.every((word) => textOfIndex(start + i).includes(word) || texts.some((text) => text.includes(word)))) result.add(start + i);
      });
    }
    return result;
  };

  const boxes = () => [...form.querySelectorAll("[name=show]")];
  const isOffered = (box) => index[box.dataset.of].length >= Number(box.dataset.least); // there are raters or judges to differ
  const chosenKinds = () => boxes().filter((box) => box.checked && isOffered(box)).map((box) => box.value);

  /** Rows that match all filters. */
  const matching = () => {
    const own = judge();
    const searched = words();
    const chosen = chosenKinds().map((kind) => kinds[kind]);
    const { task, models } = form.elements;
    const [a, b] = models.value ? models.value.split(" ").map(Number) : [];
    const isOfModels = (row) => !models.value ||
      (index.a[row] === a && index.b[row] === b) || (index.a[row] === b && index.b[row] === a);
    const isFound = hits ? (row) => hits.rows.has(row) : (row) => searched.every((word) => textOfIndex(row).includes(word));
    return [...index.ids.keys()].filter((row) => chosen.every((is) => is(own, row)) &&
      (task.value === "" || index.task[row] === Number(task.value)) && isOfModels(row) &&
      (!searched.length || isFound(row)));
  };

  /** Beside each kind stands how many of the matching pairs are one. */
  const count = (all) => {
    const own = judge();
    for (const box of boxes()) {
      const n = all.filter((row) => kinds[box.value](own, row)).length;
      const label = box.closest("label");
      label.querySelector(".count").textContent = n.toLocaleString("en");
      label.hidden = !isOffered(box);
    }
  };

  const filter = () => {
    const all = matching();
    count(all);
    rows = only !== null ? [only] : all;
    const order = form.elements.order.value;
    if (order !== "file") rows.sort(orders[order](judge()));
    tell();
  };

  const again = async () => {
    const searched = words();
    const query = searched.join(" ");
    if (!query || !form.elements.everywhere.checked) {
      search += 1; // ends one that is going on
      hits = null;
    } else if (hits?.query !== query) {
      let result;
      try {
        result = await searchTexts(searched);
      } catch (error) {
        return failed(error);
      }
      if (result === null) return;
      hits = { query, rows: result };
    }
    page = 0;
    filter();
    await show();
  };

  // What is chosen stands in the address

  const fields = () => ["judge", "rule", "task", "models", "order", "text"].map((name) => form.elements[name]);
  const defaultOf = (field) => (field.matches("select") ? ([...field.options].find((each) => each.defaultSelected) ?? field.options[0]).value : "");

  const toAddress = () => {
    const { everywhere } = form.elements;
    const values = Object.fromEntries(fields().map((field) => [field.name, field.value === defaultOf(field) ? "" : field.value]));
    values.show = chosenKinds().join(" ");
    values.everywhere = everywhere.checked === everywhere.defaultChecked ? "" : String(everywhere.checked);
    pfgen.address.set(values);
  };

  const fromAddress = () => {
    for (const field of fields()) {
      field.value = pfgen.address.get(field.name) || defaultOf(field);
      if (field.selectedIndex < 0) field.value = defaultOf(field); // of another page
    }
    const shown = pfgen.address.get("show").split(" ");
    for (const box of boxes()) box.checked = shown.includes(box.value);
    const { everywhere } = form.elements;
    everywhere.checked = (pfgen.address.get("everywhere") || String(everywhere.defaultChecked)) === "true";
  };

  const changed = () => {
    if (only !== null) pfgen.address.set({}, { place: "" });
    only = null;
    onlyNote.hidden = true;
    toAddress();
    pfgen.verdicts.onChoice();
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
        element("button", { type: "button", class: "link", onclick: () => changed() && form.elements.rule.focus() }, tr("show_them_all")));
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
    given = { raters: index.raters, letters: index.letters, majority: index.majority };
    form.elements.task.append(...index.tasks.map((name, i) => option(i, name)));
    form.elements.task.closest("label").hidden = index.tasks.length < 2;
    form.elements.models.append(...modelPairs().map(([key, text]) => option(key, text)));
    form.elements.everywhere.defaultChecked = chunks.length <= fewChunks;
    // Judges without probabilities are decided by what both orders say, as on the command line.
    for (const own of index.judges.filter((each) => ![...each.probability].some(isLetter))) {
      own.probability = own.strict;
      own.isWithoutProbabilities = true;
    }
    if (judge().isWithoutProbabilities) {
      form.elements.rule.querySelector("[value=strict]").defaultSelected = true;
    }
    fromAddress();
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => event.target.name === "text" || changed());
    form.elements.text.addEventListener("input", pfgen.later(changed));
    form.addEventListener("reset", () => setTimeout(changed)); // it empties its fields after this event
    pfgen.verdicts = { ...pfgen.verdicts, index, given, judge, rule, textsOf, matching };
    pfgen.verdicts.onReady();
  };

  pfgen.verdicts = {
    onReady: () => null,
    onChoice: () => null,
    follow,

    /** Count the letters of a rater, a text by row, among those given; `null` for none. */
    setRater(name, letters) {
      const others = [...given.raters.keys()].filter((i) => letters === null || given.raters[i] !== name);
      index.raters = [...others.map((i) => given.raters[i]), ...(letters === null ? [] : [name])];
      index.letters = [...others.map((i) => given.letters[i]), ...(letters === null ? [] : [letters])];
      index.majority = letters === null ? given.majority
        : Array.from(index.ids, (_, row) => pfgen.majorityOf(index.letters.map((each) => each[row])));
    },

    /** Whether there are pairs before or after those on this page of the list; turns to them. */
    async turnPage(step) {
      if (page + step < 0 || page + step >= pagesOf()) return false;
      await turnTo(page + step);
      return true;
    },
  };

  pfgen.loadInto(list, indexName, begin);
})();
