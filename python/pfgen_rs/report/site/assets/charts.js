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

  /** A dot with its interval (`null` where there is none); zero is a line. */
  pfgen.whisker = (axis, low, mean, high) => {
    const bars = low === null || high === null ? [] : [
      drawn("path", { class: "whisker", d: `M${axis.at(low)} 4V12M${axis.at(low)} 8H${axis.at(high)}M${axis.at(high)} 4V12` }),
    ];
    return drawn("svg", { class: "interval", viewBox: `0 0 ${width} 16`, "aria-hidden": "true" },
      drawn("path", { class: "grid", d: `M${edge} 0V16M${width - edge} 0V16` }),
      drawn("path", { class: "zero", d: `M${width / 2} 0V16` }),
      ...bars,
      drawn("circle", { cx: axis.at(mean), cy: 8, r: 3.5 }));
  };

  /** What an axis says above its column. */
  pfgen.scale = (axis) => drawn("svg", { class: "interval", viewBox: `0 0 ${width} 12`, "aria-hidden": "true" },
    ...[[edge, -axis.reach], [width / 2, 0], [width - edge, axis.reach]].map(([x, value]) =>
      drawn("text", { x, y: 10, "text-anchor": "middle" }, value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`)));
})();
