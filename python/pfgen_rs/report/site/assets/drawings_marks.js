// What kinds of drawings share: values and axes of columns, colours with marks, names without overlaps, fits, clusters.
(() => {
  const { drawn, t } = pfgen;
  const edge = { left: 58, right: 16, top: 14, bottom: 42 };
  const looks = 7; // of colours and marks (`drawings.css`); what is beyond is grey
  const level = 0.95;
  const year = 365.2425 * 864e5; // milliseconds
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
  const origin = Date.UTC(2020, 0); // of dates in equations

  const wide = (text, size = 12) => [...text].reduce((sum, one) => sum + (one.codePointAt(0) < 0x2e80 ? 0.61 : 1) * size, 0);

  /** The beginning of a text that is not wider than so many pixels. */
  const cut = (text, most, size = 12) => {
    const plain = pfgen.plain(text);
    const letters = [...plain.slice(0, 400)];
    if (plain.length < 400 && wide(plain, size) <= most) return plain;
    while (letters.length && wide(letters.join(""), size) > most - size) letters.pop();
    return `${letters.join("")}…`;
  };

  const label = ({ key, label: [ja, en] }) => (key === "parameters" ? t("draw_parameters") : pfgen.plain(pfgen.language() === "ja" ? ja : en));

  const isLog = ({ key, group, kind }) => kind === "number" && (key === "parameters" || group === "cost");

  /** A row's number in a column (dates: milliseconds), `null` where it is not known or an axis has no place for it. */
  const valueOf = (row, column) => {
    const value = row.get(column.key) ?? null;
    const number = column.kind === "date" && value !== null ? Date.parse(value) : value;
    return typeof number === "number" && Number.isFinite(number) && (number > 0 || !isLog(column)) ? number : null;
  };

  /** A value in words: dates by day, parameters as names have them (7B), what has a logarithmic axis to four digits. */
  const formatted = (column, value) => {
    if (value === null) return "–";
    if (column.kind === "date") return new Date(value).toISOString().slice(0, 10);
    if (!isLog(column)) return value.toFixed(column.digits);
    const [unit, factor] = column.key !== "parameters" ? ["", 1] : value >= 1000 ? ["T", 1e-3] : value >= 1 ? ["B", 1] : ["M", 1000];
    return `${Number((value * factor).toPrecision(4))}${unit}`;
  };

  /** A scale for values of a column from pixel to pixel, with a margin of 5 % at both ends. `units`: its values on an even axis. */
  const scaleOf = (column, values, pixels) => {
    const [low, high] = d3.extent(values);
    const [make, to, from, least] = column.kind === "date" ? [d3.scaleUtc, Number, Number, year / 12]
      : isLog(column) ? [d3.scaleLog, Math.log10, (power) => 10 ** power, 0.3] : [d3.scaleLinear, Number, Number, Math.abs(low) * 0.05 || 0.5];
    const more = (to(high) - to(low)) * 0.05 || least;
    const scale = make().domain([from(to(low) - more), from(to(high) + more)]).range(pixels);
    return Object.assign(scale, { column, units: column.kind === "date" ? (value) => (value - origin) / year : to });
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
    if (!isLog(column)) return column.digits ? [all, scale.tickFormat(count)] : [all.filter(Number.isInteger), compact.format];
    return [scale.ticks(), scale.tickFormat(count, (value) => formatted(column, value))]; // which names only some of them
  };

  /** An axis with its lines across the drawing, as d3 draws it. */
  const axisOf = (make, scale, count, length, place) => {
    const [values, format] = ticksOf(scale, count);
    const group = drawn("g", { class: "axis", transform: `translate(${place})` });
    d3.select(group).call(make(scale).tickValues(values).tickFormat(format).tickSize(-length).tickPadding(6));
    return group;
  };

  const text = (x, y, said, anchor, name) => drawn("text", { x, y, class: name, "text-anchor": anchor }, said);

  /** The horizontal axis of a drawing of that size, from a pixel on. */
  const acrossOf = (x, [start, width, height]) => [
    axisOf(d3.axisBottom, x, Math.max(2, Math.floor((width - start) / 85)), height - edge.top - edge.bottom, [0, height - edge.bottom]),
    text((start + width - edge.right) / 2, height - 6, label(x.column), "middle", "of-axis"),
  ];

  /** Both axes and their labels, within a drawing of that size. */
  const axesOf = (x, y, width, height) => [
    ...acrossOf(x, [edge.left, width, height]),
    axisOf(d3.axisLeft, y, Math.max(2, Math.floor(height / 60)), width - edge.left - edge.right, [edge.left, 0]),
    drawn("g", { transform: `translate(13 ${(height - edge.bottom + edge.top) / 2}) rotate(-90)` }, text(0, 0, label(y.column), "middle", "of-axis")),
  ];

  const symbols = ["Circle", "Diamond", "Triangle", "Square", "Cross", "Star", "Wye", "Circle"];

  /** A mark: its form and colour tell the same, so that either is enough. */
  const mark = (look, area = 64, at = [0, 0]) =>
    drawn("path", { class: `mark c${look}`, d: d3.symbol().type(d3[`symbol${symbols[look]}`]).size(area)(), transform: `translate(${at})` });

  const swatch = (look) => drawn("svg", { viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true" }, mark(look));

  /** The texts that rows have in a column, those of the most rows first. */
  const commonest = (rows, key) => [...d3.group(rows, (row) => row.get(key))].filter(([text]) => text !== null)
    .sort((a, b) => b[1].length - a[1].length).map(([text]) => text);

  /** Which look rows have by their text in a column: those of the most rows one each, the others a grey one. */
  const colours = (rows, column) => {
    if (!column) return { of: () => 0, legend: [] };
    const textOf = (row) => row.get(column.key);
    const places = new Map(commonest(rows, column.key).slice(0, looks).map((text, look) => [text, look]));
    const legend = [...places].map(([text, look]) => [look, String(text)]);
    if (!rows.every((row) => places.has(textOf(row)))) legend.push([looks, t("draw_others")]);
    return { of: (row) => places.get(textOf(row)) ?? looks, legend };
  };

  /** What is shown of a row, which leads to its page; `lines(x)`: what it says there. Arrows lead to it at `x`, `y`. */
  const spot = (row, x, y, lines, nodes, name = "") => {
    const said = typeof lines === "function" ? lines : () => lines;
    const link = row?.page ? { href: pfgen.root + row.page } : { role: "img" };
    const attributes = { class: `spot ${name}`, tabindex: "-1", "aria-label": said(null).join(", "), ...link };
    return Object.assign(drawn(row?.page ? "a" : "g", attributes, ...nodes), { spot: { x, y, lines: said } });
  };

  /** Names beside points, the first ones first, where they cover neither points nor names. */
  const namesOf = (wanted, points, [left, top, right, bottom]) => {
    const taken = points.map(({ at: [x, y] }) => [x - 5, y - 5, x + 5, y + 5]);
    const isFree = ([x0, y0, x1, y1]) => x0 >= left && y0 >= top && x1 <= right && y1 <= bottom
      && taken.every((box) => x1 <= box[0] || x0 >= box[2] || y1 <= box[1] || y0 >= box[3]);
    return wanted.flatMap(({ at: [x, y], row }) => {
      const name = cut(row.label, 190);
      const places = [[8, 4, "start"], [-8, 4, "end"], [0, -9, "middle"], [0, 18, "middle"], [6, -7, "start"], [-6, -7, "end"]];
      const boxOf = ([dx, dy, anchor]) => {
        const start = x + dx - wide(name) * { start: 0, middle: 0.5, end: 1 }[anchor];
        return [start, y + dy - 10, start + wide(name), y + dy + 3];
      };
      const place = places.find((each) => isFree(boxOf(each)));
      if (!place) return [];
      taken.push(boxOf(place));
      return [text(x + place[0], y + place[1], name, place[2], "named")];
    });
  };

  /** A line through points by least squares: y = a + b x, correlation r; `at(x)`: it and its 95 % interval. */
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
    const units = rows.map((row) => {
      const off = row.map((value) => value - d3.mean(row));
      const norm = Math.hypot(...off);
      return off.map((value) => (norm > 1e-12 ? value / norm : 0)); // equal values are correlated with none
    });
    const far = units.map((own) => units.map((other) => 1 - own.reduce((sum, value, i) => sum + value * other[i], 0)));
    const level = (members) => d3.mean(members, (i) => d3.mean(rows[i]));
    let clusters = rows.map((_, i) => [i]);
    while (clusters.length > 1) {
      let [nearest, a, b] = [Infinity];
      clusters.forEach((own, i) => clusters.slice(i + 1).forEach((other) => {
        const distance = d3.mean(own, (m) => d3.mean(other, (n) => far[m][n]));
        if (distance < nearest) [nearest, a, b] = [distance, own, other];
      }));
      clusters = [...clusters.filter((own) => own !== a && own !== b), level(b) > level(a) ? [...b, ...a] : [...a, ...b]];
    }
    return clusters.flat();
  };

  const columnsOf = (board, ...kinds) => board.known.filter(({ kind }) => kinds.includes(kind));

  const option = (column) => [column.key, label(column)];

  /** How many of the rows lack a value, in words; none if none does. */
  const missing = (rows, columns) => columns.flatMap((column) => {
    const n = rows.filter((row) => valueOf(row, column) === null).length;
    return n ? [t("draw_missing", { n, all: rows.length, column: label(column) })] : [];
  });

  /** The table of rows and columns. */
  const tabled = (rows, columns) => ({
    head: [t("draw_model"), ...columns.map(label)], rows: rows.map((row) => [row.label, ...columns.map(({ key }) => row.get(key))]),
  });

  const headed = (...keys) => keys.map((key) => t(`draw_${key}`));

  /** How many are drawn, in words; none if all are. */
  const some = (found, all) => (found.length < all.length ? [t("draw_some", { n: found.length, all: all.length })] : []);

  /** A column of numbers that no board has. */
  const made = (name, digits) => ({ key: "", group: "", kind: "number", digits, better: 0, label: [name, name] });

  pfgen.marks = { acrossOf, axesOf, clustered, colours, columnsOf, commonest, cut, edge, fitted, formatted, headed, isLog, label, looks };
  Object.assign(pfgen.marks, { made, mark, missing, namesOf, option, scaleOf, some, spot, swatch, tabled, text, valueOf, wide });
})();
