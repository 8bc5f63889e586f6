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

  /** Tell people who hear the page what has changed. */
  say(text) {
    document.getElementById("status").textContent = text;
  },
};
