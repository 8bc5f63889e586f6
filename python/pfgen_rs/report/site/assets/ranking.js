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

  /** From what size tests are significant: `leastOf` as many as are found, from a first number on until it settles. */
  const settled = (tests, first, leastOf) => {
    for (let [before, found] = [-1, first]; ;) {
      const least = leastOf(found);
      [before, found] = [found, 0];
      for (let k = 0; k < tests.length; k += 1) if (Math.abs(tests[k]) >= least) found += 1;
      if (found === before) return least;
    }
  };

  /** The range of ranks among `count` that the significant ones of a run's tests leave open; those above 0 found others worse. */
  const rangeOf = (tests, count, isSure) => {
    let [low, high] = [1, count];
    for (const test of tests) {
      if (!isSure(Math.abs(test))) continue;
      if (test > 0) high -= 1;
      else low += 1;
    }
    return [low, high];
  };

  /** What is awaited between pieces of work, so that the page has its turn. */
  const turns = (signal) => {
    let begun = performance.now();
    return async () => {
      if (performance.now() - begun < slice) return;
      await new Promise((resume) => { setTimeout(resume); });
      signal?.throwIfAborted();
      begun = performance.now();
    };
  };

  /** Of question means of runs (`null`: none), by their numbers: ranges of ranks, by a run's own tests and jointly, and tiers. */
  pfgen.ranking = async (means, level) => {
    const turn = turns();
    const error = 1 - level;
    const runs = means.map((run) => run && Float64Array.from(run));
    const total = runs.length;
    const questions = runs.find(Boolean)?.length ?? 0;
    const visible = questions > 1 ? pfgen.tQuantile(level, questions - 1) * (1 - rounding) : Infinity;
    // 1 - p of each two runs, less than 0 if the second is better; 0 where it cannot be significant.
    const sure = new Float64Array(total * total);
    for (let i = 0; i < total; i += 1) {
      for (let j = i + 1; j < total; j += 1) {
        const { t } = runs[i] && runs[j] ? compared(runs[i], runs[j]) : { t: 0 };
        if (!(Math.abs(t) >= visible)) continue;
        sure[i * total + j] = Math.sign(t) * (1 - pfgen.twoSidedP(t, questions - 1));
        sure[j * total + i] = -sure[i * total + j];
      }
      await turn();
    }

    /** 1 - p of a run and others, where it can be significant. */
    const testsOf = (i, numbers) => {
      const tests = new Float64Array(numbers.length);
      let found = 0;
      for (const j of numbers) if (sure[i * total + j] !== 0) tests[found++] = sure[i * total + j];
      return tests.subarray(0, found);
    };

    /** By Holm's method: the number of significant ones settles from below. */
    const own = (numbers) => numbers.map((i) => {
      const tests = testsOf(i, numbers);
      const least = settled(tests, 0, (found) => 1 - error / (numbers.length - 1 - found));
      return rangeOf(tests, numbers.length, (size) => size >= least);
    });

    /** By Benjamini and Hochberg's method: the number of significant ones settles from above. */
    const discovered = (numbers) => {
      const count = (numbers.length * (numbers.length - 1)) / 2;
      const tests = new Float64Array(count);
      numbers.forEach((i, place) => tests.set(testsOf(i, numbers.slice(0, place)), (place * (place - 1)) / 2));
      return settled(tests, count, (found) => (found ? 1 - (error * found) / count : Infinity));
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

    const flipped = async (pause) => {
      const found = runs.map((run) => run && new Float64Array(flips));
      let at = 0;
      for (const block of pfgen.flips(questions, draws, [0])) {
        for (const [i, run] of runs.entries()) {
          if (run) found[i].set(pfgen.flippedSums(run, block), at);
          await pause();
        }
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

    const joint = async (numbers, signal) => {
      const ranges = own(numbers);
      if (numbers.length < 2 || questions < 2) return ranges;
      const pause = turns(signal);
      sums ??= await flipped(pause);
      const most = Array.from({ length: steps + 1 }, () => new Float64Array(flips));
      const found = numbers.map(() => new Float64Array(numbers.length)); // r of each two runs, less than 0 if the second is better
      for (let i = 0; i < numbers.length; i += 1) {
        for (let j = i + 1; j < numbers.length; j += 1) {
          const { t, r, scale } = compared(runs[numbers[i]], runs[numbers[j]]);
          raise(most[Math.floor(r * steps)], sums[numbers[i]], sums[numbers[j]], scale);
          found[i][j] = Math.sign(t) * r;
          found[j][i] = -found[i][j];
        }
        await pause();
      }
      const limit = limitOf(most);
      return found.map((tests, i) => {
        const [low, high] = rangeOf(tests, numbers.length, (size) => size > limit);
        return [Math.min(ranges[i][0], low), Math.max(ranges[i][1], high)];
      });
    };

    return { own, tiers, joint };
  };
})();
