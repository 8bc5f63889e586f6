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
    list.replaceChildren(...answers.slice(page * onPage, (page + 1) * onPage).map((answer) => card(answer, query)));
    pager.replaceChildren(turn(-1, "previous"), tr("page_of", { page: page + 1, pages }), turn(1, "next"));
    pager.hidden = pages === 1;
    notes(answers.length);
  };

  const open = async (number) => {
    const question = questions.find((q) => q.number === number) ?? questions[0];
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

  const hashed = () => /^#q(\d+)$/.exec(location.hash);

  const follow = () => {
    const wanted = hashed();
    if (!wanted) return;
    open(Number(wanted[1]));
    document.getElementById("answers").scrollIntoView();
    form.elements.question.focus({ preventScroll: true });
  };

  const usual = { show: form.elements.show.value, order: form.elements.order.value, text: "" };

  /** The view as the address has it: the question after "#", and what differs from the usual choices. */
  const remember = () => {
    for (const [name, value] of Object.entries(usual)) {
      const chosen = form.elements[name].value;
      pfgen.address.set({ [name]: chosen === value ? "" : chosen });
    }
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
    history.replaceState(null, "", `#q${number}`);
    open(number);
  });
  for (const name of ["show", "order"]) form.elements[name].addEventListener("change", again);
  form.addEventListener("input", pfgen.later(remember, 200));
  recall();
  form.elements.text.addEventListener("input", pfgen.later(() => {
    if (form.elements.text.value) form.elements.show.value = "all";
    again();
  }));
  addEventListener("hashchange", follow);
  if (hashed()) follow();
  else open(questions[0].number);
})();
