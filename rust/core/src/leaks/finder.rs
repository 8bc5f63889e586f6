//! One pass over documents: anchors are met, and texts with enough of them compared.

use super::anchors::{Anchors, Counts, hashes};
use super::fold::fold;
use super::stretch::{Grams, Stretch};
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;

/// Anchors that are collected before texts are compared, which bounds memory.
const PART: usize = 1 << 20;
/// The largest length of n-grams.
const LONGEST_GRAM: usize = 100;
/// How often as long as a text a stretch that contains it may be.
const LONGEST: usize = 2;

/// Finds texts in documents.
#[derive(Debug)]
pub struct LeakFinder {
    n: usize,
    coverage: f64,
    /// The given texts that are equal when folded; below, these count as one text.
    copies: Vec<Vec<u32>>,
    symbols: Vec<u32>,
    starts: Vec<usize>,
    grams: Vec<u32>,
    /// How many of its n-grams a stretch must have of each text.
    needed: Vec<u32>,
    anchors: Anchors,
}

/// Memory to search documents in, one after another.
#[derive(Debug, Default)]
pub struct LeakMemory {
    folded: Vec<u32>,
    /// Anchors there are: texts and places.
    met: Vec<(u32, u32)>,
    /// How many of `met` each text has.
    counts: Vec<u32>,
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
    /// [`Error::InvalidSettings`] unless `n` is from 1 to 100 and `coverage` above 0 and at most 1.
    pub fn new(texts: &[&str], n: usize, coverage: f64) -> Result<Self> {
        let makes_sense = (1..=LONGEST_GRAM).contains(&n) && coverage > 0.0 && coverage <= 1.0;
        if !makes_sense {
            let reason =
                format!("n must be 1 to {LONGEST_GRAM} and coverage above 0 and at most 1, not {n} and {coverage}");
            return Err(Error::InvalidSettings { reason });
        }
        let (mut symbols, mut starts, mut copies) = (Vec::new(), vec![0], Vec::<Vec<u32>>::new());
        let mut numbers = FxHashMap::default();
        for (text, number) in texts.iter().zip(0..) {
            let mut folded = Vec::new();
            fold(text, |symbol, _| folded.push(symbol));
            let own = *numbers.entry(folded).or_insert_with_key(|folded| {
                symbols.extend(folded);
                starts.push(symbols.len());
                copies.push(Vec::new());
                copies.len() - 1
            });
            copies[own].push(number);
        }
        let (grams, needed, anchors) = (Vec::new(), Vec::new(), Anchors::new(Vec::new()));
        let mut finder = Self { n, coverage, copies, symbols, starts, grams, needed, anchors };
        finder.choose_anchors();
        Ok(finder)
    }

    fn choose_anchors(&mut self) {
        let mut counts = Counts::new(self.symbols.len());
        let texts = self.starts.len() - 1;
        let each = |text| hashes(self.text(text), self.n);
        (0..texts).flat_map(each).for_each(|hash| counts.add(hash));
        let (mut sorted, mut all_grams, mut all_needed) = (Vec::new(), Vec::new(), Vec::new());
        for text in 0..texts {
            let mut own: Vec<_> = each(text).map(|hash| (counts.of(hash), hash)).collect();
            own.sort_unstable();
            own.dedup();
            // Different n-grams with one hash would be too few, and so one anchor too few; anchors are then all.
            let distinct = Grams::new(self.text(text), self.n).len();
            let needed = self.enough_of(distinct);
            let chosen = distinct + 1 - needed + spare(needed);
            let kept = if own.len() == distinct { own.len().min(chosen) } else { own.len() };
            sorted.extend(own[..kept].iter().map(|&(_, hash)| (hash, text as u32)));
            all_grams.push(distinct as u32);
            all_needed.push(needed as u32);
        }
        (self.anchors, self.grams, self.needed) = (Anchors::new(sorted), all_grams, all_needed);
    }

    /// The number of distinct n-grams of each text; those without any are not found.
    pub fn grams(&self) -> Vec<u32> {
        let each = self.copies.iter().zip(&self.grams);
        let mut all: Vec<_> = each.flat_map(|(copies, grams)| copies.iter().map(move |copy| (copy, *grams))).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, grams)| grams).collect()
    }

    fn text(&self, text: usize) -> &[u32] {
        &self.symbols[self.starts[text]..self.starts[text + 1]]
    }

    /// The smallest number of n-grams that is enough of `distinct` ones; at least one.
    fn enough_of(&self, distinct: usize) -> usize {
        (1..distinct).find(|&count| share(count, distinct) >= self.coverage).unwrap_or(distinct.max(1))
    }

    /// The longest stretch of a document that may contain a text, in folded characters.
    fn longest(&self, text: u32) -> usize {
        LONGEST * self.text(text as usize).len()
    }

    /// The texts that `document` contains, in order, each once: with the largest share, where it is met first.
    pub fn find(&self, document: &str, memory: &mut LeakMemory) -> Vec<Leak> {
        self.find_in_parts(document, memory, PART)
    }

    fn find_in_parts(&self, document: &str, memory: &mut LeakMemory, part: usize) -> Vec<Leak> {
        let LeakMemory { folded, met, counts } = memory;
        folded.clear();
        met.clear();
        counts.resize(self.grams.len(), 0);
        fold(document, |symbol, _| folded.push(symbol));
        let (mut best, mut most) = (FxHashMap::default(), part);
        for (hash, place) in hashes(folded, self.n).zip(0u32..) {
            if !self.anchors.may_have(hash) {
                continue;
            }
            met.extend(self.anchors.texts(hash).map(|text| (text, place)));
            if met.len() >= most {
                self.compare(folded, met, counts, &mut best);
                // Stretches that go on in the next part need the anchors of this one, too.
                met.retain(|&(text, before)| ((place - before) as usize + 1) < self.longest(text));
                most = part + 2 * met.len();
            }
        }
        self.compare(folded, met, counts, &mut best);
        self.leaks(document, best)
    }

    /// Compares a document with the texts of which enough anchors were met.
    fn compare(&self, folded: &[u32], met: &[(u32, u32)], counts: &mut [u32], best: &mut FxHashMap<u32, Stretch>) {
        for &(text, _) in met {
            counts[text as usize] += 1;
        }
        let is_enough = |text: usize| counts[text] as usize > spare(self.needed[text] as usize);
        let mut enough: Vec<_> = met.iter().copied().filter(|&(text, _)| is_enough(text as usize)).collect();
        for &(text, _) in met {
            counts[text as usize] = 0;
        }
        enough.sort_unstable();
        for of_text in enough.chunk_by(|a, b| a.0 == b.0) {
            let text = of_text[0].0;
            let (needed, longest) = (self.needed[text as usize] as usize, self.longest(text));
            let spare = spare(needed);
            let near = of_text.windows(spare + 1).filter(|near| ((near[spare].1 - near[0].1) as usize) < longest);
            let mut places = near.map(|near| near[0].1 as usize).peekable();
            if places.peek().is_none() {
                continue;
            }
            let grams = Grams::new(self.text(text as usize), self.n);
            if let Some(found) = grams.best_stretch(folded, places, longest, needed, best.get(&text).copied()) {
                best.insert(text, found);
            }
        }
    }

    fn leaks(&self, document: &str, best: FxHashMap<u32, Stretch>) -> Vec<Leak> {
        if best.is_empty() {
            return Vec::new();
        }
        let mut places = Vec::new();
        fold(document, |_, place| places.push(place as u32));
        let each = best.into_iter().flat_map(|(text, found)| {
            self.copies[text as usize].iter().map(move |&copy| (copy, self.grams[text as usize], found))
        });
        let mut leaks: Vec<_> = each
            .map(|(text, grams, found)| Leak {
                text,
                coverage: share(found.grams, grams as usize),
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
    use super::{Leak, LeakFinder, LeakMemory};

    #[test]
    fn texts_are_found_whatever_stands_between_their_letters() {
        let finder =
            LeakFinder::new(&["光合成とは、植物の働きです。", "短い", "ＡＢＣＤＥＦＧＨＩＪ"], 4, 1.0).unwrap();
        assert_eq!(finder.grams(), [9, 0, 7]);
        let found = finder
            .find("まず「光合成とは 植物の\n働きです！」と。a-b-c-d-e-f-g-h-i-j 短い", &mut LeakMemory::default());
        let leak = |text, begin, end| Leak { text, coverage: 1.0, begin, end };
        assert_eq!(found, [leak(0, 3, 17), leak(2, 21, 40)]);
        assert_eq!(finder.find("光合成とは、植物の動きです。", &mut LeakMemory::default()), []);
    }

    #[test]
    fn parts_make_no_difference() {
        let text: String = ('a'..='z').collect();
        let texts = [&text, &text[..13], "abcabcabcabcabc", &text.to_uppercase()];
        let finder = LeakFinder::new(&texts, 3, 0.7).unwrap();
        let memory = &mut LeakMemory::default();
        for before in 0..40 {
            let parts = ["1".repeat(before), text[..20].into(), "1".repeat(60), text.clone(), "abc".repeat(9)];
            let document = parts.join("2");
            let expected = finder.find(&document, memory);
            assert_eq!(expected.iter().map(|leak| leak.text).collect::<Vec<_>>(), [0, 1, 2, 3]);
            assert_eq!((expected[0].begin, expected[0].coverage), (before + 83, 1.0));
            assert_eq!(Leak { text: 3, ..expected[0] }, expected[3]);
            for part in 1..60 {
                assert_eq!(finder.find_in_parts(&document, memory, part), expected, "{before} {part}");
            }
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        for (n, coverage) in [(0, 0.5), (101, 0.5), (usize::MAX, 0.5), (1, 0.0), (1, 1.1), (1, f64::NAN)] {
            assert!(LeakFinder::new(&[], n, coverage).is_err());
        }
    }
}
