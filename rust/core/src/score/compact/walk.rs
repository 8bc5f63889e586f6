//! The table's state at every character of every lane.

use super::block::{Block, LANES};
use super::plan::Plan;
use super::tables::{One, Tables};
use super::walk_few;

/// What is next where a walker has left the record of its last match.
const DONE: u32 = u32::MAX;

/// Walks from the beginning of a lane to its end.
#[derive(Debug, Clone, Copy)]
struct Walker {
    /// The match, and where its edge by the next symbol would be.
    state: u32,
    length: u32,
    slot: u32,
    /// The index that the match is for, unless a suffix link led to it.
    at: u32,
    /// The index of the next symbol, and of the last.
    next: u32,
    last: u32,
}

/// Fills `records` and `matched`.
#[inline(always)]
pub(super) fn fill<T: Tables>(block: &mut Block, plan: &Plan, tables: &T, lanes: usize) {
    match tables.one() {
        _ if lanes <= walk_few::FEW => walk_few::fill(block, plan, tables, lanes),
        Some(one) => fill_together(block, plan, one, lanes),
        None => walk_few::fill_evenly(block, plan, tables, lanes),
    }
}

/// Fills them with one table: a walker a lane. They take turns, since each step waits for memory; one that is at its end leaves.
#[inline(always)]
fn fill_together(block: &mut Block, plan: &Plan, One { table, begin }: &One<'_>, lanes: usize) {
    let Block { symbols, records, matched, ends, .. } = block;
    let (symbols, records, matched) = (&symbols[..], &mut records[..], &mut matched[..]);
    let mut walkers: [Walker; LANES] = std::array::from_fn(|lane| {
        let (at, slot) = (lane * plan.indices, begin.slot(symbols[lane * plan.indices + 1]));
        let (at, last) = (at as u32, (at + ends[lane]) as u32);
        Walker { state: begin.state, length: begin.length, slot, at, next: at + 1, last }
    });
    let mut count = lanes;
    while count > 0 {
        let mut is_one_done = false;
        for walker in &mut walkers[..count] {
            let record = table.record(walker.state);
            // Where the symbol was not taken, the walker's next turn writes here again.
            records[walker.at as usize] = record;
            matched[walker.at as usize] = walker.length as u16;
            if walker.next > walker.last {
                (walker.next, is_one_done) = (DONE, true);
                continue;
            }
            let (found, taken) = table.step_at(walker.slot, walker.length, record, symbols[walker.next as usize]);
            walker.at = walker.next;
            walker.next += u32::from(taken);
            (walker.state, walker.length) = (found.state, found.length);
            walker.slot = found.slot(symbols[walker.next as usize]);
            table.fetch(walker.state, walker.slot);
        }
        if is_one_done {
            count = those_on_their_way(&mut walkers[..count]);
        }
    }
}

/// Puts those that are not done first, and returns their number.
#[inline(always)]
fn those_on_their_way(walkers: &mut [Walker]) -> usize {
    let mut count = 0;
    for turn in 0..walkers.len() {
        walkers[count] = walkers[turn];
        count += usize::from(walkers[turn].next != DONE);
    }
    count
}
