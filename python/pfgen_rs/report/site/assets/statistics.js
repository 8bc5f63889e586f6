// Statistics of a comparison, from question means: what `pfgen_rs.stats.compare` gives with `interval="student"`.
(() => {
  const same = 1e-12; // sums of the same numbers in another order differ by less, relative to the sum of their absolute values
  const mostFreedom = 1000; // from which t is normal to all visible digits
  const rounding = 1e-9; // of equal variances, the degrees of freedom are a whole number
  const fewest = 4; // questions of a category with an interval
  const permutationsAPair = 4;

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const mean = (values) => sum(values) / values.length;

  /** P(|T| >= |t|) of Student's t with whole degrees of freedom (Abramowitz & Stegun, 26.7.3 and 26.7.4). */
  pfgen.twoSidedP = (t, freedom) => {
    const angle = Math.atan2(Math.abs(t), Math.sqrt(freedom));
    const cosine = Math.cos(angle);
    const square = cosine ** 2;
    const odd = freedom % 2;
    let term = odd ? cosine : 1;
    let total = 0;
    for (let k = 1 + odd; k < freedom; k += 2) {
      total += term;
      term *= square * (k / (k + 1));
    }
    const inside = odd ? (angle + Math.sin(angle) * total) * (2 / Math.PI) : Math.sin(angle) * total;
    return Math.min(Math.max(1 - inside, 0), 1);
  };

  /** t such that P(|T| <= t) is `level`. */
  pfgen.tQuantile = (level, freedom) => {
    const isShort = (t) => 1 - pfgen.twoSidedP(t, freedom) < level;
    let [low, high] = [0, 1];
    while (isShort(high)) [low, high] = [high, 2 * high];
    for (let middle = (low + high) / 2; low < middle && middle < high; middle = (low + high) / 2) {
      if (isShort(middle)) low = middle;
      else high = middle;
    }
    return high;
  };

  /** Mean, standard error and Student's interval of values; `null` where there are too few. */
  pfgen.student = (values, level) => {
    const [middle, number] = [mean(values), values.length];
    if (number < 2) return { mean: middle, se: null, low: null, high: null };
    const se = Math.sqrt(sum(values.map((value) => (value - middle) ** 2)) / (number - 1) / number);
    const reach = pfgen.tQuantile(level, number - 1) * se;
    return { mean: middle, se, low: middle - reach, high: middle + reach };
  };

  /** p-values corrected by Holm's method, in their order. */
  pfgen.holm = (p) => {
    const adjusted = new Array(p.length);
    let largest = 0;
    [...p.keys()].sort((i, j) => p[i] - p[j]).forEach((i, place) => {
      largest = Math.max(largest, p[i] * (p.length - place));
      adjusted[i] = Math.min(largest, 1);
    });
    return adjusted;
  };

  /** Every two of so many things, the first before the second. */
  pfgen.pairsOf = (count) => Array.from({ length: count }, (_, i) => i)
    .flatMap((i) => Array.from({ length: count - i - 1 }, (_, j) => [i, i + 1 + j]));

  /** The sum of a run's means in each row of signs. */
  pfgen.flippedSums = (run, { rows, signs }) => {
    const sums = new Float64Array(rows);
    const number = run.length;
    for (let row = 0, at = 0; row < rows; row += 1) {
      let total = 0;
      for (let q = 0; q < number; q += 1, at += 1) total += signs[at] * run[q];
      sums[row] = total;
    }
    return sums;
  };

  /** In how many rows the sums of two runs are at least so far apart. */
  const countReached = (first, second, least) => {
    let count = 0;
    for (let row = 0; row < first.length; row += 1) count += Math.abs(first[row] - second[row]) >= least ? 1 : 0;
    return count;
  };

  /** p-values of sign-flip permutation tests of pairs of runs: of several sets (metrics) of question means by run at once. */
  pfgen.signFlipPairs = (sets, pairs, permutations, seed) => {
    const questions = sets[0][0].length;
    const sizes = sets.map((runs) => runs.map((run) => sum(run.map(Math.abs))));
    const least = sets.map((runs, s) => pairs.map(([i, j]) =>
      Math.abs(sum(runs[i].map((value, q) => value - runs[j][q]))) - same * (sizes[s][i] + sizes[s][j])));
    const reached = sets.map(() => pairs.map(() => 0));
    let count = 0;
    for (const block of pfgen.flips(questions, permutations, seed)) {
      count += block.rows;
      sets.forEach((runs, s) => {
        const sums = runs.map((run) => pfgen.flippedSums(Float64Array.from(run), block));
        pairs.forEach(([i, j], place) => {
          reached[s][place] += countReached(sums[i], sums[j], least[s][place]);
        });
      });
    }
    const own = pfgen.flipsAreExact(questions, permutations) ? 0 : 1; // the observed signs, unless they are among the others
    return reached.map((each) => each.map((number) => (number + own) / (count + own)));
  };

  /** Corrects within each family: pairs of models, and pairs with a system run. */
  const corrected = (found, withSystem) => {
    for (const family of [false, true]) {
      const mine = found.filter((_, place) => withSystem[place] === family);
      const adjusted = pfgen.holm(mine.map(({ p }) => p));
      mine.forEach((pair, i) => Object.assign(pair, { holm: adjusted[i], family: mine.length }));
    }
    return found;
  };

  /** Best and worst rank of each model that the tests cannot exclude; `null` for system runs. */
  const rankRanges = (found, models, level) => {
    const all = models.filter(Boolean).length;
    const ranges = models.map((isModel) => (isModel ? [1, all] : null));
    for (const { i, j, holm, difference } of found.filter((pair) => models[pair.i] && models[pair.j])) {
      if (holm > 1 - level) continue;
      const [above, below] = difference > 0 ? [i, j] : [j, i];
      ranges[below][0] += 1;
      ranges[above][1] -= 1;
    }
    return ranges;
  };

  /**
   * Runs compared in each metric. `metrics`: by name, question means by run, of the questions that all runs answer.
   * `systems`: which runs are a system's. Pairs come in the order of `pfgen.pairsOf`.
   */
  pfgen.comparison = (metrics, systems, { level, permutations, seed, power }) => {
    const names = Object.keys(metrics);
    const models = systems.map((system) => !system || systems.every(Boolean));
    const pairs = pfgen.pairsOf(models.length);
    const number = metrics[names[0]][0].length;
    const needed = Math.max(permutations, Math.ceil((permutationsAPair * pairs.length) / (1 - level)));
    const p = pfgen.signFlipPairs(Object.values(metrics), pairs, needed, seed);
    const withSystem = pairs.map(([i, j]) => !(models[i] && models[j]));
    const t = pfgen.tQuantile(level, number - 1);
    const found = names.map((name, m) => {
      const runs = metrics[name];
      const each = corrected(pairs.map(([i, j], place) => {
        const { mean: difference, se, low, high } = pfgen.student(runs[i].map((value, q) => value - runs[j][q]), level);
        return { i, j, difference, se, low, high, p: p[m][place], detectable: (t + power) * se };
      }), withSystem);
      return [name, { estimates: runs.map((run) => pfgen.student(run, level)), pairs: each, ranks: rankRanges(each, models, level) }];
    });
    return { metrics: Object.fromEntries(found), smallest: pfgen.flipsAreExact(number, needed) ? 0 : 1 / (needed + 1) };
  };

  /** Difference of a question's means in two runs, each { mean, se, count }, and Welch's interval for trial noise. */
  pfgen.welch = (a, b, level) => {
    const difference = a.mean - b.mean;
    if (a.count < 2 || b.count < 2) return { difference, low: null, high: null };
    const [first, second] = [a.se ** 2, b.se ** 2];
    const below = first ** 2 / (a.count - 1) + second ** 2 / (b.count - 1);
    const freedom = Math.floor((first + second) ** 2 / below + rounding) || 1; // 1 where both are 0
    const reach = pfgen.tQuantile(level, Math.min(freedom, mostFreedom)) * Math.sqrt(first + second);
    return { difference, low: difference - reach, high: difference + reach };
  };

  /** Difference of two runs in the questions of a category, and Student's interval over them, if there are four. */
  pfgen.categoryDifference = (a, b, level) => {
    const { mean: difference, low, high } = pfgen.student(a.map((value, q) => value - b[q]), level);
    return a.length < fewest ? { difference, low: null, high: null } : { difference, low, high };
  };
})();
