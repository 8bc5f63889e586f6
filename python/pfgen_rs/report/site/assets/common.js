"use strict";
// What all scripts of a page share. Text goes into pages as text nodes alone, never as markup.
const pfgen = {
  root: document.documentElement.dataset.root,

  /** JSON that the page carries (`payload.data_block`). */
  data(name) {
    return JSON.parse(document.getElementById(`data-${name}`).textContent);
  },

  /** Keep a choice for the next page, where that is allowed; else it lasts as long as the page. Returns whether it is kept. */
  keep(key, value) {
    try {
      localStorage.setItem(`pfgen.${key}`, value);
      return true;
    } catch {
      return false; // storage may be forbidden or full
    }
  },

  /** What was kept, `null` without any. */
  kept(key) {
    try {
      return localStorage.getItem(`pfgen.${key}`);
    } catch {
      return null;
    }
  },

  /** An element: attributes (`class`, `aria-…`, `onclick` as a function) and children, nodes or text. */
  element(tag, attributes = {}, ...children) {
    return pfgen.filled(document.createElement(tag), attributes, children);
  },

  /** An element of a drawing. */
  drawn(tag, attributes = {}, ...children) {
    return pfgen.filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  },

  filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  },

  /** Call `action` once calls have stopped coming for `wait` milliseconds. */
  later(action, wait = 150) {
    let timer = 0;
    return (...values) => {
      clearTimeout(timer);
      timer = setTimeout(action, wait, ...values);
    };
  },

  /** A part of a page that is folded; `make` is called for its nodes when it is opened. */
  folded(summary, make, isOpen = false) {
    const fill = ({ target: details }) => details.open && details.children.length === 1 && details.append(...make());
    return pfgen.element("details", { ontoggle: fill, open: isOpen }, pfgen.element("summary", {}, summary));
  },

  /** A table of a caption (if any), cells of the heading, and rows: elements, or lists of cells. */
  table(attributes, caption, head, rows) {
    const line = (cells) => pfgen.element("tr", {}, ...cells);
    return pfgen.element("table", attributes, ...(caption ? [pfgen.element("caption", {}, caption)] : []),
      pfgen.element("thead", {}, line(head)),
      pfgen.element("tbody", {}, ...rows.map((row) => (Array.isArray(row) ? line(row) : row))));
  },

  /** Cells of figures. */
  figures(values, tag = "td", attributes = {}) {
    return values.map((value) => pfgen.element(tag, { class: "number", ...attributes }, value));
  },

  /**
   * A list in pages of twenty, with buttons in `place`: `draw` is called with what is on a page. `show(items)` begins with the
   * first; `turn(by)` goes to another, below `top`, and tells whether there is one.
   */
  paged(place, draw, top = null) {
    const onPage = 20;
    let [items, page] = [[], 0];
    const pages = () => Math.max(Math.ceil(items.length / onPage), 1);
    const isThere = (number) => number >= 0 && number < pages();
    const open = (number) => {
      page = number;
      place.replaceChildren(button(-1, "previous"), pfgen.tr("page_of", { page: page + 1, pages: pages() }), button(1, "next"));
      place.hidden = pages() === 1;
      return draw(items.slice(page * onPage, (page + 1) * onPage));
    };
    const turn = async (by) => {
      if (!isThere(page + by)) return false;
      const drawn = open(page + by);
      top?.scrollIntoView();
      await drawn;
      return true;
    };
    const clicked = (by) => {
      turn(by);
      const next = place.querySelector(`[data-step="${by}"]:enabled`) ?? place.querySelector("button:enabled");
      next.focus({ preventScroll: true });
    };
    const button = (by, key) => pfgen.element("button", {
      type: "button", "data-step": by, disabled: !isThere(page + by), onclick: () => clicked(by),
    }, pfgen.tr(key));
    return { turn, show: (found) => (items = found) && open(0) };
  },

  /** Tell people who hear the page what has changed. */
  say(text) {
    document.getElementById("status").textContent = text;
  },
};

document.addEventListener("submit", (event) => event.preventDefault()); // scripts follow what is chosen
