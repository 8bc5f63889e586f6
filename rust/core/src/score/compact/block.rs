//! Buffers for the responses that are read side by side.

use super::plan::{CHUNK, Plan};
use crate::index::compact::{CompactView, Record, TARGET_BITS};
use crate::text::count_characters;
use bytemuck::Zeroable;

/// Responses that are read side by side.
pub(crate) const LANES: usize = 32;

/// A symbol that no response has: it stands before the first character.
pub(super) const BEFORE: u16 = u16::MAX;
/// Rows of it that `repeats` reaches back to.
pub(super) const PADDING: usize = 11;

/// Bits of the length of an n-gram.
const LENGTH_BITS: u32 = 4;

/// One value for each lane, in a cache line of its own.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [u16; LANES]);

/// Responses of one question, response `i` in lane `i`; the buffers of one thread.
///
/// Where nothing else is said: values by index in `^response$`, those of one lane after those of the one before.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Symbols.
    pub(super) symbols: Vec<u16>,
    /// How long the longest n-gram ending there is that also ended earlier.
    pub(super) seen: Vec<u16>,
    /// Buffers of `repeats` for all lanes, by position, with padding before the first, and for one lane.
    pub(super) rows: Vec<Row>,
    pub(super) longest: Vec<Row>,
    pub(super) reversed: Vec<u16>,
    pub(super) common: Vec<[u16; 32]>,
    /// The states' records, and the lengths of the matches, which go on growing beyond the longest n-gram.
    pub(super) records: Vec<Record>,
    pub(super) matched: Vec<u16>,
    /// Positions of each lane: the response's characters and the added `$`, as far as they are read.
    pub(super) ends: [usize; LANES],
    /// Characters of each whole response.
    pub(super) lengths: [usize; LANES],
    /// What Fluency gains, and n-grams that are still to be subtracted from that.
    pub(super) gains: Vec<u64>,
    pub(super) pending: Vec<u64>,
    /// The levels of windows, then of what covers the character.
    pub(super) levels: Vec<u16>,
    /// Whether Truthfulness counts the character, as 0 or 1.
    pub(super) kept: Vec<u16>,
    /// Buffers of `cover`.
    pub(super) covered: Vec<u16>,
    pub(super) highest: Vec<u16>,
}

/// An n-gram whose sum stands with a state that the suffix links lead to from the one at its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    /// Among the gains of all lanes.
    pub(super) place: u64,
    pub(super) length: u64,
    /// Where to look next.
    pub(super) state: u32,
}

impl Pending {
    /// All in one word.
    #[inline(always)]
    pub(super) fn pack(self) -> u64 {
        (self.place << LENGTH_BITS | self.length) << TARGET_BITS | u64::from(self.state)
    }

    #[inline(always)]
    pub(super) fn unpack(packed: u64) -> Self {
        let (place, length) = (packed >> TARGET_BITS >> LENGTH_BITS, packed >> TARGET_BITS & ((1 << LENGTH_BITS) - 1));
        Self { place, length, state: packed as u32 & ((1 << TARGET_BITS) - 1) }
    }
}

impl Block {
    /// Makes room for `plan`.
    pub(super) fn prepare(&mut self, plan: &Plan) {
        if self.longest.len() != plan.positions || self.kept.len() != LANES * plan.indices {
            let all = LANES * plan.indices;
            self.symbols = vec![0; all];
            self.seen = vec![0; all];
            self.rows = vec![Row([BEFORE; LANES]); PADDING + plan.positions];
            self.longest = vec![Row([0; LANES]); plan.positions];
            self.records = vec![Record::zeroed(); all];
            self.matched = vec![0; all];
            self.gains = vec![0; all];
            self.pending = vec![0; LANES * plan.positions + 1];
            self.levels = vec![0; all + CHUNK];
            self.kept = vec![0; all];
            self.covered = vec![0; all];
            self.highest = vec![0; all];
        }
    }

    /// Reads `response` into a lane.
    #[inline(always)]
    pub(super) fn load(&mut self, plan: &Plan, table: &CompactView<'_>, lane: usize, response: &str) {
        let symbols = &mut self.symbols[lane * plan.indices + 1..][..plan.positions];
        let (read, rest) = read_symbols(table, response, symbols);
        self.lengths[lane] = read;
        if read < symbols.len() {
            symbols[read] = plan.end_symbol;
            self.ends[lane] = read + 1;
        } else {
            self.lengths[lane] += count_characters(rest);
            self.ends[lane] = read;
        }
    }

    /// Positions of the longest lane among the first `lanes`.
    pub(super) fn longest(&self, lanes: usize) -> usize {
        self.ends[..lanes].iter().copied().max().unwrap_or(0)
    }
}

/// Reads the characters that there is room for, and returns their number and what is left of the text.
#[inline(always)]
fn read_symbols<'a>(table: &CompactView<'_>, text: &'a str, symbols: &mut [u16]) -> (usize, &'a str) {
    let (mut rest, mut read) = (text, 0);
    while read < symbols.len() {
        if let (Some(codes), Some(symbols)) = (four_of_three_bytes(rest), symbols[read..].first_chunk_mut()) {
            *symbols = codes.map(|code| table.symbol_of(code));
            (rest, read) = (&rest[4 * 3..], read + 4);
            continue;
        }
        let mut characters = rest.chars();
        let Some(character) = characters.next() else { break };
        symbols[read] = table.symbol(character);
        (rest, read) = (characters.as_str(), read + 1);
    }
    (read, rest)
}

/// The first four characters, if each takes three bytes, as most of Japanese does.
#[inline(always)]
fn four_of_three_bytes(text: &str) -> Option<[u32; 4]> {
    let bytes: &[u8; 12] = text.as_bytes().first_chunk()?;
    // First bytes of three have these bits.
    if [0, 3, 6, 9].iter().any(|&first| bytes[first] & 0xF0 != 0xE0) {
        return None;
    }
    Some(std::array::from_fn(|at| {
        let [first, second, third] = [0, 1, 2].map(|byte| u32::from(bytes[3 * at + byte]));
        (first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
    }))
}
