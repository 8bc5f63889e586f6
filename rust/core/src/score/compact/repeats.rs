//! How much of what ends at each character also ended earlier, for all lanes at once.

use super::block::{BEFORE, Block, LANES, PADDING, Row};

/// Distances that are looked at together: their runs are independent of each other.
const TOGETHER: usize = PADDING + 1;

/// Up to this many lanes it is faster to look at one after the other.
const FEW: usize = 4;
/// Then so many distances are looked at in one instruction.
const DISTANCES: usize = 32;

/// Fills `seen` for the first `lanes` lanes, of up to `positions` positions.
#[inline(always)]
pub(super) fn fill(block: &mut Block, lanes: usize, positions: usize) {
    if lanes > FEW {
        fill_together(block, positions);
        return;
    }
    for lane in 0..lanes {
        fill_one(block, lane);
    }
}

/// Fills `seen` of one lane: the same with the distances, up to that of the first character, beside each other.
#[inline(always)]
fn fill_one(block: &mut Block, lane: usize) {
    let Block { symbols, seen, reversed, common, ends, .. } = block;
    let end = ends[lane];
    // What stands `distance` before a position stands as far behind it, and at last what agrees with nothing.
    reversed.clear();
    reversed.extend(symbols[PADDING..][..end].iter().rev().map(|row| row[lane]));
    reversed.extend([BEFORE; DISTANCES]);
    common.clear();
    common.resize(end.div_ceil(DISTANCES), [0; DISTANCES]);
    for (position, seen) in seen[..end].iter_mut().enumerate() {
        let (here, earlier) = (reversed[end - 1 - position], reversed[end - position..].chunks_exact(DISTANCES));
        let mut longest = [0; DISTANCES];
        for (common, earlier) in common[..position.div_ceil(DISTANCES)].iter_mut().zip(earlier) {
            for ((common, &earlier), longest) in common.iter_mut().zip(earlier).zip(&mut longest) {
                *common = if here == earlier { *common + 1 } else { 0 };
                *longest = (*longest).max(*common);
            }
        }
        seen[lane] = longest.iter().copied().max().unwrap_or(0);
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
