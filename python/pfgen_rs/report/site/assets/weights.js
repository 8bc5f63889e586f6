// A mean of benchmarks with weights that the reader chooses; without any, there is none.
(() => {
  const { element, tr } = pfgen;
  const highest = 10;

  /** The weights of an address that are for benchmarks of the board. */
  const checked = (board, given) => Object.fromEntries(board.benchmarks
    .map(({ key }) => [key, Math.min(Math.max(Math.round(Number(given?.[key])) || 0, 0), highest)]).filter(([, weight]) => weight));

  /** The benchmarks that have weights, and the sum of these. */
  const weighed = (board, weights) => {
    const parts = board.benchmarks.filter(({ key }) => weights[key]);
    return [parts, parts.reduce((sum, { key }) => sum + weights[key], 0)];
  };

  /** The weighted mean of a row, each benchmark scaled to 0–1 by its low and high end; `null` where one of them is unknown. */
  const composite = (board, weights) => {
    const [parts, total] = weighed(board, weights);
    return (row) => {
      if (parts.some(({ column }) => row.get(column) === null)) return null;
      return parts.reduce((sum, { key, column, low, high }) => sum + (weights[key] * (row.get(column) - low)) / (high - low), 0) / total;
    };
  };

  const formula = (board, weights) => {
    const [parts, total] = weighed(board, weights);
    if (!total) return [tr("no_weights")];
    const term = (each) => `${weights[each.key]} × (${pfgen.named(each)} − ${each.low}) / (${each.high} − ${each.low})`;
    return [tr("composite"), pfgen.shown(` = [ ${parts.map(term).join(" + ")} ] / ${total}`)];
  };

  /** Sliders for the weights; `changed(weights, isTyped)`. */
  const sliders = (board, weights, changed) => {
    let now = weights;
    const output = element("output", { class: "formula" }, ...formula(board, now));
    const slider = (each) => {
      const said = element("output", {}, String(now[each.key] ?? 0));
      const input = element("input", { type: "range", min: 0, max: highest, step: 1, value: now[each.key] ?? 0, oninput: ({ target }) => {
        now = checked(board, { ...now, [each.key]: target.value });
        said.textContent = target.value;
        output.replaceChildren(...formula(board, now));
        changed(now, true);
      } });
      return element("label", { class: "field" }, pfgen.shown(pfgen.named(each)), element("span", {}, input, " ", said));
    };
    return [...board.benchmarks.map(slider), output];
  };

  pfgen.weights = { checked, composite, sliders };
})();
