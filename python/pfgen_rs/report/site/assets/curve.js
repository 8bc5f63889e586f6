// A page of learning curves: figures by step or tokens, and the answers of steps side by side.
(() => {
  const { element, t, tr } = pfgen;
  const parts = ["score", "fluency", "truthfulness", "helpfulness"];
  const prefix = "llm_jp_eval/";
  const figures = document.getElementById("figures");
  const choice = document.getElementById("choice");
  const answers = document.getElementById("answers");
  const all = document.getElementById("all");

  /** What figures show: the parts of the score, tasks, and differences from the other runs. */
  const panelsOf = ({ tasks, runs, differences }) => {
    const all = runs.map(({ rows }) => rows);
    const labelOf = (key) => (key.startsWith(prefix) ? pfgen.plain(key.slice(prefix.length)) : t(key));
    return [...[...parts, ...tasks].map((key) => ({ key, label: labelOf(key), rows: all })),
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

  const fields = [1, 2, 3, 4].map((n) => choice.elements[`step${n}`]);

  const chosen = (data) => (all.getAttribute("aria-pressed") === "true"
    ? data.steps.map((_, place) => place)
    : [...new Set(fields.map((field) => field.value).filter(Boolean).map(Number))]);

  const show = (data) => {
    const question = data.questions[Number(choice.elements.question.value)];
    const places = chosen(data);
    const isAll = all.getAttribute("aria-pressed") === "true";
    for (const field of fields) field.disabled = isAll;
    document.getElementById("asked").replaceChildren(pfgen.shown(question.text, "ja"));
    pfgen.address.set({ q: question.id, steps: isAll ? "all" : places.map((place) => data.steps[place]).join(".") });
    pfgen.loadInto(answers, question.payload, (found) => answers.append(
      element("div", { class: isAll ? "steps all" : "steps", role: "group", "aria-labelledby": "asked", tabindex: isAll ? "0" : false }, ...places.map((place) => card(data, found, place)))));
  };

  /** The steps of the address; else the first, the last and two between. */
  const firstSteps = ({ steps }) => {
    const wanted = pfgen.address.get("steps").split(".").map((text) => steps.indexOf(Number(text || NaN))).filter((place) => place >= 0);
    return wanted.length ? wanted : [...new Set([0, 1, 2, 3].map((i) => Math.round((i * (steps.length - 1)) / 3)))];
  };

  const fill = (data) => {
    const brief = (text) => pfgen.plain(text.length > 80 ? `${text.slice(0, 79)}…` : text);
    choice.elements.question.append(...data.questions.map(({ id, text }, i) => element("option", { value: i }, `${brief(id)} ${brief(text)}`)));
    const first = firstSteps(data);
    fields.forEach((field, i) => {
      field.append(element("option", { value: "" }, "–"), ...data.steps.map((step, place) => element("option", { value: place }, step.toLocaleString("en"))));
      field.value = String(first[i] ?? "");
    });
    const asked = data.questions.findIndex(({ id }) => id === pfgen.address.get("q"));
    choice.elements.question.value = String(Math.max(asked, 0));
    all.setAttribute("aria-pressed", String(pfgen.address.get("steps") === "all"));
  };

  const move = (data, by) => {
    const field = choice.elements.question;
    field.value = String((Number(field.value) + by + data.questions.length) % data.questions.length);
    show(data);
  };

  const start = (data) => {
    const hasTokens = data.runs.some(({ rows }) => rows.some(({ tokens }) => tokens !== null));
    pfgen.drawings.mount(figures, { curves: data.runs, panels: () => panelsOf(data), hasTokens, rows: () => [] }, { kinds: ["curves"] });
    if (!data.questions.length) {
      choice.hidden = true;
      answers.append(element("p", { class: "quiet" }, tr("curve_no_answers")));
      return;
    }
    fill(data);
    choice.addEventListener("change", () => show(data));
    document.getElementById("before").addEventListener("click", () => move(data, -1));
    document.getElementById("after").addEventListener("click", () => move(data, 1));
    all.addEventListener("click", () => {
      all.setAttribute("aria-pressed", String(all.getAttribute("aria-pressed") !== "true"));
      show(data);
    });
    show(data);
  };

  pfgen.loadInto(figures, pfgen.data("curve"), start);
})();
