//! The table, what it is built from, and how it is read.

use super::placement::Placement;
use crate::blob::{Blob, BlobBuilder};
use crate::error::{Error, Result};
use crate::fetch::fetch;
use crate::index::corpus::Corpus;
use crate::index::states::{ROOT, State, States};
use crate::index::tables::Lengths;
use bytemuck::{Pod, Zeroable};

pub(crate) const MOST_SOURCES: usize = 3;
const MOST_STATES: usize = (1 << TARGET_BITS) - 2;
const MOST_SYMBOLS: usize = 4094;
const LONGEST: usize = 15;

pub(super) const TARGET_BITS: u32 = 20;
const TARGET_MASK: u32 = (1 << TARGET_BITS) - 1;
/// Bits of the levels of all sources together.
pub(crate) const LEVELS_BITS: u32 = 9;

/// A character that no answer contains.
pub(super) const UNKNOWN: u16 = 0;
/// The same, where Truthfulness skips it.
pub(super) const UNKNOWN_SKIPPED: u16 = 1;
const FIRST_KNOWN: u16 = 2;
/// Where an unknown character leads: no n-gram ends there. (It is no synonym of the root, from which every symbol has an
/// edge, so that its length of 1 does not survive the next character.)
pub(super) const NOWHERE: u32 = 1;

const PAGE_BITS: u32 = 8;
const PAGE: usize = 1 << PAGE_BITS;

/// A state, in 128 bits.
///
/// The sum of the document frequencies of all n-grams of 1 to `n` characters that end there is `sums + n × frequencies`, for
/// every `n` of the state. Low word: sums (42 bits, as many for each source), base (22). High word: frequencies (30 bits, as
/// many for each source), parent (20), length of the parent (4), levels of the window's frequency (9, as many for each source).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Record {
    low: u64,
    high: u64,
}

const SUMS_BITS: u32 = 42;
const FREQUENCIES_BITS: u32 = 30;
const ABOVE_SHIFT: u32 = FREQUENCIES_BITS + TARGET_BITS;
const LEVELS_SHIFT: u32 = ABOVE_SHIFT + 4;
const BASE_BITS: u32 = 64 - SUMS_BITS;

impl Record {
    /// The state's n-grams are longer.
    #[inline(always)]
    pub(crate) fn above(self) -> u32 {
        (self.high >> ABOVE_SHIFT) as u32 & 15
    }

    /// Levels of the window's frequency in all sources.
    #[inline(always)]
    pub(crate) fn levels(self) -> u16 {
        (self.high >> LEVELS_SHIFT) as u16
    }

    /// The state of the longest n-gram that ends at more places.
    #[inline(always)]
    pub(crate) fn parent(self) -> u32 {
        (self.high >> FREQUENCIES_BITS) as u32 & TARGET_MASK
    }

    #[inline(always)]
    fn base(self) -> u32 {
        (self.low >> SUMS_BITS) as u32
    }
}

/// How the values of several sources lie in a record, and in the lanes of a 64-bit word in which they are added up: sums
/// over a whole response do not overflow a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    sources: u32,
    sums: Spread,
    frequencies: Spread,
}

/// Moves packed values into lanes: by 0, once and twice `shift`.
#[derive(Debug, Clone, Copy)]
struct Spread {
    masks: [u64; MOST_SOURCES],
    shift: u32,
}

impl Spread {
    fn new(sources: u32, bits: u32) -> Self {
        let width = bits / sources;
        let mask = |source: u32| if source < sources { ((1 << width) - 1) << (source * width) } else { 0 };
        let shift = if sources == 1 { 0 } else { 64 / sources - width };
        Self { masks: [mask(0), mask(1), mask(2)], shift }
    }

    #[inline(always)]
    fn of(self, packed: u64) -> u64 {
        let [first, second, third] = self.masks.map(|mask| packed & mask);
        first | second << self.shift | third << self.shift << self.shift
    }
}

impl Lanes {
    fn new(sources: usize) -> Self {
        let sources = sources as u32;
        Self { sources, sums: Spread::new(sources, SUMS_BITS), frequencies: Spread::new(sources, FREQUENCIES_BITS) }
    }

    #[inline(always)]
    pub(crate) fn sources(self) -> usize {
        self.sources as usize
    }

    /// Bits of a lane.
    #[inline(always)]
    pub(crate) fn width(self) -> u32 {
        64 / self.sources
    }

    /// Sums and frequencies of a state, in lanes: n-grams of up to `n` characters sum to `sums + n × frequencies`.
    #[inline(always)]
    pub(crate) fn worth(self, record: Record) -> (u64, u64) {
        (self.sums.of(record.low), self.frequencies.of(record.high))
    }

    /// The bits that each source's level has among [`Record::levels`].
    #[inline(always)]
    pub(crate) fn fields_of_levels(self) -> impl Iterator<Item = u16> {
        let bits = LEVELS_BITS / self.sources;
        (0..self.sources).map(move |source| ((1 << bits) - 1) << (bits * source))
    }

    /// Document frequencies of a state's n-grams, by source.
    #[inline(always)]
    fn frequencies_of(self, record: Record) -> impl Iterator<Item = u32> {
        let bits = FREQUENCIES_BITS / self.sources;
        (0..self.sources).map(move |source| (record.high >> (bits * source)) as u32 & ((1 << bits) - 1))
    }

    /// Levels of these document frequencies, where all from `full` on are one.
    fn levels(self, frequencies: &[u32], full: &[u32]) -> u32 {
        let levels = frequencies.iter().zip(full).map(|(&frequency, &full)| u64::from(frequency.min(full)));
        pack(levels, LEVELS_BITS / self.sources) as u32
    }

    /// One source's level.
    pub(crate) fn level(self, levels: usize, source: usize) -> usize {
        let bits = LEVELS_BITS / self.sources;
        levels >> (bits as usize * source) & ((1 << bits) - 1)
    }

    /// Whether `answers` of a source, in n-grams of up to `longest` characters, at `positions` of a response, fit.
    fn have_room(self, answers: usize, longest: usize, positions: usize, full: u32) -> bool {
        let below = |value: usize, bits: u32| value >> bits.min(usize::BITS - 1) == 0;
        below(full as usize, LEVELS_BITS / self.sources)
            && below(answers, FREQUENCIES_BITS / self.sources)
            && below(answers * longest, SUMS_BITS / self.sources)
            && below(answers * longest * positions, self.width())
    }
}

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
    blob: Blob,
    lanes: Lanes,
    /// Symbols from 1 up to here, exclusively, are skipped.
    skipped_end: u16,
}

/// The table's arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompactView<'a> {
    pub(crate) lanes: Lanes,
    states: &'a [Record],
    edges: &'a [u32],
    unigrams: &'a [u64],
    page_of: &'a [u16],
    pages: &'a [u16],
}

/// Where reading a response stands: after a symbol that was taken, or still before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) state: u32,
    pub(crate) length: u32,
    pub(crate) taken: bool,
}

impl CompactTable {
    const ARRAYS: usize = 6;

    /// Whether there is room for `corpus`, as far as that is known before building.
    pub(crate) fn has_room(corpus: &Corpus, lengths: &Lengths, reading: &Reading<'_>) -> bool {
        let sources = corpus.names.len();
        *lengths.summed.start() == 1
            && *lengths.summed.end() <= LONGEST
            && lengths.window <= *lengths.summed.end()
            && sources <= MOST_SOURCES
            && (0..sources).all(|source| {
                let (answers, full) = (corpus.answer_count(source), reading.full[source]);
                Lanes::new(sources).have_room(answers, *lengths.summed.end(), reading.positions, full)
            })
            && corpus.alphabet.len() <= MOST_SYMBOLS
    }

    /// The table of `corpus`, or `None` where there are too many states.
    pub(crate) fn new(corpus: &Corpus, lengths: &Lengths, reading: &Reading<'_>) -> Result<Option<Self>> {
        let states = States::derive(corpus, lengths.depth())?;
        if states.list.len() > MOST_STATES {
            return Ok(None);
        }
        let symbols = Symbols::new(corpus, reading.skipped);
        let placement = Placement::of(&states, &symbols.of_dense);
        if placement.edges.len() > 1 << BASE_BITS {
            return Ok(None);
        }
        let blob = BlobBuilder::default()
            .array(&[states.sources as u32, u32::from(symbols.skipped_end)])
            .array(&records(&states, &placement.bases, lengths, reading.full))
            .array(&placement.edges)
            .array(&unigrams(&states, &symbols))
            .array(&symbols.page_of)
            .array(&symbols.pages)
            .finish();
        Self::stored(blob).map(Some)
    }

    /// The table that was stored as `blob`.
    pub(crate) fn stored(blob: Blob) -> Result<Self> {
        let damaged = Error::DamagedStore { reason: "a compact table has other arrays" };
        if blob.arrays() != Self::ARRAYS {
            return Err(damaged);
        }
        match *blob.array::<u32>(0) {
            [sources, skipped_end]
                if (1..=MOST_SOURCES as u32).contains(&sources) && skipped_end >= u32::from(FIRST_KNOWN) =>
            {
                Ok(Self { lanes: Lanes::new(sources as usize), skipped_end: skipped_end as u16, blob })
            }
            _ => Err(damaged),
        }
    }

    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(crate) fn view(&self) -> CompactView<'_> {
        CompactView {
            lanes: self.lanes,
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
        let code = character as usize;
        let page = self.page_of[code >> PAGE_BITS] as usize;
        self.pages[page * PAGE + code % PAGE]
    }

    /// Where the edge of `state` by `symbol` would be.
    #[inline(always)]
    pub(crate) fn slot(&self, state: u32, symbol: u16) -> u32 {
        self.states[state as usize].base() ^ u32::from(symbol)
    }

    /// Takes `symbol` or, where nothing known goes on with it, shortens what was known. Without branches, so that the
    /// steps of several responses can be under way at once.
    #[inline(always)]
    pub(crate) fn step(&self, state: u32, length: u32, symbol: u16, slot: u32) -> Step {
        let record = self.states[state as usize];
        let edge = self.edges[slot as usize];
        let taken = edge >> TARGET_BITS == u32::from(symbol);
        Step {
            state: if taken { edge & TARGET_MASK } else { record.parent() },
            length: if taken { length + 1 } else { record.above() },
            taken,
        }
    }

    /// Fetches a state into the cache, to be read soon.
    #[inline(always)]
    pub(crate) fn fetch_state(&self, state: u32) {
        fetch(self.states, state as usize);
    }

    /// Fetches an edge likewise.
    #[inline(always)]
    pub(crate) fn fetch_edge(&self, slot: u32) {
        fetch(self.edges, slot as usize);
    }

    #[inline(always)]
    pub(crate) fn record(&self, state: u32) -> Record {
        self.states[state as usize]
    }

    /// Document frequencies of one symbol, in lanes; those of symbol 0, which is unknown, are 0.
    #[inline(always)]
    pub(crate) fn unigram(&self, symbol: u16) -> u64 {
        self.unigrams[symbol as usize]
    }

    /// Sums of the n-grams of up to `length` characters that end where those of `state` do, in lanes.
    pub(crate) fn up_to(&self, mut state: u32, length: u32) -> u64 {
        if length == 0 {
            return 0;
        }
        while self.record(state).above() >= length {
            state = self.record(state).parent();
        }
        let (sums, frequencies) = self.lanes.worth(self.record(state));
        sums + frequencies * u64::from(length)
    }

    /// Appends the document frequencies, by source, of the n-grams of a state; zeros for none.
    #[inline(always)]
    pub(crate) fn frequencies(&self, state: Option<u32>, into: &mut Vec<u32>) {
        let record = state.map_or(Record::zeroed(), |state| self.record(state));
        into.extend(self.lanes.frequencies_of(record));
    }

    /// The match after one symbol, from the beginning.
    pub(crate) fn begin(&self, symbol: u16) -> (u32, u32) {
        let step = self.step(ROOT, 0, symbol, self.slot(ROOT, symbol));
        if step.state == NOWHERE { (ROOT, 0) } else { (step.state, step.length) }
    }
}

/// Characters as symbols of the compact table: unknown ones, skipped ones, the others.
struct Symbols {
    /// The symbol of each dense symbol of the corpus.
    of_dense: Vec<u16>,
    skipped_end: u16,
    page_of: Vec<u16>,
    pages: Vec<u16>,
}

impl Symbols {
    fn new(corpus: &Corpus, skipped: &[char]) -> Self {
        let known = || corpus.alphabet.characters().iter().copied().zip(crate::text::FIRST_CHARACTER as usize..);
        let mut symbols = Self {
            of_dense: vec![UNKNOWN; corpus.alphabet.len()],
            skipped_end: FIRST_KNOWN,
            page_of: vec![0; (char::MAX as usize >> PAGE_BITS) + 1],
            pages: vec![UNKNOWN; PAGE],
        };
        for &character in skipped {
            symbols.set(character, UNKNOWN_SKIPPED);
        }
        let mut next = FIRST_KNOWN;
        for wanted in [true, false] {
            for (character, dense) in known().filter(|(character, _)| skipped.contains(character) == wanted) {
                symbols.set(character, next);
                symbols.of_dense[dense] = next;
                next += 1;
            }
            if wanted {
                symbols.skipped_end = next;
            }
        }
        symbols
    }

    fn set(&mut self, character: char, symbol: u16) {
        let code = character as usize;
        let page = &mut self.page_of[code >> PAGE_BITS];
        if *page == 0 {
            *page = (self.pages.len() / PAGE) as u16;
            self.pages.resize(self.pages.len() + PAGE, UNKNOWN);
        }
        self.pages[*page as usize * PAGE + code % PAGE] = symbol;
    }
}

/// The number of a state in the table, where [`NOWHERE`] stands after the root.
pub(super) fn number_of(state: u32) -> u32 {
    if state == ROOT { ROOT } else { state + 1 }
}

fn records(states: &States, bases: &[u32], lengths: &Lengths, full: &[u32]) -> Vec<Record> {
    let sources = states.sources;
    let lanes = Lanes::new(sources);
    let mut records = vec![Record::zeroed(); states.list.len() + 1];
    let mut sums_of = vec![0; states.list.len() * sources];
    let mut levels_of = vec![0u32; states.list.len()];
    for (state, &State { parent, length, above }) in states.list.iter().enumerate() {
        let frequencies = states.frequencies_of(state);
        let (before, sums) = sums_of.split_at_mut(state * sources);
        let inherited = before.get(parent as usize * sources..).unwrap_or_default();
        for ((sum, &frequency), &inherited) in sums.iter_mut().zip(frequencies).zip(inherited) {
            *sum = inherited + u64::from(frequency) * u64::from(length - above);
        }
        let rest = sums.iter().zip(frequencies).map(|(sum, &frequency)| sum - u64::from(frequency) * u64::from(length));
        levels_of[state] = match lengths.window as u16 {
            window if above >= window => levels_of[parent as usize],
            window if length >= window => lanes.levels(frequencies, full),
            _ => 0,
        };
        records[number_of(state as u32) as usize] = Record {
            low: pack(rest, SUMS_BITS / lanes.sources) | u64::from(bases[state]) << SUMS_BITS,
            high: pack(frequencies.iter().copied().map(u64::from), FREQUENCIES_BITS / lanes.sources)
                | u64::from(number_of(parent)) << FREQUENCIES_BITS
                | u64::from(above) << ABOVE_SHIFT
                | u64::from(levels_of[state]) << LEVELS_SHIFT,
        };
    }
    records
}

fn unigrams(states: &States, symbols: &Symbols) -> Vec<u64> {
    let width = Lanes::new(states.sources).width();
    let mut unigrams = vec![0; symbols.of_dense.len()];
    for &(symbol, target) in states.edges_of(ROOT as usize) {
        let frequencies = states.frequencies_of(target as usize).iter().copied().map(u64::from);
        unigrams[symbols.of_dense[symbol as usize] as usize] = pack(frequencies, width);
    }
    unigrams
}

fn pack(values: impl DoubleEndedIterator<Item = u64>, bits: u32) -> u64 {
    values.rev().fold(0, |packed, value| packed.unbounded_shl(bits) | value)
}
