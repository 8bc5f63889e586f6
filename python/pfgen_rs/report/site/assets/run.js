// The answers of a run: a question at a time, sorted, searched and paged.
(() => {
  const { element, tr } = pfgen;
  const { reading, questions, answers: answersFile } = pfgen.data("run");
  const form = document.getElementById("choice");
  const { question: asked, show: kind, order, text } = form.elements;
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const top = document.getElementById("answers");
  const answersName = ({ number }) => `${answersFile}#${number}`;
  const windowsName = ({ number }) => `windows/q${String(number).padStart(3, "0")}`;
  let loaded = null; // { data, table } of the chosen question

  asked.append(...questions.map((each) => element("option", { value: each.number }, pfgen.plain(`${each.name} ${each.text}`))));
  document.getElementById("legend").append(pfgen.legend());

  const orders = {
    best: () => 0, // rows are in this order
    worst: (a, b) => b.row - a.row,
    longest: (a, b) => b.characters.length - a.characters.length,
    shortest: (a, b) => a.characters.length - b.characters.length,
    file: (a, b) => a.line - b.line,
  };

  const card = (answer) => element("article", { class: "card answer" },
    element("h3", {}, tr("rank_of", { rank: answer.rank, total: answer.total }), " ",
      element("b", { class: "average" }, answer.average.toFixed(5)), " ",
      answer.sample < 0 ? "" : element("span", { class: "chip" }, tr(`sample_${answer.sample}`)),
      element("small", { class: "quiet" }, tr("line", { line: answer.line }))),
    pfgen.answerText(answer, loaded.table, reading, { query: text.value }),
    ...pfgen.answerFigures(answer, reading),
    pfgen.answerRules(answer));

  const chosen = ({ quantiles, texts }) => [...(kind.value === "samples" ? new Set(quantiles) : texts.keys())]
    .filter((row) => texts[row].includes(text.value))
    .map((row) => pfgen.answer(loaded.data, row)).sort(orders[order.value]);

  const draw = (answers) => {
    pfgen.hideCounts();
    list.replaceChildren(...answers.map(card));
  };
  const paged = pfgen.paged(document.getElementById("pager"), draw, top);

  const show = () => {
    if (!loaded) return;
    const { data } = loaded;
    const [answers, all] = [chosen(data), data.texts.length];
    paged.show(answers);
    const note = [tr(answers.length === all ? "found" : "found_of", { n: answers.length, all })];
    if (data.total > all) note.push(" ", tr("not_shown", { total: data.total, shown: all }));
    found.replaceChildren(...note);
    pfgen.say(found.textContent);
  };

  const open = async (question) => {
    asked.value = question.number;
    document.getElementById("asked").replaceChildren(pfgen.shown(question.text, "ja")); // printed, where choices are not
    loaded = null;
    const values = await pfgen.loadEach(list, [answersName(question), windowsName(question)]);
    if (!values || Number(asked.value) !== question.number) return; // or another was chosen
    loaded = { data: values[0], table: pfgen.windowTable(values[1]) };
    show();
  };

  /** An id as people write it: "q1" for "Q01". */
  const loose = (name) => name.toLowerCase().replace(/(?<!\d)0+(?=\d)/g, "");

  /** The question that the address names, if it does, and whether it names another place of the page. */
  const named = () => {
    const id = pfgen.decoded(location.hash.slice(1));
    const exact = questions.find(({ name }) => name === id);
    const isPlace = !exact && id !== "" && document.getElementById(id) !== null;
    return { id, isPlace, question: exact ?? (isPlace ? undefined : questions.find(({ name }) => loose(name) === loose(id))) };
  };

  /** Open the question of the address; if there is no such question, say so and open the first. */
  const follow = () => {
    const { id, isPlace, question } = named();
    if (isPlace && loaded) return;
    const note = document.getElementById("unknown");
    note.hidden = Boolean(question) || isPlace || id === "";
    note.replaceChildren(...(note.hidden ? [] : [tr("no_such_question", { id: id.slice(0, 200) })]));
    open(question ?? questions[0]);
  };

  const goTo = () => {
    top.scrollIntoView();
    asked.focus({ preventScroll: true });
  };

  const isStep = pfgen.address.steps();
  const fields = pfgen.fields([kind, order, text]);

  /** Put the view into the address (`place`: another question), and show it. */
  const changed = (isTyped, place) => {
    pfgen.address.set(fields.values(), { isStep: isStep(isTyped), place });
    if (place === undefined) show();
    else follow();
  };

  asked.addEventListener("change", () => changed(false, encodeURIComponent(questions.find((q) => q.number === Number(asked.value)).name)));
  for (const field of [kind, order]) field.addEventListener("change", () => changed(false));
  text.addEventListener("input", pfgen.later(() => {
    if (text.value) kind.value = "all";
    changed(true);
  }));
  addEventListener("hashchange", () => named().question && goTo());
  addEventListener("popstate", () => {
    fields.recall(pfgen.address.get);
    follow();
  });
  fields.recall(pfgen.address.get);
  follow();
  if (named().question) goTo();
})();
