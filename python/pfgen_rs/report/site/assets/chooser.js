// A list of many from which some are chosen: typed words filter it, and what is chosen stands above as chips.
(() => {
  const { element, tr, t } = pfgen;
  const mostShown = 50; // options at a time; more words find the others

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
    const texts = options.map(({ name, text }) => pfgen.searched(`${name} ${text}`));
    let chosen = [];
    let found = []; // numbers of the options that are listed
    let active = -1;

    /** What stands below the input: why no more can be chosen, or that more must be. */
    const hint = () => remark.replaceChildren(...(chosen.length >= most ? [tr("most_chosen", { most })]
      : chosen.length < 2 ? [tr("too_few_chosen")] : []));

    const option = (number, i) => element("li", {
      role: "option", id: `${list.id}-${i}`, "aria-selected": "false",
      onpointerdown: (event) => event.preventDefault(), // the input keeps the focus
      onclick: () => add(number),
    }, pfgen.shown(options[number].name), element("small", {}, options[number].value));

    /** List these options, of which none is active; without any the list is closed. */
    const listed = (numbers) => {
      found = numbers.slice(0, mostShown);
      active = -1;
      const left = numbers.length - found.length;
      const more = left ? [element("li", { class: "quiet", role: "presentation" }, tr("more_options", { n: left }))] : [];
      list.replaceChildren(...found.map(option), ...more);
      list.hidden = found.length === 0;
      input.setAttribute("aria-expanded", String(!list.hidden));
      input.removeAttribute("aria-activedescendant");
    };

    const activate = (i) => {
      if (!found.length) return;
      list.children[active]?.classList.remove("active");
      active = (i + found.length) % found.length;
      const line = list.children[active];
      line.classList.add("active");
      line.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", line.id);
    };

    const open = () => {
      const words = pfgen.words(input.value);
      const isFull = chosen.length >= most;
      const all = isFull ? [] : [...options.keys()]
        .filter((number) => !chosen.includes(number) && words.every((word) => texts[number].includes(word)));
      listed(all);
      hint();
      if (words.length && !all.length && !isFull) remark.replaceChildren(tr("no_option"));
      if (words.length) activate(0);
    };

    /** Change the choice by an option, and say so. */
    const choose = (numbers, said, { name }) => {
      chosen = numbers;
      draw();
      pfgen.say(t(said, { name, n: chosen.length }));
      changed(chosen);
    };

    const add = (number) => {
      input.value = "";
      choose([...chosen, number], "was_chosen", options[number]);
      if (document.activeElement === input) open();
    };

    const remove = (number) => {
      const at = chosen.indexOf(number);
      choose(chosen.toSpliced(at, 1), "was_removed", options[number]);
      (chips.querySelectorAll("button")[Math.min(at, chosen.length - 1)] ?? input).focus();
    };

    const keys = {
      ArrowDown: () => (list.hidden ? open() : activate(active + 1)),
      ArrowUp: () => (list.hidden ? open() : activate(active < 0 ? -1 : active - 1)),
      Enter: () => !list.hidden && active >= 0 && add(found[active]),
      Escape: () => {
        if (list.hidden) input.value = "";
        listed([]);
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
      listed([]);
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
