// Text of unknown origin: characters that act rather than show stand in small boxes (`shown.py`).
pfgen.acting = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** The name of a character, as U+202E. */
pfgen.code = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** `text` with acting characters as ⟨U+202E⟩, for attributes and inside of sentences. */
pfgen.plain = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => `⟨${pfgen.code(character)}⟩`);

/** `text` as searches look at it, and the words that one looks for. */
pfgen.searched = (text) => text.normalize("NFKC").toLowerCase();
pfgen.words = (text) => pfgen.searched(text).split(/\s+/).filter(Boolean);

/** Nodes that show `text`. */
pfgen.shownNodes = (text) => {
  if (!pfgen.acting.test(text)) return [document.createTextNode(text)];
  return text.split(/([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])/u).filter(Boolean).map((part) =>
    pfgen.acting.test(part)
      ? pfgen.element("span", { class: "control" }, pfgen.code(part))
      : document.createTextNode(part));
};

/** `text` in an element of its own, apart from the direction of what is around it; `lang`: its language, if known. */
pfgen.shown = (text, lang = null) => pfgen.element("bdi", { lang }, ...pfgen.shownNodes(text));
