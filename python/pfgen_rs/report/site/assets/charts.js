// Intervals on axes, as the templates draw them (`charts.py`, `templates/charts.html.j2`), for tables that scripts build.
(() => {
  const { drawn } = pfgen;
  const [width, edge] = [180, 8];

  const svg = (height, children) => drawn("svg", { class: "interval", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...children);

  /** An axis with lines at some values; `named`: a value as text. */
  const axis = (low, high, ticks, named) => {
    const at = (value) => Number((edge + Math.min(Math.max((value - low) / (high - low), 0), 1) * (width - 2 * edge)).toFixed(1));
    return { low, ticks, named, at, holds: (value) => value >= low - 1e-9 && value <= high + 1e-9 };
  };

  /** An axis around zero on which all values lie. */
  pfgen.axisAround = (values) => {
    const reach = Math.max(Math.ceil(Math.max(0.02, ...values.map(Math.abs)) * 20) / 20, 0.05);
    return axis(-reach, reach, [-reach, 0, reach], (value) => (value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`));
  };

  /** An axis of scores on which all values lie: from one tenth to another, with at most seven named. */
  pfgen.axisOf = (values) => {
    const low = Math.floor(10 * Math.min(...values) + 1e-9);
    const high = Math.max(Math.ceil(10 * Math.max(...values) - 1e-9), low + 1);
    const every = Math.ceil((high - low) / 6);
    const ticks = Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, i) => (low + i * every) / 10);
    return axis(low / 10, high / 10, ticks, (value) => value.toFixed(1));
  };

  /** An axis for intervals, without the lowest eighth of them, which would squeeze the others (`charts.Axis.of_most`). */
  pfgen.axisOfMost = (intervals) => {
    const [lows, highs] = [0, 1].map((side) => intervals.map((each) => each[side]).sort((a, b) => a - b));
    return pfgen.axisOf(intervals.length ? [lows[Math.floor(lows.length / 8)], highs.at(-1)] : [0, 1]);
  };

  /** A dot with its interval (`null` where there is none); beyond an axis it is a triangle. */
  pfgen.whisker = ({ low: least, ticks, at, holds }, low, mean, high) => {
    const caps = [low, high].filter(holds).map((end) => `M${at(end)} 4V12`).join("");
    const tip = at(mean) + (mean < least ? -edge : edge);
    return svg(16, [
      ...ticks.map((tick) => drawn("path", { class: tick === 0 && least < 0 ? "zero" : "grid", d: `M${at(tick)} 0V16` })),
      ...(low === null || high === null ? [] : [drawn("path", { class: "whisker", d: `M${at(low)} 8H${at(high)}${caps}` })]),
      holds(mean) ? drawn("circle", { cx: at(mean), cy: 8, r: 3.5 }) : drawn("path", { class: "beyond", d: `M${at(mean)} 3.5V12.5L${tip} 8Z` }),
    ]);
  };

  /** What an axis says above its column. */
  pfgen.scale = ({ ticks, at, named }) => svg(12, ticks.map((tick) => drawn("text", { x: at(tick), y: 10, "text-anchor": "middle" }, named(tick))));
})();
