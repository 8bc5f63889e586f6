// Data in files of its own (`payload.py`): scripts, since pages opened from disk may not fetch.
(() => {
  const waiting = new Map(); // name -> { resolve, reject }
  const values = new Map(); // name -> promise of the value

  const decoded = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(new TextDecoder("utf-16le").decode(await new Response(stream).arrayBuffer()));
  };

  /** Called by the files themselves. */
  pfgen.take = (name, base64) => waiting.get(name)?.resolve(decoded(base64));

  const requested = (name) => new Promise((resolve, reject) => {
    waiting.set(name, { resolve, reject });
    const script = pfgen.element("script", {
      src: `${pfgen.root}${name.split("/").map(encodeURIComponent).join("/")}.js`,
      onerror: () => reject(new Error(`${name}.js`)),
    });
    script.addEventListener("load", () => script.remove());
    document.head.append(script);
  });

  /** Promise of the value of a payload: inside the page, or in the file `{name}.js` of the site. */
  pfgen.load = (name) => {
    if (!values.has(name)) {
      const inside = document.getElementById(`payload-${name}`);
      const value = inside ? decoded(inside.textContent) : requested(name);
      value.catch(() => values.delete(name)); // so that it can be tried again
      values.set(name, value);
    }
    return values.get(name);
  };

  /** Free the memory of a payload in a file, which is loaded again when it is needed. */
  pfgen.forget = (name) => document.getElementById(`payload-${name}`) || values.delete(name);

  /** Show in `place` what `show` makes of a payload; meanwhile, and where it fails, a line that says so. */
  pfgen.loadInto = async (place, name, show) => {
    place.setAttribute("aria-busy", "true");
    place.replaceChildren(pfgen.element("p", { class: "quiet" }, pfgen.tr("loading")));
    try {
      const value = await pfgen.load(name);
      place.replaceChildren();
      show(value);
    } catch (error) {
      const alert = pfgen.element("p", { class: "problem", role: "alert" }, pfgen.tr("not_loaded"));
      place.replaceChildren(alert);
      if (!/\.js$/.test(error.message)) throw error; // a fault, not a missing file
    } finally {
      place.removeAttribute("aria-busy");
    }
  };
})();
