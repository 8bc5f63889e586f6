// A list of entries whose texts lie in chunks that are loaded on demand: filtered, ordered, searched, in pages. What is chosen
// stands in the address.
(() => {
  const { element, tr } = pfgen;
  const keptChunks = 48; // in memory at the same time
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const found = document.getElementById("found");

  /** Loads a chunk by its number, and forgets those that were not used for the longest time. */
  const chunkLoader = (names) => {
    const recent = new Set(); // numbers of chunks, the last used ones last
    return (number) => {
      recent.delete(number);
      recent.add(number);
      for (const old of [...recent].slice(0, -keptChunks)) {
        recent.delete(old);
        pfgen.forget(names[old]);
      }
      return pfgen.load(names[number]);
    };
  };

  /** Whether each word is in some text. */
  const hasAll = (words, texts) => {
    const known = texts.map(pfgen.searched);
    return words.every((word) => known.some((text) => text.includes(word)));
  };

  /**
   * A list of `size` rows of an index. `kind`: names it in strings, and its heading; `chunks`: names of payloads, of which number i
   * begins with the row `starts[i]`. `entry(chunk, place)`: the texts of a row by its place in its chunk; `texts(row, entry)`:
   * those that are searched, without an entry only those of the index; `matching(isFound)`: rows to show, and `key()`: a function
   * that gives a row the number that orders it; `card(row, entry)` shows one; `changed(event)`: called before other choices are shown.
   */
  pfgen.listing = ({ kind, size, chunks, starts, entry, texts, matching, key, card, changed }) => {
    const fields = pfgen.fields([...form.querySelectorAll("[name]")]);
    const chunk = chunkLoader(chunks);
    let hits = { query: "" }; // and `rows`: what the search of all texts found
    let isFound = () => true;
    let search = 0;

    /** Promise of the texts of a row. */
    const entryOf = async (row) => {
      const number = starts.findLastIndex((start) => start <= row);
      return entry(await chunk(number), row - starts[number]);
    };

    const draw = async (rows) => {
      const entries = await pfgen.awaited(list, Promise.all(rows.map(entryOf)));
      if (!entries) return;
      const cards = rows.map((row, i) => card(row, entries[i]));
      list.replaceChildren(...(cards.length ? cards : [element("p", { class: "quiet" }, tr(`no_${kind}`))]));
    };

    const paged = pfgen.paged(document.getElementById("pager"), draw, document.getElementById(kind));

    /** The rows whose texts have all words, or `null` if another search has begun. */
    const searched = async (words) => {
      const own = search;
      const rows = new Set();
      for (const [number, start] of starts.entries()) {
        if (chunks.length > 4) found.replaceChildren(tr("searching", { n: number, all: chunks.length }));
        const value = await chunk(number);
        if (own !== search) return null;
        if (number + 1 < chunks.length) chunk(number + 1).catch(() => null); // meanwhile; awaited next
        for (let row = start; row < (starts[number + 1] ?? size); row += 1) {
          if (hasAll(words, texts(row, entry(value, row - start)))) rows.add(row);
        }
      }
      return rows;
    };

    /** Show what matches. */
    const update = async () => {
      const words = pfgen.words(form.elements.text.value);
      const query = words.join(" ");
      search += 1; // ends one that is going on
      if (query && (form.elements.everywhere?.checked ?? true)) {
        const rows = hits.query === query ? hits.rows : await pfgen.awaited(found, searched(words)); // pages may be turned meanwhile
        if (!rows) return;
        hits = { query, rows };
        isFound = (row) => rows.has(row);
      } else {
        isFound = (row) => !query || hasAll(words, texts(row));
      }
      const rows = matching(isFound);
      const keyOf = key();
      const keys = new Map(rows.map((row) => [row, keyOf(row)]));
      found.replaceChildren(tr(rows.length === size ? `${kind}_found` : `${kind}_found_of`, { n: rows.length, all: size }));
      pfgen.say(found.textContent);
      await paged.show(rows.sort((i, j) => keys.get(i) - keys.get(j)));
    };

    const again = (event) => {
      changed(event);
      pfgen.address.set(fields.values());
      return update();
    };

    fields.recall(pfgen.address.get);
    form.addEventListener("change", (event) => event.target.name === "text" || again(event));
    form.elements.text.addEventListener("input", pfgen.later(again));
    form.addEventListener("reset", () => setTimeout(again)); // it empties its fields after this event

    return { again, update, turn: paged.turn, entry: entryOf, isFound: (row) => isFound(row) };
  };
})();
