// Both languages are in the page: elements and attributes name the string they show.
(() => {
  const strings = typeof pfgenStrings === "undefined" ? pfgen.data("strings") : pfgenStrings; // of the page, or of its file
  const attributes = ["aria-label", "placeholder", "title", "label"];
  const listeners = [];
  const languages = ["ja", "en"];

  pfgen.language = () => document.documentElement.lang;

  /** A string in the page's language, with values for what stands in braces. */
  pfgen.t = (key, values = {}) => {
    const text = strings[key][languages.indexOf(pfgen.language())];
    return text.replace(/\{(\w+)\}/g, (whole, name) => {
      const value = values[name];
      if (value === undefined) return whole;
      return typeof value === "number" ? value.toLocaleString("en") : pfgen.plain(value);
    });
  };

  /** A string as an element that follows the language. */
  pfgen.tr = (key, values) => {
    const args = values === undefined ? undefined : JSON.stringify(values);
    return pfgen.element("span", { "data-t": key, "data-t-args": args }, pfgen.t(key, values));
  };

  /** A term of a list that the page may know (`category`), in its language; else the text itself. */
  pfgen.known = (list, text) => (Object.hasOwn(strings, `${list}_${text}`) ? pfgen.tr(`${list}_${text}`) : pfgen.shown(text));

  /** Call `listener` when the language changes. */
  pfgen.onLanguage = (listener) => listeners.push(listener);

  const values = (element) => JSON.parse(element.dataset.tArgs ?? "{}");

  /** Let what is in `root` follow the language; what a page removes and puts back does so here. */
  pfgen.translate = (root = document) => {
    for (const element of root.querySelectorAll("[data-t]")) {
      element.textContent = pfgen.t(element.dataset.t, values(element));
    }
    for (const name of attributes) {
      for (const element of root.querySelectorAll(`[data-t-${name}]`)) {
        element.setAttribute(name, pfgen.t(element.getAttribute(`data-t-${name}`)));
      }
    }
  };

  const button = pfgen.element("button", {
    type: "button",
    id: "language",
    onclick: () => {
      document.documentElement.lang = pfgen.language() === "ja" ? "en" : "ja";
      pfgen.keep("language", pfgen.language());
      pfgen.address.set({ lang: pfgen.language() });
      update();
      for (const listener of listeners) listener();
    },
  });

  const update = () => {
    const other = pfgen.language() === "ja" ? "en" : "ja";
    button.lang = other; // it is named in the language it leads to
    button.textContent = other === "ja" ? "日本語" : "English";
    pfgen.translate();
    const heading = document.querySelector("h1");
    const brand = document.querySelector(`.brand [lang="${pfgen.language()}"]`) ?? document.querySelector(".brand");
    if (heading) document.title = `${pfgen.plain(heading.textContent)} · ${brand.textContent}`; // nothing may be shown yet
  };

  document.getElementById("switches").append(button);
  update();
})();
