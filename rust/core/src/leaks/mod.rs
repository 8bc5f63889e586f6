//! Which texts of a benchmark documents contain, whole or nearly so.
//!
//! Texts are compared without differences of width, case, spaces and punctuation (see `fold`). A document contains a
//! text if some stretch of it, at most twice as long as the text, has a given share of the text's distinct n-grams.
//!
//! One pass over a document is enough. Of a text with `g` distinct n-grams, of which `m` are needed, any stretch that
//! contains it has more than `s` of each `g − m + 1 + s` of them; the rarest, its anchors, are looked up for each
//! character. Where more than `s` are near each other, n-grams are compared exactly.

mod anchors;
mod fold;
mod stretch;

use crate::error::{Error, Result};
use anchors::{Anchors, Counts, hashes};
use rustc_hash::FxHashMap;
use stretch::{Grams, Stretch};

/// Characters in which anchors are collected before texts are compared, which bounds memory.
const PART: usize = 1 << 20;
/// How often as long as a text a stretch that contains it may be.
const LONGEST: usize = 2;

/// Finds texts in documents.
#[derive(Debug)]
pub struct LeakFinder {
    n: usize,
    coverage: f64,
    symbols: Vec<u32>,
    starts: Vec<usize>,
    grams: Vec<u32>,
    anchors: Anchors,
}

/// A text that a document contains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leak {
    /// The text's number.
    pub text: u32,
    /// The share of its distinct n-grams that the stretch has.
    pub coverage: f64,
    /// Where the stretch begins in the document, in code points.
    pub begin: usize,
    /// Where it ends.
    pub end: usize,
}

impl LeakFinder {
    /// Prepares to look for `texts`, of each of which a stretch must have the share `coverage` of its n-grams.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] unless `n` is at least 1 and `coverage` above 0 and at most 1.
    pub fn new(texts: &[&str], n: usize, coverage: f64) -> Result<Self> {
        if n == 0 || !(coverage > 0.0 && coverage <= 1.0) {
            let reason = format!("n must be at least 1 and coverage above 0 and at most 1, not {n} and {coverage}");
            return Err(Error::InvalidSettings { reason });
        }
        let (mut symbols, mut starts) = (Vec::new(), vec![0]);
        for text in texts {
            fold::fold(text, |symbol, _| symbols.push(symbol));
            starts.push(symbols.len());
        }
        let mut finder = Self { n, coverage, symbols, starts, grams: Vec::new(), anchors: Anchors::new(Vec::new()) };
        finder.choose_anchors();
        Ok(finder)
    }

    fn choose_anchors(&mut self) {
        let mut counts = Counts::new(self.symbols.len());
        let texts = self.starts.len() - 1;
        let each = |text| hashes(self.text(text), self.n);
        (0..texts).flat_map(each).for_each(|hash| counts.add(hash));
        let (mut sorted, mut grams) = (Vec::new(), Vec::with_capacity(texts));
        for text in 0..texts {
            let mut own: Vec<_> = each(text).map(|hash| (counts.of(hash), hash)).collect();
            own.sort_unstable();
            own.dedup();
            // Different n-grams with one hash would be too few, and so one anchor too few; anchors are then all.
            let distinct = Grams::new(self.text(text), self.n).len();
            let needed = self.needed(distinct);
            let chosen = distinct + 1 - needed + spare(needed);
            let kept = if own.len() == distinct { own.len().min(chosen) } else { own.len() };
            sorted.extend(own[..kept].iter().map(|&(_, hash)| (hash, text as u32)));
            grams.push(distinct as u32);
        }
        (self.anchors, self.grams) = (Anchors::new(sorted), grams);
    }

    /// The number of distinct n-grams of each text; those without any are not found.
    pub fn grams(&self) -> &[u32] {
        &self.grams
    }

    fn text(&self, text: usize) -> &[u32] {
        &self.symbols[self.starts[text]..self.starts[text + 1]]
    }

    /// The smallest number of n-grams that is enough of `distinct` ones; at least one.
    fn needed(&self, distinct: usize) -> usize {
        (1..distinct).find(|&count| share(count, distinct) >= self.coverage).unwrap_or(distinct.max(1))
    }

    /// The texts that `document` contains, in order, each once: with the largest share, where it is met first.
    ///
    /// `folded` is memory to work in.
    pub fn find(&self, document: &str, folded: &mut Vec<u32>) -> Vec<Leak> {
        folded.clear();
        fold::fold(document, |symbol, _| folded.push(symbol));
        let mut best = FxHashMap::default();
        let mut met = Vec::new();
        for (place, hash) in hashes(folded, self.n).enumerate() {
            met.extend(self.anchors.texts(hash).map(|text| (text, place)));
            if (place + 1) % PART == 0 {
                self.compare(folded, &mut met, &mut best);
            }
        }
        self.compare(folded, &mut met, &mut best);
        self.leaks(document, best)
    }

    /// Compares a document with the texts whose anchors were met, and forgets these.
    fn compare(&self, document: &[u32], met: &mut Vec<(u32, usize)>, best: &mut FxHashMap<u32, Stretch>) {
        met.sort_unstable();
        for of_text in met.chunk_by(|a, b| a.0 == b.0) {
            let text = of_text[0].0;
            let (own, before) = (self.text(text as usize), best.get(&text).copied());
            let (needed, longest) = (self.needed(self.grams[text as usize] as usize), LONGEST * own.len());
            let spare = spare(needed);
            let near = of_text.windows(spare + 1).filter(|near| near[spare].1 - near[0].1 < longest);
            let mut places = near.map(|near| near[0].1).peekable();
            if places.peek().is_none() {
                continue;
            }
            let grams = Grams::new(own, self.n);
            if let Some(found) = grams.best_stretch(document, places, longest, needed, before) {
                best.insert(text, found);
            }
        }
        met.clear();
    }

    fn leaks(&self, document: &str, best: FxHashMap<u32, Stretch>) -> Vec<Leak> {
        if best.is_empty() {
            return Vec::new();
        }
        let mut places = Vec::new();
        fold::fold(document, |_, place| places.push(place as u32));
        let mut leaks: Vec<_> = best
            .into_iter()
            .map(|(text, found)| Leak {
                text,
                coverage: share(found.grams, self.grams[text as usize] as usize),
                begin: places[found.begin] as usize,
                end: places[found.end - 1] as usize + 1,
            })
            .collect();
        leaks.sort_unstable_by_key(|leak| leak.text);
        leaks
    }
}

/// How many anchors a stretch may have without being compared, where `needed` n-grams are.
fn spare(needed: usize) -> usize {
    (needed - 1) / 4
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

#[cfg(test)]
mod tests {
    use super::{Leak, LeakFinder};

    #[test]
    fn texts_are_found_whatever_stands_between_their_letters() {
        let finder =
            LeakFinder::new(&["光合成とは、植物の働きです。", "短い", "ＡＢＣＤＥＦＧＨＩＪ"], 4, 1.0).unwrap();
        assert_eq!(finder.grams(), [9, 0, 7]);
        let found = finder.find("まず「光合成とは 植物の\n働きです！」と。a-b-c-d-e-f-g-h-i-j 短い", &mut Vec::new());
        let leak = |text, begin, end| Leak { text, coverage: 1.0, begin, end };
        assert_eq!(found, [leak(0, 3, 17), leak(2, 21, 40)]);
        assert_eq!(finder.find("光合成とは、植物の動きです。", &mut Vec::new()), []);
    }

    #[test]
    fn parts_of_long_documents_are_one_document() {
        let finder = LeakFinder::new(&["あいうえおかきくけこ"], 3, 0.5).unwrap();
        for before in [super::PART - 12, super::PART - 5, super::PART, super::PART + 1] {
            let document = format!("{}あいうえおかき{}あいうえおかきくけこ", "x".repeat(before), "y".repeat(30));
            let [found] = finder.find(&document, &mut Vec::new())[..] else { panic!() };
            assert_eq!((found.begin, found.coverage), (before + 37, 1.0));
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        for (n, coverage) in [(0, 0.5), (1, 0.0), (1, 1.1), (1, f64::NAN)] {
            assert!(LeakFinder::new(&[], n, coverage).is_err());
        }
    }
}
