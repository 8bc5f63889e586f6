// Keys of the page, and the list of them. Single keys can be switched off, since speech input may type them by chance.
(() => {
  const { element, tr } = pfgen;
  const list = document.getElementById("list");
  const on = element("input", { type: "checkbox", onchange: () => pfgen.keep("keys", on.checked ? "on" : "off") });
  const shown = { ArrowRight: "→", ArrowLeft: "←" };
  let actions = []; // [keys, name of what they do, action]

  on.checked = pfgen.kept("keys") !== "off";

  /** Let keys do something; before, they may have done something else. */
  pfgen.setKeys = (table) => {
    actions = [...table, [["?"], "key_help", help]];
  };

  const help = () => {
    const rows = actions.map(([keys, name]) => element("tr", {},
      element("th", { scope: "row" }, ...keys.flatMap((key) => [element("kbd", {}, shown[key] ?? key), " "])), element("td", {}, tr(name))));
    const dialog = element("dialog", { class: "keys", "aria-labelledby": "keys-heading", onclose: () => dialog.remove() },
      element("h2", { id: "keys-heading" }, tr("keys")),
      element("table", {}, element("tbody", {}, ...rows)),
      element("p", {}, element("label", {}, on, " ", tr("keys_on"))),
      element("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, tr("close")));
    document.body.append(dialog);
    dialog.showModal();
  };

  pfgen.keysButton = () => element("button", { type: "button", "aria-haspopup": "dialog", "aria-keyshortcuts": "?", onclick: help }, tr("keys"), " ", element("kbd", { "aria-hidden": "true" }, "?"));

  const isTyping = ({ target }) => target.closest?.("input:not([type=checkbox]), select, textarea, dialog") !== null;
  const isScrolling = ({ key, target }) => key.startsWith("Arrow") && target.closest?.(".scroll") !== null;

  document.addEventListener("keydown", (event) => {
    if (!on.checked || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || isTyping(event) || isScrolling(event)) return;
    const [, name, action] = actions.find(([keys]) => keys.includes(event.key) || keys.includes(event.key.toLowerCase())) ?? [];
    if (!action) return;
    event.preventDefault();
    if (!event.repeat || name.startsWith("key_")) action(); // a key that is held gives no second verdict
  });

  // Keys of the list

  const cards = () => [...list.querySelectorAll(".pair")];
  const current = () => document.activeElement?.closest?.(".pair") ?? null;

  const reach = (card) => {
    card?.focus({ preventScroll: true });
    card?.scrollIntoView({ block: "start" });
  };

  const step = async (by) => {
    const all = cards();
    const place = all.indexOf(current());
    const first = Math.max(all.findIndex((card) => card.getBoundingClientRect().bottom > 0), 0); // that is not above the screen
    const next = place < 0 ? first : place + by;
    if (all[next]) reach(all[next]);
    else if (await pfgen.turnPage(by)) reach(cards().at(by > 0 ? 0 : -1));
  };

  const inCurrent = (act) => () => {
    const card = current() ?? cards()[0];
    if (!card) return;
    if (!current()) reach(card);
    act(card);
  };

  pfgen.listKeys = [
    [["j", "ArrowRight"], "key_next", () => step(1)],
    [["k", "ArrowLeft"], "key_previous", () => step(-1)],
    [["o"], "swap_answers", inCurrent((card) => card.querySelector(".swap").click())],
    [["b"], "both_orders", inCurrent((card) => card.querySelector("[data-both] summary")?.click())],
    [["/"], "key_search", () => document.querySelector("#filters [name=text]").focus()],
  ];
  pfgen.setKeys(pfgen.listKeys);
  document.getElementById("keys").replaceChildren(pfgen.keysButton());
})();
