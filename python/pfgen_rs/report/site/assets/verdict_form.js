// People judge pairs blind: without models and verdicts, the answers of each pair in an order of chance. What they say stays in the
// browser, and goes to a file that `--humans` reads.
// Called with what the list of pairs has; returns what is to be done when other choices are shown there.
pfgen.judgeBlind = ({ index, given, judge, rule, matching, entry, follow, setRater }) => {
  const { element, tr, t, block, isLetter } = pfgen;
  const swapped = { A: "B", B: "A", C: "C" };
  const skipped = "-";
  const digits = 12; // of a digest
  const look = document.getElementById("look"); // what shows models and verdicts
  const form = document.getElementById("blind");
  const own = document.getElementById("own");
  let rater = "";
  let said = {}; // by digest: letter of the pair, or that it was skipped, in the order in which they were said
  let queue = []; // rows to judge
  let file = null; // handle of a file that is written after each verdict
  let isLost = false; // whether that failed
  let asked = null; // row of the pair that is shown

  const digest = (row) => index.digests.slice(row * digits, (row + 1) * digits);
  const letterOf = (row) => said[digest(row)];
  const rowsSaid = () => [...index.ids.keys()].filter((row) => isLetter(letterOf(row)));
  const key = () => `rater.${rater}`;

  // What is kept

  const notKept = new Map(); // what the browser does not keep
  const stored = (name) => notKept.get(name) ?? pfgen.kept(name);
  const store = (name, text) => (pfgen.keep(name, text) ? notKept.delete(name) : notKept.set(name, text));

  const note = element("p", { class: "quiet" });
  const kept = element("span", { role: "status" });
  const problem = (name) => element("span", { class: "problem" }, tr(name));

  const showKept = () => kept.replaceChildren(...(notKept.size ? [problem("not_kept"), " "] : []),
    ...(file ? [tr("writes_file", { name: file.name })] : isLost ? [problem("not_written")] : []));

  let writing = Promise.resolve();

  /** Write everything to the chosen file, one time after another; a browser replaces the file when it is closed. */
  const write = () => {
    writing = writing.then(async () => {
      if (!file) return;
      try {
        const stream = await file.createWritable();
        await stream.write(lines());
        await stream.close();
      } catch {
        [file, isLost] = [null, true];
      }
      showKept();
    });
  };

  const keep = () => {
    store(key(), JSON.stringify(said));
    store("rater", rater);
    write();
  };

  /** What a rater has said, here or in the verdicts that the page came with. */
  const restore = (name) => {
    if (name !== rater) [file, isLost] = [null, false]; // it is that of another rater
    rater = name;
    const before = [...given.letters[given.raters.indexOf(name)] ?? ""].map((letter, row) => [digest(row), letter]);
    let found = {};
    try {
      found = JSON.parse(stored(key())) ?? {};
    } catch {
      // not what this page wrote
    }
    said = Object.fromEntries([...before.filter(([, letter]) => isLetter(letter)),
      ...Object.entries(found).filter(([, letter]) => isLetter(letter) || letter === skipped)]);
  };

  /** JSON lines as `read_humans` reads them. */
  const lines = () => rowsSaid().map((row) => `${JSON.stringify({ id: index.ids[row], rater, verdict: letterOf(row) })}\n`).join("");
  const fileName = () => `humans-${rater.replace(/[\p{C}\p{Z}\\/:*?"<>|%~.]+/gu, "_")}.jsonl`;

  const download = () => {
    const address = URL.createObjectURL(new Blob([lines()], { type: "application/x-ndjson" }));
    element("a", { href: address, download: fileName() }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  const chooseFile = async () => {
    try {
      file = await showSaveFilePicker({ suggestedName: fileName(), types: [{ accept: { "application/x-ndjson": [".jsonl"] } }] });
      write();
    } catch {
      // nothing was chosen
    }
  };

  const tell = (name, values) => {
    note.replaceChildren(tr(name, values));
    pfgen.say(t(name, values));
  };

  /** Add the letters of this rater in a file of an earlier day; what is said here is newer. */
  const importFile = async (chosen) => {
    const rows = new Map(index.ids.map((id, row) => [id, row]));
    const found = {};
    let others = 0;
    for (const [number, line] of (await chosen.text()).split("\n").entries()) {
      if (!line.trim()) continue;
      let value = null;
      try {
        value = JSON.parse(line);
      } catch {
        // no verdict
      }
      if (!isLetter(value?.verdict) || value.id === undefined) return tell("not_imported", { line: number + 1 });
      const row = rows.get(String(value.id));
      if (row === undefined || String(value.rater) !== rater) others += 1;
      else if (!isLetter(letterOf(row))) found[digest(row)] = value.verdict;
    }
    Object.assign(said, found);
    return stepped("imported", { n: Object.keys(found).length, others });
  };

  // Figures

  const cell = (value, ...more) => element("td", { class: "number", "data-value": value }, value === null ? "–" : value.toFixed(3), ...more);

  /** Judges against this rater and the majority of all, where there are verdicts; judges have numbers while models are hidden. */
  const figures = (isBlind) => {
    const place = index.raters.indexOf(rater);
    const sides = [["own", index.letters[place]], ["majority", index.raters.length > (place < 0 ? 0 : 1) ? index.majority : undefined]];
    const rows = index.judges.flatMap((judge, i) => sides.filter(([, letters]) => letters).map(([against, letters]) => {
      const { pairs, share, low, high, kappa, error } = pfgen.verdictFigures(judge, rule(), letters, index.groups);
      const interval = () => [" ", element("small", { "data-low": low, "data-high": high }, `${low.toFixed(3)}–${high.toFixed(3)}`)];
      return [element("th", { scope: "row", class: "long" }, isBlind ? tr("judge_number", { n: i + 1 }) : pfgen.shown(judge.name)),
        element("td", {}, tr(`against_${against}`)), ...pfgen.figures([pairs.toLocaleString("en")]),
        cell(share, ...(share === null ? [] : interval())), cell(kappa), cell(error)];
    }));
    const heads = ["judge", "against", "pairs", "concordance_short", "kappa", "calibration"];
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("your_figures"), "data-t-aria-label": "your_figures" },
      pfgen.table({ class: "rows figures" }, null, heads.map((name, i) => element("th", { scope: "col", class: i > 1 ? "number" : null }, tr(name))), rows));
  };

  /** Let the figures count what this rater has said. Returns the number of pairs. */
  const count = () => {
    const { length } = rowsSaid();
    setRater(rater, length ? index.ids.map((_, row) => letterOf(row) ?? skipped).join("") : null);
    return length;
  };

  // The form

  /** A number of 32 bits that depends on every unit of a text (FNV-1a, mixed as MurmurHash3 does at its end). */
  const hash = (text) => {
    let value = 0x811c9dc5;
    for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
    value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
    value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
    return (value ^ (value >>> 16)) >>> 0;
  };

  const isSwapped = (row) => hash(`${rater}\n${digest(row)}`) % 2 === 1;

  const say = (letter) => {
    if (asked === null) return; // the next pair is still to be shown
    said[digest(asked)] = isSwapped(asked) ? swapped[letter] ?? letter : letter;
    stepped(letter === skipped ? "was_skipped" : "was_said", { letter });
  };

  const undo = () => {
    const last = Object.keys(said).findLast((each) => queue.some((row) => digest(row) === each));
    if (last === undefined) return;
    delete said[last];
    stepped("was_undone");
  };

  /** Skipped pairs come again. */
  const again = () => {
    for (const row of queue) if (letterOf(row) === skipped) delete said[digest(row)];
    stepped("skipped_again");
  };

  const stepped = async (name, values) => {
    asked = null;
    keep();
    await next();
    tell(name, values);
  };

  const stop = () => {
    location.hash = "";
  };

  const button = (name, onclick, key, attributes = {}) => element("button", { type: "button", onclick, "aria-keyshortcuts": key, ...attributes },
    tr(name), ...(key ? [" ", element("kbd", { "aria-hidden": "true" }, key)] : []));

  const answer = (text, letter) => element("section", { class: `side ${letter.toLowerCase()}` },
    element("h3", {}, tr("answer_of", { letter })), block(text));

  const question = (row, texts) => {
    const answers = isSwapped(row) ? texts.answers.toReversed() : texts.answers;
    const criteria = [texts.judges[index.judges.indexOf(judge())], ...texts.judges].map((each) => each.criteria).find((each) => each !== null) ?? null;
    return [block(texts.question, "text prompted"), ...pfgen.standards(criteria, texts.reference, true),
      element("div", { class: "beside" }, answer(answers[0], "A"), answer(answers[1], "B")),
      element("div", { class: "choices", role: "group", "aria-label": t("your_verdict"), "data-t-aria-label": "your_verdict" },
        ...["A", "B", "C"].map((letter, i) => button(`say_${letter.toLowerCase()}`, () => say(letter), i + 1, { class: "say" })),
        button("skip_pair", () => say(skipped), "s"))];
  };

  const finished = (left) => [element("p", {}, tr(queue.length ? "all_judged" : "no_pairs")),
    ...(left ? [element("p", {}, button("judge_skipped", again), " ", tr("pairs_found", { n: left }))] : [])];

  const tools = () => {
    const chosen = element("input", { type: "file", accept: ".jsonl,.json,.txt", hidden: true, onchange: () => chosen.files[0] && importFile(chosen.files[0]) });
    return element("p", { class: "facts" },
      button("undo", undo, "u"), button("download", download),
      ...("showSaveFilePicker" in window ? [button("choose_file", chooseFile)] : []),
      button("import_file", () => chosen.click()), chosen, pfgen.keysButton(),
      button("stop_judging", stop));
  };

  let wanted = 0;

  /** Show the first pair that nothing was said about. */
  const next = async () => {
    const mine = (wanted += 1);
    const row = queue.find((each) => letterOf(each) === undefined);
    const done = queue.filter((each) => letterOf(each) !== undefined).length;
    const left = queue.filter((each) => letterOf(each) === skipped).length;
    const details = element("details", { open: form.querySelector("details.figures")?.open ?? false, class: "figures" },
      element("summary", {}, tr("your_figures")), element("p", { class: "quiet" }, tr("about_figures_blind")), ...(count() ? [figures(true)] : []));
    let [content, shown] = [finished(left), null];
    try {
      if (row !== undefined) [content, shown] = [question(row, await entry(row)), row];
    } catch {
      content = [element("p", { class: "problem", role: "alert" }, tr("not_loaded"))];
    }
    if (mine !== wanted) return;
    asked = shown;
    showKept();
    note.replaceChildren();
    const heading = element("h2", { tabindex: "-1" }, row === undefined ? tr("nothing_left") : tr("pair_of", { n: done + 1, all: queue.length }));
    form.replaceChildren(heading,
      element("progress", { max: Math.max(queue.length, 1), value: done, "aria-label": t("progress"), "data-t-aria-label": "progress" }),
      element("p", { class: "facts" }, tr("judging_as", { rater }), kept),
      note, ...content, tools(), details);
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  };

  const start = (name) => {
    restore(name);
    keep();
    // All raters get the pairs in the same order, which is one of chance: that of their digests.
    queue = matching().sort((i, j) => (digest(i) < digest(j) ? -1 : 1));
    pfgen.setKeys([
      [["1", "a"], "say_a", () => say("A")],
      [["2", "b"], "say_b", () => say("B")],
      [["3", "c"], "say_c", () => say("C")],
      [["s"], "skip_pair", () => say(skipped)],
      [["u"], "undo", undo],
    ]);
    return next();
  };

  /** Asks for a name. */
  const ask = () => {
    const name = element("input", { name: "rater", required: true, maxlength: "80", autocomplete: "nickname", value: stored("rater") ?? "" });
    const entry = element("form", {
      class: "tools",
      onsubmit: (event) => {
        event.preventDefault();
        const typed = name.value.trim();
        if (typed) start(typed.toWellFormed?.() ?? typed); // as `read_humans` needs it
      },
    }, element("label", { class: "field" }, element("span", {}, tr("your_name")), name), element("button", { type: "submit" }, tr("begin")),
    button("stop_judging", stop));
    form.replaceChildren(element("h2", {}, tr("judge_blind")), element("p", {}, tr("about_judging")), element("p", {}, tr("pairs_found", { n: matching().length })), entry);
    name.focus();
  };

  // Where one is

  const showOwn = () => {
    const n = rater === "" ? 0 : count();
    own.replaceChildren(element("p", {}, tr("about_own")),
      element("p", { class: "facts" }, element("a", { href: "#blind", class: "button" }, tr("judge_blind")),
        ...(n ? [tr("you_judged", { rater, n }), button("download", download)] : [])),
      ...(index.raters.length ? [element("p", { class: "quiet" }, tr("about_figures")), figures(false)] : []));
  };

  const place = async () => {
    asked = null;
    if (location.hash === "#blind") {
      look.remove();
      setRater("", null);
      await follow(); // for the filters
      ask();
      return;
    }
    const isBack = !look.isConnected;
    if (isBack) form.after(look);
    pfgen.translate(look); // it may have been away when the language changed
    pfgen.setKeys(pfgen.listKeys);
    form.replaceChildren();
    showOwn();
    if (isBack) own.querySelector("a").focus(); // where one came from
    await follow();
  };

  if (stored("rater")) restore(stored("rater"));
  place();
  addEventListener("hashchange", place);
  addEventListener("storage", (event) => {
    if (event.key === `pfgen.${key()}` && rater) restore(rater); // another window with the same rater
  });
  addEventListener("beforeunload", (event) => {
    if (notKept.has(key()) && !file && rowsSaid().length) event.preventDefault(); // only this page knows what was said
  });
  return showOwn;
};
