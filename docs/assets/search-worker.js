// Searches for what was typed, wherever it stands: Japanese has no spaces that would tell words apart, so the theme's own
// search, an index of words, misses much of it. Speaks the protocol of that search: 0 set up, 1 ready, 2 query, 3 result.
const script = self.document?.currentScript?.src ?? self.location.href;
const language = new URL(script).searchParams.get("lang");
let sections = [];

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };
const CJK = /[\u3005-\u30ff\u3400-\u9fff]/;
const BESIDE = 60; // characters shown on each side of what was found

const plain = (html) =>
  html
    .replace(/<\/(?:p|li|pre|tr|td|th|dt|dd)>/g, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity])
    .replace(/\s+/g, " ")
    .trim();
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
// As long as the text, so that places in one are places in the other: full-width forms count as the usual ones.
const folded = (text) =>
  text.replace(/[！-～]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0xfee0)).replace(/[A-Z]/g, (c) => c.toLowerCase());

// The pages of the reader's language, and English ones where there is no translation.
function ofLanguage(docs) {
  const isJapanese = (doc) => doc.location.startsWith("ja/");
  if (language !== "ja") return docs.filter((doc) => !isJapanese(doc));
  const translated = new Set(docs.filter(isJapanese).map((doc) => page(doc.location)));
  const english = docs.filter((doc) => !isJapanese(doc) && !translated.has(`ja/${page(doc.location)}`));
  return [
    ...docs.filter(isJapanese),
    ...english.map((doc) => ({ ...doc, location: `ja/${doc.location}` })),
  ];
}

const page = (location) => location.split("#")[0];

function setUp(docs) {
  sections = ofLanguage(docs).map(({ location, title, text }) => {
    const [shownTitle, shownText] = [plain(title), plain(text)];
    return { location, title: shownTitle, text: shownText, inTitle: folded(shownTitle), inText: folded(shownText) };
  });
}

const occurrences = (text, term) => text.split(term).length - 1;

function rated(section, term) {
  const found = occurrences(section.inText, term);
  const titled = section.inTitle.includes(term);
  if (!found && !titled) return 0;
  return Math.log2(2 + found) + (titled ? 10 + (20 * term.length) / section.inTitle.length : 0);
}

// Sections with all terms; if there are none, those with at least half of the words and pairs of Japanese characters.
function matches(terms) {
  const exact = ranked(terms, terms.length);
  if (exact.length) return exact;
  const pieces = [...new Set(terms.flatMap(pairs))];
  return ranked(pieces, Math.max(1, pieces.length / 2));
}

function pairs(term) {
  return term
    .split(/([\u3005-\u30ff\u3400-\u9fff]+)/)
    .filter(Boolean)
    .flatMap((run) =>
      CJK.test(run) && run.length > 2 ? Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2)) : [run],
    );
}

// The beginning of a page comes before its sections, and what people wrote before what docstrings say.
const weight = ({ location }) => (location.includes("#") ? 1 : 1.5) * (location.includes("reference/api/") ? 0.5 : 1);

function ranked(terms, least) {
  const found = [];
  for (const section of sections) {
    const scores = terms.map((term) => rated(section, term));
    const count = scores.filter(Boolean).length;
    if (count < least) continue;
    const score = (weight(section) * scores.reduce((a, b) => a + b) * count) / terms.length;
    found.push({ section, score, terms: Object.fromEntries(terms.map((t, i) => [t, scores[i] > 0])) });
  }
  return found.sort((a, b) => b.score - a.score);
}

function marked(text, fold, terms) {
  const hits = new Uint8Array(text.length);
  for (const term of terms)
    for (let at = fold.indexOf(term); at >= 0; at = fold.indexOf(term, at + term.length))
      hits.fill(1, at, at + term.length);
  let html = "";
  for (let at = 0; at < text.length; ) {
    let end = at;
    while (end < text.length && hits[end] === hits[at]) end++;
    const piece = escaped(text.slice(at, end));
    html += hits[at] ? `<mark data-md-highlight>${piece}</mark>` : piece;
    at = end;
  }
  return html;
}

function excerpt({ text, inText }, terms) {
  const places = terms.map((term) => inText.indexOf(term)).filter((at) => at >= 0);
  const first = places.length ? Math.min(...places) : 0;
  const [from, to] = [Math.max(0, first - BESIDE), Math.min(text.length, first + 3 * BESIDE)];
  const shown = marked(text.slice(from, to), inText.slice(from, to), terms);
  return `${from ? "… " : ""}${shown}${to < text.length ? " …" : ""}`;
}

function item({ section, score, terms }) {
  const there = Object.keys(terms).filter((term) => terms[term]);
  return {
    location: section.location,
    title: marked(section.title, section.inTitle, there),
    text: excerpt(section, there),
    score,
    terms,
  };
}

// The sections found, by page; each page comes with its own beginning, which the theme shows above them.
function search(query) {
  const terms = [...new Set(folded(query).split(/[\s\u3000]+/).filter(Boolean))];
  if (!terms.length) return [];
  const pages = new Map();
  for (const match of matches(terms)) {
    const at = page(match.section.location);
    pages.set(at, [...(pages.get(at) ?? []), item(match)]);
  }
  for (const [at, items] of pages) {
    const top = items.some(({ location }) => location === at) || sections.find(({ location }) => location === at);
    if (top?.location) items.push(item({ section: top, score: 0, terms: {} }));
  }
  return [...pages.values()];
}

self.addEventListener("message", ({ data: { type, data } }) => {
  if (type === 0) {
    setUp(data.docs);
    self.postMessage({ type: 1 });
  } else if (type === 2) self.postMessage({ type: 3, data: { items: search(data) } });
});
