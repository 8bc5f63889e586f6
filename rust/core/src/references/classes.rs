//! N-grams that occur in the same texts of a pool, grouped.
//!
//! For what a choice of texts contains, n-grams with the same set of texts are one: a *class*. An n-gram of one text
//! only needs no class, its number per text is enough. Classes are found in the suffix array with its LCP values: each
//! maximal range of suffixes that share a prefix stands for the n-grams longer than the enclosing range's prefix, and the texts
//! of the range are theirs (Abouelhoda, Kurtz and Ohlebusch, "Replacing Suffix Trees with Enhanced Suffix Arrays",
//! 2004).

use super::random::Random;
use crate::error::Result;
use crate::index::corpus::{Corpus, Markers, SourceText};
use crate::index::suffix_array;
use rustc_hash::FxHashMap;
use std::ops::{Range, RangeInclusive};

/// Any number will do: it only spreads the keys of texts.
const KEYS: u64 = 0x0070_6667_656e;

/// The n-grams of a pool of texts, in classes.
///
/// Memory: 4 bytes for each class of each text, beside 14 a character while building.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Distinct n-grams of the pool.
    pub(crate) ngrams: u64,
    /// N-grams of each class, those of most texts first.
    pub(crate) weights: Vec<u32>,
    /// Distinct n-grams that occur in one text only, for each text.
    pub(crate) alone: Vec<u32>,
    /// First class of each text, and the number of all.
    starts: Vec<usize>,
    of_texts: Vec<u32>,
    /// Texts of each class.
    sizes: Vec<u32>,
}

impl Classes {
    /// Finds the classes of n-grams of `lengths` characters. `O(N × longest)` for `N` characters.
    ///
    /// Sets of texts are known by the sum of their texts' keys, 128 pseudo-random bits each, and by their size: two of
    /// a million sets share both with a probability below 10^-26.
    pub(crate) fn find(texts: &[&str], lengths: &RangeInclusive<u16>) -> Result<Self> {
        let mut corpus = Corpus::new(&[SourceText { name: "", answers: texts.to_vec() }], Markers::None)?;
        let suffixes = suffix_array::suffix_array(&mut corpus.text)?;
        let shared = suffix_array::bounded_lcp_array(&corpus.text, &suffixes, usize::from(*lengths.end()));
        let text_of_rank = {
            let text_of = corpus.answer_of_positions();
            suffixes.iter().map(|&position| text_of[position as usize]).collect()
        };
        let mut finder = Finder::new(texts.len(), lengths, text_of_rank);
        for (rank, &position) in suffixes.iter().enumerate() {
            let rest = corpus.answer_starts[finder.text_of_rank[rank] as usize + 1] - 1 - position;
            finder.add_suffix(rank, rest, &shared);
        }
        Ok(finder.classes())
    }

    pub(crate) fn texts(&self) -> usize {
        self.alone.len()
    }

    /// Number of classes.
    pub(crate) fn len(&self) -> usize {
        self.weights.len()
    }

    /// Classes of text `text`, ascending.
    pub(crate) fn of(&self, text: usize) -> &[u32] {
        &self.of_texts[self.starts[text]..self.starts[text + 1]]
    }

    /// Number of texts of class `class`.
    pub(crate) fn size(&self, class: usize) -> usize {
        self.sizes[class] as usize
    }

    /// Distinct n-grams of text `text`.
    pub(crate) fn ngrams_of(&self, text: usize) -> u64 {
        let shared: u64 = self.of(text).iter().map(|&class| u64::from(self.weights[class as usize])).sum();
        shared + u64::from(self.alone[text])
    }
}

struct Finder {
    lengths: RangeInclusive<u16>,
    text_of_rank: Vec<u32>,
    keys: Vec<u128>,
    /// Open ranges: symbols shared, and first rank.
    open: Vec<(u16, usize)>,
    /// Which range last counted a text.
    counted_by: Vec<u32>,
    ranges: u32,
    /// Texts of the range at hand.
    found: Vec<u32>,
    ngrams: u64,
    alone: Vec<u32>,
    known: FxHashMap<(u128, u32), u32>,
    weights: Vec<u32>,
    /// First text of each class, and the number of all.
    starts: Vec<usize>,
    texts: Vec<u32>,
}

impl Finder {
    fn new(texts: usize, lengths: &RangeInclusive<u16>, text_of_rank: Vec<u32>) -> Self {
        let mut random = Random::new(KEYS, 0);
        Self {
            lengths: lengths.clone(),
            text_of_rank,
            keys: (0..texts).map(|_| u128::from(random.next()) << 64 | u128::from(random.next())).collect(),
            open: Vec::new(),
            counted_by: vec![0; texts],
            ranges: 0,
            found: Vec::new(),
            ngrams: 0,
            alone: vec![0; texts],
            known: FxHashMap::default(),
            weights: Vec::new(),
            starts: vec![0],
            texts: Vec::new(),
        }
    }

    /// Adds the n-grams of the suffix of `rank` that no other suffix has, and the ranges that end with it.
    fn add_suffix(&mut self, rank: usize, rest: u32, shared: &[u16]) {
        let next = shared.get(rank + 1).copied().unwrap_or(0);
        let longest = rest.min(u32::from(*self.lengths.end())) as u16;
        let own = self.lengths_between(shared[rank].max(next), longest);
        self.alone[self.text_of_rank[rank] as usize] += own;
        self.ngrams += u64::from(own);
        let mut first = rank;
        while let Some(&(depth, start)) = self.open.last()
            && depth > next
        {
            self.open.pop();
            let above = self.open.last().map_or(0, |&(above, _)| above).max(next);
            self.add_range(start..rank + 1, self.lengths_between(above, depth));
            first = start;
        }
        if next > self.open.last().map_or(0, |&(depth, _)| depth) {
            self.open.push((next, first));
        }
    }

    /// How many of the lengths asked for are above `above` and up to `longest`.
    fn lengths_between(&self, above: u16, longest: u16) -> u32 {
        let below = above.max(*self.lengths.start() - 1);
        u32::from(longest.saturating_sub(below))
    }

    /// Adds `ngrams` n-grams whose places are the suffixes of `ranks`.
    fn add_range(&mut self, ranks: Range<usize>, ngrams: u32) {
        if ngrams == 0 {
            return;
        }
        self.ngrams += u64::from(ngrams);
        let key = self.find_texts(ranks);
        if let [text] = self.found[..] {
            self.alone[text as usize] += ngrams;
            return;
        }
        let class = *self.known.entry((key, self.found.len() as u32)).or_insert(self.weights.len() as u32);
        if class as usize == self.weights.len() {
            self.weights.push(0);
            self.texts.extend_from_slice(&self.found);
            self.starts.push(self.texts.len());
        }
        self.weights[class as usize] += ngrams;
    }

    /// Collects the distinct texts of `ranks` in `found` and returns the sum of their keys.
    fn find_texts(&mut self, ranks: Range<usize>) -> u128 {
        self.found.clear();
        self.ranges += 1;
        let mut key = 0u128;
        for &text in &self.text_of_rank[ranks] {
            let last = &mut self.counted_by[text as usize];
            if *last != self.ranges {
                *last = self.ranges;
                key = key.wrapping_add(self.keys[text as usize]);
                self.found.push(text);
            }
        }
        key
    }

    /// Numbers the classes by descending size, and turns "texts of a class" into "classes of a text".
    fn classes(self) -> Classes {
        let size = |class: u32| (self.starts[class as usize + 1] - self.starts[class as usize]) as u32;
        let mut order: Vec<u32> = (0..self.weights.len() as u32).collect();
        order.sort_by_key(|&class| std::cmp::Reverse(size(class)));
        let texts_of = |class: u32| &self.texts[self.starts[class as usize]..self.starts[class as usize + 1]];
        let mut starts = vec![0; self.alone.len() + 1];
        for &text in &self.texts {
            starts[text as usize + 1] += 1;
        }
        for text in 0..self.alone.len() {
            starts[text + 1] += starts[text];
        }
        let (mut next, mut of_texts) = (starts.clone(), vec![0; self.texts.len()]);
        for (number, &class) in order.iter().enumerate() {
            for &text in texts_of(class) {
                of_texts[next[text as usize]] = number as u32;
                next[text as usize] += 1;
            }
        }
        Classes {
            ngrams: self.ngrams,
            weights: order.iter().map(|&class| self.weights[class as usize]).collect(),
            sizes: order.iter().map(|&class| size(class)).collect(),
            alone: self.alone,
            starts,
            of_texts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::naive;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn classes_equal_the_obvious_way(
            texts in prop::collection::vec("[ab]{0,12}|[あ𠮷^]{0,9}|[a\u{0}\n]{0,9}", 1..9),
            min_n in 1u16..4,
            more in 0u16..10,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let found = Classes::find(&texts, &(min_n..=min_n + more)).unwrap();
            let (classes, alone) = naive::classes(&texts, min_n.into(), (min_n + more).into());
            let sets = (0..found.len()).map(|class| {
                let within = |text: &usize| found.of(*text).contains(&(class as u32));
                let set: BTreeSet<usize> = (0..texts.len()).filter(within).collect();
                (set, found.weights[class])
            });
            prop_assert_eq!(sets.collect::<BTreeMap<_, _>>(), classes.clone());
            prop_assert_eq!(found.len(), classes.len());
            prop_assert_eq!(found.ngrams, u64::from(classes.values().sum::<u32>() + alone.iter().sum::<u32>()));
            prop_assert_eq!(&found.alone, &alone);
            prop_assert!((0..texts.len()).all(|text| found.of(text).is_sorted()));
            prop_assert!((1..found.len()).all(|class| found.size(class - 1) >= found.size(class)));
        }
    }
}
