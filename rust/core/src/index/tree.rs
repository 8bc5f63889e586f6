//! The suffix tree of the reversed answers, cut at a length, in one pass over their suffix array.
//!
//! The maximal ranges of suffixes that share a prefix are the tree's nodes. They are nested, so the suffixes of one rank after
//! the other open and close them as brackets (Abouelhoda, Kurtz and Ohlebusch, "Replacing Suffix Trees with Enhanced
//! Suffix Arrays", 2004). Answers below a node are counted as suffixes, less one for every two suffixes of one answer that
//! follow each other and first meet there (Hui, "Color Set Size Problem with Applications to String Matching", 1992).

use super::corpus::Corpus;
use super::suffix_array;
use crate::error::Result;
use crate::fetch::fetch;
use crate::text::Symbol;
use bytemuck::Pod;
use std::hint::select_unpredictable;

/// Suffixes that are looked up side by side, before nodes are made of them one by one.
const BLOCK: usize = 128;
/// How many suffixes ahead of those that are looked up are prefetched: they lie all over the text.
const AHEAD: usize = 16;
/// Open nodes that are compared side by side.
const LANES: usize = 16;
/// Bytes of text compared at once.
const CHUNK: usize = 24;
/// How many symbols of 16 bits there can be. Sorting counts all of them, which pays for longer texts only.
const MOST_WORDS: usize = 1 << 16;
/// The first rank where no node is open.
const NEVER: i32 = i32::MAX;

/// Suffixes that share their first symbols.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The node of those that share fewer, as it was numbered when it was opened.
    pub(super) parent: u32,
    /// Where one of the suffixes begins.
    pub(super) position: u32,
    /// The first symbol of all of them.
    pub(super) symbol: Symbol,
    /// Symbols that they share, as far as the tree goes.
    pub(super) length: u16,
}

/// The tree. Its nodes are in the order in which they were closed: children before their parents, and in the order of their
/// suffixes.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Answers of each source that have a suffix below a node, a row a node.
    pub(super) frequencies: Vec<u32>,
    /// For nodes as they were opened, the root first, their place among the closed ones.
    pub(super) closed: Vec<u32>,
    /// The deepest node of the suffix at each position, as it was numbered when it was opened; of a position whose suffix is
    /// still to be added, the answer instead.
    pub(super) deepest: Vec<u32>,
}

impl Tree {
    /// The tree of `corpus` down to `depth` symbols. `O(N × depth)`.
    pub(super) fn new(corpus: &Corpus, depth: usize) -> Result<Self> {
        if corpus.text.len() > MOST_WORDS && corpus.alphabet.len() <= MOST_WORDS {
            let text = corpus.backwards(|symbol| symbol as u16);
            let suffixes = suffix_array::suffix_array_of_words(&text)?;
            return Ok(Self::of(&text, &suffixes, corpus, depth));
        }
        let mut text = corpus.backwards(std::convert::identity);
        let suffixes = suffix_array::suffix_array(&mut text)?;
        Ok(Self::of(&text, &suffixes, corpus, depth))
    }

    fn of<S: Pod + Into<Symbol>>(text: &[S], suffixes: &[u32], corpus: &Corpus, depth: usize) -> Self {
        let source_of: Vec<u32> = (0..corpus.answers()).map(|answer| corpus.source_of(answer as u32) as u32).collect();
        let reader = Reader { corpus, text, suffixes, depth };
        let mut builder = Builder::new(corpus, suffixes.len(), depth);
        let mut block = [Suffix::default(); BLOCK];
        for first in (0..suffixes.len()).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(suffixes.len() - first)];
            reader.read(first, block, &builder.tree.deepest);
            for (rank, suffix) in (first as u32..).zip(&*block) {
                builder.add(rank, suffix, source_of[suffix.answer as usize] as usize);
            }
        }
        builder.finish()
    }
}

/// The nodes that may still get suffixes, each the parent of the next, and those that are closed.
struct Builder {
    tree: Tree,
    sources: usize,
    open: Vec<Open>,
    /// The first rank of each open node.
    starts: Vec<i32>,
    /// A row for none, and one for each open node: counts so far, without those of nodes that are open below it.
    counts: Vec<u32>,
    /// One more than the last rank of a suffix of each answer, 0 for none.
    next_of_answer: Vec<u32>,
}

/// An open node.
#[derive(Debug, Clone, Copy)]
struct Open {
    number: u32,
    position: u32,
    symbol: Symbol,
    length: u32,
}

/// A suffix as it is added.
#[derive(Debug, Clone, Copy, Default)]
struct Suffix {
    position: u32,
    symbol: Symbol,
    answer: u32,
    /// Symbols to the end of the answer, as far as the tree goes.
    rest: u32,
    /// Symbols shared with the suffix before, likewise.
    shared: u32,
}

impl Builder {
    fn new(corpus: &Corpus, suffixes: usize, depth: usize) -> Self {
        // Published answers have no more; if there are, the arrays grow.
        let (sources, nodes) = (corpus.names.len(), suffixes);
        let mut builder = Self {
            tree: Tree {
                nodes: Vec::with_capacity(nodes),
                frequencies: Vec::with_capacity(nodes * sources),
                closed: Vec::with_capacity(nodes),
                deepest: corpus.answer_of_positions(),
            },
            sources,
            open: Vec::with_capacity(depth + 1),
            starts: vec![NEVER; (depth + 1).next_multiple_of(LANES)],
            counts: vec![0; (depth + 2) * sources],
            next_of_answer: vec![0; corpus.answers()],
        };
        builder.open(0, &Suffix::default());
        builder
    }

    /// Adds the suffix of the next rank, of an answer of `source`.
    #[inline(always)]
    fn add(&mut self, rank: u32, suffix: &Suffix, source: usize) {
        while self.last().length > suffix.shared {
            self.close(suffix.shared);
        }
        if suffix.rest > self.last().length {
            self.open(rank, suffix);
        }
        self.tree.deepest[suffix.position as usize] = self.last().number;
        let before = std::mem::replace(&mut self.next_of_answer[suffix.answer as usize], rank + 1);
        // The answer counts once in the last node that is above both suffixes; there is none for its first suffix.
        let both = self.starts.iter().map(|&start| u32::from(start < before as i32)).sum::<u32>() as usize;
        self.counts[self.open.len() * self.sources + source] += 1;
        // Only that of none falls below zero: elsewhere, the suffix before has been counted by now.
        let count = &mut self.counts[both * self.sources + source];
        *count = count.wrapping_sub(1);
    }

    fn last(&self) -> Open {
        self.open[self.open.len() - 1]
    }

    /// Opens a node whose first suffix has this rank.
    fn open(&mut self, rank: u32, suffix: &Suffix) {
        let &Suffix { position, symbol, rest: length, .. } = suffix;
        self.starts[self.open.len()] = rank as i32;
        let number = self.next_number();
        self.open.push(Open { number, position, symbol, length });
    }

    fn next_number(&mut self) -> u32 {
        let number = self.tree.closed.len() as u32;
        self.tree.closed.push(0);
        number
    }

    /// Closes the last node, below the one before or a new one of `shared` symbols between the two.
    #[inline(always)]
    fn close(&mut self, shared: u32) {
        let last = self.open.len() - 1;
        let closed = self.open[last];
        let parent = self.open[last - 1];
        if parent.length < shared {
            let number = self.next_number();
            self.add_node(closed, number);
            self.open[last] = Open { number, length: shared, ..closed };
            return;
        }
        self.add_node(closed, parent.number);
        self.open.pop();
        self.starts[last] = NEVER;
        let (counts, closed) = self.counts[last * self.sources..].split_at_mut(self.sources);
        for (count, closed) in counts.iter_mut().zip(closed) {
            *count += std::mem::take(closed);
        }
    }

    fn add_node(&mut self, node: Open, parent: u32) {
        let Open { number, position, symbol, length } = node;
        self.tree.closed[number as usize] = self.tree.nodes.len() as u32;
        self.tree.nodes.push(Node { parent, position, symbol, length: length as u16 });
        // One by one: a call to copy so few takes longer.
        for source in 0..self.sources {
            self.tree.frequencies.push(self.counts[self.open.len() * self.sources + source]);
        }
    }

    /// Closes all nodes; the root is in no answer.
    fn finish(mut self) -> Tree {
        while self.open.len() > 1 {
            self.close(0);
        }
        self.counts.fill(0);
        self.add_node(self.last(), 0);
        self.tree
    }
}

/// Looks suffixes up.
struct Reader<'a, S> {
    corpus: &'a Corpus,
    text: &'a [S],
    suffixes: &'a [u32],
    depth: usize,
}

impl<S: Pod + Into<Symbol>> Reader<'_, S> {
    /// The suffixes from rank `first` on. `answer_of` has the answers of their positions.
    fn read(&self, first: usize, block: &mut [Suffix], answer_of: &[u32]) {
        let mut before = first.checked_sub(1).map_or(0, |rank| self.suffixes[rank]);
        for (rank, suffix) in (first..).zip(block) {
            if let Some(&position) = self.suffixes.get(rank + AHEAD) {
                fetch(self.text, position as usize);
                fetch(answer_of, position as usize);
            }
            let position = self.suffixes[rank];
            let answer = answer_of[position as usize];
            let rest = (self.corpus.answer_starts[answer as usize + 1] - 1 - position).min(self.depth as u32);
            let shared = self.shared(before as usize, position as usize).min(rest);
            *suffix = Suffix { position, symbol: self.text[position as usize].into(), answer, rest, shared };
            before = position;
        }
    }

    /// How many symbols the texts from two positions on share, also beyond their answers; if more than `depth`, at least that.
    #[inline(always)]
    fn shared(&self, a: usize, b: usize) -> u32 {
        let bits = 8 * size_of::<S>() as u32;
        let (mut a, mut b) = (bytemuck::cast_slice(&self.text[a..]), bytemuck::cast_slice(&self.text[b..]));
        let mut equal = 0;
        while let (Some((of_a, rest_of_a)), Some((of_b, rest_of_b))) = (a.split_first_chunk(), b.split_first_chunk()) {
            let of_chunk = equal_bits(of_a, of_b);
            equal += of_chunk;
            if of_chunk < 8 * CHUNK as u32 || equal >= self.depth as u32 * bits {
                return equal / bits;
            }
            (a, b) = (rest_of_a, rest_of_b);
        }
        (equal + 8 * a.iter().zip(b).take_while(|(a, b)| a == b).count() as u32) / bits
    }
}

/// How many of the first bits are equal. Without branches, since no processor could foresee them.
#[inline(always)]
fn equal_bits(a: &[u8; CHUNK], b: &[u8; CHUNK]) -> u32 {
    let word =
        |bytes: &[u8; CHUNK], number: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * number + byte]));
    let differ = |number| word(a, number) ^ word(b, number);
    let rest = select_unpredictable(differ(1) != 0, (differ(1), 64), (differ(2), 128));
    let (first, before) = select_unpredictable(differ(0) != 0, (differ(0), 0), rest);
    before + first.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Markers, SourceText};
    use proptest::prelude::*;

    /// The row of the node of the `length` symbols from `position` on.
    fn frequencies_at(tree: &Tree, position: usize, length: usize, sources: usize) -> &[u32] {
        let mut node = tree.closed[tree.deepest[position] as usize] as usize;
        assert!(usize::from(tree.nodes[node].length) >= length);
        loop {
            let parent = tree.closed[tree.nodes[node].parent as usize] as usize;
            if usize::from(tree.nodes[parent].length) < length {
                return &tree.frequencies[node * sources..][..sources];
            }
            node = parent;
        }
    }

    proptest! {
        /// Nodes count the answers that contain what they stand for, in symbols of either size.
        #[test]
        fn nodes_count_answers(
            a in prop::collection::vec("[ab]{0,40}|[aあ]{0,9}", 1..8),
            b in prop::collection::vec("(ab){0,20}|[b^]{0,9}", 0..8),
            depth in 1usize..40,
        ) {
            let sources = [("a", &a), ("b", &b)]
                .map(|(name, answers)| SourceText { name, answers: answers.iter().map(String::as_str).collect() });
            let corpus = Corpus::new(&sources, Markers::None).unwrap();
            let (mut text, words) = (corpus.backwards(std::convert::identity), corpus.backwards(|symbol| symbol as u16));
            let suffixes = suffix_array::suffix_array(&mut text).unwrap();
            prop_assert_eq!(&suffixes, &suffix_array::suffix_array_of_words(&words).unwrap());
            let tree = Tree::of(&text, &suffixes, &corpus, depth);
            let of_words = Tree::of(&words, &suffixes, &corpus, depth);
            prop_assert_eq!(format!("{tree:?}"), format!("{of_words:?}"));
            prop_assert_eq!(&tree.frequencies[(tree.nodes.len() - 1) * 2..], [0, 0]);
            for (answer, bounds) in corpus.answer_starts.windows(2).enumerate() {
                let whole = &text[bounds[0] as usize..bounds[1] as usize - 1];
                prop_assert_eq!(corpus.answer_of_positions()[bounds[0] as usize], answer as u32);
                for (at, rest) in (0..whole.len()).map(|at| (at, &whole[at..])) {
                    for length in 1..=rest.len().min(depth) {
                        let contains = |answer: &usize| {
                            let symbols: Vec<Symbol> = corpus.symbols_of(*answer).iter().rev().copied().collect();
                            symbols.windows(length).any(|window| window == &rest[..length])
                        };
                        let expected = [0..a.len(), a.len()..a.len() + b.len()]
                            .map(|answers| answers.filter(contains).count() as u32);
                        prop_assert_eq!(frequencies_at(&tree, bounds[0] as usize + at, length, 2), expected);
                    }
                }
            }
        }
    }
}
