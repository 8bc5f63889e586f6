//! The scoring table: which n-grams end at each character of a response, and how frequent they are.
//!
//! Derived from a suffix array with LCP over the reversed answers. Its maximal ranges of suffixes that share a prefix of up
//! to `depth` symbols are the nodes of a suffix tree; read backwards, a node stands for the n-grams that end at exactly the
//! same places, which differ only in how far they reach to the left. Those sets are the states of the suffix automaton
//! (Blumer et al., "The Smallest Automaton Recognizing the Subwords of a Text", 1985), here cut at the longest n-gram that
//! scoring asks for: reading a response, the state after each character is that of the longest known n-gram ending there,
//! and a node's ancestors are the shorter ones.

use super::document_frequency::AnswerCounter;
use super::{NgramIndex, suffix_array};
use crate::error::Result;
use crate::text::{SEPARATOR, Symbol};
use std::ops::{Range, RangeInclusive};

const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;

/// What the table must answer.
#[derive(Debug, Clone)]
pub(crate) struct Lengths {
    /// N-grams whose document frequencies are summed.
    pub(crate) summed: RangeInclusive<usize>,
    /// N-grams whose document frequency is wanted by itself.
    pub(crate) window: usize,
}

#[derive(Debug, Clone, Copy)]
struct State {
    first_edge: u32,
    edges: u32,
    /// The state of the longest n-gram that ends at more places.
    parent: u32,
    /// Length of the state's longest n-gram.
    length: u16,
    /// Length of the parent's: the state's n-grams are longer.
    above: u16,
}

/// A position in a response: the state of its last characters and how many of them are known to stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    state: u32,
    /// Length of the longest known n-gram that ends here.
    pub(crate) length: usize,
}

/// Document frequencies of all n-grams up to a length, for reading responses character by character.
///
/// A response of `m` symbols takes `O(m)` steps, each a search among a state's edges. Memory: `16 + 12 × sources` bytes a
/// state and 8 bytes an edge; there are at most twice as many states, and three times as many edges, as characters.
#[derive(Debug)]
pub(crate) struct NgramTable {
    lengths: Lengths,
    depth: usize,
    sources: usize,
    states: Vec<State>,
    edges: Vec<(Symbol, u32)>,
    /// The state after a symbol that continues nothing known.
    roots: Vec<u32>,
    /// Per state: document frequency by source; sums of those of its n-grams and of all shorter ones that end at the same
    /// place, over the summed lengths; frequencies of the window among them.
    rows: Vec<u32>,
}

impl NgramTable {
    /// Derives the table in time `O(N × depth)`.
    pub(crate) fn derive(index: &NgramIndex, lengths: Lengths) -> Result<Self> {
        Ok(Builder::new(index, lengths)?.build())
    }

    /// The match before the first character.
    pub(crate) fn start() -> Match {
        Match { state: ROOT, length: 0 }
    }

    /// The match after one more symbol.
    #[inline]
    pub(crate) fn step(&self, before: Match, symbol: Symbol) -> Match {
        let Ok(code) = usize::try_from(symbol) else { return Self::start() };
        let Match { mut state, mut length } = before;
        if length == self.depth {
            length -= 1;
            let State { parent, above, .. } = self.states[state as usize];
            if above as usize == length {
                state = parent;
            }
        }
        while state != ROOT {
            if let Some(target) = self.target(state, symbol) {
                return Match { state: target, length: length + 1 };
            }
            let State { parent, above, .. } = self.states[state as usize];
            (state, length) = (parent, above as usize);
        }
        match self.roots[code] {
            NONE => Self::start(),
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
    pub(crate) fn window(&self, at: Match) -> Option<&[u32]> {
        (at.length >= self.lengths.window).then(|| &self.row(at.state)[2 * self.sources..])
    }

    fn target(&self, state: u32, symbol: Symbol) -> Option<u32> {
        let State { first_edge, edges, .. } = self.states[state as usize];
        let edges = &self.edges[first_edge as usize..(first_edge + edges) as usize];
        match edges {
            [(only, target)] => (*only == symbol).then_some(*target),
            _ => edges.binary_search_by_key(&symbol, |edge| edge.0).ok().map(|edge| edges[edge].1),
        }
    }

    fn row(&self, state: u32) -> &[u32] {
        &self.rows[state as usize * 3 * self.sources..][..3 * self.sources]
    }

    /// Of the suffixes, up to `length` symbols, of `state`'s n-grams: the frequencies of the longest, by source; the sums
    /// over its state; and by how many times the frequencies those are too large.
    #[inline]
    fn sums(&self, mut state: u32, length: usize) -> (&[u32], &[u32], u32) {
        while length <= self.states[state as usize].above as usize {
            state = self.states[state as usize].parent;
        }
        let longest = self.states[state as usize].length as usize;
        let (frequencies, rest) = self.row(state).split_at(self.sources);
        (frequencies, &rest[..self.sources], summed(&self.lengths.summed, length, longest))
    }
}

/// How many of the lengths in `above + 1 ..= up_to` are summed.
fn summed(lengths: &RangeInclusive<usize>, above: usize, up_to: usize) -> u32 {
    let (from, to) = ((above + 1).max(*lengths.start()), up_to.min(*lengths.end()));
    (to + 1).saturating_sub(from) as u32
}

struct Builder<'a> {
    index: &'a NgramIndex,
    /// Every answer backwards, followed by a separator: answers begin where they do in the index.
    text: Vec<Symbol>,
    suffixes: Vec<u32>,
    lcp: Vec<u32>,
    answer_of_rank: Vec<u32>,
    counter: AnswerCounter,
    /// The range of ranks below each state.
    ranges: Vec<Range<usize>>,
    /// The state of the most symbols of the suffix of each rank; those of fewer are its ancestors.
    deepest: Vec<u32>,
    table: NgramTable,
}

impl<'a> Builder<'a> {
    fn new(index: &'a NgramIndex, lengths: Lengths) -> Result<Self> {
        let mut text = backwards(index);
        let suffixes = suffix_array::suffix_array(&mut text)?;
        let lcp = suffix_array::lcp_array(&text, &suffixes);
        let depth = (*lengths.summed.end()).max(lengths.window);
        let sources = index.names.len();
        let root = State { first_edge: 0, edges: 0, parent: ROOT, length: 0, above: 0 };
        let table = NgramTable {
            lengths,
            depth,
            sources,
            states: vec![root],
            edges: Vec::new(),
            roots: vec![NONE; index.alphabet.len()],
            rows: vec![0; 3 * sources],
        };
        Ok(Self {
            index,
            answer_of_rank: answers_of_ranks(index, &suffixes),
            counter: AnswerCounter::new(index),
            ranges: std::iter::once(0..suffixes.len()).collect(),
            deepest: vec![ROOT; text.len()],
            text,
            suffixes,
            lcp,
            table,
        })
    }

    /// Breadth first, so that shorter n-grams, which are met more often, lie closer together.
    fn build(mut self) -> NgramTable {
        let mut state = ROOT;
        while (state as usize) < self.table.states.len() {
            if (self.table.states[state as usize].length as usize) < self.table.depth {
                self.add_children(state);
            }
            state += 1;
        }
        self.add_edges();
        self.table
    }

    fn add_children(&mut self, parent: u32) {
        let length = u32::from(self.table.states[parent as usize].length);
        let Range { mut start, end: last } = self.ranges[parent as usize];
        while start < last {
            let (mut end, mut shared) = (start + 1, u32::MAX);
            while end < last && self.lcp[end] > length {
                shared = shared.min(self.lcp[end]);
                end += 1;
            }
            if self.text[(self.suffixes[start] + length) as usize] != SEPARATOR {
                self.add_state(parent, start..end, shared);
            }
            start = end;
        }
    }

    /// Adds the state of the suffixes of `ranks`, which share `shared` symbols (any number where there is only one).
    fn add_state(&mut self, parent: u32, ranks: Range<usize>, shared: u32) {
        let answers = &self.answer_of_rank[ranks.clone()];
        let answer_end = self.index.answer_starts[answers[0] as usize + 1] - 1;
        let length = shared.min(answer_end - self.suffixes[ranks.start]).min(self.table.depth as u32) as u16;
        let above = self.table.states[parent as usize].length;
        let state = self.table.states.len() as u32;

        let sources = self.table.sources;
        let mut frequencies = vec![0; sources];
        self.counter.count(self.index, answers.iter().copied(), &mut frequencies);
        let counted = summed(&self.table.lengths.summed, above as usize, length as usize);
        let parent_row = self.table.row(parent).to_vec();
        let sums = frequencies.iter().zip(&parent_row[sources..]).map(|(frequency, sum)| sum + counted * frequency);
        let window = self.table.lengths.window as u16;
        let windows = match window {
            _ if above >= window => parent_row[2 * sources..].to_vec(),
            _ if length >= window => frequencies.clone(),
            _ => vec![0; sources],
        };
        let row: Vec<u32> = frequencies.iter().copied().chain(sums).chain(windows).collect();
        self.table.rows.extend(row);

        self.table.states.push(State { first_edge: 0, edges: 0, parent, length, above });
        self.deepest[ranks.clone()].fill(state);
        self.ranges.push(ranks);
    }

    /// The state of the first `length` symbols of the suffix of rank `rank`.
    fn state_of(&self, rank: usize, length: usize) -> u32 {
        let mut state = self.deepest[rank];
        while self.table.states[state as usize].above as usize >= length {
            state = self.table.states[state as usize].parent;
        }
        state
    }

    /// A state's n-gram and one more symbol is, backwards, that symbol before the state's prefix: the suffixes of the
    /// state's range, begun one symbol earlier, say which symbols those are and where they lead.
    fn add_edges(&mut self) {
        let rank_of = suffix_array::ranks(&self.suffixes);
        let mut added_by = vec![NONE; self.index.alphabet.len()];
        for state in 0..self.table.states.len() {
            let State { length, above, .. } = self.table.states[state];
            let first_edge = self.table.edges.len();
            // The longest n-grams are shortened before they are continued.
            let continued = (length as usize).min(self.table.depth - 1);
            let reachable = state == ROOT as usize || continued > above as usize;
            for rank in self.ranges[state].clone().filter(|_| reachable) {
                let position = self.suffixes[rank] as usize;
                let Some(before) = position.checked_sub(1) else { continue };
                let symbol = self.text[before];
                if symbol == SEPARATOR || added_by[symbol as usize] == state as u32 {
                    continue;
                }
                added_by[symbol as usize] = state as u32;
                let target = self.state_of(rank_of[before] as usize, continued + 1);
                self.table.edges.push((symbol, target));
            }
            self.table.edges[first_edge..].sort_unstable();
            self.table.states[state].first_edge = first_edge as u32;
            self.table.states[state].edges = (self.table.edges.len() - first_edge) as u32;
        }
        for (symbol, target) in self.table.edges.drain(..self.table.states[0].edges as usize) {
            self.table.roots[symbol as usize] = target;
        }
        let moved = std::mem::take(&mut self.table.states[0].edges);
        for state in &mut self.table.states[1..] {
            state.first_edge -= moved;
        }
    }
}

fn backwards(index: &NgramIndex) -> Vec<Symbol> {
    let mut text = Vec::with_capacity(index.text.len());
    for answer in 0..index.answer_starts.len() - 1 {
        text.extend(index.symbols_of(answer).iter().rev());
        text.push(SEPARATOR);
    }
    text
}

fn answers_of_ranks(index: &NgramIndex, suffixes: &[u32]) -> Vec<u32> {
    let mut answer_of_position = Vec::with_capacity(index.text.len());
    for (answer, bounds) in index.answer_starts.windows(2).enumerate() {
        answer_of_position.resize(bounds[1] as usize, answer as u32);
    }
    suffixes.iter().map(|&position| answer_of_position[position as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Markers, SourceText};
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
            let source = |name, answers: &[String]| SourceText {
                name,
                answers: answers.iter().map(|answer| &*String::leak(answer.clone())).collect(),
            };
            let index = NgramIndex::build(&[source("a", &a), source("b", &b)], Markers::None).unwrap();
            let summed = min_n..=min_n + more;
            let table = NgramTable::derive(&index, Lengths { summed: summed.clone(), window }).unwrap();
            let characters: Vec<char> = text.chars().collect();
            let frequency = |end: usize, n: usize| {
                let ngram: String = characters[end - n..end].iter().collect();
                index.document_frequency(&ngram).unwrap().by_source
            };
            let mut at = NgramTable::start();
            for end in 1..=characters.len() {
                at = table.step(at, index.alphabet.symbol(characters[end - 1]));
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
