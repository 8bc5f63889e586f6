// Answers that readers try: typed or pasted, and scored in the page from the reference answers that it carries.
(() => {
  const { element, tr, t } = pfgen;
  const { questions, ...shared } = pfgen.data("trial");
  const { target_length: target, zero_length: zero, skipped, helpfulness } = shared.settings;
  const reading = { target, zero, skipped, metrics: helpfulness ? 3 : 2 };
  const longest = 20000; // code units of a text
  const longestInAddress = 4000; // characters there; most of Japanese take nine
  const patience = 5000; // milliseconds, as long as Python may take (`expressions.py`)
  let active = null; // the trial that was used last; others keep no index

  /** Puts a question and a text into the address, behind the #, which browsers do not send; returns whether the text has room there. */
  const intoAddress = (id, text) => {
    const both = String(new URLSearchParams({ q: id, try: text }));
    const fits = both.length <= longestInAddress;
    pfgen.address.set({}, { place: text && fits ? both : String(new URLSearchParams({ q: id })) });
    return fits;
  };

  /** Scores as run pages have them (`answers.js`); shares are those of the sources in the page's order. */
  const answerOf = (text, scores, sources) => {
    const part = (metric) => sources.map((source, i) => (
      { metric, source, share: scores.shares[metric][i], cut: scores.sources[i][metric].cut }));
    const { helpful } = scores;
    return {
      text,
      characters: Array.from(text),
      average: scores.average,
      parts: [...part("fluency"), ...part("truthfulness"),
        ...(helpful ? [{ metric: "helpfulness", source: null, share: scores.helpfulness, cut: helpful.cut }] : [])],
      rules: (helpful?.rules ?? []).map((rule) => ({ ...rule, position: Number.isFinite(rule.position) ? rule.position : -1 })),
    };
  };

  const problem = (key) => element("p", { class: "problem", role: "alert" }, tr(key, { seconds: patience / 1000 }));

  /** Says which regular expressions keep Helpfulness, and so the score, from being computed. */
  const unmatched = (patterns) => element("p", { class: "problem" }, tr("try_unmatched"), " ",
    ...patterns.flatMap((pattern, i) => [i ? ", " : "", element("code", {}, `/${pfgen.plain(pattern)}/`)]));

  const spoken = ({ average, shares, helpfulness }) => {
    const sum = (values) => values.reduce((total, value) => total + value, 0).toFixed(3);
    const values = { fluency: sum(shares.fluency), truthfulness: sum(shares.truthfulness) };
    if (average === null) return t("try_spoken_part", values);
    return t("try_spoken", { ...values, helpfulness: helpfulness.toFixed(3), score: average.toFixed(3) });
  };

  /** A place to try answers to a question, whose reference answers are `data`. */
  const trialOf = (place, question, { answers, sources }) => {
    const scorer = pfgen.scorer({ ...shared, ...question, answers }, patience);
    const { sample } = question;
    const origin = element("span", { class: "quiet" });
    const notes = element("div", { class: "notes" });
    const outcome = element("div", { class: "outcome" });
    let examples = 0; // that were shown

    const show = (...nodes) => {
      const isOpen = outcome.querySelector(".breakdown[open]") !== null;
      pfgen.hideCounts();
      outcome.replaceChildren(...nodes);
      outcome.querySelector(".breakdown")?.toggleAttribute("open", isOpen);
    };

    const scored = (text, scores) => {
      const answer = answerOf(text, scores, sources);
      const table = pfgen.windowTable({ ...scores.table, sources, answers: answers.map((of) => of.length) });
      const [figures, breakdown] = pfgen.answerFigures(answer, reading);
      say(text, scores);
      return [
        element("p", { class: "total" }, tr("score"), " ", element("b", {}, scores.average === null ? "–" : scores.average.toFixed(5))),
        figures,
        scores.helpful ? pfgen.answerRules(answer) : unmatched(scores.unmatched),
        pfgen.answerText(answer, table, reading),
        breakdown,
        pfgen.legend(),
      ];
    };

    const score = async () => {
      const text = input.value;
      const isCurrent = () => input.value === text; // else a later call shows what there is
      outcome.setAttribute("aria-busy", "true");
      try {
        if (!text) show();
        else if (/\p{Cs}/u.test(text)) show(problem("try_surrogate"));
        else {
          const scores = await scorer.score(text);
          if (scores && isCurrent()) show(...scored(text, scores));
        }
      } catch (error) {
        if (isCurrent()) show(problem(error.message === "late" ? "try_late" : "try_failed"));
        if (error.message !== "late") throw error;
      } finally {
        if (isCurrent()) outcome.removeAttribute("aria-busy");
      }
    };

    /** What has to be said about the text and the address, which it is put into. */
    const keep = pfgen.later(() => {
      const said = intoAddress(question.id, input.value) ? [] : [tr("try_not_in_address")];
      if (input.value.length >= longest) said.push(tr("try_limit", { n: longest }));
      notes.replaceChildren(...said.map((note) => element("p", { class: "quiet" }, note)));
    }, 400);
    const say = pfgen.later((text, scores) => input.value === text && pfgen.say(spoken(scores)), 1000);

    const changed = () => {
      if (active !== scorer) active?.stop();
      active = scorer;
      origin.replaceChildren();
      keep();
      score();
    };

    /** Puts a text into the field, so that undoing brings back what was there. */
    const fill = (text) => {
      input.focus();
      input.select();
      if (input.value === text || document.execCommand(text ? "insertText" : "delete", false, text)) return;
      input.value = text;
      changed();
    };

    /** The example answer, if there is one, then reference answers of each source in turn. */
    const example = () => {
      const place = sample === null ? examples : examples - 1;
      const source = Math.max(place, 0) % sources.length;
      const number = Math.floor(place / sources.length) % answers[source].length;
      examples += 1;
      fill(place < 0 ? sample : answers[source][number]);
      origin.replaceChildren(place < 0 ? tr("sample_answer") : tr("try_reference", { source: sources[source], n: number + 1 }));
    };

    const button = (key, action) => element("button", { type: "button", onclick: action }, tr(key));
    const input = element("textarea", {
      rows: 5, maxlength: longest, lang: "ja", spellcheck: "false", autocomplete: "off",
      placeholder: t("try_placeholder"), "data-t-placeholder": "try_placeholder", oninput: changed,
    });
    place.append(
      element("p", { class: "quiet" }, tr("try_lead")),
      element("label", { class: "field" }, tr("try_text"), input),
      element("div", { class: "tools" }, button("try_example", example), button("try_clear", () => fill("")), origin),
      notes, outcome);
    return {
      stop: scorer.stop,
      set(text) {
        if (input.value === text) return;
        input.value = text;
        changed();
      },
    };
  };

  /** The trial of a question, made when its element is opened. */
  const watched = (details) => {
    const question = questions[details.dataset.question];
    let trial = null; // promise of it, or of nothing if it does not load
    const made = async () => {
      const place = details.querySelector(".body");
      const values = await pfgen.loadEach(place, [details.dataset.payload]);
      if (!values) trial = null; // so that it can be tried again
      return values && trialOf(place, question, values[0]);
    };
    const opened = () => (trial ??= made());
    details.addEventListener("toggle", async () => (details.open ? opened() : (await trial)?.stop()));
    return { details, id: question.id, opened };
  };

  const all = [...document.querySelectorAll("details.trial")].map(watched);

  const follow = async () => {
    const values = new URLSearchParams(location.hash.slice(1));
    const named = all.find(({ id }) => id === values.get("q"));
    if (!named) return;
    named.details.open = true;
    named.details.closest("section").scrollIntoView();
    (await named.opened())?.set((values.get("try") ?? "").slice(0, longest));
  };

  addEventListener("hashchange", follow);
  follow();
})();
