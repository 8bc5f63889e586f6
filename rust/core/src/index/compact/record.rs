//! States as the table has them: 16 bytes each, with the values of several sources packed.

use crate::index::states::{ROOT, State, States};
use crate::index::tables::Lengths;
use bytemuck::{Pod, Zeroable};

pub(crate) const MOST_SOURCES: usize = 3;
/// Bits of the levels of all sources together.
pub(crate) const LEVELS_BITS: u32 = 9;

/// Bits of a state's number.
pub(crate) const TARGET_BITS: u32 = 20;
pub(super) const TARGET_MASK: u32 = (1 << TARGET_BITS) - 1;
pub(super) const MOST_STATES: usize = (1 << TARGET_BITS) - 2;
/// Where an unknown character leads: no n-gram ends there. (It is a state of its own: the root has an edge for every
/// symbol, so from there the next character would add to this length of 1.)
pub(super) const NOWHERE: u32 = 1;

/// A state, in 128 bits.
///
/// The sum of the document frequencies of all n-grams of 1 to `n` characters that end there is `sums + n × frequencies`, for
/// every `n` of the state. Low word: sums (42 bits, as many for each source), base of the suffix link (22). High word:
/// frequencies (30 bits, as many for each source), suffix link (20), length of the link's longest n-gram (4), levels of the
/// window's frequency (9, as many for each source).
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
pub(super) const BASE_BITS: u32 = 64 - SUMS_BITS;

/// Classes of states by frequency.
const CLASSES: usize = 256;

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

    /// The suffix link: the state of the longest n-gram that also ends at other places.
    #[inline(always)]
    pub(crate) fn link(self) -> u32 {
        (self.high >> FREQUENCIES_BITS) as u32 & TARGET_MASK
    }

    /// Where the edges of the state that the suffix link leads to are.
    #[inline(always)]
    pub(super) fn link_base(self) -> u32 {
        (self.low >> SUMS_BITS) as u32
    }
}

/// How the values of several sources are packed: in a record, and in the fields of a 64-bit word in which they are added up.
/// Sums over a whole response do not overflow a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    sources: u32,
    sums: Spread,
    frequencies: Spread,
}

/// Moves values from a record to the fields of a word: by 0, once and twice `shift`.
#[derive(Debug, Clone, Copy)]
struct Spread {
    masks: [u64; MOST_SOURCES],
    shift: u32,
}

impl Spread {
    #[inline(always)]
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

impl Packing {
    #[inline(always)]
    pub(crate) fn new(sources: usize) -> Self {
        let sources = sources as u32;
        Self { sources, sums: Spread::new(sources, SUMS_BITS), frequencies: Spread::new(sources, FREQUENCIES_BITS) }
    }

    #[inline(always)]
    pub(crate) fn sources(self) -> usize {
        self.sources as usize
    }

    /// Bits of a field of a word.
    #[inline(always)]
    pub(crate) fn width(self) -> u32 {
        64 / self.sources
    }

    /// Sums and frequencies of a state, a field for each source: n-grams of up to `n` characters sum to `sums + n × frequencies`.
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
    pub(super) fn frequencies_of(self, record: Record) -> impl Iterator<Item = u32> {
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
    pub(super) fn have_room(self, answers: usize, longest: usize, positions: usize, full: u32) -> bool {
        let below = |value: usize, bits: u32| value >> bits.min(usize::BITS - 1) == 0;
        below(full as usize, LEVELS_BITS / self.sources)
            && below(answers, FREQUENCIES_BITS / self.sources)
            && below(answers * longest, SUMS_BITS / self.sources)
            && below(answers * longest * positions, self.width())
    }
}

/// The numbers of states in the table: those that many answers contain come first, since they are read most and so share
/// cache lines. [`NOWHERE`] stands after the root.
pub(super) fn numbers(states: &States) -> Vec<u32> {
    // Sorted by counting, where from a frequency on all are as often read.
    let class = |state| CLASSES - 1 - (states.frequencies_of(state).iter().sum::<u32>() as usize).min(CLASSES - 1);
    let classes: Vec<u8> = (0..states.list.len()).map(|state| class(state) as u8).collect();
    let mut next = [0; CLASSES + 1];
    for &class in &classes[1..] {
        next[class as usize + 1] += 1;
    }
    next[0] = NOWHERE + 1;
    for class in 0..CLASSES {
        next[class + 1] += next[class];
    }
    let mut numbers = vec![ROOT; states.list.len()];
    for (number, &class) in numbers.iter_mut().zip(&classes).skip(1) {
        let next = &mut next[class as usize];
        *number = *next;
        *next += 1;
    }
    numbers
}

/// Writes the records of all states, and of [`NOWHERE`], to where their numbers say, among zeros.
pub(super) fn write_records(
    states: &States,
    numbers: &[u32],
    bases: &[u32],
    lengths: &Lengths,
    full: &[u32],
    records: &mut [Record],
) {
    let packing = Packing::new(states.sources);
    let (sums_bits, frequencies_bits) = (SUMS_BITS / packing.sources, FREQUENCIES_BITS / packing.sources);
    // Of all n-grams that end where a state's longest does, a field for each source; none overflows where there is room.
    let mut sums_of = vec![0; states.list.len()];
    let mut levels_of = vec![0u32; states.list.len()];
    records[NOWHERE as usize].low = link_base(bases[ROOT as usize]);
    for (state, &State { link, length, above }) in states.list.iter().enumerate() {
        let frequencies = states.frequencies_of(state);
        let each = || frequencies.iter().copied().map(u64::from);
        let own = pack(each(), sums_bits);
        let rest = sums_of[link as usize] - own * u64::from(above);
        sums_of[state] = rest + own * u64::from(length);
        levels_of[state] = match lengths.window as u16 {
            window if above >= window => levels_of[link as usize],
            window if length >= window => packing.levels(frequencies, full),
            _ => 0,
        };
        records[numbers[state] as usize] = Record {
            low: rest | link_base(bases[link as usize]),
            high: pack(each(), frequencies_bits)
                | u64::from(numbers[link as usize]) << FREQUENCIES_BITS
                | u64::from(above) << ABOVE_SHIFT
                | u64::from(levels_of[state]) << LEVELS_SHIFT,
        };
    }
}

fn link_base(base: u32) -> u64 {
    u64::from(base) << SUMS_BITS
}

pub(super) fn pack(values: impl DoubleEndedIterator<Item = u64>, bits: u32) -> u64 {
    values.rev().fold(0, |packed, value| packed.unbounded_shl(bits) | value)
}
