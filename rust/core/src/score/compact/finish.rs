//! From states to scores: what each character adds to Fluency and is worth to Truthfulness, and the best cuts.

use super::block::{Block, PADDING, Pending, unpack};
use super::plan::{PerSource, Plan};
use crate::index::compact::{CompactTable, CompactView, Packing};

/// Responses whose sums of Truthfulness are added up side by side, since each addition waits for the one before.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// Reads what `walk` left of one lane: gains by position, and levels and what is kept by index in `^response$`.
#[inline(always)]
pub(super) fn gather(block: &mut Block, plan: &Plan, table: &CompactTable, view: &CompactView<'_>, lane: usize) {
    let end = block.ends[lane];
    let Block { symbols, seen, places, gains, levels, kept, pending, .. } = block;
    let indices = lane * plan.indices;
    let (levels, kept) = (&mut levels[indices..][..plan.indices], &mut kept[indices..][..plan.indices]);
    (levels[0], kept[0]) = (plan.begin_level, plan.keeps_begin);
    let places = &places[lane * plan.positions..][..end];
    let rows = symbols[PADDING..].iter().zip(&*seen);
    let into = gains.iter_mut().zip(&mut levels[1..]).zip(&mut kept[1..]);
    let mut waiting = 0;
    for (position, ((&place, (symbols, seen)), ((gain, level), kept))) in places.iter().zip(rows).zip(into).enumerate()
    {
        let (state, length) = unpack(place);
        let record = view.record(state);
        let (sums, frequencies) = view.packing.worth(record);
        let symbol = symbols[lane];
        *kept = u16::from(!table.skips(symbol));
        *level = if length >= plan.window as u32 { record.levels() } else { 0 };
        // Of the n-grams that end here, those up to `repeated` add nothing.
        let repeated = u32::from(seen[lane]).min(length);
        let own = repeated > record.above();
        let below = sums + frequencies * u64::from(repeated);
        let unigram = view.unigram(if repeated == 1 { symbol } else { 0 });
        // Of a table that was built this is never negative; one that was stored may hold anything.
        *gain = (sums + frequencies * u64::from(length)).wrapping_sub(if own { below } else { unigram });
        pending[waiting] = Pending { position: position as u32, state: record.link(), length: repeated };
        waiting += usize::from(!own && repeated > 1);
    }
    levels[end + 1..].fill(0);
    subtract_linked(gains, &mut pending[..waiting], view);
}

/// Where a known n-gram reaches back to the added `^`, takes the gain from those that do not: it is not part of
/// Fluency's.
#[cold]
pub(super) fn leave_out_begin(block: &mut Block, plan: &Plan, view: &CompactView<'_>, lane: usize) {
    let places = &block.places[lane * plan.positions..][..block.ends[lane].min(plan.longest as usize)];
    for ((&place, seen), (gain, own)) in places.iter().zip(&block.seen).zip(block.gains.iter_mut().zip(1..)) {
        let (state, length) = unpack(place);
        if length > own {
            *gain = view.up_to(state, own).wrapping_sub(view.up_to(state, own.min(u32::from(seen[lane]))));
        }
    }
}

/// Subtracts the sums that the suffix links lead to: all of them one link further at a time, without branches.
#[inline(always)]
fn subtract_linked(gains: &mut [u64], pending: &mut [Pending], view: &CompactView<'_>) {
    let mut count = pending.len();
    while count > 0 {
        let mut left = 0;
        for at in 0..count {
            let Pending { position, state, length } = pending[at];
            let record = view.record(state);
            let found = record.above() < length;
            let (sums, frequencies) = view.packing.worth(record);
            let sum = sums + frequencies * u64::from(length);
            let gain = &mut gains[position as usize];
            *gain = gain.wrapping_sub(if found { sum } else { 0 });
            pending[left] = Pending { position, state: record.link(), length };
            left += usize::from(!found);
        }
        count = left;
    }
}

/// Best `raw(k) · d(k)` of each source, not yet divided by the baseline.
#[inline(always)]
pub(super) fn best_fluency(gains: &[u64], plan: &Plan, packing: Packing) -> PerSource {
    let (undiscounted, rest) = gains.split_at(gains.len().min(plan.target));
    let mut raw = undiscounted.iter().fold(0, |sum: u64, &gain| sum.wrapping_add(gain));
    // Up to the target length the discount is 1, so the longest cut is the best of those.
    let mut best = apart(raw, packing);
    for (gain, &discount) in rest.iter().zip(&plan.discounts[plan.target + 1..]) {
        raw = raw.wrapping_add(*gain);
        for (best, raw) in best.iter_mut().zip(apart(raw, packing)) {
            let value = raw * discount;
            *best = if value > *best { value } else { *best };
        }
    }
    best
}

/// Each source's value.
#[inline(always)]
pub(super) fn apart(packed: u64, packing: Packing) -> PerSource {
    let (width, mask) = (packing.width(), u64::MAX >> (64 - packing.width()));
    // Values stay far below 2^53; as signed numbers they are converted faster.
    std::array::from_fn(|source| (packed.unbounded_shr(width * source as u32) & mask) as i64 as f64)
}

/// From the levels of windows by their ends to the place in `worth` of what covers each kept character, which is the highest
/// of the levels in each source; to 0, which is worth nothing, where it is skipped.
#[inline(always)]
pub(super) fn cover(block: &mut Block, plan: &Plan, packing: Packing, lane: usize) {
    let range = lane * plan.indices..(lane + 1) * plan.indices;
    let (levels, kept) = (&mut block.levels[range.clone()], &block.kept[range]);
    let end = (block.ends[lane] + 1).min(plan.zero);
    let covered = &mut block.covered[..end];
    covered.fill(0);
    for source in packing.fields_of_levels() {
        let field = &mut block.field[..end];
        field.fill(0);
        for offset in 0..plan.window {
            for (highest, &level) in field.iter_mut().zip(&levels[offset..]) {
                *highest = (*highest).max(level & source);
            }
        }
        for (covered, &highest) in covered.iter_mut().zip(&*field) {
            *covered |= highest;
        }
    }
    for ((level, &covered), &kept) in levels.iter_mut().zip(&*covered).zip(kept) {
        *level = covered * kept;
    }
    levels[end..].fill(0);
}

/// Sums, from the left, of what the characters before the target length are worth, for lanes from `first` on.
#[inline(always)]
pub(super) fn undiscounted(block: &Block, plan: &Plan, first: usize) -> [PerSource; SIDE_BY_SIDE] {
    let of_lane = |side: usize| &block.levels[(first + side) * plan.indices..][..plan.target.min(plan.indices)];
    let levels: [&[u16]; SIDE_BY_SIDE] = std::array::from_fn(of_lane);
    let longest = block.ends[first..][..SIDE_BY_SIDE].iter().max().map_or(0, |end| (end + 1).min(levels[0].len()));
    let mut totals = [[0.0; 4]; SIDE_BY_SIDE];
    for at in 0..longest {
        for (total, levels) in totals.iter_mut().zip(levels) {
            add(total, &plan.worth[levels[at] as usize % plan.worth.len()]);
        }
    }
    totals
}

/// Best Truthfulness of each source from the sums before the target length; `follows` says whether a character that is
/// not skipped comes after those that are read.
#[inline(always)]
pub(super) fn best_truthfulness(
    block: &Block,
    plan: &Plan,
    lane: usize,
    mut total: PerSource,
    follows: impl Fn() -> bool,
) -> PerSource {
    let end = (block.ends[lane] + 1).min(plan.zero);
    let indices = lane * plan.indices..lane * plan.indices + end;
    let (levels, kept) = (&block.levels[indices.clone()], &block.kept[indices]);
    let middle = end.min(plan.target);
    let counted_before = kept[..middle].iter().sum::<u16>();
    let mut count = counted_before;
    let mut best = [0.0; 4];
    for ((&level, &kept), &discount) in levels[middle..].iter().zip(&kept[middle..]).zip(&plan.discounts[middle..]) {
        add(&mut total, &plan.worth[level as usize % plan.worth.len()]);
        count += kept;
        // No cut ends with a skipped character.
        let (divisor, discount) = (f64::from(count), if kept == 1 { discount } else { 0.0 });
        for (best, &total) in best.iter_mut().zip(&total) {
            let value = total / divisor * discount;
            *best = if value > *best { value } else { *best };
        }
    }
    if count > 0 && count == counted_before && !follows() {
        // The last score stands before the target length, where nothing is discounted.
        best = total.map(|total| total / f64::from(count));
    }
    best
}

#[inline(always)]
fn add(total: &mut PerSource, worth: &PerSource) {
    for (total, worth) in total.iter_mut().zip(worth) {
        *total += worth;
    }
}
