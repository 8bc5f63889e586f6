// The board of a site (`board.py`): its columns, and rows that stand for models or their runs.
(() => {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  /** What stands for the values of several runs: the mean of numbers, the last date, all texts, what flags agree in. */
  const together = (kind, values) => {
    const known = values.filter((value) => value !== null);
    if (known.length < 2) return known[0] ?? null;
    if (kind === "number") return mean(known);
    const different = [...new Set(known)].sort();
    if (kind === "date") return different.at(-1);
    if (kind === "text") return different.join(" · ");
    return different.length === 1 ? known[0] : null;
  };

  /**
   * The board of a payload. `means`: the question means of each run, where there are any. Rows come best first; each has `id`, `name`, `label`,
   * `page`, `system`, `model` (its number), `used` (numbers of the runs that its values are of), `runs` (all of the model that were
   * accepted), `get(key)` (`null`: unknown), `interval(key)` and `means`. `accept`: takes what gives a run's values by key.
   */
  pfgen.board = (payload, means = null) => {
    const { columns, models, runs } = payload;
    const byKey = new Map(columns.map((column) => [column.key, column]));
    const partOf = ({ of }) => (of === "model" ? models : runs);
    const cell = ({ values }, key, i) => (Object.hasOwn(values, key) ? values[key][i] : null);
    const getter = (m, used) => (key) => {
      const column = byKey.get(key);
      if (!column) return null;
      return column.of === "model" ? cell(models, key, m) : together(column.kind, used.map((i) => cell(runs, key, i)));
    };
    const bounds = (m, used) => (key) => {
      const [of, i] = byKey.get(key)?.of === "model" ? [models, m] : [runs, used.length === 1 ? used[0] : -1];
      const [lows, highs] = Object.hasOwn(of.intervals, key) ? of.intervals[key] : [[], []];
      return lows[i] == null || highs[i] == null ? null : [lows[i], highs[i]];
    };
    const meansOf = (used) => {
      const known = used.map((i) => means?.[i]).filter(Boolean);
      return known.length < 2 ? known[0] ?? null : known[0].map((_, q) => mean(known.map((each) => each[q])));
    };
    const runOf = (i) => ({ id: runs.slug[i], label: runs.label[i], page: runs.page[i], mode: cell(runs, "mode", i), score: cell(runs, "score", i) });

    const row = (m, used, own, isRun) => ({
      id: isRun ? runs.slug[used[0]] : models.slug[m],
      name: models.name[m],
      label: isRun ? runs.label[used[0]] : models.label[m],
      page: (isRun && runs.page[used[0]]) || models.page[m],
      system: used.some((i) => runs.system[i]),
      model: m,
      used,
      runs: own.map(runOf),
      get: getter(m, used),
      interval: bounds(m, used),
      get means() {
        return meansOf(used);
      },
    });

    const latest = (own) => own.reduce((last, i) => ((cell(runs, "date", i) ?? "") > (cell(runs, "date", last) ?? "") ? i : last));
    const picks = {
      best: (own) => [[own[0]]],
      latest: (own) => [[latest(own)]],
      mean: (own) => [own],
      all: (own) => own.map((i) => [i]),
    };
    const withRuns = new Set(runs.model);

    const rows = (choice, accept = () => true) => {
      const chosen = new Map(); // model -> its runs
      runs.model.forEach((m, i) => accept(getter(m, [i])) && chosen.set(m, [...(chosen.get(m) ?? []), i]));
      const found = [...chosen].flatMap(([m, own]) => picks[choice](own).map((used) => row(m, used, own, choice === "all")));
      const others = [...models.slug.keys()].filter((m) => !withRuns.has(m) && accept(getter(m, []))).map((m) => row(m, [], [], false));
      const score = new Map(found.map((each) => [each, each.get("score") ?? -Infinity]));
      return [...found.sort((a, b) => score.get(b) - score.get(a) || 0), ...others];
    };

    const known = columns.filter((column) => Object.hasOwn(partOf(column).values, column.key))
      .map((column) => ({ ...column, isBounded: Object.hasOwn(partOf(column).intervals, column.key) }));
    return { ...payload, column: (key) => byKey.get(key), known, runs: runs.slug.map((_, i) => runOf(i)), means, rows };
  };

  /** Let `use` have the board of the site; meanwhile, and where it fails, a line in `place` says so. */
  pfgen.loadBoard = async (place, use) => {
    const [payload, found] = (await pfgen.loadEach(place, ["board", "means"], 1)) ?? [];
    if (payload) use(pfgen.board(payload, found?.means));
  };
})();
