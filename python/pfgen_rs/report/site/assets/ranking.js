// Ranks among models that are shown, from their question means, as `pfgen_rs.stats.ranking` in Python has them.
(() => {
  const same = 1e-12; // means that differ by less are equal
  const rounding = 1e-9; // of sums in another order
  const [fewest, beyond] = [999, 5]; // flips, and how many of them may at least reach further than a significant difference
  const steps = 256; // of r, for what a step down leaves out
  const skewness = 2; // how much more than in these questions it may be in all that could be asked
  const slice = 6; // milliseconds, after which the page has its turn

  /** Of two runs: Student's paired t, its correction for skewness as `r`, and the square of an `r` per that of a flipped sum. */
  const compared = (first, second) => {
    const n = first.length;
    let [mean, spread, cubes, squares] = [0, 0, 0, 0];
    for (let q = 0; q < n; q += 1) mean += (first[q] - second[q]) / n;
    for (let q = 0; q < n; q += 1) {
      const difference = first[q] - second[q];
      const rest = difference - mean;
      squares += difference * difference;
      spread += rest * rest;
      cubes += rest * rest * rest;
    }
    const scale = squares > 0 ? 1 / (n * squares) : 0;
    if (n < 2 || Math.abs(mean) < same) return { t: 0, r: 0, scale };
    const deviation = Math.sqrt(spread / (n - 1));
    const t = mean / (deviation / Math.sqrt(n));
    if (deviation === 0) return { t, r: 1, scale };
    const skew = n > 2 ? (skewness * cubes * n) / ((n - 1) * (n - 2)) / deviation ** 3 : 0;
    const straight = t + (skew * t * t) / (3 * Math.sqrt(n)) + (skew * skew * t * t * t) / (27 * n) + skew / (6 * Math.sqrt(n));
    const least = Math.min(Math.abs(t), Math.max(Math.sign(t) * straight, 0));
    return { t, r: least / Math.sqrt(n - 1 + least * least), scale };
  };

  /** Raise the square of the largest r of each flip to that of two runs. */
  const raise = (most, first, second, scale) => {
    for (let f = 0; f < most.length; f += 1) {
      const difference = first[f] - second[f];
      const square = difference * difference * scale; // twice as fast as an absolute value
      if (square > most[f]) most[f] = square;
    }
  };

  pfgen.ranking = (means, level) => {
    const error = 1 - level;
    const runs = means.map((run) => Float64Array.from(run));
    const total = runs.length;
    const questions = runs[0]?.length ?? 0;
    const visible = questions > 1 ? pfgen.tQuantile(level, questions - 1) * (1 - rounding) : Infinity;
    // 1 - p of each two runs, less than 0 if the second is better; 0 where it cannot be significant.
    const sure = new Float64Array(total * total);
    for (let i = 0; i < total; i += 1) {
      for (let j = i + 1; j < total; j += 1) {
        const { t } = compared(runs[i], runs[j]);
        if (!(Math.abs(t) >= visible)) continue;
        sure[i * total + j] = Math.sign(t) * (1 - pfgen.twoSidedP(t, questions - 1));
        sure[j * total + i] = -sure[i * total + j];
      }
    }

    /** The range of ranks that a run's own tests leave open: Holm's method without sorting, those that are significant by turns. */
    const ownOf = (i, numbers, tests) => {
      let [low, high, left] = [1, numbers.length, 0];
      for (const j of numbers) if (sure[i * total + j] !== 0) tests[left++] = sure[i * total + j];
      for (let [others, before] = [numbers.length - 1, -1]; left !== before;) {
        const least = 1 - error / others;
        [before, left] = [left, 0];
        for (let k = 0; k < before; k += 1) {
          if (tests[k] >= least) high -= 1;
          else if (-tests[k] >= least) low += 1;
          else tests[left++] = tests[k];
        }
        others -= before - left;
      }
      return [low, high];
    };

    const own = (numbers) => {
      const tests = new Float64Array(numbers.length);
      return numbers.map((i) => ownOf(i, numbers, tests));
    };

    /** From what 1 - p differences are significant by Benjamini and Hochberg's method: the number of them settles from above. */
    const discovered = (numbers) => {
      const count = (numbers.length * (numbers.length - 1)) / 2;
      const tests = new Float64Array(count);
      let found = 0;
      numbers.forEach((i, place) => {
        for (let k = 0; k < place; k += 1) tests[found++] = Math.abs(sure[i * total + numbers[k]]);
      });
      for (;;) {
        const least = found ? 1 - (error * found) / count : Infinity;
        const before = found;
        found = 0;
        for (let k = 0; k < before; k += 1) if (tests[k] >= least) tests[found++] = tests[k];
        if (found === before) return least;
      }
    };

    const tiers = (numbers) => {
      const least = discovered(numbers);
      let [tier, best] = [1, numbers[0]];
      return numbers.map((i) => {
        if (Math.abs(sure[best * total + i]) >= least) [tier, best] = [tier + 1, i];
        return tier;
      });
    };

    const draws = Math.max(fewest, Math.ceil(beyond / error) - 1);
    const drawn = pfgen.flipsAreExact(questions, draws) ? 0 : 1; // the observed signs, unless they are among the flips
    const flips = drawn ? draws : 2 ** questions;
    let sums = null; // of each run's means with signs flipped, for any choice of runs

    const flipped = () => {
      const found = runs.map(() => new Float64Array(flips));
      let at = 0;
      for (const block of pfgen.flips(questions, draws, [0])) {
        runs.forEach((run, i) => found[i].set(pfgen.flippedSums(run, block), at));
        at += block.rows;
      }
      return found;
    };

    /** The r from which differences are significant. `most`: squares of the largest of each flip, by step; turns leave out what is found. */
    const limitOf = (most) => {
      const place = flips - 1 + drawn - Math.floor(error * (flips + drawn));
      for (let step = 1; step <= steps; step += 1) most[step] = most[step].map((square, f) => Math.max(square, most[step - 1][f]));
      for (let limit = Infinity; ;) {
        const next = Math.sqrt(most[Math.min(Math.floor(limit * steps), steps)].slice().sort()[place]) * (1 + rounding);
        if (!(next < limit)) return limit;
        limit = next;
      }
    };

    /** Compare a run with others: raise the largest of each flip at the step of their r, and return their r, below 0 if it is worse. */
    const against = (i, others, most) => {
      const each = others.map((j) => compared(runs[i], runs[j]));
      each.forEach(({ r, scale }, k) => raise(most[Math.floor(r * steps)], sums[i], sums[others[k]], scale));
      return Float64Array.from(each, ({ t, r }) => Math.sign(t) * r);
    };

    const joint = async (numbers, signal) => {
      const ranges = own(numbers);
      if (numbers.length < 2 || questions < 2) return ranges;
      sums ??= flipped();
      const most = Array.from({ length: steps + 1 }, () => new Float64Array(flips));
      const found = [];
      let begun = performance.now();
      for (let i = 0; i < numbers.length; i += 1) {
        found.push(against(numbers[i], numbers.slice(i + 1), most));
        if (performance.now() - begun < slice) continue;
        await new Promise((resume) => { setTimeout(resume); }); // the page has its turn
        signal?.throwIfAborted();
        begun = performance.now();
      }
      const limit = limitOf(most);
      const [low, high] = [numbers.map(() => 1), numbers.map(() => numbers.length)];
      found.forEach((others, i) => others.forEach((r, k) => {
        if (!(Math.abs(r) > limit)) return;
        const [above, below] = r > 0 ? [i, i + 1 + k] : [i + 1 + k, i];
        high[above] -= 1;
        low[below] += 1;
      }));
      return ranges.map((range, i) => [Math.min(range[0], low[i]), Math.max(range[1], high[i])]);
    };

    return { own, tiers, joint };
  };
})();
