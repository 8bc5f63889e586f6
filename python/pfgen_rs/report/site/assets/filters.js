// Filters of columns: what they let through, and their fields. Unknown values pass only where that is asked for.
(() => {
  const { element, t, tr } = pfgen;
  const most = 500; // values of a column to choose from
  const longest = 200;
  const bare = (text) => pfgen.searched(text).replace(/[^\p{L}\p{N}]/gu, ""); // "GPT-4o" is found as "gpt4o"
  const isBound = { number: Number.isFinite, date: (value) => /^\d{4}-\d\d-\d\d$/.test(value) };

  /** Whether one of some texts has each word of what is searched for; signs do not matter. */
  const search = (wanted) => {
    const words = pfgen.words(wanted).map(bare).filter(Boolean);
    return (texts) => {
      const own = words.length ? texts.map(bare) : [];
      return words.every((word) => own.some((text) => text.includes(word)));
    };
  };

  /** What a filter lets through: takes a value. */
  const test = ({ kind }, { from, to, has, values, unknown }) => {
    const isFound = search(has ?? "");
    return (value) => {
      if (value === null || unknown === "only") return value === null && Boolean(unknown);
      if (kind in isBound) return (from === undefined || value >= from) && (to === undefined || value <= to);
      return (!values || values.includes(String(value))) && isFound([String(value)]);
    };
  };

  /** A filter as an address has it, without what it cannot mean. */
  const checked = ({ kind }, given) => {
    const { from, to, has, values, unknown } = given ?? {};
    const isRange = kind in isBound;
    return {
      ...(isRange && isBound[kind](from) && { from }),
      ...(isRange && isBound[kind](to) && { to }),
      ...(kind === "text" && typeof has === "string" && has && { has: has.slice(0, longest) }),
      ...(!isRange && Array.isArray(values) && values.length && { values: values.slice(0, most).map(String) }),
      ...(["with", "only"].includes(unknown) && { unknown }),
    };
  };

  /** The fields of a filter. `values`: of the column; `changed(filter, isTyped)`; `drop()`. */
  const fields = (column, filter, values, changed, drop) => {
    let now = filter;
    const set = (part, isTyped) => changed((now = checked(column, { ...now, ...part })), isTyped);
    const labelled = (key, input) => element("label", { class: "field" }, tr(key), input);
    const typed = (name, type) => labelled(name, element("input", {
      type, step: "any", value: filter[name], name,
      oninput: ({ target }) => set({ [name]: type === "number" && target.value ? Number(target.value) : target.value }, true),
    }));
    const choose = () => {
      const found = [...Map.groupBy(values.filter((value) => value !== null), String)].sort(([a], [b]) => a.localeCompare(b, "ja")).slice(0, most);
      const box = ([value, { length: count }]) => element("label", {}, element("input", {
        type: "checkbox", checked: filter.values?.includes(value), onchange: ({ target }) => {
          const others = (now.values ?? []).filter((each) => each !== value);
          set({ values: target.checked ? [...others, value] : others });
        } }), " ", column.kind === "flag" ? tr(value) : pfgen.shown(value), element("small", {}, ` ${count}`));
      return element("details", { open: Boolean(filter.values) || column.kind === "flag" }, element("summary", {}, tr("values")),
        element("div", { class: "choices", tabindex: 0, role: "group", "aria-label": pfgen.named(column) }, ...found.map(box)));
    };
    const unknown = element("select", { onchange: ({ target }) => set({ unknown: target.value }) }, ...["without", "with", "only"].map((value) =>
      element("option", { value, "data-t": `unknown_${value}`, selected: filter.unknown === value }, t(`unknown_${value}`))));
    return element("fieldset", { class: "filter card", "data-column": column.key }, element("legend", {}, pfgen.shown(pfgen.named(column))),
      ...(column.kind in isBound ? [typed("from", column.kind), typed("to", column.kind)] : column.kind === "text" ? [typed("has", "search"), choose()] : [choose()]),
      labelled("unknown_values", unknown),
      element("button", { type: "button", onclick: drop, "aria-label": t("drop_filter", { column: pfgen.named(column) }) }, "×"));
  };

  /** A column's or benchmark's name in the page's language. */
  pfgen.named = ({ label }) => label[pfgen.language() === "ja" ? 0 : 1];
  pfgen.filters = { search, test, checked, fields };
})();
