//! The table's state at every character, where lanes are cut into parts, so that there are enough walkers to take turns.

use super::block::Block;
use super::plan::Plan;
use super::tables::Tables;
use crate::index::compact::Match;

/// For more lanes than that, a walker for each is enough.
pub(super) const FEW: usize = 16;
/// More walkers than the processor fetches cache lines for at once gain nothing.
const MOST: usize = 16;

/// An index of no character, for what is not kept.
const NOT_KEPT: usize = 0;

/// Walks from one position of a lane on.
#[derive(Debug, Clone, Copy)]
struct Walker<P> {
    place: P,
    number: usize,
    /// The index that it set out at.
    start: usize,
    /// Whether it knows what it would know had it come from the beginning.
    sure: bool,
    found: Match,
    /// The next symbol.
    symbol: u16,
    /// The index that the match is for, and of that symbol.
    at: usize,
    next: usize,
}

/// Fills `records` of at most [`FEW`] lanes, each of which is cut into as many parts, unless these are shorter than the longest
/// n-gram.
///
/// A walker sets out in the middle of a text without a match. As soon as its match does not reach back to there, or is as
/// long as matches get, it is the match that there would be from the beginning. The walker before goes on up to that place.
#[inline(always)]
pub(super) fn fill<T: Tables>(block: &mut Block, plan: &Plan, tables: &T, lanes: usize) {
    let (place, found) = (tables.place(0), tables.begin(0));
    let first = Walker { place, number: 0, start: 0, sure: true, found, symbol: 0, at: NOT_KEPT, next: 0 };
    let (mut walkers, mut lasts) = ([first; MOST], [0; MOST]);
    let mut count = set_out(&mut walkers, &mut lasts, block, plan, tables, lanes);
    let Block { symbols, records, matched, .. } = block;
    let (symbols, records, matched) = (&symbols[..], &mut records[..], &mut matched[..]);
    while count > 0 {
        let mut turn = 0;
        while turn < count {
            let walker = &mut walkers[turn];
            let table = tables.table(walker.place);
            let record = table.record(walker.found.state);
            (records[walker.at], matched[walker.at]) = (record, walker.found.length as u16);
            if walker.next > lasts[walker.number % MOST] {
                count -= 1;
                walkers[turn] = walkers[count];
                continue;
            }
            let taken;
            (walker.found, taken) = table.step(walker.found, record, walker.symbol);
            if !walker.sure && taken {
                let read = (walker.next + 1 - walker.start) as u32;
                if walker.found.length < read || read >= plan.longest {
                    walker.sure = true;
                    lasts[walker.number - 1] = walker.next - 1;
                }
            }
            // One that stops behind where the next was sure has only taken symbols to keep.
            walker.at = if walker.sure && taken { walker.next } else { NOT_KEPT };
            walker.next += usize::from(taken);
            walker.symbol = symbols[walker.next];
            table.fetch(walker.found.state, walker.found.slot(walker.symbol));
            turn += 1;
        }
    }
}

/// Places the walkers, and the last index of each unless another is sure before, and returns their number.
#[inline(always)]
fn set_out<T: Tables>(
    walkers: &mut [Walker<T::Place>; MOST],
    lasts: &mut [usize; MOST],
    block: &Block,
    plan: &Plan,
    tables: &T,
    lanes: usize,
) -> usize {
    let (parts, mut number) = (MOST / lanes, 0);
    for (lane, &end) in block.ends[..lanes].iter().enumerate() {
        let place = tables.place(lane);
        // A walker is sure before its part ends.
        let part = end.div_ceil(parts).max(plan.longest as usize);
        let first = lane * plan.indices + 1;
        for start in (first..first + end).step_by(part) {
            let sure = start == first;
            let found = if sure { tables.begin(lane) } else { tables.table(place).root() };
            let symbol = block.symbols[start];
            walkers[number] = Walker { place, number, start, sure, found, symbol, at: NOT_KEPT, next: start };
            lasts[number] = first + end - 1;
            number += 1;
        }
    }
    number
}
