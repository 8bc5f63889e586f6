//! Sets of n-grams that always end together, from the suffix array of the reversed answers.
//!
//! The array's maximal ranges of suffixes that share a prefix of up to `depth` symbols are the nodes of a suffix tree;
//! read backwards, a node stands for the n-grams that end at exactly the same places, which differ only in how far they
//! reach to the left. Those sets are the states of the suffix automaton (Blumer et al., "The Smallest Automaton
//! Recognizing the Subwords of a Text", 1985), here cut at the longest n-gram that scoring asks for: reading a response,
//! the state after each character is that of the longest known n-gram ending there, and its suffix links lead to the
//! shorter ones: a state's suffix link is the parent of its node in the tree. Both layouts of the scoring table are made
//! from these states.

use super::corpus::Corpus;
use super::suffix_array;
use crate::error::Result;
use crate::fetch::fetch;
use crate::text::{SEPARATOR, Symbol};
use std::ops::Range;

pub(crate) const ROOT: u32 = 0;
/// How many states ahead of the one whose edges are found are prefetched.
const AHEAD: usize = 16;

/// N-grams that end at the same places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// Its suffix link: the state of the longest n-gram that also ends at other places.
    pub(crate) link: u32,
    /// Length of the state's longest n-gram.
    pub(crate) length: u16,
    /// Length of the link's longest n-gram: the state's n-grams are longer.
    pub(crate) above: u16,
}

/// The states, shorter n-grams first; state 0, the root, is the empty n-gram.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) sources: usize,
    pub(crate) depth: u16,
    pub(crate) list: Vec<State>,
    /// Document frequencies, one a source and state.
    pub(crate) frequencies: Vec<u32>,
    /// First edge of each state, and the number of edges.
    pub(crate) edge_starts: Vec<u32>,
    /// A next symbol and the state of the state's n-grams with that symbol behind them. N-grams of `depth` symbols
    /// are shortened by one before they are continued; a state that has no other n-grams has its link's edges,
    /// which are not repeated here.
    pub(crate) edges: Vec<(Symbol, u32)>,
}

impl States {
    /// All states of n-grams of up to `depth` symbols. `O(N × depth)`.
    pub(crate) fn derive(corpus: &Corpus, depth: usize) -> Result<Self> {
        let mut builder = Builder::new(corpus, depth)?;
        builder.add_states();
        let (edge_starts, edges) = builder.edges();
        let Builder { states, frequencies, .. } = builder;
        Ok(Self { depth: depth as u16, sources: corpus.names.len(), list: states, frequencies, edge_starts, edges })
    }

    pub(crate) fn frequencies_of(&self, state: usize) -> &[u32] {
        &self.frequencies[state * self.sources..][..self.sources]
    }

    pub(crate) fn edges_of(&self, state: usize) -> &[(Symbol, u32)] {
        &self.edges[self.edge_starts[state] as usize..self.edge_starts[state + 1] as usize]
    }
}

struct Builder<'a> {
    corpus: &'a Corpus,
    depth: u32,
    text: Vec<Symbol>,
    suffixes: Vec<u32>,
    /// Symbols that the suffixes of rank `k − 1` and `k` share, at most `depth`.
    shared: Vec<u16>,
    places: Vec<Place>,
    source_of_answer: Vec<u32>,
    /// The state that last counted an answer.
    counted_by: Vec<u32>,
    states: Vec<State>,
    /// The range of ranks below each state.
    ranges: Vec<Range<u32>>,
    frequencies: Vec<u32>,
    /// The state of the most symbols of the suffix at each position; its suffix links lead to those of fewer.
    deepest: Vec<u32>,
}

/// Where the suffix of a rank begins.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    answer: u32,
    /// Symbols to the end of the answer, at most `depth`.
    rest: u32,
}

impl<'a> Builder<'a> {
    fn new(corpus: &'a Corpus, depth: usize) -> Result<Self> {
        let mut text = corpus.backwards();
        let suffixes = suffix_array::suffix_array(&mut text)?;
        let sources = corpus.names.len();
        Ok(Self {
            corpus,
            depth: depth as u32,
            shared: suffix_array::bounded_lcp_array(&text, &suffixes, depth),
            places: places(corpus, &suffixes, depth as u32),
            source_of_answer: (0..corpus.answers()).map(|answer| corpus.source_of(answer as u32) as u32).collect(),
            counted_by: vec![ROOT; corpus.answers()],
            states: vec![State { link: ROOT, length: 0, above: 0 }],
            ranges: std::iter::once(0..suffixes.len() as u32).collect(),
            frequencies: vec![0; sources],
            deepest: vec![ROOT; suffixes.len()],
            text,
            suffixes,
        })
    }

    /// Breadth first, so that shorter n-grams, which are met more often, lie closer together.
    fn add_states(&mut self) {
        let mut state = ROOT;
        while (state as usize) < self.states.len() {
            if u32::from(self.states[state as usize].length) < self.depth {
                self.add_linked_to(state);
            } else {
                self.end_in(state);
            }
            state += 1;
        }
    }

    /// Adds the states whose suffix link is `link`.
    fn add_linked_to(&mut self, link: u32) {
        let length = self.states[link as usize].length;
        let Range { mut start, end: last } = self.ranges[link as usize];
        while start < last {
            let (mut end, mut shared) = (start + 1, u16::MAX);
            while end < last && self.shared[end as usize] > length {
                shared = shared.min(self.shared[end as usize]);
                end += 1;
            }
            if self.places[start as usize].rest > u32::from(length) {
                self.add_state(link, start..end, shared);
            } else {
                // Nothing is shared with an answer's end.
                self.deepest[self.suffixes[start as usize] as usize] = link;
            }
            start = end;
        }
    }

    /// Notes that the suffixes of a state have no longer n-grams.
    fn end_in(&mut self, state: u32) {
        let Range { start, end } = self.ranges[state as usize];
        for &position in &self.suffixes[start as usize..end as usize] {
            self.deepest[position as usize] = state;
        }
    }

    /// Adds the state of the suffixes of `ranks`, which share `shared` symbols (any number where there is only one).
    fn add_state(&mut self, link: u32, ranks: Range<u32>, shared: u16) {
        let state = self.states.len() as u32;
        let row = self.frequencies.len();
        self.frequencies.resize(row + self.corpus.names.len(), 0);
        let frequencies = &mut self.frequencies[row..];
        let length = match &self.places[ranks.start as usize..ranks.end as usize] {
            [only] => {
                frequencies[self.source_of_answer[only.answer as usize] as usize] = 1;
                only.rest as u16
            }
            places => {
                for &Place { answer, .. } in places {
                    let last = &mut self.counted_by[answer as usize];
                    let source = self.source_of_answer[answer as usize] as usize;
                    frequencies[source] += u32::from(*last != state);
                    *last = state;
                }
                shared
            }
        };
        self.states.push(State { link, length, above: self.states[link as usize].length });
        self.ranges.push(ranks);
    }

    /// An edge leads to a state from those of its n-grams without their last symbol. Backwards, that is the state's
    /// prefix begun one symbol later; the n-grams without it lie on the suffix links from there to the root.
    fn edges(&self) -> (Vec<u32>, Vec<(Symbol, u32)>) {
        let mut found = Vec::with_capacity(2 * self.states.len());
        let mut starts = vec![0; self.states.len() + 1];
        self.each_edge(|from, symbol, to| {
            found.push((from, symbol, to));
            starts[from as usize + 1] += 1;
        });
        for state in 0..self.states.len() {
            starts[state + 1] += starts[state];
        }
        let mut next = starts.clone();
        let mut edges = vec![(SEPARATOR, ROOT); found.len()];
        for (from, symbol, to) in found {
            edges[next[from as usize] as usize] = (symbol, to);
            next[from as usize] += 1;
        }
        (starts, edges)
    }

    fn each_edge(&self, mut edge: impl FnMut(u32, Symbol, u32)) {
        let (symbols, shortened) = self.shortened();
        for (to, &State { length, above, .. }) in self.states.iter().enumerate().skip(1) {
            let symbol = symbols[to];
            if let Some(&state) = shortened.get(to + AHEAD) {
                fetch(&self.states, state as usize);
            }
            let mut from = match length {
                1 => ROOT,
                _ => self.prefix(shortened[to], length - 1),
            };
            while from != ROOT && self.states[from as usize].length >= above {
                edge(from, symbol, to as u32);
                from = self.states[from as usize].link;
            }
            if from == ROOT && above == 0 {
                edge(ROOT, symbol, to as u32);
            }
        }
    }

    /// The last symbol of each state, and the deepest state of its n-grams without it. These reads are all over memory, and
    /// side by side here, since none waits for another.
    fn shortened(&self) -> (Vec<Symbol>, Vec<u32>) {
        let mut symbols = vec![SEPARATOR; self.states.len()];
        for (state, range) in self.ranges.iter().enumerate().skip(1) {
            symbols[state] = match self.states[state].link {
                ROOT => self.text[self.suffixes[range.start as usize] as usize],
                link => symbols[link as usize],
            };
        }
        let next = |range: &Range<u32>| self.suffixes[range.start as usize] as usize + 1;
        let shortened = self.ranges.iter().map(|range| self.deepest.get(next(range)).copied().unwrap_or(ROOT));
        (symbols, shortened.collect())
    }

    /// The state of the first `length` symbols of the n-grams of `state`.
    fn prefix(&self, mut state: u32, length: u16) -> u32 {
        while self.states[state as usize].above >= length {
            state = self.states[state as usize].link;
        }
        state
    }
}

fn places(corpus: &Corpus, suffixes: &[u32], depth: u32) -> Vec<Place> {
    let mut of_position = Vec::with_capacity(corpus.text.len());
    for (answer, bounds) in (0..).zip(corpus.answer_starts.windows(2)) {
        let rest = |position: u32| (bounds[1] - 1 - position).min(depth);
        of_position.extend((bounds[0]..bounds[1]).map(|position| Place { answer, rest: rest(position) }));
    }
    suffixes.iter().map(|&position| of_position[position as usize]).collect()
}

pub(crate) fn answers_of_ranks(corpus: &Corpus, suffixes: &[u32]) -> Vec<u32> {
    let mut answer_of_position = Vec::with_capacity(corpus.text.len());
    for (answer, bounds) in corpus.answer_starts.windows(2).enumerate() {
        answer_of_position.resize(bounds[1] as usize, answer as u32);
    }
    suffixes.iter().map(|&position| answer_of_position[position as usize]).collect()
}
