//! The table's state at every character of every lane.

use super::block::{Block, PADDING};
use super::{LANES, Plan};
use crate::index::compact::CompactView;

const LENGTH_BITS: u32 = 4;

/// A state and the length of the match, as `places` holds them.
#[inline(always)]
pub(super) fn unpack(place: u32) -> (u32, u32) {
    (place >> LENGTH_BITS, place & ((1 << LENGTH_BITS) - 1))
}

/// Fills `places`. The lanes take turns; one that is at its end leaves.
#[inline(always)]
pub(super) fn fill(block: &mut Block, plan: &Plan, table: &CompactView<'_>, lanes: usize) {
    let Block { symbols, places, ends, .. } = block;
    let symbols = &symbols[PADDING..];
    let mut active: [u8; LANES] = std::array::from_fn(|lane| lane as u8);
    let (mut state, mut length, mut slot) = ([plan.begin.0; LANES], [plan.begin.1; LANES], [0u32; LANES]);
    let mut position = [0usize; LANES];
    let mut count = lanes;
    while count > 0 {
        for &lane in &active[..count] {
            let lane = lane as usize % LANES;
            slot[lane] = table.slot(state[lane], symbols[position[lane]][lane]);
            table.fetch_edge(slot[lane]);
        }
        let mut turn = 0;
        while turn < count {
            let lane = active[turn] as usize % LANES;
            let at = position[lane];
            let step = table.step(state[lane], length[lane].min(plan.longest - 1), symbols[at][lane], slot[lane]);
            table.fetch_state(step.state);
            // Where the symbol was not taken, the next turn of the lane writes here again.
            places[lane * plan.positions + at] = step.state << LENGTH_BITS | step.length;
            (state[lane], length[lane]) = (step.state, step.length);
            position[lane] = at + usize::from(step.taken);
            if position[lane] == ends[lane] {
                count -= 1;
                active[turn] = active[count];
            } else {
                turn += 1;
            }
        }
    }
}
