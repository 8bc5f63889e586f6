// A list of many from which some are chosen: typed words filter it, and what is chosen stands above as chips.
(() => {
  const { element, tr, t } = pfgen;
  const mostShown = 50; // options at a time; more words find the others
  const plain = (text) => text.normalize("NFKC").toLowerCase();

  /**
   * `place`: an element with a list `.chips`, an input `[role=combobox]`, its `[role=listbox]` and a line `.remark`.
   * `options`: { name, text (what is searched besides), value (shown beside) }, in the order in which they are listed.
   * `changed` is called with the numbers of the chosen options when a person changes them.
   */
  pfgen.chooser = (place, options, most, changed) => {
    const chips = place.querySelector(".chips");
    const input = place.querySelector("[role=combobox]");
    const list = place.querySelector("[role=listbox]");
    const remark = place.querySelector(".remark");
    const texts = options.map(({ name, text }) => plain(`${name} ${text}`));
    let chosen = [];
    let found = []; // numbers of the options that are listed
    let active = -1;

    /** What stands below the input: why no more can be chosen, or that more must be. */
    const hint = () => remark.replaceChildren(...(chosen.length >= most ? [tr("most_chosen", { most })]
      : chosen.length < 2 ? [tr("too_few_chosen")] : []));

    const close = () => {
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };

    const activate = (i) => {
      list.children[active]?.classList.remove("active");
      active = found.length ? (i + found.length) % found.length : -1;
      const option = list.children[active];
      if (!option) return;
      option.classList.add("active");
      option.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", option.id);
    };

    const add = (number) => {
      chosen = [...chosen, number];
      input.value = "";
      draw();
      pfgen.say(t("was_chosen", { name: options[number].name, n: chosen.length }));
      changed(chosen);
      if (document.activeElement === input) open();
    };

    const remove = (number) => {
      const at = chosen.indexOf(number);
      chosen = chosen.filter((other) => other !== number);
      draw();
      pfgen.say(t("was_removed", { name: options[number].name, n: chosen.length }));
      changed(chosen);
      (chips.querySelectorAll("button")[Math.min(at, chosen.length - 1)] ?? input).focus();
    };

    const option = (number, i) => element("li", {
      role: "option", id: `${list.id}-${i}`, "aria-selected": "false",
      onpointerdown: (event) => event.preventDefault(), // the input keeps the focus
      onclick: () => add(number),
    }, pfgen.shown(options[number].name), element("small", {}, options[number].value));

    const open = () => {
      const words = plain(input.value).split(/\s+/).filter(Boolean);
      const all = chosen.length < most
        ? [...options.keys()].filter((number) => !chosen.includes(number) && words.every((word) => texts[number].includes(word)))
        : [];
      found = all.slice(0, mostShown);
      list.replaceChildren(...found.map(option), ...(found.length < all.length
        ? [element("li", { class: "quiet", role: "presentation" }, tr("more_options", { n: all.length - found.length }))] : []));
      hint();
      if (words.length && !all.length && chosen.length < most) remark.replaceChildren(tr("no_option"));
      active = -1;
      list.hidden = found.length === 0;
      input.setAttribute("aria-expanded", String(!list.hidden));
      input.removeAttribute("aria-activedescendant");
      if (words.length) activate(0);
    };

    const keys = {
      ArrowDown: () => (list.hidden ? open() : activate(active + 1)),
      ArrowUp: () => (list.hidden ? open() : activate(active < 0 ? -1 : active - 1)),
      Enter: () => !list.hidden && active >= 0 && add(found[active]),
      Escape: () => {
        if (list.hidden) input.value = "";
        close();
      },
    };

    input.addEventListener("keydown", (event) => {
      if (event.isComposing || !Object.hasOwn(keys, event.key)) return; // Enter may belong to an input method
      event.preventDefault();
      keys[event.key]();
    });
    input.addEventListener("input", open);
    input.addEventListener("click", open);
    input.addEventListener("blur", () => {
      close();
      hint();
    });

    const chip = (number) => element("li", { class: "chip" }, pfgen.shown(options[number].name), element("button", {
      type: "button", "aria-label": t("remove_run", { name: options[number].name }), onclick: () => remove(number),
    }, "×"));

    const draw = () => {
      chips.replaceChildren(...chosen.map(chip));
      hint();
    };
    pfgen.onLanguage(draw);

    /** Shows what is chosen otherwise, such as by an address. */
    return (numbers) => {
      chosen = [...numbers];
      draw();
    };
  };
})();
