//! N-grams that occur in the same texts of a pool, grouped.
//!
//! For what a choice of texts contains, n-grams with the same texts are one: a *class*. They are found in the suffix
//! array with its LCP values: each maximal range of suffixes that share a prefix stands for the n-grams longer than the
//! enclosing range's prefix, and the texts of the range are theirs (Abouelhoda, Kurtz and Ohlebusch, "Replacing Suffix
//! Trees with Enhanced Suffix Arrays", 2004).

use crate::error::Result;
use crate::index::corpus::{Corpus, Markers, SourceText};
use crate::index::suffix_array;
use rustc_hash::FxHashMap;
use std::ops::{Range, RangeInclusive};

/// The n-grams of a pool of texts, in classes.
///
/// Memory: 8 bytes for each class of each text, beside 14 a character while building.
#[derive(Debug)]
pub(crate) struct Classes {
    /// N-grams of each class.
    pub(crate) weights: Vec<u32>,
    of_class: Lists,
    of_text: Lists,
}

/// Lists of numbers, one after the other.
#[derive(Debug)]
struct Lists {
    /// The first item of each list, and the number of all.
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Lists {
    fn of(&self, list: usize) -> &[u32] {
        &self.items[self.starts[list]..self.starts[list + 1]]
    }

    /// Lists of those of these lists that contain each of the numbers below `count`.
    fn inverted(&self, count: usize) -> Self {
        let mut starts = vec![0; count + 1];
        for &item in &self.items {
            starts[item as usize + 1] += 1;
        }
        for item in 0..count {
            starts[item + 1] += starts[item];
        }
        let (mut next, mut items) = (starts.clone(), vec![0; self.items.len()]);
        for list in 0..self.starts.len() - 1 {
            for &item in self.of(list) {
                items[next[item as usize]] = list as u32;
                next[item as usize] += 1;
            }
        }
        Self { starts, items }
    }
}

impl Classes {
    /// Finds the classes of n-grams of `lengths` characters. `O(N × longest)` for `N` characters.
    ///
    /// Sets of texts are known by their size and the sum of their texts' `digests`, of which two sets of different texts
    /// share both with a probability below 10^-26.
    pub(crate) fn find(texts: &[&str], digests: &[u128], lengths: &RangeInclusive<u16>) -> Result<Self> {
        let mut corpus = Corpus::new(&[SourceText { name: "", answers: texts.to_vec() }], Markers::None)?;
        let suffixes = suffix_array::suffix_array(&mut corpus.text)?;
        let shared = suffix_array::bounded_lcp_array(&corpus.text, &suffixes, usize::from(*lengths.end()));
        let text_of = corpus.answer_of_positions();
        let mut finder = Finder {
            lengths: lengths.clone(),
            text_of_rank: suffixes.iter().map(|&position| text_of[position as usize]).collect(),
            digests,
            open: Vec::new(),
            seen_by: vec![0; texts.len()],
            ranges: 0,
            known: FxHashMap::default(),
            weights: Vec::new(),
            of_class: Lists { starts: vec![0], items: Vec::new() },
        };
        for (rank, &position) in suffixes.iter().enumerate() {
            let rest = corpus.answer_starts[text_of[position as usize] as usize + 1] - 1 - position;
            finder.add_suffix(rank, rest, &shared);
        }
        let of_text = finder.of_class.inverted(texts.len());
        // Ascending texts, which are close to each other in memory.
        let of_class = of_text.inverted(finder.weights.len());
        Ok(Self { weights: finder.weights, of_class, of_text })
    }

    /// Classes of text `text`.
    pub(crate) fn of(&self, text: usize) -> &[u32] {
        self.of_text.of(text)
    }

    /// Texts of class `class`.
    pub(crate) fn texts(&self, class: usize) -> &[u32] {
        self.of_class.of(class)
    }
}

struct Finder<'a> {
    lengths: RangeInclusive<u16>,
    text_of_rank: Vec<u32>,
    digests: &'a [u128],
    /// Open ranges: symbols shared, and first rank.
    open: Vec<(u16, usize)>,
    /// Which range last counted a text.
    seen_by: Vec<u32>,
    ranges: u32,
    /// Class by the sum of its texts' digests and their number.
    known: FxHashMap<(u128, usize), u32>,
    weights: Vec<u32>,
    of_class: Lists,
}

impl Finder<'_> {
    /// Adds the n-grams of the suffix of `rank` that no other suffix has, and the ranges that end with it.
    fn add_suffix(&mut self, rank: usize, rest: u32, shared: &[u16]) {
        let next = shared.get(rank + 1).copied().unwrap_or(0);
        let longest = rest.min(u32::from(*self.lengths.end())) as u16;
        self.add_range(rank..rank + 1, shared[rank].max(next), longest);
        let mut first = rank;
        while let Some(&(depth, start)) = self.open.last()
            && depth > next
        {
            self.open.pop();
            let above = self.open.last().map_or(0, |&(above, _)| above).max(next);
            self.add_range(start..rank + 1, above, depth);
            first = start;
        }
        if next > self.open.last().map_or(0, |&(depth, _)| depth) {
            self.open.push((next, first));
        }
    }

    /// Adds the n-grams longer than `above` and up to `longest` whose places are the suffixes of `ranks`.
    fn add_range(&mut self, ranks: Range<usize>, above: u16, longest: u16) {
        let ngrams = longest.saturating_sub(above.max(*self.lengths.start() - 1));
        if ngrams == 0 {
            return;
        }
        let (texts, mut digest) = (&mut self.of_class.items, 0u128);
        let before = texts.len();
        self.ranges += 1;
        for &text in &self.text_of_rank[ranks] {
            let seen_by = &mut self.seen_by[text as usize];
            if *seen_by != self.ranges {
                *seen_by = self.ranges;
                digest = digest.wrapping_add(self.digests[text as usize]);
                texts.push(text);
            }
        }
        let class = *self.known.entry((digest, texts.len() - before)).or_insert(self.weights.len() as u32) as usize;
        if class == self.weights.len() {
            self.weights.push(0);
            self.of_class.starts.push(texts.len());
        } else {
            texts.truncate(before);
        }
        self.weights[class] += u32::from(ngrams);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{digests::digest, naive};
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
            let digests: Vec<u128> = texts.iter().map(|text| digest(text, 0)).collect();
            let found = Classes::find(&texts, &digests, &(min_n..=min_n + more)).unwrap();
            let expected = naive::classes(&texts, min_n.into(), (min_n + more).into());
            let set = |class: usize| found.texts(class).iter().map(|&text| text as usize).collect::<BTreeSet<_>>();
            let sets = (0..found.weights.len()).map(|class| (set(class), found.weights[class]));
            prop_assert_eq!(sets.collect::<BTreeMap<_, _>>(), expected.clone());
            prop_assert_eq!(found.weights.len(), expected.len());
            for text in 0..texts.len() {
                let own = (0..found.weights.len()).filter(|&class| set(class).contains(&text));
                prop_assert_eq!(found.of(text), own.map(|class| class as u32).collect::<Vec<_>>());
            }
        }
    }
}
