// The runs of a comparison (`comparison_data.py`): question means, and what statistics make of those of a choice.
(() => {
  const first = 0x3000;
  const bits = 15;

  /** Whole numbers that were packed into text. */
  const unpacked = (text) => {
    const width = text.charCodeAt(0) - first;
    return Array.from({ length: (text.length - 1) / width }, (_, i) => {
      let number = 0;
      for (let k = 0; k < width; k += 1) number = number * 2 ** bits + text.charCodeAt(1 + i * width + k) - first;
      return number;
    });
  };

  /** The question means of a run in a metric (its number). */
  const meansOf = (data, { sums, counts }, metric) => {
    const [decimals, text] = sums[metric];
    const isMean = decimals === data.meanDecimals; // otherwise a sum over answers
    return unpacked(text).map((value, q) => value / ((isMean ? 1 : counts[q] ?? counts) * 10 ** decimals));
  };

  /** A run's questions (places among all), and of each the means by metric, the error of the average's, and the answers. */
  const figures = (data, run) => {
    const places = run.questions ?? data.questions.map((_, i) => i);
    const counts = places.map((_, q) => run.counts[q] ?? run.counts);
    const errors = unpacked(run.errors).map((error) => error / 10 ** data.errorDecimals);
    return { places, counts, errors, means: data.metrics.map((_, metric) => meansOf(data, run, metric)) };
  };

  /** The score of each run: the mean of its question means. */
  pfgen.scoresOf = (data) => data.runs.map((run) => {
    const average = meansOf(data, run, 0);
    return average.reduce((sum, value) => sum + value, 0) / average.length;
  });

  /**
   * The comparison of some runs (by their numbers): `questions` (places) that all of them answer, `leftOut`: those that only
   * some do, and what `pfgen.comparison` gives; `null` where they have fewer than two questions in common.
   */
  pfgen.compared = (data, chosen) => {
    const runs = chosen.map((number) => figures(data, data.runs[number]));
    const every = [...data.questions.keys()].filter((q) => runs.some((run) => run.places.includes(q)));
    const questions = every.filter((q) => runs.every((run) => run.places.includes(q)));
    const leftOut = every.filter((q) => !questions.includes(q));
    if (questions.length < 2) return { questions, leftOut, metrics: null };
    const at = runs.map((run) => questions.map((q) => run.places.indexOf(q)));
    const metrics = Object.fromEntries(data.metrics.map((metric, m) => [metric, runs.map((run, r) => at[r].map((q) => run.means[m][q]))]));
    const moments = runs.map((run, r) => at[r].map((q) => ({ mean: run.means[0][q], se: run.errors[q], count: run.counts[q] })));
    const found = pfgen.comparison(metrics, chosen.map((number) => data.runs[number].system), data);
    return { questions, leftOut, means: metrics, moments, ...found };
  };

  /** Differences of two of the compared runs (by their places in the choice) by question; only those of the average have bounds. */
  pfgen.byQuestion = (data, found, metric, a, b) => found.questions.map((question, q) => {
    const [first, second] = [a, b].map((run) => found.means[metric][run][q]);
    const none = { difference: first - second, low: null, high: null };
    return {
      question, a: first, b: second,
      ...(metric === "average" ? pfgen.welch(found.moments[a][q], found.moments[b][q], data.level) : none),
    };
  });

  /** Differences of two of the compared runs in a metric by category. */
  pfgen.byCategory = (data, found, metric, a, b) => {
    const names = [...new Set(found.questions.map((q) => data.questions[q].category))].filter(Boolean).sort();
    return names.map((name) => {
      const isOf = (_, q) => data.questions[found.questions[q]].category === name;
      const [first, second] = [a, b].map((run) => found.means[metric][run].filter(isOf));
      return { name, questions: first.length, ...pfgen.categoryDifference(first, second, data.level) };
    });
  };
})();
