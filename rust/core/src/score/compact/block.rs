//! Buffers for the responses that are read side by side.

use super::plan::Plan;
use crate::index::compact::CompactView;

/// Responses that are read side by side.
pub(crate) const LANES: usize = 32;

/// A symbol that no response has: it stands before the first character.
pub(super) const BEFORE: u16 = u16::MAX;
/// Rows of it that `repeats` reaches back to.
pub(super) const PADDING: usize = 3;

/// Bits of a place that hold the length of the match.
const LENGTH_BITS: u32 = 4;

/// One value for each lane.
pub(super) type Row = [u16; LANES];

/// Responses of one question, response `i` in lane `i`; the buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Symbols by position; padding stands before the first.
    pub(super) symbols: Vec<Row>,
    /// For each position how long the longest n-gram ending there is that also ended earlier.
    pub(super) seen: Vec<Row>,
    /// Buffers of `repeats` for one lane.
    pub(super) reversed: Vec<u16>,
    pub(super) common: Vec<[u16; 32]>,
    /// Per lane, the states and match lengths at its positions; one place more for what is not kept.
    pub(super) places: Vec<u32>,
    /// Positions of each lane: the response's characters and the added `$`, as far as they are read.
    pub(super) ends: [usize; LANES],
    /// Characters of each whole response.
    pub(super) lengths: [usize; LANES],
    /// Per lane and index in `^response$`: the levels of windows, then of what covers the character.
    pub(super) levels: Vec<u16>,
    /// Likewise whether Truthfulness counts the character, as 0 or 1.
    pub(super) kept: Vec<u16>,
    /// Buffers of `finish` for one response.
    pub(super) gains: Vec<u64>,
    pub(super) pending: Vec<Pending>,
    pub(super) covered: Vec<u16>,
    pub(super) field: Vec<u16>,
}

/// An n-gram whose sum stands with a state that the suffix links lead to from the one at a position.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pending {
    pub(super) position: u32,
    /// Where to look next.
    pub(super) state: u32,
    pub(super) length: u32,
}

impl Block {
    /// Makes room for `plan`.
    pub(super) fn prepare(&mut self, plan: &Plan) {
        if self.seen.len() != plan.positions || self.covered.len() != plan.indices {
            self.symbols = vec![[BEFORE; LANES]; PADDING + plan.positions];
            self.seen = vec![[0; LANES]; plan.positions];
            self.places = vec![0; LANES * plan.positions + 1];
            self.levels = vec![0; LANES * plan.indices];
            self.kept = vec![0; LANES * plan.indices];
            self.gains = vec![0; plan.positions];
            self.pending = vec![Pending::default(); plan.positions + 1];
            self.covered = vec![0; plan.indices];
            self.field = vec![0; plan.indices];
        }
    }

    /// Reads `response` into a lane.
    #[inline(always)]
    pub(super) fn load(&mut self, plan: &Plan, table: &CompactView<'_>, lane: usize, response: &str) {
        let mut characters = response.chars();
        let mut read = 0;
        let rows = &mut self.symbols[PADDING..];
        for row in rows.iter_mut() {
            let Some(character) = characters.next() else { break };
            row[lane] = table.symbol(character);
            read += 1;
        }
        self.lengths[lane] = read;
        if read < rows.len() {
            rows[read][lane] = plan.end_symbol;
            self.ends[lane] = read + 1;
        } else {
            self.lengths[lane] += characters.as_str().chars().count();
            self.ends[lane] = read;
        }
    }

    /// Positions of the longest lane among the first `lanes`.
    pub(super) fn longest(&self, lanes: usize) -> usize {
        self.ends[..lanes].iter().copied().max().unwrap_or(0)
    }
}

/// A state and the length of the match, as `places` holds them.
#[inline(always)]
pub(super) fn pack(state: u32, length: u32) -> u32 {
    state << LENGTH_BITS | length
}

/// The state and the length of the match at a place.
#[inline(always)]
pub(super) fn unpack(place: u32) -> (u32, u32) {
    (place >> LENGTH_BITS, place & ((1 << LENGTH_BITS) - 1))
}
