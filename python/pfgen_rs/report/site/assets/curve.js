// A page of learning curves: figures by step or tokens, and the answers of steps side by side.
(() => {
  const { element, drawn, tr } = pfgen;
  const height = 220;
  const edge = { left: 46, right: 12, top: 8, bottom: 24 };
  const looks = 12; // of lines (`curve.css`)
  const normal = 1.959964; // 95 % of a normal distribution are within so many standard errors
  const parts = ["score", "fluency", "truthfulness", "helpfulness"];
  const prefix = "llm_jp_eval/";
  const figures = document.getElementById("figures");
  const axis = document.getElementById("axis").elements.x;
  const choice = document.getElementById("choice");
  const answers = document.getElementById("answers");
  const all = document.getElementById("all");

  // Figures

  const isNumber = (value) => value !== null && value !== undefined;

  /** Round values from `low` to `high`, at most so many, and their decimals. */
  const ticks = (low, high, most) => {
    const rough = (high - low) / most;
    const power = Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((digit) => digit * 10 ** power).find((value) => value >= rough * (1 - 1e-9));
    const first = Math.ceil(low / step - 1e-9);
    const count = Math.floor(high / step + 1e-9) - first + 1;
    return { values: Array.from({ length: count }, (_, i) => (first + i) * step), decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
  };

  /** The place of values between two ends of a drawing. */
  const scale = (low, high, from, to) => (value) => Number((from + ((value - low) / (high - low)) * (to - from)).toFixed(1));

  const within = (value, [least, most]) => Math.min(Math.max(value, least), most);

  /** Ends of an axis: those of values and a margin, within what there can be (unless values are beyond). */
  const range = (values, margin, [least, most]) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const more = (high - low) * margin || (high === low ? 0.05 * Math.abs(high) || 0.05 : 0);
    return [Math.max(low - more, Math.min(least, low)), Math.min(high + more, Math.max(most, high))];
  };

  const limitsOf = (column) => [parts.includes(column) ? 0 : -Infinity, parts.indexOf(column) > 1 ? 1 : Infinity]; // Fluency may be above 1

  /** Points of a run in a column; those without a value are gaps. */
  const pointsOf = (name, look, rows, column, x) => {
    const points = rows.map((row) => {
      const [y, error] = [row[column], row[`${column}_se`]];
      const [low, high] = isNumber(y) && isNumber(error) ? [y - normal * error, y + normal * error] : [row[`${column}_low`], row[`${column}_high`]];
      return { x: row[x], y, low, high };
    });
    return { name, look: look % looks, points: points.filter((point) => isNumber(point.x)) };
  };

  /** Points in a row that have what is needed. */
  const rowsOf = (points, has) => points.reduce((rows, point) => {
    if (!has(point)) rows.push([]);
    else rows.at(-1).push(point);
    return rows;
  }, [[]]).filter((row) => row.length);

  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

  const line = ({ look, name, points }, x, y) => {
    const path = (row, key) => row.map((point) => `${x(point.x)} ${y(point[key])}`).join("L");
    const known = points.filter((point) => isNumber(point.y));
    const bands = rowsOf(points, (point) => isNumber(point.low) && isNumber(point.high))
      .map((row) => `M${path(row, "low")}L${path(row.toReversed(), "high")}Z`);
    const title = (point) => `${pfgen.plain(name)} · ${point.x.toLocaleString("en")} · ${point.y.toFixed(4)}${isNumber(point.low) && isNumber(point.high) ? ` (${point.low.toFixed(4)} … ${point.high.toFixed(4)})` : ""}`;
    return drawn("g", { class: `s${look}` },
      drawn("path", { class: "band", d: bands.join("") }),
      drawn("path", { class: `line s${look}`, d: rowsOf(points, (point) => isNumber(point.y)).map((row) => `M${path(row, "y")}`).join("") }),
      ...known.map((point) => drawn("circle", { class: "point", cx: x(point.x), cy: y(point.y), r: known.length > 60 ? 1.5 : 3 }, drawn("title", {}, title(point)))));
  };

  /** Lines in one figure, as wide as its place. */
  const drawing = (lines, width, labels, limits) => {
    const points = lines.flatMap((each) => each.points).filter((point) => isNumber(point.y));
    const [left, right] = range(points.map((point) => point.x), 0, [0, Infinity]);
    const ends = range(points.flatMap(({ y, low, high }) => [y, ...[low, high].filter(isNumber).map((value) => within(value, limits))]), 0.05, limits);
    const [bottom, top] = ends;
    const x = scale(left, right, edge.left, width - edge.right);
    const placed = scale(bottom, top, height - edge.bottom, edge.top);
    const y = (value) => placed(within(value, ends));
    const rows = ticks(bottom, top, 5);
    const columns = ticks(left, right, Math.max(2, Math.floor(width / 90))).values.filter(Number.isInteger);
    return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": labels },
      ...rows.values.flatMap((value) => [
        drawn("path", { class: Math.abs(value) < 1e-12 ? "zero" : "grid", d: `M${edge.left} ${y(value)}H${width - edge.right}` }),
        drawn("text", { x: edge.left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(rows.decimals).replace("-", "−"))]),
      ...columns.map((value) => drawn("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, compact.format(value))),
      drawn("path", { class: "axis", d: `M${edge.left} ${height - edge.bottom}H${width - edge.right}` }),
      ...lines.map((each) => line(each, x, y)));
  };

  const label = (column) => (column.startsWith(prefix) ? pfgen.shown(column.slice(prefix.length)) : tr(column === "difference" ? "curve_difference" : column));

  const placeOf = ({ column }, i) => element("figure", { class: "histogram" },
    element("figcaption", { id: `figure-${i}` }, label(column), " · ", tr(axis.value)));

  const draw = ({ tasks, runs, differences }) => {
    const x = axis.value;
    const all = [...parts, ...tasks].map((column) => ({ column, lines: runs.map(({ name, rows }, i) => pointsOf(name, i, rows, column, x)) }));
    all.push({ column: "difference", lines: differences.map((rows, i) => pointsOf(runs[i + 1].name, i + 1, rows, "difference", x)) });
    const wanted = all.filter(({ lines }) => lines.some(({ points }) => points.some((point) => isNumber(point.y))));
    figures.replaceChildren(...wanted.map(placeOf));
    wanted.forEach(({ column, lines }, i) => { // their widths are known once all have their places
      const place = figures.children[i];
      place.append(drawing(lines, Math.max(240, place.clientWidth - 34), place.firstChild.id, limitsOf(column)));
    });
  };

  // Answers

  const answer = ([trial, score, text, characters]) => [
    element("p", { class: "score" }, tr("curve_trial", { n: trial }), " · ", element("b", {}, score === null ? "–" : score.toFixed(4)),
      ...(characters > Array.from(text).length ? [" · ", tr("curve_cut", { n: characters })] : [])),
    pfgen.block(text),
  ];

  const card = (data, found, place) => element("article", { class: "card" },
    element("h4", {}, tr("curve_step", { n: data.steps[place] })),
    ...data.runs.flatMap((run, i) => [
      ...(data.runs.length > 1 ? [element("h5", {}, pfgen.shown(run.name))] : []),
      ...(found[i][place].length ? found[i][place].flatMap(answer) : [element("p", { class: "quiet" }, tr("curve_no_answers"))])]));

  const fields = [1, 2, 3, 4].map((n) => choice.elements[`step${n}`]);

  const chosen = (data) => (all.getAttribute("aria-pressed") === "true"
    ? data.steps.map((_, place) => place)
    : [...new Set(fields.map((field) => field.value).filter(Boolean).map(Number))]);

  const show = (data) => {
    const question = data.questions[Number(choice.elements.question.value)];
    const places = chosen(data);
    const isAll = all.getAttribute("aria-pressed") === "true";
    for (const field of fields) field.disabled = isAll;
    document.getElementById("asked").replaceChildren(pfgen.shown(question.text, "ja"));
    pfgen.address.set({ q: question.id, steps: isAll ? "all" : places.map((place) => data.steps[place]).join(".") });
    pfgen.loadInto(answers, question.payload, (found) => answers.append(
      element("div", { class: isAll ? "steps all" : "steps", role: "group", "aria-labelledby": "asked", tabindex: isAll ? "0" : false }, ...places.map((place) => card(data, found, place)))));
  };

  /** The steps of the address; else the first, the last and two between. */
  const firstSteps = ({ steps }) => {
    const wanted = pfgen.address.get("steps").split(".").map((text) => steps.indexOf(Number(text || NaN))).filter((place) => place >= 0);
    return wanted.length ? wanted : [...new Set([0, 1, 2, 3].map((i) => Math.round((i * (steps.length - 1)) / 3)))];
  };

  const fill = (data) => {
    const brief = (text) => pfgen.plain(text.length > 80 ? `${text.slice(0, 79)}…` : text);
    choice.elements.question.append(...data.questions.map(({ id, text }, i) => element("option", { value: i }, `${brief(id)} ${brief(text)}`)));
    const first = firstSteps(data);
    fields.forEach((field, i) => {
      field.append(element("option", { value: "" }, "–"), ...data.steps.map((step, place) => element("option", { value: place }, step.toLocaleString("en"))));
      field.value = String(first[i] ?? "");
    });
    const asked = data.questions.findIndex(({ id }) => id === pfgen.address.get("q"));
    choice.elements.question.value = String(Math.max(asked, 0));
    all.setAttribute("aria-pressed", String(pfgen.address.get("steps") === "all"));
  };

  const move = (data, by) => {
    const field = choice.elements.question;
    field.value = String((Number(field.value) + by + data.questions.length) % data.questions.length);
    show(data);
  };

  const start = (data) => {
    draw(data);
    axis.addEventListener("change", () => draw(data));
    addEventListener("resize", pfgen.later(() => draw(data)));
    if (!data.questions.length) {
      choice.hidden = true;
      answers.append(element("p", { class: "quiet" }, tr("curve_no_answers")));
      return;
    }
    fill(data);
    choice.addEventListener("change", () => show(data));
    document.getElementById("before").addEventListener("click", () => move(data, -1));
    document.getElementById("after").addEventListener("click", () => move(data, 1));
    all.addEventListener("click", () => {
      all.setAttribute("aria-pressed", String(all.getAttribute("aria-pressed") !== "true"));
      show(data);
    });
    show(data);
  };

  pfgen.loadInto(figures, pfgen.data("curve"), start);
})();
