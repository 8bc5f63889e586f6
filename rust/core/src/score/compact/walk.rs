//! The table's state at every character of every lane.

use super::block::{Block, LANES};
use super::plan::Plan;
use super::tables::Tables;
use super::walk_few;
use crate::index::compact::Match;

/// What is next where a walker has left the record of its last match.
const DONE: usize = usize::MAX;

/// Walks from the beginning of a lane to its end.
#[derive(Debug, Clone, Copy)]
struct Walker<P> {
    place: P,
    found: Match,
    /// The next symbol.
    symbol: u16,
    /// The index that the match is for, unless a suffix link led to it.
    at: usize,
    /// The index of that symbol, and of the last.
    next: usize,
    last: usize,
}

/// Fills `records`. The walkers take turns, since each step waits for memory; one that is at its end leaves.
#[inline(always)]
pub(super) fn fill<T: Tables>(block: &mut Block, plan: &Plan, tables: &T, lanes: usize) {
    if lanes <= walk_few::FEW {
        return walk_few::fill(block, plan, tables, lanes);
    }
    if T::COLD {
        return walk_few::fill_evenly(block, plan, tables, lanes);
    }
    let Block { symbols, records, ends, .. } = block;
    let (symbols, records) = (&symbols[..], &mut records[..]);
    let mut walkers: [Walker<T::Place>; LANES] = std::array::from_fn(|lane| {
        let (at, symbol) = (lane * plan.indices, symbols[lane * plan.indices + 1]);
        Walker { place: tables.place(lane), found: tables.begin(lane), symbol, at, next: at + 1, last: at + ends[lane] }
    });
    let mut count = lanes;
    while count > 0 {
        let mut is_one_done = false;
        for walker in &mut walkers[..count] {
            let table = tables.table(walker.place);
            let record = table.record(walker.found.state);
            // Where the symbol was not taken, the walker's next turn writes here again.
            records[walker.at] = record.found(walker.found.length);
            if walker.next > walker.last {
                (walker.next, is_one_done) = (DONE, true);
                continue;
            }
            let taken;
            (walker.found, taken) = table.step(walker.found, record, walker.symbol, plan.longest);
            walker.at = walker.next;
            walker.next += usize::from(taken);
            walker.symbol = symbols[walker.next];
            table.fetch(walker.found, walker.symbol);
        }
        if is_one_done {
            count = those_on_their_way(&mut walkers[..count]);
        }
    }
}

/// Puts those that are not done first, and returns their number.
#[inline(always)]
fn those_on_their_way<P: Copy>(walkers: &mut [Walker<P>]) -> usize {
    let mut count = 0;
    for turn in 0..walkers.len() {
        walkers[count] = walkers[turn];
        count += usize::from(walkers[turn].next != DONE);
    }
    count
}
