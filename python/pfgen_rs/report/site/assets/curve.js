// A page of learning curves: figures by step or tokens, and the answers of steps side by side.
(() => {
  const { element, t, tr } = pfgen;
  const parts = ["score", "fluency", "truthfulness", "helpfulness"];
  const prefix = "llm_jp_eval/";
  const figures = document.getElementById("figures");
  const choice = document.getElementById("choice");
  const answers = document.getElementById("answers");
  const all = document.getElementById("all");
  const fields = [1, 2, 3, 4].map((n) => choice.elements[`step${n}`]);

  /** What figures show: the parts of the score, tasks, and differences from the other runs. */
  const panelsOf = ({ tasks, runs, differences }) => {
    const labelOf = (key) => (key.startsWith(prefix) ? pfgen.plain(key.slice(prefix.length)) : t(key));
    return [...[...parts, ...tasks].map((key) => ({ key, label: labelOf(key), rows: runs.map(({ rows }) => rows) })),
      { key: "difference", label: t("curve_difference"), rows: [[], ...differences] }];
  };

  const answer = ([trial, score, text, characters]) => [
    element("p", { class: "score" }, tr("curve_trial", { n: trial }), " · ", element("b", {}, score === null ? "–" : score.toFixed(4)),
      ...(characters > Array.from(text).length ? [" · ", tr("curve_cut", { n: characters })] : [])),
    pfgen.block(text),
  ];

  const card = (data, found, place) => element("article", { class: "card" },
    element("h4", {}, tr("curve_step", { n: data.steps[place] })),
    ...data.runs.flatMap((run, i) => [
      ...(data.runs.length > 1 ? [element("h5", {}, pfgen.shown(run.name))] : []),
      ...(found[i][place].length ? found[i][place].flatMap(answer) : [element("p", { class: "quiet" }, tr("curve_no_answers"))])]));

  const show = (data) => {
    const question = data.questions[choice.elements.question.selectedIndex];
    const isAll = all.getAttribute("aria-pressed") === "true";
    const steps = isAll ? data.steps : [...new Set(fields.map(({ value }) => value).filter(Boolean).map(Number))];
    for (const field of fields) field.disabled = isAll;
    document.getElementById("asked").replaceChildren(pfgen.shown(question.text, "ja"));
    pfgen.address.set({ q: question.id, steps: isAll ? "all" : steps.join(".") });
    pfgen.loadInto(answers, question.payload, (found) => answers.append(
      element("div", { class: isAll ? "steps all" : "steps", role: "group", "aria-labelledby": "asked", tabindex: isAll ? "0" : false },
        ...steps.map((step) => card(data, found, data.steps.indexOf(step))))));
  };

  /** Choices, with those of the address; else the first question, and the first step, the last and two between. */
  const fill = ({ questions, steps }) => {
    const brief = (text) => pfgen.plain(text.length > 80 ? `${text.slice(0, 79)}…` : text);
    choice.elements.question.append(...questions.map(({ id, text }) =>
      element("option", { value: id, selected: id === pfgen.address.get("q") }, `${brief(id)} ${brief(text)}`)));
    const wanted = pfgen.address.get("steps").split(".").map((text) => Number(text || NaN)).filter((step) => steps.includes(step));
    const usual = new Set([0, 1, 2, 3].map((i) => steps[Math.round((i * (steps.length - 1)) / 3)]));
    const first = wanted.length ? wanted : [...usual];
    fields.forEach((field, i) => field.append(element("option", { value: "" }, "–"),
      ...steps.map((step) => element("option", { value: step, selected: step === first[i] }, step.toLocaleString("en")))));
    all.setAttribute("aria-pressed", String(pfgen.address.get("steps") === "all"));
  };

  const start = (data) => {
    const hasTokens = data.runs.some(({ rows }) => rows.some(({ tokens }) => tokens !== null));
    pfgen.drawings.mount(figures, { curves: data.runs, panels: () => panelsOf(data), hasTokens, rows: () => [] }, { kinds: ["curves"] });
    choice.hidden = !data.questions.length;
    if (choice.hidden) {
      answers.append(element("p", { class: "quiet" }, tr("curve_no_answers")));
      return;
    }
    const move = (by) => {
      const [field, { length }] = [choice.elements.question, data.questions];
      field.selectedIndex = (field.selectedIndex + by + length) % length;
      show(data);
    };
    fill(data);
    choice.addEventListener("change", () => show(data));
    document.getElementById("before").addEventListener("click", () => move(-1));
    document.getElementById("after").addEventListener("click", () => move(1));
    all.addEventListener("click", () => {
      all.setAttribute("aria-pressed", String(all.getAttribute("aria-pressed") !== "true"));
      show(data);
    });
    show(data);
  };

  pfgen.loadInto(figures, pfgen.data("curve"), start);
})();
