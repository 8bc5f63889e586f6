// Counts of a character's windows: shown beside it on hover, or by the keyboard through a slider.
(() => {
  const { element, tr, t } = pfgen;
  const tip = element("div", { class: "tip", "aria-hidden": "true", hidden: true });
  document.body.append(tip);

  const percent = (count, all) => `${(100 * count / all).toFixed(1)} %`;

  const windowRow = (table, best) => (window) => element("tr", { class: window === best ? "best" : null },
    element("th", { scope: "row", lang: "ja" }, ...pfgen.shownNodes(window.text)),
    ...pfgen.figures([...window.counts, window.total, percent(window.total, table.all)]));

  const tableOf = ({ windows, best }, table) => {
    const sources = table.sources.map((source) => pfgen.shown(source));
    const head = [element("th", {}, tr("window")), ...pfgen.figures([...sources, tr("all_sources"), tr("share")], "th")];
    return pfgen.table({}, null, head, windows.map(windowRow(table, best)));
  };

  /** Put the box above the character, where it hides nothing to come, or below where there is no room. */
  const place = (character) => {
    const at = character.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const below = at.top - own.height - 6 < 0;
    const left = Math.min(at.left, document.documentElement.clientWidth - own.width - 8);
    tip.style.left = `${Math.max(left, 8) + scrollX}px`;
    tip.style.top = `${(below ? at.bottom + 6 : at.top - own.height - 6) + scrollY}px`;
  };

  let current = null;

  const hide = () => {
    tip.hidden = true;
    current?.classList.remove("current");
    current = null;
  };

  /** Hide the box, for scripts that replace the text. */
  pfgen.hideCounts = hide;

  const show = (character, covered, table) => {
    hide();
    current = character;
    character.classList.add("current");
    tip.replaceChildren(tableOf(covered, table));
    tip.hidden = false;
    place(character);
  };

  const spoken = (answer, i, { best }, table) => t(best.total ? "spoken" : "spoken_none", {
    place: i + 1,
    character: pfgen.plain(answer.characters[i]),
    window: pfgen.plain(best.text),
    count: best.total,
    total: table.all,
    sources: table.sources.map((source, s) => `${pfgen.plain(source)} ${best.counts[s]}`).join(", "),
  });

  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };

  /** A slider that goes through the characters of an answer; pointing at them does the same. */
  pfgen.inspector = (answer, text, cover, table) => {
    const characters = text.querySelectorAll("[data-i]");
    let at = 0;

    const go = (i) => {
      at = Math.min(Math.max(i, 0), cover.length - 1);
      slider.value = at + 1;
      slider.setAttribute("aria-valuetext", spoken(answer, at, cover[at], table));
    };

    const open = (i) => {
      go(i);
      show(characters[at], cover[at], table);
    };

    const pressed = (event) => {
      if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      open(at + steps[event.key]);
      characters[at].scrollIntoView({ block: "nearest" });
    };

    const slider = element("input", {
      type: "range", min: 1, max: cover.length, step: 1, value: 1,
      onfocus: () => slider.matches(":focus-visible") && open(at), onblur: hide, onkeydown: pressed,
      oninput: () => open(Number(slider.value) - 1),
    });
    const field = element("label", { class: "inspect" }, tr("inspect"), " ", slider, " ", element("small", {}, tr("inspect_hint")));
    go(0);

    const pointed = (event) => {
      const character = event.target.closest("[data-i]");
      if (character) open(Number(character.dataset.i));
    };
    text.addEventListener("pointerover", pointed);
    text.addEventListener("pointerleave", () => document.activeElement !== slider && hide());
    return field;
  };

  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
})();
