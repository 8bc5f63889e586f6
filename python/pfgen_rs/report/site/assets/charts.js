// Drawings as the templates make them (`templates/charts.html.j2`), for tables that scripts build.
(() => {
  const { drawn } = pfgen;
  const width = 180;
  const edge = 4;

  /** An axis around zero on which all values lie. */
  pfgen.axisAround = (values) => {
    const reach = Math.max(Math.ceil(Math.max(0.02, ...values.map(Math.abs)) * 20) / 20, 0.05);
    return { reach, at: (value) => Number((width / 2 + (value / reach) * (width / 2 - edge)).toFixed(1)) };
  };

  /** An axis of scores, as `charts.Axis` has it: from one tenth to another. */
  pfgen.axisOf = (values) => {
    const low = Math.floor(Math.min(...values) * 10 + 1e-9) / 10;
    const high = Math.max(Math.ceil(Math.max(...values) * 10 - 1e-9) / 10, low + 0.1);
    return { low, high, at: (value) => Number((2 * edge + ((value - low) / (high - low)) * (width - 4 * edge)).toFixed(1)) };
  };

  /** A dot with its interval (`null` where there is none); zero, on an axis around it, is a line. */
  pfgen.whisker = (axis, low, mean, high) => {
    const bars = low === null || high === null ? [] : [
      drawn("path", { class: "whisker", d: `M${axis.at(low)} 4V12M${axis.at(low)} 8H${axis.at(high)}M${axis.at(high)} 4V12` }),
    ];
    return drawn("svg", { class: "interval", viewBox: `0 0 ${width} 16`, "aria-hidden": "true" },
      ...(axis.reach === undefined ? [drawn("path", { class: "grid", d: ticks(axis).map((value) => `M${axis.at(value)} 0V16`).join("") })] : [
        drawn("path", { class: "grid", d: `M${edge} 0V16M${width - edge} 0V16` }),
        drawn("path", { class: "zero", d: `M${width / 2} 0V16` }),
      ]),
      ...bars,
      drawn("circle", { cx: axis.at(mean), cy: 8, r: 3.5 }));
  };

  /** At most seven tenths on an axis of scores. */
  const ticks = ({ low, high }) => {
    const count = Math.round((high - low) * 10);
    const step = Math.ceil(count / 6);
    return Array.from({ length: Math.floor(count / step) + 1 }, (_, i) => low + (i * step) / 10);
  };

  /** What an axis of scores says above its column. */
  pfgen.scaleOf = (axis) => drawn("svg", { class: "interval", viewBox: `0 0 ${width} 12`, "aria-hidden": "true" },
    ...ticks(axis).map((value) => drawn("text", { x: axis.at(value), y: 10, "text-anchor": "middle" }, value.toFixed(1))));

  /** What an axis around zero says above its column. */
  pfgen.scale = (axis) => drawn("svg", { class: "interval", viewBox: `0 0 ${width} 12`, "aria-hidden": "true" },
    ...[[edge, -axis.reach], [width / 2, 0], [width - edge, axis.reach]].map(([x, value]) =>
      drawn("text", { x, y: 10, "text-anchor": "middle" }, value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`)));
})();
