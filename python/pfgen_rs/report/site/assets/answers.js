// An answer as run and comparison pages show it: shaded characters, cuts, keyword rules, and what they cost.
(() => {
  const { element, tr, t } = pfgen;
  const metrics = ["fluency", "truthfulness", "helpfulness"];

  /** One answer of a payload (`answers.py`), by its row. */
  pfgen.answer = (data, row) => {
    const sources = data.sources.length;
    const shares = data.shares.map((column) => column[row] / 10000);
    const cuts = data.cuts.map((column) => column[row]);
    const parts = shares.map((share, i) => ({
      metric: metrics[Math.min(Math.floor(i / sources), 2)],
      source: i < 2 * sources ? data.sources[i % sources] : null,
      share,
      cut: cuts[i],
    }));
    return {
      row,
      text: data.texts[row],
      characters: Array.from(data.texts[row]),
      average: data.averages[row] / 100000,
      rank: (data.ranks ? data.ranks[row] : row) + 1,
      total: data.total,
      line: data.lines[row],
      sample: data.quantiles.indexOf(row),
      parts,
      rules: data.rules.map((rule) => ({
        label: rule.labels[rule.label[row]],
        importance: rule.importance,
        position: rule.position[row],
        met: rule.position[row] >= 0 && rule.position[row] <= cuts[2 * sources],
      })),
    };
  };

  /** What a cut after so many characters leaves. */
  pfgen.discount = (reading, cut) => 1 - Math.max(cut - reading.target, 0) / (reading.zero - reading.target);

  /** What the length discount took off a share: without it the same cut would be worth so much more. */
  const cost = (reading, { share, cut }) => (share > 0 ? share * (1 / pfgen.discount(reading, cut) - 1) : 0);

  /** Where what a part counts ends: its cut, and characters behind it that Truthfulness skips. */
  const end = (answer, reading) => ({ metric, cut }) => {
    let place = cut;
    const isSkipped = () => place < answer.characters.length && reading.skipped.includes(answer.characters[place]);
    while (metric === "truthfulness" && isSkipped()) place += 1;
    return place;
  };

  /** Marks by place: which metrics (of which sources, where not all) end there before the answer does. */
  const marks = (answer, reading) => {
    const places = new Map();
    const worth = answer.parts.filter((part) => part.share > 0); // without a value there is no cut
    for (const metric of metrics) {
      const own = worth.filter((part) => part.metric === metric).map((part) => ({ ...part, cut: end(answer, reading)(part) }));
      const same = own.length > 0 && own.every((part) => part.cut === own[0].cut);
      for (const { cut, source } of same ? [{ cut: own[0].cut, source: null }] : own) {
        if (cut >= answer.characters.length) continue;
        places.set(cut, [...(places.get(cut) ?? []), { metric, source }]);
      }
    }
    return places;
  };

  const mark = (ends) => element("span", { class: "cut" }, ...ends.flatMap(({ metric, source }, i) =>
    [i ? " " : "", tr(`cut_${metric}`), source === null ? "" : pfgen.shown(source)]));

  /** The places of characters in what a search finds. */
  const hits = ({ characters }, query) => {
    const wanted = Array.from(query);
    const starts = [...characters.keys()].filter((i) => wanted.length > 0 && wanted.every((c, j) => characters[i + j] === c));
    return new Set(starts.flatMap((i) => wanted.map((_, j) => i + j)));
  };

  const rest = (characters) => pfgen.folded(tr("rest", { n: characters.length }),
    () => [element("p", { class: "text unread" }, ...pfgen.shownNodes(characters.join("")))]);

  /** The text of an answer: an element a character, which others may mark (`classes(i)`). */
  pfgen.answerText = (answer, table, reading, { query = "", classes = () => "" } = {}) => {
    const cover = table.cover(answer.characters);
    const cuts = answer.parts.map(({ share, cut }) => (share > 0 ? cut : 0));
    const counted = answer.average === null ? Infinity : Math.max(...cuts); // null: not all metrics are known
    const ends = marks(answer, reading);
    const found = hits(answer, query);
    const text = element("p", { class: "text shaded", lang: "ja" });
    cover.forEach(({ level }, i) => {
      if (ends.has(i)) text.append(mark(ends.get(i)));
      const names = [`l${level}`, i >= counted ? "unread" : "", found.has(i) ? "hit" : "", classes(i)].filter(Boolean).join(" ");
      text.append(element("span", { class: names, "data-i": i }, ...pfgen.shownNodes(answer.characters[i])));
    });
    if (!cover.length) text.append(element("span", { class: "quiet" }, tr("empty_answer")));
    const more = answer.characters.slice(cover.length);
    return element("div", { class: "answer-text" }, text, ...(more.length ? [rest(more)] : []),
      ...(cover.length ? [pfgen.inspector(answer, text, cover, table)] : []));
  };

  const ruleStatus = (rule) => (rule.met ? "rule_met" : rule.position < 0 ? "rule_missed" : "rule_late");

  const rule = (found) => element("li", { class: found.met ? "chip met" : "chip missed" },
    element("span", { "aria-hidden": "true" }, found.met ? "✓ " : "✗ "),
    pfgen.shown(found.label), " ",
    element("small", {},
      tr(ruleStatus(found)),
      ...(found.position >= 0 ? [" · ", tr("at_character", { n: found.position })] : []),
      ...(found.met ? [] : [` × ${Number((1 - found.importance).toPrecision(6))}`])));

  pfgen.answerRules = (answer) => (answer.rules.length
    ? element("ul", { class: "rules", "aria-label": t("rules"), "data-t-aria-label": "rules" }, ...answer.rules.map(rule))
    : element("p", { class: "quiet" }, tr("no_rules")));

  /** The metrics that are known of an answer, each summed over the sources. */
  const sums = (answer) => metrics.filter((metric) => answer.parts.some((p) => p.metric === metric)).map((metric) =>
    [metric, answer.parts.filter((p) => p.metric === metric).reduce((sum, p) => sum + p.share, 0)]);

  const lost = (value) => (value > 0 ? `−${value.toFixed(4)}` : "0");

  const row = (reading) => (part) => [
    element("th", { scope: "row" }, tr(part.metric), ...(part.source === null ? [] : [" ", pfgen.shown(part.source)])),
    ...pfgen.figures([part.share.toFixed(4), part.cut, `× ${pfgen.discount(reading, part.cut).toFixed(2)}`, lost(cost(reading, part))])];

  const breakdown = (answer, reading) => {
    const others = ["value", "cut", "factor", "cost"].map((key) => tr(key));
    const head = [element("th", { scope: "col" }, tr("metric_source")), ...pfgen.figures(others, "th", { scope: "col" })];
    return element("details", { class: "breakdown" }, element("summary", {}, tr("details")),
      element("div", { class: "scroll" }, pfgen.table({}, null, head, answer.parts.map(row(reading)))));
  };

  /** The figures of an answer in a line, what the discount cost, and all of it in a table. */
  pfgen.answerFigures = (answer, reading) => {
    const all = answer.parts.reduce((sum, part) => sum + cost(reading, part), 0) / reading.metrics;
    const line = element("p", { class: "figures" },
      ...sums(answer).map(([metric, value]) => element("span", {}, tr(metric), " ", element("b", {}, value.toFixed(3)))),
      element("span", {}, tr("characters", { n: answer.characters.length })),
      element("span", { class: all > 0 ? "lost" : "quiet" },
        all > 0 ? tr("discount_cost", { cost: all.toFixed(4) }) : tr("no_discount")));
    return [line, breakdown(answer, reading)];
  };

  /** What the shades and marks mean. */
  pfgen.legend = () => {
    const shaded = (look) => element("span", { class: "shaded" }, element("span", { class: look, lang: "ja" }, "文字"));
    const known = [0, 1, 2, 3, 4, 5].map((level) => [shaded(`l${level}`), `level_${level}`]);
    known.push([shaded("l2 unread"), "legend_unread"], [element("span", { class: "cut" }, tr("cut_fluency")), "legend_cut"]);
    const items = known.map(([look, key]) => element("li", {}, pfgen.filled(look, { "aria-hidden": "true" }, []), " ", tr(key)));
    return element("div", { class: "legend" }, element("p", {}, tr("legend")), element("ul", {}, ...items));
  };
})();
