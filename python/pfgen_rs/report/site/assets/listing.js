// A list of entries whose texts lie in chunks that are loaded on demand: filtered, ordered, searched, in pages.
(() => {
  const { element, tr } = pfgen;
  const keptChunks = 48; // in memory at the same time
  const atOnce = 4; // chunks that a search loads together
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const plain = (text) => text.normalize("NFKC").toLowerCase();

  // What is chosen stands in the address

  const fields = () => [...form.querySelectorAll("[name]")];

  /** By the name of a field: its value, or those of the boxes that are ticked and offered. */
  const chosen = () => {
    const values = new FormData(form);
    return Object.fromEntries(fields().map(({ name }) => [name, values.getAll(name).join(" ")]));
  };

  const restore = () => {
    for (const field of fields()) {
      const given = pfgen.address.get(field.name);
      if (!given) continue;
      if (field.type === "checkbox") field.checked = given.split(" ").includes(field.value);
      else if (!field.options || [...field.options].some(({ value }) => value === given)) field.value = given; // else of another page
    }
  };

  /**
   * A list of `size` rows of an index. `kind`: names it in strings; `top`: its heading; `chunks`: names of payloads, of which
   * number i begins with the row `starts[i]`. `entry(chunk, place)`: the texts of a row by its place in its chunk;
   * `texts(row, entry)`: those that are searched, without an entry only those of the index; `rows(isFound)`: those to show,
   * and `key(row)`: a number that orders them; `card(row, entry)` shows one; `changed(event)`: called before other choices are shown.
   */
  pfgen.listing = ({ kind, top, size, chunks, starts, entry, texts, rows, key, card, changed }) => {
    const recent = new Set(); // numbers of chunks, the last used ones last
    let hits = { query: "" }; // and `rows`: what the search of all texts found
    let isFound = () => true;

    /** The name of a chunk that is used now; the one that was not used for the longest time is forgotten. */
    const used = (number) => {
      recent.delete(number);
      recent.add(number);
      const [oldest] = recent;
      if (recent.size > keptChunks) {
        recent.delete(oldest);
        pfgen.forget(chunks[oldest]);
      }
      return chunks[number];
    };

    const chunkOf = (row) => starts.findLastIndex((start) => start <= row);
    const entryOf = (row, chunk) => entry(chunk, row - starts[chunkOf(row)]);

    const pager = pfgen.pager(document.getElementById(top), async (shown) => {
      const values = await pfgen.loadEach(list, shown.map((row) => used(chunkOf(row))));
      if (!values) return; // something else was asked for meanwhile, or a file is missing
      list.replaceChildren(...shown.map((row, i) => card(row, entryOf(row, values[i]))));
      if (!shown.length) list.append(element("p", { class: "quiet" }, tr(`no_${kind}`)));
    });

    const has = (words, own) => words.every((word) => own.some((text) => text.includes(word)));

    /** The rows whose texts have all words, `null` if something else was asked for meanwhile, or a file is missing. */
    const searched = async (words) => {
      const result = new Set();
      for (let first = 0; first < chunks.length; first += atOnce) {
        if (chunks.length > atOnce) found.replaceChildren(tr("searching", { n: first, all: chunks.length }));
        const numbers = [...chunks.keys()].slice(first, first + atOnce);
        const values = await pfgen.loadEach(list, numbers.map(used));
        if (!values) return null;
        for (let row = starts[first]; row < (starts[first + atOnce] ?? size); row += 1) {
          if (has(words, texts(row, entryOf(row, values[chunkOf(row) - first])).map(plain))) result.add(row);
        }
      }
      return result;
    };

    /** Show what matches. */
    const update = async () => {
      const words = plain(form.elements.text.value).split(/\s+/).filter(Boolean);
      const query = words.join(" ");
      if (query && (form.elements.everywhere?.checked ?? true)) {
        const own = hits.query === query ? hits.rows : await searched(words);
        if (!own) return;
        hits = { query, rows: own };
        isFound = (row) => own.has(row);
      } else {
        isFound = (row) => !query || has(words, texts(row).map(plain));
      }
      const matching = rows(isFound);
      const keys = new Map(matching.map((row) => [row, key(row)]));
      const n = matching.length;
      found.replaceChildren(tr(n === size ? `${kind}_found` : `${kind}_found_of`, { n, all: size }));
      pfgen.say(found.textContent);
      await pager.open(matching.sort((i, j) => keys.get(i) - keys.get(j)));
    };

    const usual = chosen();
    restore();

    const again = (event) => {
      changed(event);
      const values = Object.entries(chosen()).map(([name, value]) => [name, value === usual[name] ? "" : value || "-"]);
      pfgen.address.set(Object.fromEntries(values));
      return update();
    };

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => event.target.name === "text" || again(event));
    form.elements.text.addEventListener("input", pfgen.later(again));
    form.addEventListener("reset", () => setTimeout(again)); // it empties its fields after this event

    return {
      again,
      update,
      turn: pager.turn,

      /** Whether the search that is shown finds a row. */
      isFound: (row) => isFound(row),

      /** Promise of the texts of a row. */
      entry: async (row) => entryOf(row, await pfgen.load(used(chunkOf(row)))),
    };
  };
})();
