//! From states to scores: what each character adds to Fluency and is worth to Truthfulness, and the best cuts.

use super::block::{Block, LANES, Pending};
use super::plan::{CHUNK, PerSource, Plan};
use crate::index::compact::{CompactTable, CompactView, Packing};
use std::ops::Range;

/// Values that are compared side by side.
const VECTOR: usize = 8;

/// Responses whose sums of Truthfulness are added up side by side, since each addition waits for the one before.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// Reads what `walk` left of some lanes: gains, levels and what is kept.
#[inline(always)]
pub(super) fn gather(
    block: &mut Block,
    plan: &Plan,
    table: &CompactTable,
    view: &CompactView<'_>,
    lanes: Range<usize>,
) {
    let mut waiting = 0;
    for lane in lanes {
        let first = lane * plan.indices;
        let last = block.ends[lane];
        for start in (0..=last).step_by(CHUNK) {
            waiting = gather_chunk(block, plan, table, view, lane, start, waiting);
        }
        let (after, next) = (first + (last + 1).next_multiple_of(CHUNK), first + plan.indices);
        block.levels[after..next].fill(0);
        block.kept[after..next].fill(0);
        (block.levels[first], block.kept[first]) = (plan.begin_level, plan.keeps_begin);
    }
    subtract_linked(&mut block.gains, &mut block.pending[..waiting], view);
}

/// Likewise for a chunk of one lane that begins at index `start`.
#[inline(always)]
fn gather_chunk(
    block: &mut Block,
    plan: &Plan,
    table: &CompactTable,
    view: &CompactView<'_>,
    lane: usize,
    start: usize,
    mut waiting: usize,
) -> usize {
    let first = lane * plan.indices + start;
    let (records, matched) = (chunk(&block.records, first), chunk(&block.matched, first));
    let (symbols, seen) = (chunk(&block.symbols, first), chunk(&block.seen, first));
    let (gains, levels) = (chunk_mut(&mut block.gains, first), chunk_mut(&mut block.levels, first));
    let kept = chunk_mut(&mut block.kept, first);
    // The last index that counts for Fluency, and the last that is read.
    let (gaining, read) = (block.lengths[lane].min(plan.zero - 1) as u64, block.ends[lane] as u64);
    let counting = read.min(plan.zero as u64 - 1);
    let (mut single, mut linked, mut waits) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
    for at in 0..CHUNK {
        let (index, record) = ((start + at) as u64, records[at]);
        let length = u64::from(matched[at].min(plan.longest as u16));
        let (sums, frequencies) = view.packing.worth(record);
        kept[at] = u16::from(!table.skips(symbols[at]) && index <= counting);
        levels[at] = if length >= plan.window as u64 && index <= read { record.levels() } else { 0 };
        // Of the n-grams that end here, those up to `repeated` add nothing.
        let repeated = u64::from(seen[at]).min(length);
        let own = repeated > u64::from(record.above());
        let (rest, added) = if own { (0, length - repeated) } else { (sums, length) };
        gains[at] = rest.wrapping_add(frequencies.wrapping_mul(added));
        let others = index <= gaining && !own;
        single[at] = if others && repeated == 1 { symbols[at] } else { 0 };
        waits[at] = u16::from(others && repeated > 1);
        linked[at] = Pending { place: first as u64 + at as u64, length: repeated, state: record.link() }.pack();
    }
    for (gain, symbol) in gains.iter_mut().zip(single) {
        // Of a table that was built this is never negative; one that was stored may hold anything.
        *gain = gain.wrapping_sub(view.unigram(symbol));
    }
    for at in 0..CHUNK.min(block.ends[lane] + 1 - start) {
        block.pending[waiting] = linked[at];
        waiting += usize::from(waits[at]);
    }
    waiting
}

#[inline(always)]
fn chunk<T>(values: &[T], first: usize) -> &[T; CHUNK] {
    values[first..].first_chunk().expect("arrays reach behind the last index")
}

#[inline(always)]
fn chunk_mut<T>(values: &mut [T], first: usize) -> &mut [T; CHUNK] {
    values[first..].first_chunk_mut().expect("arrays reach behind the last index")
}

/// Where a known n-gram reaches back to the added `^`, takes the gain from those that do not: it is not part of
/// Fluency's.
#[cold]
pub(super) fn leave_out_begin(block: &mut Block, plan: &Plan, view: &CompactView<'_>, lane: usize) {
    for own in 1..=block.ends[lane].min(plan.longest as usize) {
        let at = lane * plan.indices + own;
        let (record, length, own) = (block.records[at], u32::from(block.matched[at]), own as u32);
        if length > own {
            let seen = u32::from(block.seen[at]);
            block.gains[at] = view.up_to(record, own).wrapping_sub(view.up_to(record, own.min(seen)));
        }
    }
}

/// Subtracts the sums that the suffix links lead to: all of them one link further at a time, without branches.
#[inline(always)]
fn subtract_linked(gains: &mut [u64], pending: &mut [u64], view: &CompactView<'_>) {
    for &packed in &*pending {
        view.fetch_state(Pending::unpack(packed).state);
    }
    let mut count = pending.len();
    while count > 0 {
        let mut left = 0;
        for at in 0..count {
            let Pending { place, length, state } = Pending::unpack(pending[at]);
            let record = view.record(state);
            view.fetch_state(record.link());
            let found = u64::from(record.above()) < length;
            let (sums, frequencies) = view.packing.worth(record);
            let sum = sums + frequencies * length;
            let gain = &mut gains[place as usize];
            *gain = gain.wrapping_sub(if found { sum } else { 0 });
            pending[left] = Pending { place, length, state: record.link() }.pack();
            left += usize::from(!found);
        }
        count = left;
    }
}

/// Best `raw(k) · d(k)` of each source, not yet divided by the baseline.
#[inline(always)]
pub(super) fn best_fluency(block: &Block, plan: &Plan, packing: Packing, lane: usize) -> PerSource {
    let gains = &block.gains[lane * plan.indices + 1..][..block.lengths[lane].min(plan.zero - 1)];
    let (undiscounted, rest) = gains.split_at(gains.len().min(plan.target));
    let mut raw = undiscounted.iter().fold(0, |sum: u64, &gain| sum.wrapping_add(gain));
    // Up to the target length the discount is 1, so the longest cut is the best of those.
    let mut best = apart(raw, packing).map(|best| [best; VECTOR]);
    for (gains, discounts) in rest.chunks(CHUNK).zip(&plan.discounts_beyond) {
        let mut raws = [0; CHUNK];
        for (sum, &gain) in raws.iter_mut().zip(gains) {
            raw = raw.wrapping_add(gain);
            *sum = raw;
        }
        for (source, best) in best.iter_mut().enumerate().take(packing.sources()) {
            for (raws, discounts) in raws.chunks_exact(VECTOR).zip(discounts.chunks_exact(VECTOR)) {
                for ((best, &raw), discount) in best.iter_mut().zip(raws).zip(discounts) {
                    *best = larger(field(raw, packing, source) * discount, *best);
                }
            }
        }
    }
    best.map(|best| best.into_iter().fold(0.0, larger))
}

#[inline(always)]
fn larger(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// Each source's value.
#[inline(always)]
pub(super) fn apart(packed: u64, packing: Packing) -> PerSource {
    std::array::from_fn(|source| field(packed, packing, source))
}

/// One source's value.
#[inline(always)]
fn field(packed: u64, packing: Packing, source: usize) -> f64 {
    let (width, mask) = (packing.width(), u64::MAX >> (64 - packing.width()));
    // Values stay far below 2^53; as signed numbers they are converted faster.
    (packed.unbounded_shr(width * source as u32) & mask) as i64 as f64
}

/// From the levels of windows by their ends to the place in `worth` of what covers each kept character, which is the highest
/// of the levels in each source; to 0, which is worth nothing, where it is skipped. All these lanes as one: windows that begin at
/// a kept character end in its lane.
#[inline(always)]
pub(super) fn cover(block: &mut Block, plan: &Plan, packing: Packing, lanes: Range<usize>) {
    let Block { levels, kept, covered, highest, .. } = block;
    let all = lanes.start * plan.indices..lanes.end * plan.indices;
    let (levels, kept) = (&mut levels[all.start..], &kept[all.clone()]);
    let (covered, highest) = (&mut covered[all.clone()], &mut highest[all]);
    covered.fill(0);
    for source in packing.fields_of_levels() {
        highest.fill(0);
        for offset in 0..plan.window {
            for (highest, &level) in highest.iter_mut().zip(&levels[offset..]) {
                *highest = (*highest).max(level & source);
            }
        }
        for (covered, &highest) in covered.iter_mut().zip(&*highest) {
            *covered |= highest;
        }
    }
    for ((level, &covered), &kept) in levels.iter_mut().zip(&*covered).zip(kept) {
        *level = covered * kept;
    }
}

/// Sums, from the left, of what the characters before the target length are worth, for lanes from `first` on.
#[inline(always)]
pub(super) fn undiscounted(block: &Block, plan: &Plan, first: usize) -> [PerSource; SIDE_BY_SIDE] {
    // The last lane stands for those that there are not.
    let of_lane = |side: usize| {
        let lane = (first + side).min(LANES - 1);
        &block.levels[lane * plan.indices..][..plan.target.min(plan.indices)]
    };
    let levels: [&[u16]; SIDE_BY_SIDE] = std::array::from_fn(of_lane);
    let longest = block.ends[first..].iter().take(SIDE_BY_SIDE).max().map_or(0, |end| (end + 1).min(levels[0].len()));
    let mut totals = [[0.0; 4]; SIDE_BY_SIDE];
    for at in 0..longest {
        for (total, levels) in totals.iter_mut().zip(levels) {
            add(total, &plan.worth[levels[at] as usize % plan.worth.len()]);
        }
    }
    totals
}

/// Whether no later cut scores more, whatever follows: `n` more characters, worth 1 each, make the mean `total / count` at most
/// `exp(n · (1 / total - 1 / count))` times as large, and the discount, which falls by `1 / (zero - target)` a character, makes it
/// at least `exp(n / (zero - target))` times smaller. The margin is far greater than what rounding adds.
#[inline(always)]
fn falls_from_here(plan: &Plan, total: f64, count: f64) -> bool {
    const MARGIN: f64 = 0.9;
    (count - total) * (plan.zero - plan.target) as f64 <= MARGIN * total * count
}

/// Best Truthfulness of each source from the sums before the target length; `follows` says whether a character that is
/// not skipped comes after those that are read.
#[inline(always)]
pub(super) fn best_truthfulness(
    block: &Block,
    plan: &Plan,
    sources: usize,
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
        // No cut ends with a skipped character, which is worth nothing.
        if kept == 0 {
            continue;
        }
        add(&mut total, &plan.worth[level as usize % plan.worth.len()]);
        count += 1;
        let divisor = f64::from(count);
        for (best, &total) in best.iter_mut().zip(&total) {
            *best = larger(total / divisor * discount, *best);
        }
        if total[..sources].iter().all(|&total| falls_from_here(plan, total, divisor)) {
            break;
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
