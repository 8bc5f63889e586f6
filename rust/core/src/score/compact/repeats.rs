//! How much of what ends at each character also ended earlier, for all lanes at once.

use super::block::{Block, LANES, PADDING, Row};
use crate::score::repeats::seen_before;

/// Distances that are looked at together: their runs are independent of each other.
const TOGETHER: usize = PADDING + 1;

/// Up to this many lanes it is faster to look at one after the other.
const FEW: usize = 4;

/// Fills `seen` for the first `lanes` lanes, of up to `positions` positions.
#[inline(always)]
pub(super) fn fill(block: &mut Block, lanes: usize, positions: usize) {
    if lanes > FEW {
        fill_together(block, positions);
        return;
    }
    for lane in 0..lanes {
        let symbols = block.symbols[PADDING..][..block.ends[lane]].iter().map(|row| row[lane]);
        block.column.clear();
        block.column.extend(symbols);
        seen_before(&block.column, i16::MAX as usize, &mut block.column_seen);
        for (row, &seen) in block.seen.iter_mut().zip(&block.column_seen.lengths[..block.ends[lane]]) {
            row[lane] = seen as u16;
        }
    }
}

/// Fills `seen`: for each position and lane the longest n-gram ending there that also ends earlier.
///
/// "Seen before" is closed under suffixes, so this one number replaces a set of n-grams. How far the text before a position
/// and the text `distance` earlier agree is one more than one position before, where the symbols agree; otherwise 0.
/// `O(L²)` for `L` positions, 32 responses an instruction.
#[inline(always)]
fn fill_together(block: &mut Block, positions: usize) {
    let (symbols, seen) = (&block.symbols[..PADDING + positions], &mut block.seen[..positions]);
    seen.fill([0; LANES]);
    for distance in (1..positions).step_by(TOGETHER) {
        let mut common = [[0u16; LANES]; TOGETHER];
        for position in distance..positions {
            let here = &symbols[PADDING + position];
            // Later distances reach into the padding, which agrees with nothing.
            let earlier = &symbols[PADDING + position - distance - (TOGETHER - 1)..][..TOGETHER];
            let longest = &mut seen[position];
            for (common, earlier) in common.iter_mut().zip(earlier.iter().rev()) {
                go_on(common, here, earlier);
                for (longest, &common) in longest.iter_mut().zip(&*common) {
                    *longest = (*longest).max(common);
                }
            }
        }
    }
}

#[inline(always)]
fn go_on(common: &mut Row, here: &Row, earlier: &Row) {
    for ((common, &here), &earlier) in common.iter_mut().zip(here).zip(earlier) {
        *common = if here == earlier { *common + 1 } else { 0 };
    }
}
