//! The scoring table in its wide layout: any number of sources, n-grams, states and characters.
//!
//! It says which n-grams end at each character of a response, and how frequent they are, with 32-bit frequencies. Variant
//! `paper`, explanations and whatever the compact layout has no room for use it.

use super::corpus::Corpus;
use super::states::{ROOT, State, States};
use crate::blob::{Blob, BlobBuilder};
use crate::error::{Error, Result};
use crate::text::Symbol;
use bytemuck::{Pod, Zeroable};
use std::ops::RangeInclusive;

const NONE: u32 = u32::MAX;

/// What the table must answer.
#[derive(Debug, Clone)]
pub(crate) struct Lengths {
    /// N-grams whose document frequencies are summed.
    pub(crate) summed: RangeInclusive<usize>,
    /// N-grams whose document frequency is needed by itself.
    pub(crate) window: usize,
}

impl Lengths {
    /// The longest n-gram that is needed.
    pub(crate) fn depth(&self) -> usize {
        (*self.summed.end()).max(self.window)
    }

    /// How many of the lengths in `above + 1 ..= up_to` are summed.
    fn summed(&self, above: usize, up_to: usize) -> u32 {
        let (from, to) = ((above + 1).max(*self.summed.start()), up_to.min(*self.summed.end()));
        (to + 1).saturating_sub(from) as u32
    }
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct WideState {
    first_edge: u32,
    edges: u32,
    link: u32,
    length: u16,
    above: u16,
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Edge {
    symbol: Symbol,
    target: u32,
}

/// A position in a response: the state of its last characters and how many of them are known to stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    state: u32,
    /// Length of the longest known n-gram that ends here.
    pub(crate) length: usize,
}

impl Match {
    /// The match before the first character.
    pub(crate) const START: Self = Self { state: ROOT, length: 0 };
}

/// Document frequencies of all n-grams up to a length, for reading responses character by character.
///
/// A response of `m` symbols takes `O(m)` steps, each a search among a state's edges. Memory: `16 + 12 × sources` bytes a
/// state and 8 bytes an edge; there are at most twice as many states, and three times as many edges, as characters.
#[derive(Debug)]
pub(crate) struct NgramTable {
    lengths: Lengths,
    sources: usize,
    blob: Blob,
}

/// The table's arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NgramView<'a> {
    lengths: &'a Lengths,
    depth: usize,
    sources: usize,
    states: &'a [WideState],
    edges: &'a [Edge],
    /// The state after a symbol that continues nothing known.
    roots: &'a [u32],
    /// Per state: document frequency by source; sums of those of its n-grams and of all shorter ones that end at the same
    /// place, over the summed lengths; frequencies of the window among them.
    rows: &'a [u32],
}

impl NgramTable {
    const ARRAYS: usize = 4;

    /// The table of `corpus`.
    pub(crate) fn new(corpus: &Corpus, lengths: Lengths) -> Result<Self> {
        let states = States::derive(corpus, lengths.depth())?;
        let mut roots = vec![NONE; corpus.alphabet.len()];
        for &(symbol, target) in states.edges_of(ROOT as usize) {
            roots[symbol as usize] = target;
        }
        let (wide, edges) = wide_states(&states);
        let rows = rows(&states, &lengths);
        let blob = BlobBuilder::default().array(&wide).array(&edges).array(&roots).array(&rows).finish();
        Ok(Self { lengths, sources: states.sources, blob })
    }

    /// The table that was stored as `blob`, for sources of so many `answers` and so many `symbols`.
    pub(crate) fn stored(blob: Blob, answers: &[usize], symbols: usize, lengths: Lengths) -> Result<Self> {
        let damaged = |reason| Error::DamagedStore { reason };
        if !Self::has_arrays(&blob) {
            return Err(damaged("a wide table has unexpected arrays"));
        }
        let table = Self { lengths, sources: answers.len(), blob };
        let view = table.view();
        if view.are_states_sound() && view.are_edges_sound(symbols) && view.are_rows_sound(answers) {
            Ok(table)
        } else {
            Err(damaged("a wide table leads nowhere"))
        }
    }

    fn has_arrays(blob: &Blob) -> bool {
        blob.arrays() == Self::ARRAYS
            && blob.checked::<WideState>(0).is_some()
            && blob.checked::<Edge>(1).is_some()
            && blob.checked::<u32>(2).is_some()
            && blob.checked::<u32>(3).is_some()
    }

    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(crate) fn view(&self) -> NgramView<'_> {
        NgramView {
            lengths: &self.lengths,
            depth: self.lengths.depth(),
            sources: self.sources,
            states: self.blob.array(0),
            edges: self.blob.array(1),
            roots: self.blob.array(2),
            rows: self.blob.array(3),
        }
    }
}

/// Whether a table that was stored can be read: whatever the response, every walk ends, and inside the arrays. A table that
/// was built is sound; a file may hold anything.
impl NgramView<'_> {
    /// Suffix links lead to states of shorter n-grams, so that following them ends at the root.
    fn are_states_sound(&self) -> bool {
        let is_sound = |(number, state): (usize, &WideState)| {
            let &WideState { first_edge, edges, link, length, above } = state;
            first_edge.checked_add(edges).is_some_and(|end| end as usize <= self.edges.len())
                && usize::from(length) <= self.depth
                && if number == ROOT as usize {
                    (link, length, above) == (ROOT, 0, 0)
                } else {
                    above < length && self.states.get(link as usize).is_some_and(|link| link.length == above)
                }
                && (above == 0) == (link == ROOT)
        };
        !self.states.is_empty() && self.states.iter().enumerate().all(is_sound)
    }

    fn are_edges_sound(&self, symbols: usize) -> bool {
        let is_state = |state: u32| (state as usize) < self.states.len();
        self.roots.len() == symbols
            && self.edges.iter().all(|edge| is_state(edge.target))
            && self.roots.iter().all(|&root| root == NONE || is_state(root))
    }

    /// Frequencies are at most the number of answers, and sums are those of the link and of the state's own n-grams.
    fn are_rows_sound(&self, answers: &[usize]) -> bool {
        let is_sound = |(number, state): (usize, &WideState)| {
            let (row, link) = (self.row(number as u32), self.row(state.link));
            let own = self.lengths.summed(state.above.into(), state.length.into());
            (0..self.sources).all(|source| {
                let (frequency, sum, window) =
                    (row[source], row[self.sources + source], row[2 * self.sources + source]);
                let inherited = link[self.sources + source];
                frequency as usize <= answers[source]
                    && window as usize <= answers[source]
                    && own.checked_mul(frequency).and_then(|own| own.checked_add(inherited)) == Some(sum)
            })
        };
        self.rows.len() == self.states.len() * 3 * self.sources
            && self.row(ROOT).iter().all(|&value| value == 0)
            && self.states.iter().enumerate().all(is_sound)
    }
}

impl<'a> NgramView<'a> {
    /// The match after one more symbol.
    #[inline]
    pub(crate) fn step(&self, before: Match, symbol: Symbol) -> Match {
        let Ok(code) = usize::try_from(symbol) else { return Match::START };
        let Match { mut state, mut length } = before;
        if length == self.depth {
            length -= 1;
            let WideState { link, above, .. } = self.states[state as usize];
            if above as usize == length {
                state = link;
            }
        }
        while state != ROOT {
            if let Some(target) = self.target(state, symbol) {
                return Match { state: target, length: length + 1 };
            }
            let WideState { link, above, .. } = self.states[state as usize];
            (state, length) = (link, above as usize);
        }
        match self.roots[code] {
            NONE => Match::START,
            state => Match { state, length: 1 },
        }
    }

    /// Adds, for each source, the document frequencies of the n-grams that end at `at` and are longer than `above` and at
    /// most `up_to` (no longer than the match), as far as their lengths are summed.
    #[inline]
    pub(crate) fn add_frequencies(&self, at: Match, above: usize, up_to: usize, sums: &mut [u64]) {
        if up_to <= above {
            return;
        }
        let (frequencies, up, extra) = self.sums(at.state, up_to);
        for ((sum, up), frequency) in sums.iter_mut().zip(up).zip(frequencies) {
            *sum += u64::from(up - extra * frequency);
        }
        if above > 0 {
            let (frequencies, down, extra) = self.sums(at.state, above);
            for ((sum, down), frequency) in sums.iter_mut().zip(down).zip(frequencies) {
                *sum -= u64::from(down - extra * frequency);
            }
        }
    }

    /// Document frequencies of the window that ends at `at`, by source, or `None` where it is unknown.
    #[inline]
    pub(crate) fn window(&self, at: Match) -> Option<&'a [u32]> {
        (at.length >= self.lengths.window).then(|| &self.row(at.state)[2 * self.sources..])
    }

    fn target(&self, state: u32, symbol: Symbol) -> Option<u32> {
        let WideState { first_edge, edges, .. } = self.states[state as usize];
        let edges = &self.edges[first_edge as usize..(first_edge + edges) as usize];
        match edges {
            [only] => (only.symbol == symbol).then_some(only.target),
            _ => edges.binary_search_by_key(&symbol, |edge| edge.symbol).ok().map(|edge| edges[edge].target),
        }
    }

    fn row(&self, state: u32) -> &'a [u32] {
        &self.rows[state as usize * 3 * self.sources..][..3 * self.sources]
    }

    /// Of the suffixes, up to `length` symbols, of `state`'s n-grams: the frequencies of the longest, by source; the sums
    /// over its state; and by how many times the frequencies those are too large.
    #[inline]
    fn sums(&self, mut state: u32, length: usize) -> (&'a [u32], &'a [u32], u32) {
        while length <= self.states[state as usize].above as usize {
            state = self.states[state as usize].link;
        }
        let longest = self.states[state as usize].length as usize;
        let (frequencies, rest) = self.row(state).split_at(self.sources);
        (frequencies, &rest[..self.sources], self.lengths.summed(length, longest))
    }
}

/// States with their edges in the order of symbols; the root's are left to the table of roots.
fn wide_states(states: &States) -> (Vec<WideState>, Vec<Edge>) {
    let mut wide = Vec::with_capacity(states.list.len());
    let mut edges = Vec::with_capacity(states.edges.len());
    for (number, &State { link, length, above }) in states.list.iter().enumerate() {
        let first = edges.len();
        if number != ROOT as usize {
            edges.extend(states.edges_of(number).iter().map(|&(symbol, target)| Edge { symbol, target }));
            edges[first..].sort_unstable_by_key(|edge| edge.symbol);
        }
        let count = (edges.len() - first) as u32;
        wide.push(WideState { first_edge: first as u32, edges: count, link, length, above });
    }
    (wide, edges)
}

fn rows(states: &States, lengths: &Lengths) -> Vec<u32> {
    let sources = states.sources;
    let width = 3 * sources;
    let mut rows = vec![0; states.list.len() * width];
    for (number, &State { link, length, above }) in states.list.iter().enumerate().skip(1) {
        let frequencies = states.frequencies_of(number);
        let counted = lengths.summed(above as usize, length as usize);
        let (before, row) = rows.split_at_mut(number * width);
        let inherited = &before[link as usize * width..][..width];
        row[..sources].copy_from_slice(frequencies);
        for source in 0..sources {
            row[sources + source] = inherited[sources + source] + counted * frequencies[source];
            row[2 * sources + source] = match lengths.window as u16 {
                window if above >= window => inherited[2 * sources + source],
                window if length >= window => frequencies[source],
                _ => 0,
            };
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Markers, NgramIndex, SourceText};
    use proptest::prelude::*;

    proptest! {
        /// The table says what the index says, for every n-gram of random texts.
        #[test]
        fn equals_the_index(
            a in prop::collection::vec("[ab^]{0,12}", 1..8),
            b in prop::collection::vec("[abc]{0,12}", 0..8),
            text in "[abcd^]{0,15}",
            min_n in 1usize..4,
            more in 0usize..10,
            window in 1usize..6,
        ) {
            let sources = [("a", &a), ("b", &b)]
                .map(|(name, answers)| SourceText { name, answers: answers.iter().map(String::as_str).collect() });
            let index = NgramIndex::build(&sources, Markers::None).unwrap();
            let summed = min_n..=min_n + more;
            let corpus = Corpus::new(&sources, Markers::None).unwrap();
            let table = NgramTable::new(&corpus, Lengths { summed: summed.clone(), window }).unwrap();
            let table = table.view();
            let characters: Vec<char> = text.chars().collect();
            let frequency = |end: usize, n: usize| {
                let ngram: String = characters[end - n..end].iter().collect();
                index.document_frequency(&ngram).unwrap().by_source
            };
            let mut at = Match::START;
            for end in 1..=characters.len() {
                at = table.step(at, index.alphabet().symbol(characters[end - 1]));
                let known = (1..=end.min(table.depth)).rev().find(|&n| frequency(end, n).iter().any(|&df| df > 0));
                prop_assert_eq!(at.length, known.unwrap_or(0));
                let expected = if window <= end { frequency(end, window) } else { vec![0, 0] };
                prop_assert_eq!(table.window(at).unwrap_or(&[0, 0]), expected);
                for above in 0..=at.length {
                    for up_to in above..=at.length {
                        let mut sums = vec![0; 2];
                        table.add_frequencies(at, above, up_to, &mut sums);
                        let mut expected = vec![0; 2];
                        for n in (above + 1..=up_to).filter(|n| summed.contains(n)) {
                            for (sum, df) in expected.iter_mut().zip(frequency(end, n)) {
                                *sum += u64::from(df);
                            }
                        }
                        prop_assert_eq!(&sums, &expected);
                    }
                }
            }
        }
    }
}
