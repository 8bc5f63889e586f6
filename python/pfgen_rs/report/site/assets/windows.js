// How common the characters of an answer are: looked up in the table of a question's windows.
(() => {
  const limits = [0.005, 0.01, 0.025, 0.05, 0.1]; // of all reference answers; below the first: rare

  /** Level 0 (rare) … 5 (common) of a share of the reference answers. */
  const level = (share) => {
    if (share > limits[4]) return 5; // as published: more than 10 %
    return limits.slice(0, 4).filter((limit) => share >= limit).length;
  };

  const total = (counts) => counts.reduce((sum, count) => sum + count, 0);

  /** The table of a payload, ready for looking up. */
  pfgen.windowTable = (table) => {
    const points = Array.from(table.text);
    const places = new Map();
    for (let i = 0; i < points.length; i += 3) places.set(points[i] + points[i + 1] + points[i + 2], i / 3);
    const all = total(table.answers);

    const found = (text) => {
      const place = places.get(text);
      const counts = place === undefined ? table.sources.map(() => 0) : table.counts.map((column) => column[place]);
      return { text, counts, total: total(counts) };
    };

    return {
      sources: table.sources,
      answers: table.answers,
      all,
      shaded: table.shaded,
      /** Of each shaded character: the windows that cover it, the one that decides, and its level. */
      cover(characters) {
        const marked = ["^", ...characters, "$"];
        const seen = characters.slice(0, table.shaded + 1).map((_, i) => found(marked.slice(i, i + 3).join("")));
        return seen.slice(0, table.shaded).map((_, i) => {
          const windows = seen.slice(Math.max(i - 1, 0), i + 2);
          const best = windows.reduce((a, b) => (b.total > a.total ? b : a));
          return { windows, best, level: level(best.total / all) };
        });
      },
    };
  };
})();
