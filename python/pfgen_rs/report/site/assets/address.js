// What a page shows stands in its address, so that a link to it reproduces the view.
(() => {
  const carried = ["lang", "theme"]; // from page to page; the rest belongs to one
  const current = {}; // of these, what was chosen on this page

  pfgen.address = {
    /** A value of the address, "" where there is none. */
    get(name) {
      return new URLSearchParams(location.search).get(name) ?? "";
    },

    /** Put values into the address; those that are empty leave it. `place`: what stands after "#".
        `isStep`: the button "back" leads to what was shown before. */
    set(changes, { isStep = false, place } = {}) {
      const url = new URL(location.href);
      for (const name of carried) if (name in changes) current[name] = changes[name];
      if (place !== undefined) url.hash = place;
      for (const [name, value] of Object.entries(changes)) {
        if (value) url.searchParams.set(name, value);
        else url.searchParams.delete(name);
      }
      if (url.href === location.href) return;
      try {
        history[isStep ? "pushState" : "replaceState"](history.state, "", url);
      } catch {
        // browsers may refuse this, for too many changes a second or from disk; the page works without
      }
    },
  };

  // A step back is none to the language and colours of before.
  addEventListener("popstate", () => pfgen.address.set(current));

  /** Whether changes of a field are a step: typing is one as a whole. Call it with whether a change was typed. */
  pfgen.address.steps = () => {
    let wasTyped = false;
    addEventListener("popstate", () => (wasTyped = false));
    return (isTyped) => {
      const isStep = !(isTyped && wasTyped);
      wasTyped = isTyped;
      return isStep;
    };
  };

  /** The value of a field on a page that has just been loaded, and now; that of a box is "" unless it is ticked. */
  const initial = (field) => {
    if (field.type === "checkbox") return field.defaultChecked ? field.value : "";
    if (!field.options) return field.defaultValue;
    return ([...field.options].find((each) => each.defaultSelected) ?? field.options[0]).value;
  };
  const now = (field) => (field.type !== "checkbox" || (field.checked && !field.disabled) ? field.value : "");

  /**
   * Fields as an address has them. `values()`: by name, "" for what is as at first, "-" for nothing where there was something,
   * and those of ticked boxes of a name together; `recall(get)`: fills them with what `get` gives.
   */
  pfgen.fields = (fields) => {
    const joined = (of, name) => fields.filter((field) => field.name === name).map(of).filter(Boolean).join(" ");
    const told = (name) => (joined(now, name) === joined(initial, name) ? "" : joined(now, name) || "-");
    const fill = (field, given) => {
      if (field.type === "checkbox") {
        field.checked = given ? given.split(" ").includes(field.value) : field.defaultChecked;
        return;
      }
      const isNothing = given === "-" && initial(field) !== "";
      field.value = isNothing ? "" : given || initial(field);
      if (!field.value && !isNothing) field.value = initial(field); // no such choice
    };
    return {
      values: () => Object.fromEntries(fields.map(({ name }) => [name, told(name)])),
      recall: (get) => fields.forEach((field) => fill(field, get(field.name))),
    };
  };

  /** Text of an address, as it was before it stood there. */
  pfgen.decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a stray per cent sign
    }
  };

  /** Whether a link leads to another page of the site. */
  const isOwn = (link) => !/^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(link.getAttribute("href"));

  /** Links hand on the language and colours that the address states, since not every browser shares what is
      stored among files. They do so when they are reached, so that scripts may add links at any time. */
  const handOn = ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href]") : null;
    if (!link || !(link.dataset.own ??= isOwn(link) ? "1" : "")) return;
    const [, path, query = "", place = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(link.getAttribute("href"));
    const values = new URLSearchParams(query);
    const before = String(values);
    for (const name of carried) {
      if (pfgen.address.get(name)) values.set(name, pfgen.address.get(name));
      else values.delete(name);
    }
    if (String(values) !== before) link.setAttribute("href", `${path}${values.size ? `?${values}` : ""}${place}`);
  };

  /** Let the header's link to a page (`NAV` of builder.py) hand on what is chosen, a query or fragment; "" for nothing. */
  const links = new Map([...document.querySelectorAll("header nav a[data-page]")].map((link) => [link.dataset.page, [link, link.getAttribute("href")]]));
  pfgen.address.lead = (page, chosen) => {
    const [link, href] = links.get(page) ?? [];
    link?.setAttribute("href", href + chosen);
  };

  for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, handOn, true);
})();
