// Benchmark page: reference answers, loaded when a question's are opened, with a search for any n-gram.
(() => {
  const { element, figures, shownNodes, tr } = pfgen;

  /** What the search looks through: tokens are ids between spaces, so that 12 is not found in 112. */
  const searchable = (data) => (data.tokens ? (text) => ` ${text} ` : (text) => text);

  /** Nodes of a text with every occurrence of a pattern (not overlapping) marked. */
  const marked = (text, pattern) => {
    if (!pattern) return shownNodes(text);
    return text.split(pattern).flatMap((part, i) => [...(i ? [element("mark", {}, ...shownNodes(pattern))] : []), ...shownNodes(part)]);
  };

  const percent = (n, all) => `${((100 * n) / all || 0).toFixed(1)} %`;
  const field = (key, control) => element("label", { class: "field" }, tr(key), control);

  /** A table: headings (nodes or texts), rows of a name and figures. */
  const tableOf = (caption, [first, ...others], rows) => element("div", { class: "scroll inner" }, pfgen.table({}, caption,
    [element("th", { scope: "col" }, first), ...figures(others, "th", { scope: "col" })],
    rows.map(([name, ...values]) => [element("th", { scope: "row" }, name), ...figures(values)])));

  /** The references of a question in `place`. */
  const references = (place, data) => {
    const { sources, answers, ngrams } = data;
    const all = answers.flatMap((own, source) => own.map((text, number) => ({ text, source, number: number + 1 })));
    const [heading, list] = [element("p", { role: "status" }), element("ol")];
    const [pager, counts, grams] = [element("div", { class: "pages" }), element("div"), element("div")];
    let pattern = "";

    const search = (text) => {
      pattern = data.tokens ? text.trim() : text;
      const inside = searchable(data);
      const wanted = pattern && inside(pattern);
      const found = all.filter((answer) => !wanted || inside(answer.text).includes(wanted));
      const shown = found.filter(({ source }) => chosen.value === "" || source === Number(chosen.value));
      const rows = sources.map((name, i) => {
        const n = found.filter(({ source }) => source === i).length;
        return [pfgen.plain(name), n.toLocaleString("en"), percent(n, answers[i].length)];
      });
      counts.replaceChildren(...(pattern ? [tableOf(tr("by_source"), ["source", "containing", "share"].map((key) => tr(key)), rows)] : []));
      heading.replaceChildren(tr(pattern ? "matches" : "all_answers", { n: shown.length, all: all.length, text: pattern }));
      show(shown);
    };

    const { show } = pfgen.paged(pager, (shown) => list.replaceChildren(...shown.map(({ text, source, number }) => element("li", {},
      element("span", {}, `${pfgen.plain(sources[source])} ${number}`),
      element("div", { lang: "ja" }, element("bdi", {}, ...marked(text, pattern)))))));

    const gramButton = (gram) => element("button", {
      type: "button",
      class: "link gram",
      lang: "ja",
      onclick: () => {
        input.value = gram; // less what fields cannot hold, such as line ends
        search(gram);
      },
    }, ...shownNodes(gram));

    const listGrams = () => grams.replaceChildren(tableOf(tr("frequent"), [tr("ngram"), ...sources.map(pfgen.plain)],
      ngrams[length.value].map(([gram, ...numbers]) => [gramButton(gram), ...numbers.map((n) => n.toLocaleString("en"))])));

    const input = element("input", {
      type: "search", lang: "ja", autocomplete: "off", spellcheck: "false", oninput: pfgen.later(() => search(input.value)),
    });
    const chosen = element("select", { onchange: () => search(pattern) },
      element("option", { value: "", "data-t": "any_source" }, pfgen.t("any_source")),
      ...sources.map((name, i) => element("option", { value: i }, pfgen.plain(name))));
    const length = element("select", { onchange: listGrams },
      ...Object.keys(ngrams).map((n) => element("option", { value: n, selected: n === "4" }, n)));
    place.append(
      element("div", { class: "tools", role: "search" }, field("search_references", input), field("source", chosen)),
      element("div", { class: "pair" }, element("div", {}, heading, list, pager),
        element("div", {}, counts, field("ngram_length", length), grams)));
    search("");
    listGrams();
  };

  for (const details of document.querySelectorAll("details.references")) {
    const place = details.querySelector(".browser");
    details.addEventListener("toggle", () => {
      if (!details.open || place.childElementCount) return;
      pfgen.loadInto(place, details.dataset.payload, (data) => references(place, data));
    });
  }
})();
