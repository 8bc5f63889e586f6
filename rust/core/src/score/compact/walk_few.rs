//! The table's state at every character of few lanes: each is cut into parts, so that there are enough walkers to take turns.

use super::block::{Block, LANES, PADDING, pack};
use super::plan::Plan;
use crate::index::compact::CompactView;
use crate::index::states::ROOT;

/// For more lanes than that, a walker for each is enough.
pub(super) const FEW: usize = 16;
/// More walkers than the processor fetches cache lines for at once gain nothing.
const MOST: usize = 16;

/// Walks from one position of a lane on.
#[derive(Debug, Clone, Copy, Default)]
struct Walker {
    number: usize,
    lane: usize,
    start: usize,
    position: usize,
    /// Whether it knows what it would know had it come from the beginning.
    sure: bool,
    state: u32,
    length: u32,
    slot: u32,
}

/// Fills `places`.
///
/// A walker sets out in the middle of a text without a match. As soon as its match does not reach back to there, or is as
/// long as matches get, it is the match that there would be from the beginning. The walker before goes on up to that place.
#[inline(always)]
pub(super) fn fill(block: &mut Block, plan: &Plan, table: &CompactView<'_>, lanes: usize) {
    let mut walkers = [Walker::default(); MOST];
    let mut stops = [0; MOST];
    let mut count = set_out(&mut walkers, &mut stops, &block.ends[..lanes], plan);
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
            if !walker.sure && step.taken {
                let read = (at + 1 - walker.start) as u32;
                if step.length < read || read >= plan.longest {
                    walker.sure = true;
                    stops[walker.number - 1] = at;
                }
            }
            // One that stops behind where the next was sure has only taken symbols to keep.
            let keeps = walker.sure && step.taken;
            let place = if keeps { lane * plan.positions + at } else { nowhere };
            places[place] = pack(step.state, step.length);
            (walker.state, walker.length) = (step.state, step.length);
            walker.position = at + usize::from(step.taken);
            if walker.position >= stops[walker.number % MOST] {
                count -= 1;
                walkers[turn] = walkers[count];
            } else {
                turn += 1;
            }
        }
    }
}

/// Places the walkers, and where each stops unless another is sure before, and returns their number.
#[inline(always)]
fn set_out(walkers: &mut [Walker; MOST], stops: &mut [usize; MOST], ends: &[usize], plan: &Plan) -> usize {
    let parts = MOST / ends.len();
    let mut number = 0;
    for (lane, &end) in ends.iter().enumerate() {
        // A walker is sure before its part ends.
        let part = end.div_ceil(parts).max(plan.longest as usize);
        for start in (0..end).step_by(part) {
            let (state, length) = if start == 0 { plan.begin } else { (ROOT, 0) };
            let sure = start == 0;
            walkers[number] = Walker { number, lane, start, position: start, sure, state, length, slot: 0 };
            stops[number] = end;
            number += 1;
        }
    }
    number
}
