// Drawings of the models shown, made here with d3: which, of what, as a file, as a table. Kinds register themselves.
(() => {
  const { address, element, drawn, t } = pfgen;
  const library = "assets/vendor/d3-7b0ff623.js"; // `.ci/bundle-d3` writes its name
  const mostRows = 300; // of the table on the page; the CSV file has all
  const gap = 18; // at both sides of a drawing
  const looks = "fill fill-opacity opacity stroke stroke-width stroke-dasharray font-size font-family font-weight paint-order".split(" ");
  const kinds = [];
  let loading = null;

  /** Promise of d3: one file for all pages of a site; others have it in themselves. */
  const loaded = () => (loading ??= new Promise((resolve, reject) => {
    if (globalThis.d3) resolve(true);
    else document.head.append(element("script", { src: pfgen.root + library, onload: resolve, onerror: () => reject(new Error(library)) }));
  }));

  /** A drawing as the text of a file, which has no style sheet, in the colours of the page as it is. */
  const fileOf = (svg) => {
    const copy = svg.cloneNode(true);
    const own = svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((node, i) => {
      const style = getComputedStyle(own[i]);
      for (const name of ["class", "style", "href", "tabindex"]) node.removeAttribute(name);
      for (const name of looks) node.setAttribute(name, style.getPropertyValue(name));
    });
    for (const node of copy.querySelectorAll("[data-screen]")) node.remove();
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    const ground = drawn("rect", { width, height, fill: getComputedStyle(svg).backgroundColor });
    copy.prepend(drawn("title", {}, svg.getAttribute("aria-label")), ground);
    return new XMLSerializer().serializeToString(pfgen.filled(copy, { width, height, role: "img" }, []));
  };

  const cell = (value, i) => {
    if (typeof value === "number") return element("td", { class: "number" }, String(Number(value.toFixed(4))));
    return element(i ? "td" : "th", { scope: i ? null : "row" }, value === null ? "–" : pfgen.shown(String(value)));
  };

  const tableOf = ({ head, rows }) => element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("draw_table") },
    pfgen.table({}, rows.length > mostRows ? t("draw_table_cut", { n: mostRows, all: rows.length }) : null,
      head.map((text) => element("th", { scope: "col" }, pfgen.plain(text))), rows.slice(0, mostRows).map((row) => row.map(cell))));

  /** The next spot to a side, in the order of their places, so that each can be reached. */
  const nextSpot = (spots, from, key) => {
    if (key === "Home" || key === "End") return spots.at(key === "Home" ? 0 : -1);
    const side = /Left|Right/.test(key) ? "x" : "y";
    const order = spots.toSorted((a, b) => a.spot[side] - b.spot[side]);
    return order[order.indexOf(from) + (/Right|Down/.test(key) ? 1 : -1)] ?? from;
  };

  /** What a spot says, beside it. */
  const tipOf = (lines, x, y, width) => {
    const wide = Math.min(Math.max(...lines.map((line) => pfgen.marks.wide(line))) + 20, width);
    const tall = lines.length * 16 + 8;
    const [left, top] = [Math.max(0, Math.min(x + 10, width - wide)), y > tall + 12 ? y - tall - 10 : y + 12];
    return [drawn("rect", { x: left, y: top, width: wide, height: tall, rx: 4 }),
      ...lines.map((line, i) => drawn("text", { x: left + 8, y: top + 18 + 16 * i }, pfgen.marks.cut(line, wide - 12)))];
  };

  /** Lets people reach what is drawn: one spot is in the order of the Tab key, arrows lead to the others. */
  const reachable = (svg, width) => {
    const spots = [...svg.querySelectorAll(".spot")];
    const tip = svg.appendChild(drawn("g", { class: "tip", "data-screen": "", "aria-hidden": "true" }));
    const show = ({ target, clientX }) => {
      const [node, { left, width: own }] = [target.closest(".spot"), svg.getBoundingClientRect()];
      const at = clientX === undefined ? null : ((clientX - left) * width) / own;
      tip.replaceChildren(...(node ? tipOf(node.spot.lines(at), at ?? node.spot.x, node.spot.y, width) : []));
    };
    for (const kind of ["pointermove", "focusin"]) svg.addEventListener(kind, show);
    for (const kind of ["pointerleave", "focusout"]) svg.addEventListener(kind, () => tip.replaceChildren());
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") tip.replaceChildren();
      const from = event.target.closest(".spot");
      if (!from || !/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key)) return;
      event.preventDefault();
      const to = nextSpot(spots, from, event.key);
      from.setAttribute("tabindex", "-1");
      to.setAttribute("tabindex", "0");
      to.focus();
    });
    spots[0]?.setAttribute("tabindex", "0");
  };

  /** The control of a field as kinds declare it: `{name, options: [[value, text]…], value, many}`; an address names it `key`. */
  const controlOf = ({ name, options, many, value = "" }, key) => {
    const usual = value.split(" ");
    if (many) {
      return element("div", { class: "draw-flags", role: "group", "aria-label": t(`draw_${name}`) }, ...options.map(([each, text]) =>
        element("label", {}, element("input", { type: "checkbox", name: key, value: each, checked: usual.includes(each) }), ` ${text}`)));
    }
    return element("label", { class: "field", hidden: options.length < 2 }, element("span", {}, t(`draw_${name}`)), element("select", { name: key },
      ...options.map(([each, text]) => element("option", { value: each, selected: each === value }, pfgen.marks.cut(text, 480)))));
  };

  /** Bounds of what is chosen, for people who cannot draw a rectangle. */
  const boundsOf = (axes, choose) => {
    const { formatted, label } = pfgen.marks;
    const inputs = axes.map(({ column, extent }) => ["from", "to"].map((end, i) => element("input", {
      type: column.kind === "date" ? "date" : "number", step: "any", placeholder: formatted({ ...column, key: "" }, extent[i]),
      "aria-label": t(`draw_${end}`, { column: label(column) }),
    })));
    const valueOf = ({ value, type }, other) => (value === "" ? other : type === "date" ? Date.parse(value) : Number(value));
    const read = (event) => {
      event.preventDefault();
      choose(inputs.map(([from, to]) => [valueOf(from, -Infinity), valueOf(to, Infinity)]));
    };
    return element("form", { class: "tools", onsubmit: read },
      ...inputs.map(([from, to], i) => element("fieldset", {}, element("legend", {}, label(axes[i].column)), from, " – ", to)),
      element("button", {}, t("draw_choose")),
      element("button", { type: "button", onclick: () => pfgen.restrict(null) }, t("draw_clear")));
  };

  const filesOf = (svg, { table, title }, isOpen) => {
    const name = pfgen.plain(title).replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60);
    const csv = () => pfgen.tableTexts.csv(table.head.map((label) => ({ label })), table.rows);
    return [element("div", { class: "tools" },
      element("button", { type: "button", onclick: () => pfgen.saved(`${name}.svg`, fileOf(svg), "image/svg+xml") }, t("draw_svg")),
      element("button", { type: "button", onclick: () => pfgen.saved(`${name}.csv`, csv(), "text/csv") }, t("draw_csv"))),
    pfgen.folded(t("draw_table"), () => [tableOf(table)], isOpen)];
  };

  /** A drawing of some kinds in `place`. `shown()`: the rows to draw, and `all` that they were chosen of. */
  const drawing = (place, board, own, state, shown) => {
    const [figure, bounds, notes, files] = ["figure", "bounds", "notes", "files"].map((name) => element("div", { class: `draw-${name}` }));
    const choice = element("form", { class: "tools draw-choice", onsubmit: (event) => event.preventDefault() });
    const prefix = place.id === "drawings" ? "draw" : place.id;
    const keyOf = ({ name }) => `${prefix}.${name}`;
    let [kind, fields] = [null, null];
    place.classList.remove("with-script"); // it can be printed from now on
    place.classList.add("drawing");
    place.replaceChildren(choice, figure, bounds, notes, files);

    const choosing = (svg, { axes, points, brush }) => {
      const inside = ({ values }, ends) => values.every((value, i) => value >= ends[i][0] && value <= ends[i][1]);
      const choose = (ends) => pfgen.restrict(points.filter((point) => inside(point, ends)).map(({ row }) => row.id));
      brush((ends) => (ends ? choose(ends) : address.get("brush") && pfgen.restrict(null)));
      if (!bounds.contains(document.activeElement)) bounds.replaceChildren(boundsOf(axes, choose));
    };

    const draw = () => {
      const width = figure.clientWidth - gap;
      if (width < 100) return; // out of sight
      const given = new FormData(choice);
      const values = Object.fromEntries(kind.fields(board).map((field) => [field.name, given.getAll(keyOf(field)).join(" ")]));
      const made = { height: 40, nodes: [pfgen.marks.text(8, 24, t("draw_nothing"))], ...kind.draw({ board, state: { ...values, ...state }, width, ...shown() }) };
      const svg = drawn("svg", { viewBox: `0 0 ${width} ${made.height}`, role: "group", "aria-label": made.title }, ...made.nodes);
      const items = (made.legend ?? []).map(([look, text]) => element("li", {}, pfgen.marks.swatch(look), pfgen.marks.cut(text, 480)));
      const legend = items.length ? [element("ul", {}, ...items)] : [];
      figure.replaceChildren(element("figure", {}, element("figcaption", {}, made.title), svg, ...legend));
      notes.replaceChildren(...made.notes.map((text) => element("p", { class: "quiet" }, text)));
      if (made.chosen && pfgen.restrict) choosing(svg, made.chosen);
      bounds.hidden = !made.chosen;
      reachable(svg, width);
      files.replaceChildren(...filesOf(svg, made, files.querySelector("details")?.open));
    };

    const start = () => {
      const options = own.map(({ name }) => [name, t(`draw_${name}`)]);
      choice.replaceChildren(...(own.length > 1 ? [controlOf({ name: "kind", options }, prefix)] : []));
      pfgen.fields([...choice.elements]).recall(address.get);
      kind = own.find(({ name }) => name === choice.elements[prefix]?.value) ?? own[0];
      choice.append(...kind.fields(board).filter(({ name }) => !(name in state)).map((field) => controlOf(field, keyOf(field))));
      fields = pfgen.fields([...choice.elements]);
      fields.recall(address.get);
      draw();
    };

    choice.addEventListener("change", ({ target }) => {
      const isKind = target.name === prefix;
      const changes = Object.entries(fields.values()).map(([name, value]) => [name, isKind && name !== prefix ? "" : value]);
      address.set(Object.fromEntries(changes), { isStep: true });
      (isKind ? start : draw)();
      if (isKind) choice.elements[prefix].focus();
    });
    return { start, draw };
  };

  pfgen.drawings = {
    /**
     * Add a kind: its `name`, whether a board `has` what it needs, its `fields(board)`, and `draw({board, rows, all, state, width})`, which
     * returns `title`, `notes`, `table` and, unless there is nothing to draw, `height`, `nodes`, `legend` and, where points can be chosen, `chosen`.
     */
    register: (kind) => kinds.push(kind),

    /** Show drawings of what the page's table shows, or of all models. `kinds`: of these kinds alone; `state`: values of fields. */
    async mount(place, board, { kinds: names, state = {} } = {}) {
      const models = (rows) => rows.filter(({ system }) => !system); // as the table counts them
      const all = models(board.rows("best"));
      let [shown, made] = [{ rows: all, all }, null];
      const again = pfgen.later(() => made?.draw(), 60);
      document.addEventListener("shown", ({ detail }) => {
        shown = { rows: models(detail.rows), all: models(detail.all) };
        again();
      });
      const isKnown = ({ name, options, many }) => many || !(name in state) || options.some(([value]) => value === state[name]);
      const own = kinds.filter(({ name, has, fields }) => (names?.includes(name) ?? true) && has(board) && fields(board).every(isKnown));
      place.hidden = !own.length;
      if (!own.length) return;
      if (!(await pfgen.awaited(place, loaded()))) return;
      made = drawing(place, board, own, state, () => shown);
      made.start();
      pfgen.onLanguage(made.start);
      addEventListener("popstate", made.start);
      addEventListener("resize", again);
    },
  };
})();
