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

  // The text stands behind the #, which browsers do not send.
  const inAddress = () => {
    const values = new URLSearchParams(location.hash.slice(1));
    return { id: values.get("q"), text: (values.get("try") ?? "").slice(0, longest) };
  };

  /** Puts a question and a text into the address; returns whether the text has room there. */
  const intoAddress = (id, text) => {
    const encoded = text.isWellFormed?.() === false ? "" : encodeURIComponent(text);
    const fits = encoded.length <= longestInAddress;
    const url = new URL(location.href);
    url.hash = `q=${encodeURIComponent(id)}${text && fits ? `&try=${encoded}` : ""}`;
    try {
      history.replaceState(history.state, "", url);
    } catch {
      return true; // refused after too many changes a second; the next one will do
    }
    return fits;
  };

  /** Scores as run pages have them (`answers.js`); shares are those of the sources in the page's order. */
  const answerOf = (text, scores, sources) => ({
    text,
    characters: Array.from(text),
    average: scores.average,
    parts: [
      ...["fluency", "truthfulness"].flatMap((metric) => sources.map((source, i) => (
        { metric, source, share: scores.shares[metric][i], cut: scores.sources[i][metric].cut }))),
      ...(scores.helpful ? [{ metric: "helpfulness", source: null, share: scores.helpfulness, cut: scores.helpful.cut }] : []),
    ],
    rules: (scores.helpful?.rules ?? []).map((rule) => ({ ...rule, position: Number.isFinite(rule.position) ? rule.position : -1 })),
  });

  class Trial {
    constructor(place, question, data) {
      this.question = question;
      this.data = data;
      this.scorer = pfgen.scorer({ ...shared, ...question, answers: data.answers }, patience);
      this.examples = 0;
      this.input = element("textarea", {
        rows: 5, maxlength: longest, lang: "ja", spellcheck: "false", autocomplete: "off",
        placeholder: t("try_placeholder"), "data-t-placeholder": "try_placeholder", oninput: () => this.changed(),
      });
      this.origin = element("span", { class: "quiet" });
      this.notes = element("div", { class: "notes" });
      this.outcome = element("div", { class: "outcome" });
      const button = (key, action) => element("button", { type: "button", onclick: action }, tr(key));
      place.append(
        element("p", { class: "quiet" }, tr("try_lead")),
        element("label", { class: "field" }, tr("try_text"), this.input),
        element("div", { class: "tools" }, button("try_example", () => this.example()), button("try_clear", () => this.fill("")), this.origin),
        this.notes, this.outcome);
      this.say = pfgen.later((text, scores) => this.input.value === text && pfgen.say(this.spoken(scores)), 1000);
      this.keep = pfgen.later(() => this.note(), 400);
    }

    /** Puts a text into the field, so that undoing brings back what was there. */
    fill(text) {
      this.input.focus();
      this.input.select();
      const isDone = this.input.value === text || (text ? document.execCommand("insertText", false, text) : document.execCommand("delete"));
      if (isDone) return;
      this.input.value = text;
      this.changed();
    }

    /** The example answer, if there is one, then reference answers of each source in turn. */
    example() {
      const { answers, sources } = this.data;
      const { sample } = this.question;
      const place = this.examples - (sample === null ? 0 : 1);
      this.examples += 1;
      const source = place % sources.length;
      const number = Math.floor(place / sources.length) % (answers[source]?.length ?? 1);
      this.fill(place < 0 ? sample : answers[source][number]);
      this.origin.replaceChildren(place < 0 ? tr("sample_answer") : tr("try_reference", { source: sources[source], n: number + 1 }));
    }

    changed() {
      if (active !== this) active?.scorer.stop();
      active = this;
      this.origin.replaceChildren();
      this.keep();
      this.score();
    }

    /** What has to be said about the text and the address, which it is put into. */
    note() {
      const text = this.input.value;
      const notes = [];
      if (!intoAddress(this.question.id, text)) notes.push(tr("try_not_in_address"));
      if (text.length >= longest) notes.push(tr("try_limit", { n: longest }));
      this.notes.replaceChildren(...notes.map((note) => element("p", { class: "quiet" }, note)));
    }

    async score() {
      const text = this.input.value;
      const isCurrent = () => this.input.value === text; // else a later call shows what there is
      const slow = setTimeout(() => isCurrent() && this.outcome.setAttribute("aria-busy", "true"), 200);
      try {
        if (!text) this.show();
        else if (/\p{Cs}/u.test(text)) this.show(this.problem("try_surrogate"));
        else {
          const scores = await this.scorer.score(text);
          if (scores && isCurrent()) this.show(...this.scored(text, scores));
        }
      } catch (error) {
        if (isCurrent()) this.show(this.problem(error.message === "late" ? "try_late" : "try_failed"));
        if (error.message !== "late") throw error;
      } finally {
        clearTimeout(slow);
        if (isCurrent()) this.outcome.removeAttribute("aria-busy");
      }
    }

    problem(key) {
      return element("p", { class: "problem", role: "alert" }, tr(key, { seconds: patience / 1000 }));
    }

    show(...nodes) {
      const isOpen = this.outcome.querySelector(".breakdown")?.open ?? false;
      pfgen.hideCounts();
      this.outcome.replaceChildren(...nodes);
      const details = this.outcome.querySelector(".breakdown");
      if (details) details.open = isOpen;
    }

    scored(text, scores) {
      const { sources, answers } = this.data;
      const answer = answerOf(text, scores, sources);
      const table = pfgen.windowTable({ ...scores.table, sources, answers: answers.map((of) => of.length) });
      const [figures, breakdown] = pfgen.answerFigures(answer, reading);
      this.say(text, scores);
      return [
        element("p", { class: "total" }, tr("score"), " ", element("b", {}, scores.average === null ? "–" : scores.average.toFixed(5))),
        figures,
        scores.helpful ? pfgen.answerRules(answer) : this.unmatched(scores.unmatched),
        pfgen.answerText(answer, table, reading),
        breakdown,
        pfgen.legend(),
      ];
    }

    /** Says which regular expressions keep Helpfulness, and so the score, from being computed. */
    unmatched(patterns) {
      return element("p", { class: "problem" }, tr("try_unmatched"), " ",
        ...patterns.flatMap((pattern, i) => [i ? ", " : "", element("code", {}, `/${pfgen.plain(pattern)}/`)]));
    }

    spoken({ average, shares, helpfulness }) {
      const sum = (values) => values.reduce((total, value) => total + value, 0).toFixed(3);
      const values = { fluency: sum(shares.fluency), truthfulness: sum(shares.truthfulness) };
      if (average === null) return t("try_spoken_part", values);
      return t("try_spoken", { ...values, helpfulness: helpfulness.toFixed(3), score: average.toFixed(3) });
    }
  }

  const trials = new WeakMap(); // the element of a question -> promise of its trial, or of nothing if it did not load

  const made = async (details) => {
    const place = details.querySelector(".body");
    const values = await pfgen.loadEach(place, [details.dataset.payload]);
    if (values) return new Trial(place, questions[details.dataset.question], values[0]);
    trials.delete(details); // so that it can be tried again
    return null;
  };

  const opened = (details) => {
    if (!trials.has(details)) trials.set(details, made(details));
    return trials.get(details);
  };

  const toggled = async (details) => {
    if (details.open) opened(details);
    else (await trials.get(details))?.scorer.stop();
  };

  const all = [...document.querySelectorAll("details.trial")];
  for (const details of all) details.addEventListener("toggle", () => toggled(details));

  const follow = async () => {
    const { id, text } = inAddress();
    const details = all.find((one) => id !== null && questions[one.dataset.question].id === id);
    if (!details) return;
    details.open = true;
    details.closest("section").scrollIntoView();
    const trial = await opened(details);
    if (!trial || trial.input.value === text) return;
    trial.input.value = text;
    trial.changed();
  };

  addEventListener("hashchange", follow);
  follow();
})();
