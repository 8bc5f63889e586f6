// The page that compares runs: which runs, which two in detail, and which answers; all of it stands in the address.
(() => {
  const { tr } = pfgen;
  const { reading, comparison } = pfgen.data("compare");
  const detail = document.getElementById("pair-choice").elements;
  const side = document.getElementById("side-choice").elements;
  const figures = document.getElementById("figures");
  const note = document.getElementById("note");
  const places = Object.fromEntries(["chosen-table", "pairs-table", "pair-result", "answers", "legend", "asked", "left-out", "about-systems"]
    .map((id) => [id, document.getElementById(id)]));
  const start = { metric: "average", which: "2", rank: 1, marks: "difference", show: "all" }; // what the address need not say
  let data = null;
  let ranked = []; // numbers of all runs, the best first, systems last
  let state = null; // { runs, pair: [a, b] (numbers of runs), question (place), … }
  let shown = { key: null, found: null }; // the comparison of the runs that are shown
  let showChosen = null;

  const runOf = (number) => data.runs[number];
  const slugs = (numbers) => numbers.map((number) => runOf(number).slug).join("+");

  /** Whether the address names a place on this page, as the link that skips to the content does. */
  const isPlace = () => document.getElementById(pfgen.decoded(location.hash.slice(1))) !== null;

  /** The values of an address: `#runs=a+b&pair=…`, or two runs alone, as in older links. */
  const addressed = () => {
    const text = location.hash.slice(1);
    if (isPlace()) return {};
    if (!text.includes("=")) return text ? { runs: pfgen.decoded(text) } : {};
    return Object.fromEntries(text.split("&").map((part) => part.split("=").map(pfgen.decoded)));
  };

  /** The address of what is shown; what it need not say is left out. */
  const address = () => {
    const { runs, pair, question } = state;
    const parts = [["runs", slugs(runs)]];
    if (pair && (pair[0] !== runs[0] || pair[1] !== runs[1])) parts.push(["pair", slugs(pair)]);
    if (question !== 0) parts.push(["q", encodeURIComponent(data.questions[question].name)]);
    for (const [name, usual] of Object.entries(start)) {
      if (state[name] !== usual && (name !== "rank" || state.which === "rank")) parts.push([name, state[name]]);
    }
    return `#${parts.map((part) => part.join("=")).join("&")}`;
  };

  /** Other runs are a step in the history, other views of them are not. */
  const keepAddress = (isStep) => {
    if (address() === location.hash) return;
    try {
      history[isStep ? "pushState" : "replaceState"](history.state, "", address());
    } catch {
      // browsers may refuse this, for too many changes a second; the page works without
    }
  };

  /** Say what was done to a choice that cannot be, or nothing. */
  const remark = (key = null, values = {}) => {
    note.hidden = key === null;
    note.replaceChildren(...(key === null ? [] : [tr(key, values)]));
  };

  const numbersOf = (text = "") => text.split("+").filter(Boolean)
    .map((slug) => ({ slug, number: data.runs.findIndex((run) => run.slug === slug) }));

  /** The runs of an address, as far as they are on this page; where that leaves too few, the best besides. */
  const runsOf = (text) => {
    const named = numbersOf(text);
    const missing = named.filter(({ number }) => number < 0).map(({ slug }) => slug).join(", ").slice(0, 200);
    const found = [...new Set(named.map(({ number }) => number).filter((number) => number >= 0))];
    remark();
    if (missing) remark(["bad_address", "one_left"][found.length] ?? "some_missing", { names: missing });
    if (found.length > data.most) remark("too_many_named", { most: data.most, n: found.length });
    const isFilled = named.length === 0 || (missing && found.length < 2);
    return isFilled ? [...new Set([...found, ...ranked])].slice(0, data.first) : found.slice(0, data.most);
  };

  const pairOf = (text, runs) => {
    const found = numbersOf(text).map(({ number }) => number).filter((number) => runs.includes(number));
    if (found.length === 2 && found[0] !== found[1]) return found;
    return runs.length < 2 ? null : runs.slice(0, 2);
  };

  const oneOf = (form, name, value) => ([...form[name].options].some((option) => option.value === value) ? value : start[name]);

  const read = () => {
    const wanted = addressed();
    const runs = runsOf(wanted.runs);
    const question = data.questions.findIndex(({ name }) => name === wanted.q);
    return {
      runs,
      pair: pairOf(wanted.pair, runs),
      question: Math.max(question, 0),
      metric: data.metrics.includes(wanted.metric) ? wanted.metric : start.metric,
      which: oneOf(side, "which", wanted.which),
      rank: Math.max(Math.floor(Number(wanted.rank)) || 1, 1),
      marks: oneOf(side, "marks", wanted.marks),
      show: oneOf(side, "show", wanted.show),
    };
  };

  const comparisonOf = (runs) => {
    if (shown.key !== String(runs)) shown = { key: String(runs), found: runs.length < 2 ? null : pfgen.compared(data, runs) };
    return shown.found;
  };

  const fillForms = () => {
    const options = state.runs.map((number) => [number, pfgen.plain(runOf(number).name)]);
    for (const [i, name] of ["a", "b"].entries()) {
      detail[name].replaceChildren(...options.map(([value, text]) => pfgen.element("option", { value }, text)));
      detail[name].value = state.pair[i];
    }
    detail.metric.value = state.metric;
    for (const name of ["question", "which", "rank", "marks", "show"]) side[name].value = state[name];
    side.show.closest("label").hidden = state.runs.length < 3;
  };

  const leftOut = ({ questions, leftOut: others }) => {
    places["left-out"].hidden = others.length === 0;
    places["left-out"].replaceChildren(...(others.length === 0 ? [] : [
      tr(questions.length < 2 ? "too_few_questions" : "left_out", { n: questions.length }), " ",
      ...(questions.length < 2 ? [] : [others.map((q) => pfgen.plain(data.questions[q].name)).join(", ")])]));
  };

  const drawFigures = () => {
    const found = comparisonOf(state.runs);
    figures.hidden = !found?.metrics;
    places["left-out"].hidden = true;
    if (found) leftOut(found);
    if (figures.hidden) return;
    const view = { data, chosen: state.runs, found, metric: state.metric, pair: state.pair.map((number) => state.runs.indexOf(number)) };
    const systems = state.runs.filter((number) => runOf(number).system).length;
    places["about-systems"].hidden = systems === 0 || systems === state.runs.length;
    places["chosen-table"].replaceChildren(pfgen.chosenTable(view));
    places["pairs-table"].replaceChildren(...(state.runs.length > 2 ? [pfgen.pairsTable(view, choosePair)] : []));
    places["pair-result"].replaceChildren(...pfgen.pairDetail(view, lead));
  };

  const drawAnswers = () => {
    places.asked.replaceChildren(pfgen.shown(data.questions[state.question].text, "ja")); // printed, where choices are not
    places.legend.replaceChildren(state.marks === "difference" ? pfgen.element("p", { class: "quiet" }, tr("about_difference")) : pfgen.legend());
    const others = ranked.filter((number) => state.runs.includes(number) && !state.pair.includes(number));
    const runs = [...state.pair, ...(state.show === "all" ? others : [])].map(runOf);
    pfgen.sideBySide(places.answers, data, runs, state.question, state, reading);
  };

  const draw = () => {
    showChosen(state.runs);
    pfgen.address.lead("models", state.runs.length ? `?chosen=${state.runs.map((number) => encodeURIComponent(runOf(number).slug)).join("+")}` : "");
    if (state.pair) fillForms();
    drawFigures();
    if (!figures.hidden) drawAnswers();
  };

  /** Show another view; `isStep`: one that Back leaves. */
  const change = (changes, isStep = false) => {
    state = { ...state, ...changes };
    keepAddress(isStep);
  };

  const chooseRuns = (runs) => {
    remark();
    const kept = (state.pair ?? []).filter((number) => runs.includes(number));
    const pair = runs.length < 2 ? null : [...kept, ...runs.filter((number) => !kept.includes(number))].slice(0, 2);
    change({ runs, pair }, true);
    draw();
  };

  const showPair = (pair) => {
    change({ pair }, true);
    fillForms();
    drawFigures();
    drawAnswers();
  };

  const choosePair = (pair) => {
    remark();
    showPair(pair.map((place) => state.runs[place]));
    document.getElementById("pair").scrollIntoView();
    detail.a.focus({ preventScroll: true });
  };

  /** A run is not compared with itself: the other choice makes way. */
  const pairChanged = (event) => {
    if (event.target.name === "metric") {
      change({ metric: detail.metric.value });
      drawFigures();
      return;
    }
    remark();
    const pair = [Number(detail.a.value), Number(detail.b.value)];
    if (pair[0] === pair[1]) {
      const other = event.target.name === "a" ? 1 : 0;
      pair[other] = state.runs.find((number) => number !== pair[0]);
      remark("not_itself", { letter: "AB"[other], name: runOf(pair[other]).name });
    }
    showPair(pair);
  };

  const swap = () => {
    remark();
    showPair(state.pair.toReversed());
  };

  const sideChanged = () => {
    change({
      question: Number(side.question.value), which: side.which.value, rank: Math.max(Math.floor(Number(side.rank.value)) || 1, 1),
      marks: side.marks.value, show: side.show.value,
    });
    drawAnswers();
  };

  const lead = (question) => {
    side.question.value = question;
    sideChanged();
    document.getElementById("side").scrollIntoView();
    side.question.focus({ preventScroll: true });
  };

  const follow = () => {
    if (state && isPlace()) {
      keepAddress(false); // the place is in sight by now, and a link is to lead to these runs
      return;
    }
    state = read();
    draw();
  };

  /** The list of all runs, the best first; its options are known by their places there. */
  const makeChooser = (scores) => {
    ranked = [...data.runs.keys()].sort((i, j) => data.runs[i].system - data.runs[j].system || scores[j] - scores[i]);
    const options = ranked.map((number) => ({ name: runOf(number).name, text: runOf(number).slug, value: scores[number].toFixed(4) }));
    const changed = (chosen) => chooseRuns(chosen.map((place) => ranked[place]));
    const show = pfgen.chooser(document.getElementById("run-choice"), options, data.most, changed);
    showChosen = (numbers) => show(numbers.map((number) => ranked.indexOf(number)));
  };

  const begin = (value) => {
    data = value;
    for (const id of ["lead", "run-choice"]) document.getElementById(id).hidden = data.runs.length < 3; // nothing to choose
    makeChooser(pfgen.scoresOf(data));
    side.question.append(...data.questions.map(({ name, text }, i) => pfgen.element("option", { value: i }, pfgen.plain(`${name} ${text}`))));
    document.getElementById("pair-choice").addEventListener("change", pairChanged);
    document.getElementById("swap").addEventListener("click", swap);
    document.getElementById("side-choice").addEventListener("change", sideChanged);
    side.rank.addEventListener("input", () => {
      side.which.value = "rank";
      sideChanged();
    });
    for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", follow);
    follow();
  };

  pfgen.loadInto(document.getElementById("loading"), comparison, begin);
})();
