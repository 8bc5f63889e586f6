// Texts of unknown origin and size, shown bit by bit.
(() => {
  const { element, tr } = pfgen;
  const brief = 3000; // characters of a text that are shown at once
  const step = 100000; // and with each click

  /** Lines and tabs as they are, other control characters in boxes. */
  const nodes = (text) => text.split(/(\r?\n|\t)/).flatMap((part) =>
    (/^[\r\n\t]/.test(part) ? [document.createTextNode(part.replace("\r", ""))] : part ? pfgen.shownNodes(part) : []));

  /** Where a text may be cut without splitting a character of two units. */
  const cut = (text, place) => (/[\ud800-\udbff]/.test(text[place - 1] ?? "") ? place + 1 : place);

  /** The text from a place on: what is shown at once, and a button for more, if more is left. */
  const portion = (text, start, size) => {
    const end = cut(text, start + size);
    if (end >= text.length) return nodes(text.slice(start));
    const more = element("button", {
      type: "button",
      class: "link",
      onclick: () => {
        const following = portion(text, end, step);
        more.replaceWith(...following);
        following.at(-1).focus?.(); // the next button, if there is one
      },
    }, tr("more_characters", { n: text.length - end }));
    return [...nodes(text.slice(start, end)), more];
  };

  /** A text of unknown origin and size. */
  pfgen.block = (text, classes = "text") => element("p", { class: classes, lang: "ja", dir: "auto" },
    ...(text ? portion(text, 0, text.length > brief + 200 ? brief : brief + 200) : [element("span", { class: "quiet" }, tr("empty_text"))]));
})();
