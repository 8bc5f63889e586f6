// What kinds of drawings share: values and axes of columns, colours with marks, names without overlaps, a line fitted, an order by clusters.
(() => {
  const { drawn, t } = pfgen;
  const edge = { left: 58, right: 16, top: 14, bottom: 42 };
  const looks = 7; // of colours and marks (`drawings.css`); what is beyond is grey
  const level = 0.95;
  const year = 365.2425 * 864e5; // milliseconds

  const wide = (text, size = 12) => [...text].reduce((sum, one) => sum + (one.codePointAt(0) < 0x2e80 ? 0.57 : 1) * size, 0);

  /** The beginning of a text that is not wider than so many pixels. */
  const cut = (text, most, size = 12) => {
    const plain = pfgen.plain(text);
    if (wide(plain, size) <= most) return plain;
    const letters = [...plain];
    while (letters.length && wide(letters.join(""), size) > most - size) letters.pop();
    return `${letters.join("")}…`;
  };

  const label = (column) => (column.key === "parameters" ? t("draw_parameters") : pfgen.plain(column.label[pfgen.language() === "ja" ? 0 : 1]));

  const isLog = ({ key, group }) => key === "parameters" || key === "price" || group === "cost";

  /** A row's number in a column (dates: milliseconds), `null` where it is not known or an axis has no place for it. */
  const valueOf = (row, column) => {
    const value = row.get(column.key) ?? null;
    const number = column.kind === "date" && value !== null ? Date.parse(value) : value;
    return typeof number === "number" && Number.isFinite(number) && (number > 0 || !isLog(column)) ? number : null;
  };

  const size = (billions) => (billions >= 1000 ? `${billions / 1000}T` : billions >= 1 ? `${billions}B` : `${Number((billions * 1000).toPrecision(4))}M`);

  const formatted = (column, value) => {
    if (value === null) return "–";
    if (column.kind === "date") return new Date(value).toISOString().slice(0, 10);
    return column.key === "parameters" ? size(Number(value.toPrecision(4))) : isLog(column) ? String(Number(value.toPrecision(4))) : value.toFixed(column.digits);
  };

  /** A scale for values of a column from pixel to pixel, with a margin of 5 % at both ends. `units`: its values on an even axis. */
  const scaleOf = (column, values, pixels) => {
    const [low, high] = d3.extent(values);
    const logarithmic = isLog(column);
    const [first, last] = logarithmic ? [Math.log10(low), Math.log10(high)] : [low, high];
    const more = (last - first) * 0.05 || (column.kind === "date" ? year / 12 : logarithmic ? 0.3 : Math.abs(low) * 0.05 || 0.5);
    const ends = [first - more, last + more].map((end) => (logarithmic ? 10 ** end : end));
    const scale = (logarithmic ? d3.scaleLog() : column.kind === "date" ? d3.scaleUtc() : d3.scaleLinear()).domain(ends).range(pixels);
    return Object.assign(scale, { column, units: logarithmic ? Math.log10 : column.kind === "date" ? (value) => value / year : Number });
  };

  /** Values to name on a scale, at most about so many, and how. */
  const ticksOf = (scale, count) => {
    const { column } = scale;
    const all = scale.ticks(count);
    if (column.kind === "date") {
      const days = all.map((day) => day.toISOString().slice(0, 10));
      const length = days.every((day) => day.endsWith("-01-01")) ? 4 : days.every((day) => day.endsWith("-01")) ? 7 : 10;
      return [all, (day) => day.toISOString().slice(0, length)];
    }
    if (!isLog(column)) return [all, scale.tickFormat(count)];
    const leading = (value) => Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
    const some = [[1], [1, 3], [1, 2, 5]].map((digits) => scale.ticks(99).filter((value) => digits.includes(leading(value))));
    const named = some.findLast((values) => values.length <= count) ?? some[0];
    return [named.length > 1 ? named : all.slice(0, count), (value) => formatted(column, value)];
  };

  /** An axis with its lines across the drawing, as d3 draws it. */
  const axisOf = (make, scale, count, length, place) => {
    const [values, format] = ticksOf(scale, count);
    const group = drawn("g", { class: "axis", transform: `translate(${place})` });
    d3.select(group).call(make(scale).tickValues(values).tickFormat(format).tickSize(-length).tickPadding(6));
    return group;
  };

  const acrossOf = (x, [start, width, height]) => [
    axisOf(d3.axisBottom, x, Math.max(2, Math.floor((width - start) / 85)), height - edge.top - edge.bottom, [0, height - edge.bottom]),
    drawn("text", { class: "of-axis", x: (start + width - edge.right) / 2, y: height - 6, "text-anchor": "middle" }, label(x.column)),
  ];

  /** Both axes and their labels, within a drawing of that size. */
  const axesOf = (x, y, width, height) => [
    ...acrossOf(x, [edge.left, width, height]),
    axisOf(d3.axisLeft, y, Math.max(2, Math.floor(height / 60)), width - edge.left - edge.right, [edge.left, 0]),
    drawn("text", { class: "of-axis", "text-anchor": "middle", transform: `translate(13 ${(height - edge.bottom + edge.top) / 2}) rotate(-90)` }, label(y.column)),
  ];

  const symbolsOf = () => [d3.symbolCircle, d3.symbolDiamond, d3.symbolTriangle, d3.symbolSquare, d3.symbolCross, d3.symbolStar, d3.symbolWye];

  /** A mark: its form and colour tell the same, so that either is enough. */
  const mark = (look, area = 64, at = [0, 0]) => drawn("path", { class: `mark c${look}`, d: d3.symbol().type(symbolsOf()[look] ?? d3.symbolCircle).size(area)(), transform: `translate(${at})` });

  const swatch = (look) => drawn("svg", { viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true" }, mark(look));

  /** Which look rows have by their text in a column: those of the most rows one each, the others a grey one. */
  const colours = (rows, column) => {
    if (!column) return { of: () => 0, legend: [] };
    const textOf = (row) => row.get(column.key) ?? null;
    const counts = [...d3.group(rows.map(textOf).filter((text) => text !== null), (text) => text)].sort((a, b) => b[1].length - a[1].length);
    const places = new Map(counts.slice(0, looks).map(([text], i) => [text, i]));
    const others = rows.some((row) => !places.has(textOf(row)));
    const named = [...places].map(([text, look]) => [look, String(text)]);
    return { of: (row) => places.get(textOf(row)) ?? looks, legend: others ? [...named, [looks, t("draw_others")]] : named };
  };

  /** What is shown of a row, which leads to its page; `lines(x)`: what it says there. Arrows lead to it at `x`, `y`. */
  const spot = (row, x, y, lines, nodes, name = "") => {
    const said = typeof lines === "function" ? lines : () => lines;
    const attributes = { class: `spot ${name}`, tabindex: "-1", "aria-label": said(null).join(", ") };
    const node = row?.page ? drawn("a", { ...attributes, href: pfgen.root + row.page }, ...nodes) : drawn("g", { ...attributes, role: "img" }, ...nodes);
    return Object.assign(node, { spot: { x, y, lines: said } });
  };

  /** Names beside points, the first ones first, where they cover neither points nor names. */
  const namesOf = (wanted, points, [left, top, right, bottom]) => {
    const taken = points.map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]);
    const isFree = ([x0, y0, x1, y1]) => x0 >= left && y0 >= top && x1 <= right && y1 <= bottom
      && taken.every((box) => x1 <= box[0] || x0 >= box[2] || y1 <= box[1] || y0 >= box[3]);
    return wanted.flatMap(([x, y, name]) => {
      const text = cut(name, 190);
      const places = [[8, 4, "start"], [-8, 4, "end"], [0, -9, "middle"], [0, 18, "middle"], [6, -7, "start"], [-6, -7, "end"]];
      for (const [dx, dy, anchor] of places) {
        const start = x + dx - wide(text) * { start: 0, middle: 0.5, end: 1 }[anchor];
        const box = [start, y + dy - 10, start + wide(text), y + dy + 3];
        if (isFree(box)) {
          taken.push(box);
          return [drawn("text", { class: "named", x: x + dx, y: y + dy, "text-anchor": anchor }, text)];
        }
      }
      return [];
    });
  };

  /** A line through points by least squares: y = a + b x, correlation r; `at(x)`: the line and its interval of 95 %. `null` where there is none. */
  const fitted = (points) => {
    const n = points.length;
    const [mx, my] = [0, 1].map((i) => d3.mean(points, (point) => point[i]));
    const sums = (i, j) => points.reduce((sum, point) => sum + (point[i] - (i ? my : mx)) * (point[j] - (j ? my : mx)), 0);
    const [xx, xy, yy] = [sums(0, 0), sums(0, 1), sums(1, 1)];
    if (n < 3 || !(xx > 0) || !(yy > 0)) return null;
    const b = xy / xx;
    const error = Math.sqrt(Math.max(yy - b * xy, 0) / (n - 2));
    const reach = pfgen.tQuantile(level, n - 2);
    const at = (x) => {
      const middle = my + b * (x - mx);
      const more = reach * error * Math.sqrt(1 / n + (x - mx) ** 2 / xx);
      return [middle, middle - more, middle + more];
    };
    return { a: my - b * mx, b, r: xy / Math.sqrt(xx * yy), n, at };
  };

  /** Rows of numbers in the order of clusters (average linkage of 1 − r); the part with the higher mean comes first. */
  const clustered = (rows) => {
    const centred = rows.map((row) => {
      const middle = d3.mean(row);
      const off = row.map((value) => value - middle);
      const norm = Math.hypot(...off);
      return norm > 1e-12 ? off.map((value) => value / norm) : off.map(() => 0);
    });
    let clusters = rows.map((row, i) => ({ members: [i], mean: d3.mean(row) }));
    const distances = centred.map((row) => centred.map((other) => 1 - row.reduce((sum, value, q) => sum + value * other[q], 0)));
    while (clusters.length > 1) {
      let [best, first, second] = [Infinity, 0, 1];
      for (let i = 0; i < clusters.length; i += 1) {
        for (let j = i + 1; j < clusters.length; j += 1) if (distances[i][j] < best) [best, first, second] = [distances[i][j], i, j];
      }
      const [a, b] = [clusters[first], clusters[second]];
      const [m, n] = [a.members.length, b.members.length];
      const members = b.mean > a.mean ? [...b.members, ...a.members] : [...a.members, ...b.members];
      distances.forEach((row, k) => { // the new cluster stands where the first was
        row[first] = (m * row[first] + n * row[second]) / (m + n);
        distances[first][k] = row[first];
      });
      clusters[first] = { members, mean: (m * a.mean + n * b.mean) / (m + n) };
      clusters = clusters.filter((_, i) => i !== second);
      distances.splice(second, 1);
      for (const row of distances) row.splice(second, 1);
    }
    return clusters.flatMap(({ members }) => members);
  };

  const columnsOf = (board, ...kinds) => board.known.filter(({ kind }) => kinds.includes(kind));

  const option = (column) => [column.key, label(column)];

  /** How many of the rows lack a value, in words; none if none does. */
  const missing = (rows, columns) => columns.flatMap((column) => {
    const n = rows.filter((row) => valueOf(row, column) === null).length;
    return n ? [t("draw_missing", { n, all: rows.length, column: label(column) })] : [];
  });

  /** What is drawn where no row has a value. */
  const nothing = (base) => ({ ...base, height: 40, nodes: [drawn("text", { x: 8, y: 24 }, t("draw_nothing"))] });

  pfgen.marks = { acrossOf, axesOf, clustered, colours, columnsOf, cut, edge, fitted, formatted, isLog, label, mark, missing, namesOf, nothing, option, scaleOf, spot, swatch, valueOf, wide };
})();
