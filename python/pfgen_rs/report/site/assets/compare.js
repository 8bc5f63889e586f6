// The page that compares runs: which runs, which two in detail, and which answers; all of it stands in the address.
(() => {
  const { element, tr } = pfgen;
  const place = (id) => document.getElementById(id);
  const { reading, comparison } = pfgen.data("compare");
  const { a, b, metric } = place("pair-choice").elements;
  const { question, which, rank, marks, show } = place("side-choice").elements;
  const figures = place("figures");
  const views = pfgen.fields([metric, which, rank, marks, show]);
  let data = null;
  let ranked = []; // numbers of all runs, the best first, systems last
  let runs = null; // numbers of those that are compared
  let pair = null; // numbers of A and B, if there are two
  let shown = { key: null, found: null }; // the comparison of the runs that are shown
  let showChosen = null;

  const runOf = (number) => data.runs[number];
  const nameOf = (number) => pfgen.plain(runOf(number).name);
  const slugs = (numbers) => numbers.map((number) => runOf(number).slug).join("+");

  /** Whether the address names a place on this page, as the link that skips to the content does. */
  const isPlace = () => document.getElementById(pfgen.decoded(location.hash.slice(1))) !== null;

  /** The address of what is shown; what it need not say is left out. Other runs are a step in the history, other views are not. */
  const keepAddress = (isStep = false) => {
    const parts = { runs: slugs(runs), ...views.values() };
    if (pair && String(pair) !== String(runs.slice(0, 2))) parts.pair = slugs(pair);
    if (question.selectedIndex > 0) parts.q = encodeURIComponent(data.questions[question.value].name);
    if (which.value !== "rank") parts.rank = "";
    pfgen.address.set({}, { isStep, place: Object.entries(parts).filter(([, value]) => value).map((part) => part.join("=")).join("&") });
  };

  /** Put what a line of the page says there, or hide it. */
  const remark = (id, ...nodes) => {
    place(id).hidden = nodes.length === 0;
    place(id).replaceChildren(...nodes);
  };

  const numbersOf = (text) => text.split(" ").filter(Boolean)
    .map((slug) => ({ slug, number: data.runs.findIndex((run) => run.slug === slug) }));

  /** The runs of an address, as far as they are on this page; where that leaves too few, the best besides. */
  const runsOf = (text) => {
    const named = numbersOf(text);
    const names = named.filter(({ number }) => number < 0).map(({ slug }) => slug).join(", ").slice(0, 200);
    const found = [...new Set(named.map(({ number }) => number).filter((number) => number >= 0))];
    const { most } = data;
    remark("note", ...(found.length > most ? [tr("too_many_named", { most, n: found.length })]
      : names ? [tr(["bad_address", "one_left"][found.length] ?? "some_missing", { names })] : []));
    const isFilled = named.length === 0 || (names && found.length < 2);
    return isFilled ? [...new Set([...found, ...ranked])].slice(0, data.first) : found.slice(0, most);
  };

  /** Two of the runs, those that are wanted if they can be had. */
  const pairOf = (wanted) =>
    (runs.length < 2 ? null : [...new Set([...wanted.filter((number) => runs.includes(number)), ...runs])].slice(0, 2));

  /** What an address says: `#runs=a+b&pair=…`, or runs alone, as in older links. */
  const read = () => {
    const values = new URLSearchParams(isPlace() ? "" : location.hash.slice(1)); // "+" becomes a space
    const get = (name) => values.get(name) ?? "";
    const [[first, rest] = ["", ""]] = values;
    runs = runsOf(get("runs") || (rest === "" ? first : ""));
    const wanted = numbersOf(get("pair")).map(({ number }) => number);
    pair = pairOf(wanted.every((number) => runs.includes(number)) ? wanted : []);
    question.value = Math.max(data.questions.findIndex(({ name }) => name === get("q")), 0);
    views.recall(get);
  };

  const comparisonOf = () => {
    if (shown.key !== String(runs)) shown = { key: String(runs), found: runs.length < 2 ? null : pfgen.compared(data, runs) };
    return shown.found;
  };

  const option = (value, text) => element("option", { value }, text);

  const fillPair = () => {
    for (const [i, field] of [a, b].entries()) {
      field.replaceChildren(...runs.map((number) => option(number, nameOf(number))));
      field.value = pair[i];
    }
    show.closest("label").hidden = runs.length < 3;
  };

  const leftOut = ({ questions, leftOut: others }) => {
    const isEnough = questions.length > 1;
    const names = isEnough ? others.map((q) => pfgen.plain(data.questions[q].name)).join(", ") : "";
    remark("left-out", ...(others.length ? [tr(isEnough ? "left_out" : "too_few_questions", { n: questions.length }), " ", names] : []));
  };

  const drawFigures = () => {
    const found = comparisonOf();
    figures.hidden = !found?.metrics;
    remark("left-out");
    if (found) leftOut(found);
    if (figures.hidden) return;
    const view = { data, chosen: runs, found, metric: metric.value, pair: pair.map((number) => runs.indexOf(number)) };
    const systems = runs.filter((number) => runOf(number).system).length;
    place("about-systems").hidden = systems === 0 || systems === runs.length;
    place("chosen-table").replaceChildren(pfgen.chosenTable(view));
    place("pairs-table").replaceChildren(...(runs.length > 2 ? [pfgen.pairsTable(view, choosePair)] : []));
    place("pair-result").replaceChildren(...pfgen.pairDetail(view, lead));
  };

  const drawAnswers = () => {
    const asked = Number(question.value);
    const choice = { which: which.value, rank: Math.floor(rank.value) || 1, marks: marks.value };
    place("asked").replaceChildren(pfgen.shown(data.questions[asked].text, "ja")); // printed, where choices are not
    const isPlain = choice.marks === "difference";
    place("legend").replaceChildren(isPlain ? element("p", { class: "quiet" }, tr("about_difference")) : pfgen.legend());
    const others = ranked.filter((number) => runs.includes(number) && !pair.includes(number));
    const beside = [...pair, ...(show.value === "all" ? others : [])].map(runOf);
    pfgen.sideBySide(place("answers"), data, beside, asked, choice, reading);
  };

  const draw = () => {
    pfgen.address.lead("models", runs.length ? `?chosen=${slugs(runs)}` : "");
    if (pair) fillPair();
    drawFigures();
    if (!figures.hidden) drawAnswers();
  };

  const chooseRuns = (chosen) => {
    remark("note");
    runs = chosen;
    pair = pairOf(pair ?? []);
    keepAddress(true);
    draw();
  };

  const showPair = (chosen) => {
    pair = chosen;
    keepAddress(true);
    draw();
  };

  const choosePair = (chosen) => {
    remark("note");
    showPair(chosen.map((at) => runs[at]));
    place("pair").scrollIntoView();
    a.focus({ preventScroll: true });
  };

  /** A run is not compared with itself: the other choice makes way. */
  const pairChanged = ({ target }) => {
    if (target === metric) {
      keepAddress();
      drawFigures();
      return;
    }
    remark("note");
    const chosen = [Number(a.value), Number(b.value)];
    if (chosen[0] === chosen[1]) {
      const other = target === a ? 1 : 0;
      chosen[other] = runs.find((number) => number !== chosen[0]);
      remark("note", tr("not_itself", { letter: "AB"[other], name: nameOf(chosen[other]) }));
    }
    showPair(chosen);
  };

  const sideChanged = () => {
    keepAddress();
    drawAnswers();
  };

  const lead = (asked) => {
    question.value = asked;
    sideChanged();
    place("side").scrollIntoView();
    question.focus({ preventScroll: true });
  };

  const follow = () => {
    if (runs && isPlace()) {
      keepAddress(); // the place is in sight by now, and a link is to lead to these runs
      return;
    }
    read();
    showChosen(runs);
    draw();
  };

  /** The list of all runs, the best first; its options are known by their places there. */
  const makeChooser = (scores) => {
    ranked = [...data.runs.keys()].sort((i, j) => data.runs[i].system - data.runs[j].system || scores[j] - scores[i]);
    const options = ranked.map((number) => ({ name: runOf(number).name, text: runOf(number).slug, value: scores[number].toFixed(4) }));
    const changed = (chosen) => chooseRuns(chosen.map((at) => ranked[at]));
    const choose = pfgen.chooser(place("run-choice"), options, data.most, changed);
    showChosen = (numbers) => choose(numbers.map((number) => ranked.indexOf(number)));
  };

  const begin = (value) => {
    data = value;
    for (const id of ["lead", "run-choice"]) place(id).hidden = data.runs.length < 3; // nothing to choose
    makeChooser(pfgen.scoresOf(data));
    question.append(...data.questions.map(({ name, text }, i) => option(i, pfgen.plain(`${name} ${text}`))));
    place("pair-choice").addEventListener("change", pairChanged);
    place("swap").addEventListener("click", () => {
      remark("note");
      showPair(pair.toReversed());
    });
    place("side-choice").addEventListener("change", sideChanged);
    rank.addEventListener("input", () => {
      which.value = "rank";
      sideChanged();
    });
    addEventListener("hashchange", follow);
    follow();
  };

  pfgen.loadInto(place("loading"), comparison, begin);
})();
