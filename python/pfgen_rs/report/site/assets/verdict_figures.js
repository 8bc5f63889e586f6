// How a judge's decisions agree with people: what `pfgen_rs.judge.agreement.measures` gives, and intervals over questions.
(() => {
  const level = 0.95;
  const z = 1.959963984540054; // of that level
  const mostFreedom = 1000; // from which t is normal to all visible digits
  const fewQuestions = 9; // with fewer, an interval is never shorter than that of as many independent pairs
  const bins = 10;
  const letters = "ABC";
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  /** The letter that most of these chose, "-" if several share the lead or none is one. */
  pfgen.majorityOf = (votes) => {
    const counts = [...letters].map((letter) => votes.filter((vote) => vote === letter).length);
    const most = Math.max(...counts);
    return most > 0 && counts.filter((count) => count === most).length === 1 ? letters[counts.indexOf(most)] : "-";
  };

  /** Cohen's κ of letters about the same pairs; one that is none of A, B and C is a label of its own. `null`: undefined. */
  pfgen.cohenKappa = (first, second) => {
    const labels = [...letters, "-"];
    const label = (letter) => (letters.includes(letter) ? letter : "-");
    const count = (all, x) => all.filter((letter) => label(letter) === x).length;
    const n = first.length;
    const agreed = first.filter((letter, i) => label(letter) === label(second[i])).length;
    const chance = sum(labels.map((x) => count(first, x) * count(second, x)));
    return n ** 2 > chance ? (agreed * n - chance) / (n ** 2 - chance) : null;
  };

  /** Wilson's score interval of a share of n. */
  const wilson = (share, n) => {
    const centre = (share + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
    const reach = Math.sqrt(z ** 2 * ((share * (1 - share)) / n + z ** 2 / (4 * n * n))) / (1 + z ** 2 / n);
    return [centre - reach, centre + reach];
  };

  /**
   * The share of pairs that are right, with its interval: Student's, by a standard error that takes pairs of a question for dependent,
   * and at least Wilson's of as many independent pairs as have that error (as many as questions where there is no spread).
   * `right`: 0 or 1 by pair; `groups`: numbers of their questions.
   */
  pfgen.shareByQuestion = (right, groups) => {
    const n = right.length;
    if (!n) return { share: null, low: null, high: null };
    const share = sum(right) / n;
    const apart = new Map(); // sums of differences from the share, by question
    right.forEach((value, i) => apart.set(groups[i], (apart.get(groups[i]) ?? 0) + value - share));
    const questions = apart.size;
    const variance = questions > 1 ? (questions / (questions - 1)) * sum([...apart.values()].map((value) => (value / n) ** 2)) : 0;
    const reach = variance > 1e-18 ? pfgen.tQuantile(level, Math.min(questions - 1, mostFreedom)) * Math.sqrt(variance) : 0;
    const alike = reach ? (share * (1 - share)) / variance : questions;
    const size = Math.max(1, Math.round(questions < fewQuestions ? Math.min(alike, questions) : alike));
    const [below, above] = wilson(share, size);
    return { share, low: Math.max(Math.min(share - reach, below), 0), high: Math.min(Math.max(share + reach, above), 1) };
  };

  /** The expected calibration error of decisions: over pairs, |share of right ones - mean probability| of ten equal bins. */
  pfgen.calibrationError = (probabilities, right) => {
    const apart = new Array(bins).fill(0);
    probabilities.forEach((p, i) => {
      apart[Math.min(Math.floor(p * bins), bins - 1)] += right[i] - p;
    });
    return probabilities.length ? sum(apart.map(Math.abs)) / probabilities.length : null;
  };

  /**
   * Figures of a judge (its columns of the index) against letters by row. `rule`: how it decides.
   * Pairs that the judge does not have are left out; those that it did not decide count as wrong.
   */
  pfgen.verdictFigures = (judge, rule, said, groups) => {
    const rows = Array.from(said, (_, row) => row).filter((row) => letters.includes(said[row]) && judge[rule][row] !== " ");
    const right = (by) => (row) => Number(judge[by][row] === said[row]);
    const known = rows.filter((row) => letters.includes(judge.probability[row]) && judge.winner[row] !== null);
    return {
      pairs: rows.length,
      ...pfgen.shareByQuestion(rows.map(right(rule)), rows.map((row) => groups[row])),
      kappa: rows.length ? pfgen.cohenKappa(rows.map((row) => judge[rule][row]), rows.map((row) => said[row])) : null,
      calibrated: known.length,
      error: pfgen.calibrationError(known.map((row) => judge.winner[row]), known.map(right("probability"))),
    };
  };
})();
