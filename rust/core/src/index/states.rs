//! Sets of n-grams that always end together, from the suffix tree of the reversed answers.
//!
//! Read backwards, a node of the [tree](super::tree) stands for the n-grams that end at exactly the same places, which
//! differ only in how far they reach to the left. Those sets are the states of the suffix automaton (Blumer et al., "The
//! Smallest Automaton Recognizing the Subwords of a Text", 1985), here cut at the longest n-gram that scoring asks for: reading
//! a response, the state after each character is that of the longest known n-gram ending there, and its suffix links lead to
//! the shorter ones: a state's suffix link is the parent of its node in the tree. Both layouts of the scoring table are made
//! from these states.

use super::corpus::Corpus;
use super::tree::{Node, Tree};
use crate::error::Result;
use crate::fetch::fetch;
use crate::text::{SEPARATOR, Symbol};

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
        let sources = corpus.names.len();
        let builder = Builder::new(&Tree::new(corpus, depth)?, sources);
        let (edge_starts, edges) = builder.edges();
        let Builder { states, frequencies, .. } = builder;
        Ok(Self { depth: depth as u16, sources, list: states, frequencies, edge_starts, edges })
    }

    pub(crate) fn frequencies_of(&self, state: usize) -> &[u32] {
        &self.frequencies[state * self.sources..][..self.sources]
    }

    pub(crate) fn edges_of(&self, state: usize) -> &[(Symbol, u32)] {
        &self.edges[self.edge_starts[state] as usize..self.edge_starts[state + 1] as usize]
    }
}

/// The states by their numbers, and what their edges are found from.
struct Builder {
    states: Vec<State>,
    frequencies: Vec<u32>,
    /// The last symbol of each state's n-grams.
    symbols: Vec<Symbol>,
    /// For each state, the one of the most symbols of its n-grams without their last; its suffix links lead to those of fewer.
    shortened: Vec<u32>,
}

impl Builder {
    /// Numbers the nodes of a tree breadth first, so that shorter n-grams, which are met more often, lie closer together.
    fn new(tree: &Tree, sources: usize) -> Self {
        let order = breadth_first(tree);
        let mut number_of = vec![ROOT; tree.nodes.len()];
        for (number, &node) in (0..).zip(&order) {
            number_of[node as usize] = number;
        }
        let state_of: Vec<u32> = tree.closed.iter().map(|&node| number_of[node as usize]).collect();
        let count = order.len();
        let mut states: Vec<State> = Vec::with_capacity(count);
        let (mut symbols, mut shortened) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut frequencies = Vec::with_capacity(count * sources);
        for &node in &order {
            let Node { parent, position, symbol, length } = tree.nodes[node as usize];
            let link = state_of[parent as usize];
            let above = states.get(link as usize).map_or(0, |link| link.length);
            states.push(State { link, length, above });
            // One by one, since a call to copy so few takes longer.
            for source in 0..sources {
                frequencies.push(tree.frequencies[node as usize * sources + source]);
            }
            symbols.push(symbol);
            shortened.push(tree.deepest.get(position as usize + 1).map_or(ROOT, |&deepest| state_of[deepest as usize]));
        }
        Self { states, frequencies, symbols, shortened }
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
        for (to, &State { length, above, .. }) in self.states.iter().enumerate().skip(1) {
            let symbol = self.symbols[to];
            if let Some(&state) = self.shortened.get(to + AHEAD) {
                fetch(&self.states, state as usize);
            }
            let mut from = match length {
                1 => ROOT,
                _ => self.prefix(self.shortened[to], length - 1),
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

    /// The state of the first `length` symbols of the n-grams of `state`.
    fn prefix(&self, mut state: u32, length: u16) -> u32 {
        while self.states[state as usize].above >= length {
            state = self.states[state as usize].link;
        }
        state
    }
}

/// The nodes of a tree, those of fewer ancestors first, and with as many in the order of their suffixes.
fn breadth_first(tree: &Tree) -> Vec<u32> {
    let root = tree.nodes.len() - 1;
    let mut level_of = vec![0u16; tree.nodes.len()];
    // The first place of each level, once those before are counted.
    let mut places = vec![0u32, 1];
    // Parents are closed after their children.
    for (node, &Node { parent, .. }) in tree.nodes[..root].iter().enumerate().rev() {
        let level = level_of[tree.closed[parent as usize] as usize] + 1;
        level_of[node] = level;
        if places.len() <= level as usize + 1 {
            places.push(0);
        }
        places[level as usize + 1] += 1;
    }
    for level in 1..places.len() {
        places[level] += places[level - 1];
    }
    let mut order = vec![root as u32; tree.nodes.len()];
    for (node, &level) in level_of[..root].iter().enumerate() {
        let place = &mut places[level as usize];
        order[*place as usize] = node as u32;
        *place += 1;
    }
    order
}
