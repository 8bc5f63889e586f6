// Data in files of its own (`payload.py`): scripts, since pages opened from disk may not fetch.
(() => {
  const bits = 15; // of a character of a part
  const first = 0x4000; // the first of those characters
  const zero = 0x100; // the character of the number 0 in columns
  const waiting = new Map(); // name of a file -> what hands over its content
  const files = new Map(); // name -> promise of the content of a file with parts: their texts
  const values = new Map(); // name -> promise of the value
  const asked = new WeakMap(); // place -> what was last asked for there

  /** The bytes of a part; its first character says how many too many its bits make. */
  const bytesOf = (text) => {
    const bytes = new Uint8Array(Math.floor(((text.length - 1) * bits) / 8));
    let [held, kept, place] = [0, 0, 0];
    for (let i = 1; i < text.length; i += 1) {
      held = (held << bits) | (text.charCodeAt(i) - first);
      for (kept += bits; kept >= 8; place += 1) {
        kept -= 8;
        bytes[place] = held >> kept; // stores the lowest eight
      }
      held &= (1 << kept) - 1;
    }
    return bytes.subarray(0, bytes.length - (text.charCodeAt(0) - first));
  };

  /** The numbers of a column (`payload.packed`). */
  const column = ({ "~": text, from = null }) => {
    const numbers = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i) - zero);
    if (from === null) return numbers;
    let last = from;
    return [from, ...numbers.map((fall) => (last -= fall))];
  };

  const unpacked = (value) => {
    if (Array.isArray(value)) return value.map(unpacked);
    if (value === null || typeof value !== "object") return value;
    if ("~" in value) return column(value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item)]));
  };

  const decoded = async (text) => {
    const isPart = text.charCodeAt(0) >= first;
    const bytes = isPart ? bytesOf(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(isPart ? "deflate" : "gzip"));
    const value = JSON.parse(new TextDecoder("utf-16le").decode(await new Response(stream).arrayBuffer()));
    return value?.packed ? unpacked(value.packed) : value;
  };

  /** Called by the files themselves. */
  pfgen.take = (name, content) => waiting.get(name)?.(content);

  /** Promise of the content of a file; it fails where there is none, and where the file hands over nothing. */
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

  /** A promise by name, made once; one that fails is made again. */
  const once = (promises, name, make) => {
    if (!promises.has(name)) {
      promises.set(name, make());
      promises.get(name).catch(() => promises.delete(name));
    }
    return promises.get(name);
  };

  const textOf = async (name) => {
    const inside = document.getElementById(`payload-${name}`);
    if (inside) return inside.textContent;
    const [file, number] = name.split("#");
    if (number === undefined) return requested(file);
    const text = (await once(files, file, () => requested(file)))[number];
    if (!text) throw new Error(`${file}.js`); // of another site, if it lacks what its page has
    return text;
  };

  /** Promise of the value of a payload: inside the page, in the file `{name}.js` of the site, or (`file#3`) in part of one. */
  pfgen.load = (name) => once(values, name, () => textOf(name).then(decoded));

  /** Free the memory of a payload in a file, which is loaded again when it is needed. */
  pfgen.forget = (name) => document.getElementById(`payload-${name}`) || waiting.has(name) || values.delete(name);

  const isMissing = (reason) => /\.js$/.test(reason.message); // else it is a fault

  /** Promise of the value of a payload, `null` where its file is missing. */
  const ifThere = (name) => pfgen.load(name).catch((reason) => {
    if (isMissing(reason)) return null;
    throw reason;
  });

  /**
   * What payloads are promised to give. Where one fails, a line in `place` says so. `null` if it does, and if something else
   * was asked for there meanwhile, which `place` then belongs to.
   */
  pfgen.awaited = async (place, promise) => {
    const own = {};
    asked.set(place, own);
    place.setAttribute("aria-busy", "true");
    const [{ value, reason }] = await Promise.allSettled([promise]);
    if (asked.get(place) !== own) return null;
    place.removeAttribute("aria-busy");
    if (!reason) return value;
    place.replaceChildren(pfgen.element("p", { class: "problem", role: "alert" }, pfgen.tr("not_loaded")));
    if (!isMissing(reason)) throw reason;
    return null;
  };

  /**
   * The values of payloads, as `pfgen.awaited` gives them; meanwhile a line in `place` says so, then it is left empty.
   * Of files from the number `needed` on, each may be missing: its value is `null`.
   */
  pfgen.loadEach = async (place, names, needed = names.length) => {
    place.replaceChildren(pfgen.element("p", { class: "quiet" }, pfgen.tr("loading")));
    const found = await pfgen.awaited(place, Promise.all(names.map((name, i) => (i < needed ? pfgen.load : ifThere)(name))));
    if (found) place.replaceChildren();
    return found;
  };

  /** Show in `place` what `show` makes of a payload; meanwhile, and where it fails, a line that says so. */
  pfgen.loadInto = async (place, name, show) => {
    const found = await pfgen.loadEach(place, [name]);
    if (found) show(found[0]);
  };
})();
