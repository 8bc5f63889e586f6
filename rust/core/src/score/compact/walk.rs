//! The table's state at every character of every lane.

use super::block::{Block, LANES, PADDING, pack};
use super::plan::Plan;
use super::walk_few;
use crate::index::compact::CompactView;

/// Walks from the beginning of a lane to its end.
#[derive(Debug, Clone, Copy, Default)]
struct Walker {
    lane: usize,
    position: usize,
    end: usize,
    state: u32,
    length: u32,
    slot: u32,
}

/// Fills `places`. The walkers take turns, since each step waits for memory; one that is at its end leaves.
#[inline(always)]
pub(super) fn fill(block: &mut Block, plan: &Plan, table: &CompactView<'_>, lanes: usize) {
    if lanes <= walk_few::FEW {
        return walk_few::fill(block, plan, table, lanes);
    }
    let mut walkers = [Walker::default(); LANES];
    let mut count = lanes;
    let (state, length) = plan.begin;
    for (lane, (walker, &end)) in walkers.iter_mut().zip(&block.ends[..lanes]).enumerate() {
        *walker = Walker { lane, position: 0, end, state, length, slot: 0 };
    }
    let Block { symbols, places, .. } = block;
    let symbols = &symbols[PADDING..];
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
            places[lane * plan.positions + at] = pack(step.state, step.length);
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
