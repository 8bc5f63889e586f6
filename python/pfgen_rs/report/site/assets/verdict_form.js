// People judge pairs blind: without models and verdicts, the answers of each pair in an order of chance. What they say stays in the
// browser, and goes to a file that `--humans` reads.
(() => {
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
  let isKept = true; // whether the browser keeps what is said
  const inMemory = new Map(); // by rater, for browsers that do not
  let file = null; // handle of a file that is written after each verdict
  let isLost = false; // whether that failed
  let note = null;
  let asked = null; // row of the pair that is shown

  const verdicts = () => pfgen.verdicts;
  const digest = (row) => verdicts().index.digests.slice(row * digits, (row + 1) * digits);
  const letterOf = (row) => said[digest(row)];
  const key = () => `pfgen.rater.${rater}`;

  // What is kept

  const stored = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // storage may be forbidden
    }
  };

  const keep = () => {
    inMemory.set(rater, said);
    try {
      localStorage.setItem(key(), JSON.stringify(said));
      localStorage.setItem("pfgen.rater", rater);
      isKept = true;
    } catch {
      isKept = false; // forbidden or full
    }
  };

  /** What a rater has said, here or in the verdicts that the page came with. */
  const restore = (name) => {
    if (name !== rater) [file, isLost] = [null, false]; // it is that of another rater
    rater = name;
    const { index, given } = verdicts();
    const letters = given.letters[given.raters.indexOf(name)] ?? "";
    const before = [...letters].map((letter, row) => [digest(row), letter]).filter(([, letter]) => isLetter(letter));
    let found = {};
    try {
      found = JSON.parse(stored(key()) ?? "{}");
    } catch {
      // not what this page wrote
    }
    const known = Object.entries(found ?? {}).filter(([, letter]) => isLetter(letter) || letter === skipped);
    said = Object.fromEntries([...before, ...known, ...Object.entries(isKept ? {} : inMemory.get(name) ?? {})]);
  };

  const rowsSaid = () => [...verdicts().index.ids.keys()].filter((row) => isLetter(letterOf(row)));

  /** JSON lines as `read_humans` reads them. */
  const lines = () => rowsSaid().map((row) => `${JSON.stringify({ id: verdicts().index.ids[row], rater, verdict: letterOf(row) })}\n`).join("");
  const fileName = () => `humans-${rater.replace(/[\p{C}\p{Z}\\/:*?"<>|%~.]+/gu, "_")}.jsonl`;

  const download = () => {
    const address = URL.createObjectURL(new Blob([lines()], { type: "application/x-ndjson" }));
    element("a", { href: address, download: fileName() }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  const kept = element("span", { role: "status" });

  const keptNotes = () => [
    ...(isKept ? [] : [element("span", { class: "problem" }, tr("not_kept")), " "]),
    ...(file ? [tr("writes_file", { name: file.name })] : isLost ? [element("span", { class: "problem" }, tr("not_written"))] : []),
  ];

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
        file = null;
        isLost = true;
        kept.replaceChildren(...keptNotes());
      }
    });
  };

  const chooseFile = async () => {
    try {
      file = await showSaveFilePicker({ suggestedName: fileName(), types: [{ accept: { "application/x-ndjson": [".jsonl"] } }] });
    } catch {
      return; // nothing was chosen
    }
    isLost = false;
    kept.replaceChildren(...keptNotes());
    write();
  };

  const tell = (name, values) => {
    note.replaceChildren(tr(name, values));
    pfgen.say(t(name, values));
  };

  /** Letters of this rater in a file of an earlier day, by row. Throws an error with the number of a line that is none. */
  const imported = (text) => {
    const rows = new Map(verdicts().index.ids.map((id, row) => [id, row]));
    const found = { letters: new Map(), others: 0 };
    text.split("\n").forEach((line, number) => {
      if (!line.trim()) return;
      let value;
      try {
        value = JSON.parse(line);
        if (!isLetter(value.verdict) || value.id === undefined) throw new Error("no verdict");
      } catch {
        throw new Error(String(number + 1));
      }
      if (String(value.rater) === rater && rows.has(String(value.id))) found.letters.set(rows.get(String(value.id)), value.verdict);
      else found.others += 1;
    });
    return found;
  };

  const importFile = async (chosen) => {
    let found;
    try {
      found = imported(await chosen.text());
    } catch (error) {
      tell("not_imported", { line: error.message });
      return;
    }
    const fresh = [...found.letters].filter(([row]) => !isLetter(letterOf(row))); // what is said here is newer
    for (const [row, letter] of fresh) said[digest(row)] = letter;
    keep();
    write();
    await next();
    tell("imported", { n: fresh.length, others: found.others });
  };

  // Figures

  const cell = (value) => element("td", { class: "number", "data-value": value }, value === null ? "–" : value.toFixed(3));

  const shareCell = ({ share, low, high }) => {
    const found = cell(share);
    if (share !== null) found.append(" ", element("small", { "data-low": low, "data-high": high }, `${low.toFixed(3)}–${high.toFixed(3)}`));
    return found;
  };

  const rowOf = (judge, name, against, letters) => {
    const { index, rule } = verdicts();
    const figures = pfgen.verdictFigures(judge, rule(), letters, index.groups);
    return element("tr", {}, element("th", { scope: "row", class: "long" }, ...name), element("td", {}, tr(`against_${against}`)),
      element("td", { class: "number" }, figures.pairs.toLocaleString("en")), shareCell(figures), cell(figures.kappa), cell(figures.error));
  };

  /** Judges against this rater, if there are verdicts, and the majority of all; judges have numbers while models are hidden. */
  const figures = (hasSaid, isBlind) => {
    const { index } = verdicts();
    const isShown = { own: hasSaid, majority: index.raters.length > (hasSaid ? 1 : 0) };
    const letters = { own: Array.from(index.ids, (_, row) => letterOf(row) ?? skipped), majority: index.majority };
    const rows = index.judges.flatMap((judge, i) => ["own", "majority"].filter((against) => isShown[against]).map((against) =>
      rowOf(judge, [isBlind ? tr("judge_number", { n: i + 1 }) : pfgen.shown(judge.name)], against, letters[against])));
    const heads = ["judge", "against", "pairs", "concordance_short", "kappa", "calibration"];
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("your_figures"), "data-t-aria-label": "your_figures" },
      element("table", { class: "rows figures" },
        element("thead", {}, element("tr", {}, ...heads.map((name, i) => element("th", { scope: "col", class: i > 1 ? "number" : null }, tr(name))))),
        element("tbody", {}, ...rows)));
  };

  const count = () => {
    const { index, setRater } = verdicts();
    const letters = [...index.ids.keys()].map((row) => (isLetter(letterOf(row)) ? letterOf(row) : skipped)).join("");
    const hasSaid = /[ABC]/.test(letters);
    setRater(rater, hasSaid ? letters : null);
    return hasSaid;
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
    asked = null;
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
    keep();
    write();
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
    const { index, judge } = verdicts();
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
      element("summary", {}, tr("your_figures")), element("p", { class: "quiet" }, tr("about_figures_blind")), ...(count() ? [figures(true, true)] : []));
    let [content, shown] = [finished(left), null];
    try {
      if (row !== undefined) [content, shown] = [question(row, await verdicts().textsOf(row)), row];
    } catch {
      content = [element("p", { class: "problem", role: "alert" }, tr("not_loaded"))];
    }
    if (mine !== wanted) return;
    asked = shown;
    kept.replaceChildren(...keptNotes());
    const heading = element("h2", { tabindex: "-1" }, row === undefined ? tr("nothing_left") : tr("pair_of", { n: done + 1, all: queue.length }));
    note = element("p", { class: "quiet" });
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
    queue = verdicts().matching().map((row) => [digest(row), row]).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
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
    const name = element("input", { name: "rater", required: true, maxlength: "80", autocomplete: "nickname", value: stored("pfgen.rater") ?? "" });
    const entry = element("form", {
      class: "tools",
      onsubmit: (event) => {
        event.preventDefault();
        const typed = name.value.trim();
        if (typed) start(typed.toWellFormed?.() ?? typed); // as `read_humans` needs it
      },
    }, element("label", { class: "field" }, element("span", {}, tr("your_name")), name), element("button", { type: "submit" }, tr("begin")),
    button("stop_judging", stop));
    form.replaceChildren(element("h2", {}, tr("judge_blind")), element("p", {}, tr("about_judging")), element("p", {}, tr("pairs_found", { n: verdicts().matching().length })), entry);
    name.focus();
  };

  // Where one is

  const showOwn = () => {
    const hasSaid = rater !== "" && count();
    own.replaceChildren(element("p", {}, tr("about_own")),
      element("p", { class: "facts" }, element("a", { href: "#blind", class: "button" }, tr("judge_blind")),
        ...(hasSaid ? [tr("you_judged", { rater, n: rowsSaid().length }), button("download", download)] : [])),
      ...(verdicts().index.raters.length ? [element("p", { class: "quiet" }, tr("about_figures")), figures(hasSaid, false)] : []));
  };

  const place = async () => {
    asked = null;
    if (location.hash === "#blind") {
      look.remove();
      verdicts().setRater("", null);
      await verdicts().follow(); // for the filters
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
    await verdicts().follow();
  };

  verdicts().onChoice = showOwn;
  verdicts().onReady = () => {
    if (stored("pfgen.rater")) restore(stored("pfgen.rater"));
    place();
    addEventListener("hashchange", place);
    addEventListener("storage", (event) => {
      if (event.key === key() && rater) restore(rater); // another window with the same rater
    });
    addEventListener("beforeunload", (event) => {
      if (!isKept && !file && rowsSaid().length) event.preventDefault(); // only this page knows what was said
    });
  };
})();
