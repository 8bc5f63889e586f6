// Which characters of two texts differ: those outside of a longest common subsequence.
(() => {
  const longest = 400; // characters that are compared; the table has its square

  /** Lengths of the longest common subsequence of every two ends. */
  const table = (a, b) => {
    const width = b.length + 1;
    const lengths = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        const at = i * width + j;
        lengths[at] = a[i] === b[j] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
      }
    }
    return (i, j) => lengths[i * width + j];
  };

  /** Pairs of places of common characters. */
  const common = (a, b) => {
    const length = table(a, b);
    const pairs = [];
    let i = 0;
    let j = 0;
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) pairs.push([i++, j++]);
      else if (length(i + 1, j) >= length(i, j + 1)) i += 1;
      else j += 1;
    }
    return pairs;
  };

  /** Pairs beside others: single characters meet by chance. */
  const joined = (pairs) => {
    const known = new Set(pairs.map(String));
    return pairs.filter(([i, j]) => known.has(`${i - 1},${j - 1}`) || known.has(`${i + 1},${j + 1}`));
  };

  /** Of each of two lists of characters, the places that differ; behind the first 400, none is said to. */
  pfgen.differences = (a, b) => {
    const [first, second] = [a.slice(0, longest), b.slice(0, longest)];
    const kept = joined(common(first, second));
    return [first, second].map((text, side) => {
      const same = new Set(kept.map((pair) => pair[side]));
      return new Set([...text.keys()].filter((i) => !same.has(i)));
    });
  };
})();
