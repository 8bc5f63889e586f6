// Data in files of its own (`payload.py`): scripts, since pages opened from disk may not fetch.
(() => {
  const waiting = new Map(); // name -> what hands over the text of a file that was asked for
  const values = new Map(); // name -> promise of the value
  const asked = new WeakMap(); // place -> what was last asked for there

  const decoded = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(new TextDecoder("utf-16le").decode(await new Response(stream).arrayBuffer()));
  };

  /** Called by the files themselves. */
  pfgen.take = (name, base64) => waiting.get(name)?.(base64);

  /** Promise of the text of a file; it fails where there is none, and where the file hands over nothing. */
  const requested = (name) => new Promise((resolve, reject) => {
    const end = () => {
      script.remove();
      waiting.delete(name);
      reject(new Error(`${name}.js`)); // unless it was taken
    };
    const script = pfgen.element("script", {
      src: `${pfgen.root}${name.split("/").map(encodeURIComponent).join("/")}.js`,
      onload: end,
      onerror: end,
    });
    waiting.set(name, resolve);
    document.head.append(script);
  });

  /** Promise of the value of a payload: inside the page, or in the file `{name}.js` of the site. */
  pfgen.load = (name) => {
    if (!values.has(name)) {
      const inside = document.getElementById(`payload-${name}`);
      const value = inside ? decoded(inside.textContent) : requested(name).then(decoded);
      value.catch(() => values.delete(name)); // so that it can be tried again
      values.set(name, value);
    }
    return values.get(name);
  };

  /** Free the memory of a payload in a file, which is loaded again when it is needed. */
  pfgen.forget = (name) => document.getElementById(`payload-${name}`) || waiting.has(name) || values.delete(name);

  /**
   * The values of payloads. Meanwhile, and where one fails, a line in `place` says so; else it is left empty.
   * `null` where one fails, and if something else was asked for there meanwhile, which `place` then belongs to.
   */
  pfgen.loadEach = async (place, names) => {
    const own = {};
    asked.set(place, own);
    place.setAttribute("aria-busy", "true");
    place.replaceChildren(pfgen.element("p", { class: "quiet" }, pfgen.tr("loading")));
    const [{ value: found, reason }] = await Promise.allSettled([Promise.all(names.map(pfgen.load))]);
    if (asked.get(place) !== own) return null;
    place.removeAttribute("aria-busy");
    place.replaceChildren();
    if (found) return found;
    place.append(pfgen.element("p", { class: "problem", role: "alert" }, pfgen.tr("not_loaded")));
    if (!/\.js$/.test(reason.message)) throw reason; // a fault, not a missing file
    return null;
  };

  /** Show in `place` what `show` makes of a payload; meanwhile, and where it fails, a line that says so. */
  pfgen.loadInto = async (place, name, show) => {
    const found = await pfgen.loadEach(place, [name]);
    if (found) show(found[0]);
  };
})();
