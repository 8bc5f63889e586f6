// One column against another: points, the best so far, families, a fitted line; what is chosen with a rectangle.
(() => {
  const { drawn, t } = pfgen;
  const mostNames = 30;
  const { columnsOf, commonest, edge, formatted, isLog, label, mark, option, scaleOf, spot, valueOf } = pfgen.marks;
  const isPrice = ({ key }) => key === "price";
  const cost = (board) => columnsOf(board, "number").find((column) => column.key !== "parameters" && isLog(column));

  /** The points that none of a value as good or better reaches: by the better direction of each column. */
  const frontier = (points, [x, y]) => {
    const [across, up] = [x.better === 1 ? -1 : 1, y.better === -1 ? -1 : 1];
    const found = [];
    for (const point of points.toSorted((a, b) => across * (a.values[0] - b.values[0]) || up * (b.values[1] - a.values[1]))) {
      if (!found.length || up * (point.values[1] - found.at(-1).values[1]) > 0) found.push(point);
    }
    return found;
  };

  const families = (points) => [...d3.group(points, ({ row }) => row.get("family"))].filter(([family]) => family).map(([, own]) =>
    drawn("path", { class: "family", d: d3.line()(own.map(({ at }) => at).sort((a, b) => a[0] - b[0])) }));

  const signed = (value) => String(Number(value.toPrecision(3))).replaceAll("-", "−");

  /** The fitted line with its interval, and what they are in words. */
  const fit = (points, scales) => {
    const found = pfgen.marks.fitted(points.map(({ values }) => values.map((value, i) => scales[i].units(value))));
    if (!found) return { nodes: [], notes: [t("draw_no_fit")] };
    const [x, y] = scales.map((scale) => d3.scaleLinear().domain(scale.domain().map(scale.units)).range(scale.range()));
    const [from, to] = x.range();
    const line = d3.range(41).map((i) => from + (i / 40) * (to - from)).map((at) => [at, ...found.at(x.invert(at)).map(y)]);
    const unit = ({ kind }, name) => (kind === "date" ? t("draw_years", { column: name }) : name);
    const named = scales.map(({ column }) => (isLog(column) ? `log₁₀(${label(column)})` : unit(column, label(column))));
    const slope = `${found.b < 0 ? "−" : "+"} ${signed(Math.abs(found.b))}`;
    const [left, top, wide, tall] = [from, y.range()[1], to - from, y.range()[0] - y.range()[1]];
    const inside = { x: left, y: top, width: wide, height: tall, viewBox: `${left} ${top} ${wide} ${tall}` }; // a part that cuts off what is beyond
    const band = d3.area().x((p) => p[0]).y0((p) => p[2]).y1((p) => p[3]);
    return {
      nodes: [drawn("svg", inside, drawn("path", { class: "band", d: band(line) }), drawn("path", { class: "fit", d: d3.line()(line) }))],
      notes: [t("draw_equation", { y: named[1], a: signed(found.a), b: slope, x: named[0], r: signed(found.r), n: found.n })],
    };
  };

  /** A rectangle drawn with the pointer (not by touch, which scrolls), as bounds of both columns. */
  const brush = (layer, x, y) => (choose) => {
    const ends = (scale, i, area) => area.map((corner) => Number(scale.invert(corner[i]))).sort((a, b) => a - b);
    const extent = [[x.range()[0], y.range()[1]], [x.range()[1], y.range()[0]]];
    d3.select(layer).call(d3.brush().extent(extent).touchable(false).on("end", () => {
      const area = d3.event.selection;
      if (d3.event.sourceEvent) choose(area && [ends(x, 0, area), ends(y, 1, area)]);
    }));
  };

  const draw = ({ board, rows, all, state, width }) => {
    const columns = [board.column(state.x), board.column(state.y)];
    const height = Math.round(Math.min(Math.max(width * 0.5, 320), 560));
    const currency = commonest(all, "currency")[0] ?? null;
    const values = (row) => columns.map((column) => (isPrice(column) && row.get("currency") !== currency ? null : valueOf(row, column)));
    const points = all.map((row) => ({ row, values: values(row) })).filter((point) => !point.values.includes(null));
    const chosen = new Set(rows.map(({ id }) => id));
    const own = points.filter(({ row }) => chosen.has(row.id));
    const base = {
      title: t("draw_title", { x: label(columns[0]), y: label(columns[1]) }),
      notes: [...pfgen.marks.missing(rows, columns), ...(currency && columns.some(isPrice) ? [t("draw_currency", { currency })] : [])],
      table: pfgen.marks.tabled(own.map(({ row }) => row), columns),
    };
    if (!points.length) return base;
    const colour = pfgen.marks.colours(points.map(({ row }) => row), board.column(state.colour));
    const x = scaleOf(columns[0], points.map(({ values }) => values[0]), [edge.left, width - edge.right]);
    const y = scaleOf(columns[1], points.map(({ values }) => values[1]), [height - edge.bottom, edge.top]);
    for (const point of points) point.at = [x, y].map((scale, i) => Number(scale(point.values[i]).toFixed(1)));
    const shows = (name) => state.show.split(" ").includes(name);
    const best = frontier(own, columns);
    const line = shows("fit") ? fit(own, [x, y]) : { nodes: [], notes: [] };
    const model = own.filter(({ row }) => row.id === state.model);
    const named = shows("names") ? [...new Set([...model, ...best.toReversed(), ...own])].slice(0, mostNames) : model;
    const end = x.range()[columns[0].better === 1 ? 0 : 1];
    const steps = best.map(({ at }, i) => (i ? `H${at[0]}V${at[1]}` : `M${at}`)).join("");
    const says = (point) => columns.map((column, i) => `${label(column)}: ${formatted(column, point.values[i])}`);
    const pointOf = ({ row, at, ...point }) => spot(row, ...at, [pfgen.plain(row.label), ...says(point)],
      [mark(colour.of(row), row.id === state.model ? 160 : 64, at)], chosen.has(row.id) ? "" : "faint");
    const axes = columns.map((column, i) => ({ column, extent: d3.extent(points, (point) => point.values[i]) }));
    const layer = drawn("g", { class: "brush", "data-screen": "" });
    return {
      ...base, height, notes: [...base.notes, ...line.notes], legend: colour.legend, chosen: { axes, points, brush: brush(layer, x, y) },
      nodes: [...pfgen.marks.axesOf(x, y, width, height), ...line.nodes,
        ...(shows("frontier") && best.length ? [drawn("path", { class: "frontier", d: `${steps}H${end}` })] : []),
        ...(shows("lines") ? families(own) : []), layer, ...points.map(pointOf),
        ...pfgen.marks.namesOf(named, points, [edge.left, 0, width, height - edge.bottom])],
    };
  };

  const fields = (first) => (board) => {
    const numbers = columnsOf(board, "number", "date").map(option);
    const known = [first(board), "parameters", "released", "length"].find((key) => numbers.some(([own]) => own === key));
    const flags = ["frontier", "names", "lines", "fit"].map((name) => [name, t(`draw_${name}`)]);
    return [
      { name: "x", options: numbers, value: known },
      { name: "y", options: numbers, value: "score" },
      { name: "colour", options: [["", t("draw_none")], ...columnsOf(board, "text", "flag").map(option)], value: "organisation" },
      { name: "show", many: true, options: flags, value: "frontier names" },
    ];
  };

  const { register } = pfgen.drawings;
  register({ name: "scatter", has: (board) => columnsOf(board, "number", "date").length > 1, fields: fields(() => "parameters"), draw });
  register({ name: "cost", has: (board) => Boolean(cost(board)), fields: fields((board) => cost(board).key), draw });
})();
