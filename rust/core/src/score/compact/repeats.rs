//! How much of what ends at each character also ended earlier, for all lanes at once.

use super::block::{BEFORE, Block, LANES, PADDING, Row};
use super::plan::Plan;

/// Distances that are looked at together: their runs are independent of each other.
const TOGETHER: usize = PADDING + 1;

/// Up to this many lanes it is faster to look at one after the other.
const FEW: usize = 4;
/// Then so many distances are looked at in one instruction.
const DISTANCES: usize = 32;

/// Fills `seen` for the first `lanes` lanes, of up to `positions` positions.
#[inline(always)]
pub(super) fn fill(block: &mut Block, plan: &Plan, lanes: usize, positions: usize) {
    if lanes > FEW {
        fill_together(block, plan, lanes, positions);
        return;
    }
    for lane in 0..lanes {
        fill_one(block, plan, lane);
    }
}

/// Fills `seen` of one lane: the same with the distances, up to that of the first character, beside each other.
#[inline(always)]
fn fill_one(block: &mut Block, plan: &Plan, lane: usize) {
    let Block { symbols, seen, reversed, common, ends, .. } = block;
    let end = ends[lane];
    let lane = lane * plan.indices + 1..;
    let (symbols, seen) = (&symbols[lane.clone()][..end], &mut seen[lane][..end]);
    // What stands `distance` before a position stands as far behind it, and at last what agrees with nothing.
    reversed.clear();
    reversed.extend(symbols.iter().rev());
    reversed.extend([BEFORE; DISTANCES]);
    common.clear();
    common.resize(end.div_ceil(DISTANCES), [0; DISTANCES]);
    for (position, seen) in seen.iter_mut().enumerate() {
        let (here, earlier) = (reversed[end - 1 - position], reversed[end - position..].chunks_exact(DISTANCES));
        let mut longest = [0; DISTANCES];
        for (common, earlier) in common[..position.div_ceil(DISTANCES)].iter_mut().zip(earlier) {
            for ((common, &earlier), longest) in common.iter_mut().zip(earlier).zip(&mut longest) {
                *common = if here == earlier { *common + 1 } else { 0 };
                *longest = (*longest).max(*common);
            }
        }
        *seen = longest.iter().copied().max().unwrap_or(0);
    }
}

/// Fills `seen`: for each position and lane the longest n-gram ending there that also ends earlier.
///
/// "Seen before" is closed under suffixes, so this one number replaces a set of n-grams. How far the text before a position
/// and the text `distance` earlier agree is one more than one position before, where the symbols agree; otherwise 0.
/// `O(L²)` for `L` positions, 32 responses an instruction.
#[inline(always)]
fn fill_together(block: &mut Block, plan: &Plan, lanes: usize, positions: usize) {
    let Block { symbols, seen, rows, longest, .. } = block;
    let (rows, longest) = (&mut rows[..PADDING + positions], &mut longest[..positions]);
    for (lane, symbols) in symbols.chunks_exact(plan.indices).take(lanes).enumerate() {
        for (row, &symbol) in rows[PADDING..].iter_mut().zip(&symbols[1..]) {
            row.0[lane] = symbol;
        }
    }
    compare(rows, longest);
    for (lane, seen) in seen.chunks_exact_mut(plan.indices).take(lanes).enumerate() {
        for (seen, row) in seen[1..].iter_mut().zip(&*longest) {
            *seen = row.0[lane];
        }
    }
}

#[inline(always)]
fn compare(rows: &[Row], longest: &mut [Row]) {
    let positions = longest.len();
    longest.fill(Row([0; LANES]));
    for distance in (1..positions).step_by(TOGETHER) {
        let mut common = [Row([0; LANES]); TOGETHER];
        // Later distances reach into the padding, which agrees with nothing.
        let compared = rows[PADDING + distance..].iter().zip(rows.windows(TOGETHER));
        for ((&here, earlier), longest) in compared.zip(&mut longest[distance..]) {
            // Kept in registers, which the compiler does not do with rows that may overlap.
            let mut most = *longest;
            for (common, earlier) in common.iter_mut().zip(earlier.iter().rev()) {
                go_on(common, &here, earlier);
                for (most, &common) in most.0.iter_mut().zip(&common.0) {
                    *most = (*most).max(common);
                }
            }
            *longest = most;
        }
    }
}

#[inline(always)]
fn go_on(common: &mut Row, here: &Row, earlier: &Row) {
    for ((common, &here), &earlier) in common.0.iter_mut().zip(&here.0).zip(&earlier.0) {
        *common = if here == earlier { *common + 1 } else { 0 };
    }
}
