// The answers of a run: a question at a time, sorted, searched and paged.
(() => {
  const { element, tr } = pfgen;
  const { reading, questions, answers: answersFile } = pfgen.data("run");
  const form = document.getElementById("choice");
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const pager = document.getElementById("pager");
  const onPage = 20;
  const answersName = ({ number }) => `${answersFile}#${number}`;
  const windowsName = ({ number }) => `windows/q${String(number).padStart(3, "0")}`;
  let page = 0;
  let loaded = null; // { data, table } of the chosen question

  const option = ({ number, name, text }) => element("option", { value: number }, pfgen.plain(`${name} ${text}`));
  form.elements.question.append(...questions.map(option));
  document.getElementById("legend").append(pfgen.legend());

  const orders = {
    best: () => 0, // rows are in this order
    worst: (a, b) => b.row - a.row,
    longest: (a, b) => b.characters.length - a.characters.length,
    shortest: (a, b) => a.characters.length - b.characters.length,
    file: (a, b) => a.line - b.line,
  };

  const card = (answer, query) => element("article", { class: "card answer" },
    element("h3", {}, tr("rank_of", { rank: answer.rank, total: answer.total }), " ",
      element("b", { class: "average" }, answer.average.toFixed(5)), " ",
      answer.sample < 0 ? "" : element("span", { class: "chip" }, tr(`sample_${answer.sample}`)),
      element("small", { class: "quiet" }, tr("line", { line: answer.line }))),
    pfgen.answerText(answer, loaded.table, reading, { query }),
    ...pfgen.answerFigures(answer, reading),
    pfgen.answerRules(answer));

  const chosen = (query) => {
    const rows = form.elements.show.value === "samples" ? new Set(loaded.data.quantiles) : loaded.data.texts.keys();
    return [...rows].filter((row) => loaded.data.texts[row].includes(query))
      .map((row) => pfgen.answer(loaded.data, row)).sort(orders[form.elements.order.value]);
  };

  const turn = (step, label) => element("button", {
    type: "button",
    disabled: page + step < 0 || page + step >= pages,
    onclick: () => {
      page += step;
      show();
      document.getElementById("answers").scrollIntoView();
      (pager.querySelector(step > 0 ? "button:last-child:enabled" : "button:first-child:enabled") ?? pager.querySelector("button:enabled"))?.focus({ preventScroll: true });
    },
  }, tr(label));
  let pages = 1;

  const notes = (count) => {
    const { data } = loaded;
    const all = data.texts.length;
    const note = [tr(count === all ? "found" : "found_of", { n: count, all })];
    if (data.total > all) note.push(" ", tr("not_shown", { total: data.total, shown: all }));
    found.replaceChildren(...note);
    pfgen.say(found.textContent);
  };

  const show = () => {
    if (!loaded) return;
    const query = form.elements.text.value;
    const answers = chosen(query);
    pages = Math.max(Math.ceil(answers.length / onPage), 1);
    page = Math.min(page, pages - 1);
    pfgen.hideCounts();
    list.replaceChildren(...answers.slice(page * onPage, (page + 1) * onPage).map((answer) => card(answer, query)));
    pager.replaceChildren(turn(-1, "previous"), tr("page_of", { page: page + 1, pages }), turn(1, "next"));
    pager.hidden = pages === 1;
    notes(answers.length);
  };

  const open = async (question) => {
    form.elements.question.value = question.number;
    document.getElementById("asked").replaceChildren(pfgen.shown(question.text, "ja")); // printed, where choices are not
    loaded = null;
    page = 0;
    const values = await pfgen.loadEach(list, [answersName(question), windowsName(question)]);
    if (!values || Number(form.elements.question.value) !== question.number) return; // or another was chosen
    loaded = { data: values[0], table: pfgen.windowTable(values[1]) };
    show();
  };

  const again = () => {
    page = 0;
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
    document.getElementById("answers").scrollIntoView();
    form.elements.question.focus({ preventScroll: true });
  };

  const isStep = pfgen.address.steps();
  const usual = { show: form.elements.show.value, order: form.elements.order.value, text: "" };

  /** The view as the address has it: the question after "#", and what differs from the usual choices. */
  const remember = (isTyped, place) => {
    const views = Object.entries(usual).map(([name, value]) => [name, form.elements[name].value === value ? "" : form.elements[name].value]);
    pfgen.address.set(Object.fromEntries(views), { isStep: isStep(isTyped), place });
  };

  const recall = () => {
    for (const [name, value] of Object.entries(usual)) {
      form.elements[name].value = pfgen.address.get(name) || value;
      if (!form.elements[name].value) form.elements[name].value = value; // no such choice
    }
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.question.addEventListener("change", () => {
    const number = Number(form.elements.question.value);
    remember(false, encodeURIComponent(questions.find((q) => q.number === number).name));
    follow();
  });
  for (const name of ["show", "order"]) {
    form.elements[name].addEventListener("change", () => {
      remember(false);
      again();
    });
  }
  form.elements.text.addEventListener("input", pfgen.later(() => {
    if (form.elements.text.value) form.elements.show.value = "all";
    remember(true);
    again();
  }));
  addEventListener("hashchange", () => named().question && goTo());
  addEventListener("popstate", () => {
    recall();
    follow();
  });
  recall();
  follow();
  if (named().question) goTo();
})();
