//! The scoring table: a suffix tree of the reference answers cut at the longest n-gram that scoring asks for.
//!
//! Derived from suffix array and LCP: a node is a maximal range of suffixes that share a prefix, so that all n-grams that
//! end on the edge above it occur in the same answers and share one row of document frequencies. Children lie side by
//! side, ordered by their first symbol.

use super::NgramIndex;
use super::document_frequency::AnswerCounter;
use crate::text::{SEPARATOR, Symbol};
use std::ops::Range;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Node {
    /// Start of an occurrence of the node's n-gram in the text.
    position: u32,
    /// Length of the node's n-gram.
    depth: u32,
    first_child: u32,
    children: u32,
}

/// Document frequencies of all n-grams up to a length, for walks along a response.
///
/// A walk of `m` symbols takes `O(m)` steps, each a binary search among a node's children at the most.
/// Memory: `16 + 4 (1 + sources)` bytes a node plus 4 bytes a character.
#[derive(Debug)]
pub(crate) struct NgramTable {
    text: Vec<Symbol>,
    nodes: Vec<Node>,
    first_symbols: Vec<Symbol>,
    frequencies: Vec<u32>,
    sources: usize,
    /// The root's child for each symbol: every walk begins there.
    roots: Vec<u32>,
}

impl NgramTable {
    /// Derives the table for n-grams of up to `max_n` symbols in time `O(N × levels)`.
    pub(crate) fn derive(index: &NgramIndex, max_n: usize) -> Self {
        Builder::new(index, max_n as u32).build()
    }

    /// Calls `visit(n, frequencies)` for the n-grams at the start of `symbols`, n = 1, 2 … as long as they are known.
    #[inline]
    pub(crate) fn walk(&self, symbols: &[Symbol], mut visit: impl FnMut(usize, &[u32])) {
        let Some(&first) = symbols.first() else { return };
        let mut node = usize::try_from(first).map_or(NONE, |symbol| self.roots[symbol]);
        let mut depth = 0;
        while node != NONE {
            let Node { position, depth: end, .. } = self.nodes[node as usize];
            let edge = &self.text[position as usize + depth..(position + end) as usize];
            let row = &self.frequencies[node as usize * self.sources..][..self.sources];
            for (symbol, wanted) in edge.iter().zip(&symbols[depth..]) {
                if symbol != wanted {
                    return;
                }
                depth += 1;
                visit(depth, row);
            }
            if depth < end as usize || depth == symbols.len() {
                return;
            }
            node = self.child(node, symbols[depth]);
        }
    }

    fn child(&self, node: u32, symbol: Symbol) -> u32 {
        let Node { first_child, children, .. } = self.nodes[node as usize];
        let symbols = &self.first_symbols[first_child as usize..][..children as usize];
        symbols.binary_search(&symbol).map_or(NONE, |offset| first_child + offset as u32)
    }
}

struct Builder<'a> {
    index: &'a NgramIndex,
    max_n: u32,
    counter: AnswerCounter,
    answer_of_rank: Vec<u32>,
    /// The range of ranks below each node of `table`.
    ranges: Vec<Range<usize>>,
    table: NgramTable,
}

impl<'a> Builder<'a> {
    fn new(index: &'a NgramIndex, max_n: u32) -> Self {
        let table = NgramTable {
            text: index.text.clone(),
            nodes: Vec::new(),
            first_symbols: Vec::new(),
            frequencies: Vec::new(),
            sources: index.names.len(),
            roots: vec![NONE; index.alphabet.len()],
        };
        Self {
            index,
            max_n,
            counter: AnswerCounter::new(index),
            answer_of_rank: answers_of_ranks(index),
            ranges: Vec::new(),
            table,
        }
    }

    /// Breadth first, so that the children of a node become neighbours.
    fn build(mut self) -> NgramTable {
        self.add_children(0..self.index.suffixes.len(), 0);
        for (node, &symbol) in self.table.first_symbols.iter().enumerate() {
            self.table.roots[symbol as usize] = node as u32;
        }
        let mut node = 0;
        while node < self.table.nodes.len() {
            let depth = self.table.nodes[node].depth;
            let first_child = self.table.nodes.len() as u32;
            if depth < self.max_n {
                self.add_children(self.ranges[node].clone(), depth);
            }
            self.table.nodes[node].first_child = first_child;
            self.table.nodes[node].children = self.table.nodes.len() as u32 - first_child;
            node += 1;
        }
        self.table
    }

    /// Adds the children of the node with the suffixes of `ranks`, which share `depth` symbols.
    fn add_children(&mut self, ranks: Range<usize>, depth: u32) {
        let mut start = ranks.start;
        while start < ranks.end {
            let (mut end, mut shared) = (start + 1, u32::MAX);
            while end < ranks.end && self.index.lcp[end] > depth {
                shared = shared.min(self.index.lcp[end]);
                end += 1;
            }
            self.add_node(start..end, depth, shared);
            start = end;
        }
    }

    fn add_node(&mut self, ranks: Range<usize>, parent_depth: u32, shared: u32) {
        let position = self.index.suffixes[ranks.start];
        let first = self.table.text[position as usize + parent_depth as usize];
        if first == SEPARATOR {
            return;
        }
        let answers = &self.answer_of_rank[ranks.clone()];
        let answer_end = self.index.answer_starts[answers[0] as usize + 1] - 1;
        let depth = shared.min(answer_end - position).min(self.max_n);
        let row = self.table.frequencies.len();
        self.table.frequencies.resize(row + self.table.sources, 0);
        self.counter.count(self.index, answers.iter().copied(), &mut self.table.frequencies[row..]);
        self.table.nodes.push(Node { position, depth, first_child: 0, children: 0 });
        self.table.first_symbols.push(first);
        self.ranges.push(ranks);
    }
}

fn answers_of_ranks(index: &NgramIndex) -> Vec<u32> {
    let mut answer_of_position = Vec::with_capacity(index.text.len());
    for (answer, bounds) in index.answer_starts.windows(2).enumerate() {
        answer_of_position.resize(bounds[1] as usize, answer as u32);
    }
    index.suffixes.iter().map(|&position| answer_of_position[position as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Markers, SourceText};
    use proptest::prelude::*;

    proptest! {
        /// The table says what the index says, for every n-gram along random texts.
        #[test]
        fn equals_the_index(
            a in prop::collection::vec("[ab^]{0,12}", 1..8),
            b in prop::collection::vec("[abc]{0,12}", 0..8),
            text in "[abcd^]{0,15}",
            max_n in 1usize..13,
        ) {
            let source = |name, answers: &'static [String]| SourceText {
                name,
                answers: answers.iter().map(String::as_str).collect(),
            };
            let sources = [source("a", a.leak()), source("b", b.leak())];
            let index = NgramIndex::build(&sources, Markers::None).unwrap();
            let table = NgramTable::derive(&index, max_n);
            let symbols: Vec<_> = text.chars().map(|c| index.alphabet.symbol(c)).collect();
            for start in 0..symbols.len() {
                let mut found = Vec::new();
                table.walk(&symbols[start..], |n, frequencies| {
                    assert_eq!(n, found.len() + 1);
                    found.push(frequencies.to_vec());
                });
                for n in 1..=max_n.min(symbols.len() - start) {
                    let ngram: String = text.chars().skip(start).take(n).collect();
                    let expected = index.document_frequency(&ngram).unwrap();
                    let got = found.get(n - 1).cloned().unwrap_or_else(|| vec![0, 0]);
                    prop_assert_eq!(got, expected.by_source, "{}", ngram);
                }
                prop_assert!(found.len() <= max_n);
            }
        }
    }
}
