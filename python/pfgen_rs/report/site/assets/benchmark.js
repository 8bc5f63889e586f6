// Benchmark page: reference answers, loaded when a question's are opened, with a search for any n-gram.
(() => {
  const PAGE = 20;

  /** What the search looks through: tokens are ids between spaces, so that 12 is not found in 112. */
  const searchable = (data) => (data.tokens ? (text) => ` ${text} ` : (text) => text);

  const flat = (data) => data.answers.flatMap((answers, source) =>
    answers.map((text, number) => ({ text, source, number: number + 1 })));

  /** Nodes of a text with every occurrence of a pattern (not overlapping) marked. */
  const marked = (text, pattern) => {
    if (!pattern) return pfgen.shownNodes(text);
    return text.split(pattern).flatMap((part, i) =>
      [...(i ? [pfgen.element("mark", {}, ...pfgen.shownNodes(pattern))] : []), ...pfgen.shownNodes(part)]);
  };

  const cells = (tag, attributes, values) => values.map((value) => pfgen.element(tag, attributes, value));

  const percent = (n, all) => `${((100 * n) / all || 0).toFixed(1)} %`;

  /** A table: headings (names of strings, or nodes), rows of cells, the first of which names the row. */
  const tableOf = (caption, headings, rows) => pfgen.element("div", { class: "scroll inner" }, pfgen.element("table", {},
    pfgen.element("caption", {}, caption),
    pfgen.element("thead", {}, pfgen.element("tr", {},
      ...headings.map((h, i) => pfgen.element("th", { scope: "col", class: i ? "number" : null }, h)))),
    pfgen.element("tbody", {}, ...rows.map(([first, ...others]) => pfgen.element("tr", {},
      pfgen.element("th", { scope: "row" }, first), ...cells("td", { class: "number" }, others))))));

  class References {
    constructor(place, data) {
      this.data = data;
      this.all = flat(data);
      this.page = 0;
      this.results = pfgen.element("div");
      this.counts = pfgen.element("div");
      this.grams = pfgen.element("div");
      place.append(this.controls(), pfgen.element("div", { class: "pair" }, this.results,
        pfgen.element("div", {}, this.counts, this.lengths(), this.grams)));
      this.search("");
      this.listGrams();
    }

    controls() {
      const changed = pfgen.later(() => this.search(this.input.value));
      this.input = pfgen.element("input", { type: "search", lang: "ja", autocomplete: "off", spellcheck: "false", oninput: changed });
      this.source = pfgen.element("select", { onchange: () => this.search(this.pattern) },
        pfgen.element("option", { value: "", "data-t": "any_source" }, pfgen.t("any_source")),
        ...this.data.sources.map((name, i) => pfgen.element("option", { value: i }, pfgen.plain(name))));
      const field = (key, control) => pfgen.element("label", { class: "field" }, pfgen.tr(key), control);
      return pfgen.element("div", { class: "tools", role: "search" }, field("search_references", this.input), field("source", this.source));
    }

    lengths() {
      this.length = pfgen.element("select", { onchange: () => this.listGrams() },
        ...Object.keys(this.data.ngrams).map((n) => pfgen.element("option", { value: n, selected: n === "4" }, n)));
      return pfgen.element("label", { class: "field" }, pfgen.tr("ngram_length"), this.length);
    }

    search(text) {
      const pattern = this.data.tokens ? text.trim() : text;
      const inside = searchable(this.data);
      const wanted = pattern && inside(pattern);
      this.pattern = pattern;
      this.found = this.all.filter(({ text }) => !wanted || inside(text).includes(wanted));
      const chosen = this.source.value;
      this.visible = this.found.filter(({ source }) => chosen === "" || source === Number(chosen));
      this.page = 0;
      this.count();
      this.list();
    }

    count() {
      const { sources, answers } = this.data;
      const rows = sources.map((name, i) => {
        const n = this.found.filter(({ source }) => source === i).length;
        return [pfgen.plain(name), n.toLocaleString("en"), percent(n, answers[i].length)];
      });
      const headings = ["source", "containing", "share"].map((key) => pfgen.tr(key));
      this.counts.replaceChildren(...(this.pattern ? [tableOf(pfgen.tr("by_source"), headings, rows)] : []));
    }

    list() {
      const first = this.page * PAGE;
      const items = this.visible.slice(first, first + PAGE).map((answer) => pfgen.element("li", {},
        pfgen.element("span", {}, `${pfgen.plain(this.data.sources[answer.source])} ${answer.number}`),
        pfgen.element("div", { lang: "ja" }, pfgen.element("bdi", {}, ...marked(answer.text, this.pattern)))));
      const values = { n: this.visible.length, all: this.all.length, text: this.pattern };
      const heading = pfgen.element("p", { role: "status" }, pfgen.tr(this.pattern ? "matches" : "all_answers", values));
      this.results.replaceChildren(heading, pfgen.element("ol", {}, ...items), this.pager());
    }

    pager() {
      const pages = Math.max(1, Math.ceil(this.visible.length / PAGE));
      const step = (key, by) => pfgen.element("button", {
        type: "button",
        "data-step": by,
        disabled: this.page + by < 0 || this.page + by >= pages,
        onclick: () => this.turn(by),
      }, pfgen.tr(key));
      return pfgen.element("div", { class: "pages" }, step("previous", -1),
        pfgen.tr("page_of", { page: this.page + 1, pages }), step("next", 1));
    }

    turn(by) {
      this.page += by;
      this.list();
      const button = this.results.querySelector(`[data-step="${by}"]`);
      (button.disabled ? this.results.querySelector("button:not(:disabled)") : button)?.focus();
    }

    listGrams() {
      const rows = this.data.ngrams[this.length.value].map(([gram, ...counts]) => {
        const look = () => {
          this.input.value = gram; // less what fields cannot hold, such as line ends
          this.search(gram);
        };
        const button = pfgen.element("button", { type: "button", class: "gram", lang: "ja", onclick: look }, ...pfgen.shownNodes(gram));
        return [button, ...counts.map((n) => n.toLocaleString("en"))];
      });
      this.grams.replaceChildren(tableOf(pfgen.tr("frequent"), [pfgen.tr("ngram"), ...this.data.sources.map(pfgen.plain)], rows));
    }
  }

  for (const details of document.querySelectorAll("details.references")) {
    const place = details.querySelector(".browser");
    details.addEventListener("toggle", () => {
      if (!details.open || place.childElementCount) return;
      pfgen.loadInto(place, details.dataset.payload, (data) => new References(place, data));
    });
  }
})();
