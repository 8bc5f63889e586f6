//! The table's state at every character of every lane.

use super::block::{Block, LANES, PADDING, pack};
use super::plan::Plan;
use crate::index::compact::CompactView;
use crate::index::states::ROOT;

/// Up to this many lanes are cut into parts, so that there are enough walkers to take turns. Tables that no cache holds, as
/// when every call is about other questions, are read a third faster that way.
const FEW: usize = 16;

/// Walks from one position of a lane to another.
#[derive(Debug, Clone, Copy, Default)]
struct Walker {
    lane: usize,
    position: usize,
    /// Before this, its matches may be too short and are not kept.
    first: usize,
    end: usize,
    state: u32,
    length: u32,
    slot: u32,
}

/// Fills `places`. The walkers take turns, since each step waits for memory; one that is at its end leaves.
#[inline(always)]
pub(super) fn fill(block: &mut Block, plan: &Plan, table: &CompactView<'_>, lanes: usize) {
    let mut walkers = [Walker::default(); LANES];
    let mut count = set_out(&mut walkers, &block.ends[..lanes], plan);
    let Block { symbols, places, .. } = block;
    let (symbols, nowhere) = (&symbols[PADDING..], LANES * plan.positions);
    while count > 0 {
        for walker in &mut walkers[..count] {
            walker.slot = table.slot(walker.state, symbols[walker.position][walker.lane % LANES]);
            table.fetch_edge(walker.slot);
        }
        let mut turn = 0;
        while turn < count {
            let walker = &mut walkers[turn];
            let (lane, at) = (walker.lane % LANES, walker.position);
            let step = table.step(walker.state, walker.length.min(plan.longest - 1), symbols[at][lane], walker.slot);
            table.fetch_state(step.state);
            // Where the symbol was not taken, the walker's next turn writes here again.
            let place = if at < walker.first { nowhere } else { lane * plan.positions + at };
            places[place] = pack(step.state, step.length);
            (walker.state, walker.length) = (step.state, step.length);
            walker.position = at + usize::from(step.taken);
            if walker.position == walker.end {
                count -= 1;
                walkers[turn] = walkers[count];
            } else {
                turn += 1;
            }
        }
    }
}

/// Places the walkers and returns their number: one for a lane, or several for each of few lanes.
///
/// A match depends on no more characters than the longest n-gram has, so a walker that starts that many before its part
/// knows what the others know.
#[inline(always)]
fn set_out(walkers: &mut [Walker; LANES], ends: &[usize], plan: &Plan) -> usize {
    let parts = if ends.len() > FEW { 1 } else { LANES / ends.len() };
    let reach = plan.longest as usize - 1;
    let mut count = 0;
    for (lane, &end) in ends.iter().enumerate() {
        let part = end.div_ceil(parts).max(reach);
        for first in (0..end).step_by(if parts == 1 { end } else { part }) {
            let position = first.saturating_sub(reach);
            let (state, length) = if position == 0 { plan.begin } else { (ROOT, 0) };
            let end = if parts == 1 { end } else { end.min(first + part) };
            walkers[count] = Walker { lane, position, first, end, state, length, slot: 0 };
            count += 1;
        }
    }
    count
}
