// Answers of the compared runs to one question, side by side.
(() => {
  const { element, tr } = pfgen;
  const letters = ["A", "B"];

  /** Row of the answer to show: at a quantile, or at a rank. */
  const rowOf = (found, { which, rank }) =>
    (which === "rank" ? Math.min(Math.max(rank, 1), found.texts.length) - 1 : found.quantiles[Number(which)]);

  const card = (run, letter, ...content) => element("article", { class: "card answer" },
    element("h3", {}, ...(letter ? [element("b", { class: "letter" }, letter)] : []), pfgen.shown(run.name)), ...content);

  const answered = (answer, table, reading, differs) => [
    element("p", {}, element("b", { class: "average" }, answer.average.toFixed(5)), " ",
      tr("rank_of", { rank: answer.rank, total: answer.total })),
    pfgen.answerText(answer, table, reading, { classes: (i) => (differs?.has(i) ? "differs" : "") }),
    ...pfgen.answerFigures(answer, reading),
    pfgen.answerRules(answer),
  ];

  /** What stands in the place of answers that are not there: the run has none, or their file is missing. */
  const without = (run, isMissing) => (isMissing
    ? element("p", { class: "problem", role: "alert" }, tr("answers_not_loaded", { name: pfgen.plain(run.name) }))
    : element("p", { class: "quiet" }, tr("not_answered")));

  const isAnswered = (run, question) => run.questions === null || run.questions.includes(question);

  /**
   * Loads and shows the answers of some runs (the first two are A and B) to a question (a place in `data.questions`).
   * `choice`: { which, rank, marks } as the page's form has them.
   */
  pfgen.sideBySide = async (place, data, runs, question, choice, reading) => {
    const { windows, answers } = data.questions[question];
    const having = runs.filter((run) => isAnswered(run, question));
    const values = await pfgen.loadEach(place, [windows, ...having.map((run) => answers.replace("{run}", run.folder))], 1);
    if (!values) return;
    const table = pfgen.windowTable(values[0]);
    const shown = runs.map((run) => {
      const found = values[1 + having.indexOf(run)];
      return having.includes(run) && found ? pfgen.answer(found, rowOf(found, choice)) : null;
    });
    const differing = choice.marks === "difference";
    const differs = differing && shown[0] && shown[1] ? pfgen.differences(shown[0].characters, shown[1].characters) : [];
    const cards = runs.map((run, i) => card(run, letters[i],
      ...(shown[i] ? answered(shown[i], table, reading, differs[i]) : [without(run, having.includes(run))])));
    const classes = ["beside", differing ? "differing" : "", runs.length > 2 ? "many" : ""].filter(Boolean).join(" ");
    pfgen.hideCounts();
    place.replaceChildren(element("div", { class: classes, ...(runs.length > 2 && { tabindex: "0", role: "group", "aria-labelledby": "side" }) }, ...cards));
  };
})();
