//! The table, what it is built from, and how it is read.

use super::edge::Edge;
use super::placement::Placement;
use super::record::{BASE_BITS, MOST_SOURCES, MOST_STATES, NOWHERE, Packing, Record, numbers, pack, write_records};
use super::symbols::{MOST_SYMBOLS, PAGE, PAGE_BITS, Symbols, UNKNOWN_SKIPPED};
use crate::blob::{Blob, BlobBuilder};
use crate::error::Result;
use crate::fetch::fetch;
use crate::index::corpus::Corpus;
use crate::index::states::{ROOT, States};
use crate::index::tables::Lengths;
use bytemuck::Zeroable;
use std::hint::select_unpredictable;

const LONGEST: usize = 15;

/// Which characters are skipped, and from which document frequency on a window counts in full.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) skipped: &'a [char],
    pub(crate) full: &'a [u32],
    /// Characters of a response that are read at most.
    pub(crate) positions: usize,
}

/// The table; see the module.
#[derive(Debug)]
pub(crate) struct CompactTable {
    pub(super) blob: Blob,
    pub(super) packing: Packing,
    /// Symbols from 1 up to here, exclusively, are skipped.
    pub(super) skipped_end: u16,
}

/// The table's arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompactView<'a> {
    pub(crate) packing: Packing,
    pub(super) states: &'a [Record],
    pub(super) edges: &'a [Edge],
    pub(super) unigrams: &'a [u64],
    pub(super) page_of: &'a [u16],
    pub(super) pages: &'a [u16],
}

/// The longest known n-gram that ends at a place of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    pub(crate) state: u32,
    /// Characters of it that match; the state's other n-grams are shorter.
    pub(crate) length: u32,
    /// Where the edges of the state are.
    pub(super) base: u32,
}

impl Match {
    /// Where its edge by `symbol` would be.
    #[inline(always)]
    pub(crate) fn slot(self, symbol: u16) -> u32 {
        self.base ^ u32::from(symbol)
    }
}

impl CompactTable {
    /// Whether there is room for sources of so many `answers`, as far as that is known before building.
    pub(crate) fn has_room(answers: &[usize], lengths: &Lengths, reading: &Reading<'_>) -> bool {
        let sources = answers.len();
        *lengths.summed.start() == 1
            && *lengths.summed.end() <= LONGEST
            && lengths.window <= *lengths.summed.end()
            && sources <= MOST_SOURCES
            && (0..sources).all(|source| {
                let (answers, full) = (answers[source], reading.full[source]);
                Packing::new(sources).have_room(answers, *lengths.summed.end(), reading.positions, full)
            })
    }

    /// The table of `corpus`, or `None` where there are too many characters or states.
    pub(crate) fn new(corpus: &Corpus, lengths: &Lengths, reading: &Reading<'_>) -> Result<Option<Self>> {
        if corpus.alphabet.len() > MOST_SYMBOLS {
            return Ok(None);
        }
        let states = States::derive(corpus, lengths.depth())?;
        if states.list.len() > MOST_STATES {
            return Ok(None);
        }
        let symbols = Symbols::new(corpus, reading.skipped);
        let numbers = numbers(&states);
        let placement = Placement::of(&states, &numbers, &symbols.of_dense);
        if placement.edges() > 1 << BASE_BITS {
            return Ok(None);
        }
        let mut blob = BlobBuilder::default()
            .array(&[states.sources as u32, u32::from(symbols.skipped_end)])
            .zeros::<Record>(states.list.len() + 1)
            .zeros::<Edge>(placement.edges())
            .array(&unigrams(&states, &symbols))
            .array(&symbols.page_of)
            .array(&symbols.pages)
            .finish();
        write_records(&states, &numbers, &placement.bases, lengths, reading.full, blob.array_mut(1));
        placement.write_edges(&numbers, blob.array_mut(2));
        Ok(Some(Self { packing: Packing::new(states.sources), skipped_end: symbols.skipped_end, blob }))
    }

    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(crate) fn view(&self) -> CompactView<'_> {
        CompactView {
            packing: self.packing,
            states: self.blob.array(1),
            edges: self.blob.array(2),
            unigrams: self.blob.array(3),
            page_of: self.blob.array(4),
            pages: self.blob.array(5),
        }
    }

    /// Whether Truthfulness skips the characters of a symbol.
    #[inline(always)]
    pub(crate) fn skips(&self, symbol: u16) -> bool {
        symbol.wrapping_sub(UNKNOWN_SKIPPED) < self.skipped_end - UNKNOWN_SKIPPED
    }
}

impl CompactView<'_> {
    /// The symbol of a character.
    #[inline(always)]
    pub(crate) fn symbol(&self, character: char) -> u16 {
        self.symbol_of(character.into())
    }

    /// The symbol of the character with this code.
    #[inline(always)]
    pub(crate) fn symbol_of(&self, code: u32) -> u16 {
        let code = code as usize;
        let page = self.page_of[code >> PAGE_BITS] as usize;
        self.pages[page * PAGE + code % PAGE]
    }

    /// Prefetches the symbol of a character.
    #[inline(always)]
    pub(crate) fn fetch_symbol(&self, character: char) {
        let code = character as usize;
        fetch(self.pages, self.page_of[code >> PAGE_BITS] as usize * PAGE + code % PAGE);
    }

    /// The match of nothing.
    #[inline(always)]
    pub(crate) fn root(&self) -> Match {
        Match { state: ROOT, length: 0, base: self.states[ROOT as usize].link_base() }
    }

    /// Follows the edge by `symbol` of a match, whose state has this record, and says whether there is one. Where there is
    /// none, follows the suffix link, and the symbol is still to be taken. Lengths go on growing beyond the longest n-grams,
    /// of which the state is then one. Without branches, so that the steps of several responses can be under way at once.
    #[inline(always)]
    pub(crate) fn step(&self, from: Match, record: Record, symbol: u16) -> (Match, bool) {
        self.step_at(from.slot(symbol), from.length, record, symbol)
    }

    /// The same for a match of `length` characters whose edge would be at `slot`.
    #[inline(always)]
    pub(crate) fn step_at(&self, slot: u32, length: u32, record: Record, symbol: u16) -> (Match, bool) {
        let edge = self.edges[slot as usize];
        let taken = edge.is_by(symbol);
        let to = Match {
            state: select_unpredictable(taken, edge.target(), record.link()),
            length: select_unpredictable(taken, length + 1, record.above()),
            base: select_unpredictable(taken, edge.base(), record.link_base()),
        };
        (to, taken)
    }

    /// Prefetches a state.
    #[inline(always)]
    pub(crate) fn fetch_state(&self, state: u32) {
        fetch(self.states, state as usize);
    }

    /// Prefetches what the step of a match whose edge would be at `slot` reads.
    #[inline(always)]
    pub(crate) fn fetch(&self, state: u32, slot: u32) {
        fetch(self.edges, slot as usize);
        fetch(self.states, state as usize);
    }

    #[inline(always)]
    pub(crate) fn record(&self, state: u32) -> Record {
        self.states[state as usize]
    }

    /// Document frequencies of one symbol, a field for each source; those of symbol 0, which is unknown, are 0.
    #[inline(always)]
    pub(crate) fn unigram(&self, symbol: u16) -> u64 {
        self.unigrams[symbol as usize]
    }

    /// Sums of the n-grams of up to `length` characters that end where those of a state do, a field for each source.
    pub(crate) fn up_to(&self, mut record: Record, length: u32) -> u64 {
        if length == 0 {
            return 0;
        }
        while record.above() >= length {
            record = self.record(record.link());
        }
        let (sums, frequencies) = self.packing.worth(record);
        sums + frequencies * u64::from(length)
    }

    /// Appends the document frequencies, by source, of the n-grams of a state; zeros for none.
    #[inline(always)]
    pub(crate) fn frequencies(&self, state: Option<u32>, into: &mut Vec<u32>) {
        let record = state.map_or(Record::zeroed(), |state| self.record(state));
        into.extend(self.packing.frequencies_of(record));
    }

    /// The match after one symbol, from the beginning.
    pub(crate) fn begin(&self, symbol: u16) -> Match {
        let root = self.root();
        let (to, _) = self.step(root, self.record(ROOT), symbol);
        if to.state == NOWHERE { root } else { to }
    }
}

fn unigrams(states: &States, symbols: &Symbols) -> Vec<u64> {
    let width = Packing::new(states.sources).width();
    let mut unigrams = vec![0; symbols.of_dense.len()];
    for &(symbol, target) in states.edges_of(ROOT as usize) {
        let frequencies = states.frequencies_of(target as usize).iter().copied().map(u64::from);
        unigrams[symbols.of_dense[symbol as usize] as usize] = pack(frequencies, width);
    }
    unigrams
}
