//! The table's state at every character of every lane.

use super::block::{Block, LANES};
use super::plan::Plan;
use super::tables::Tables;
use super::walk_few;
use crate::index::compact::Match;

/// What is next where a walker has left the record of its last match.
const DONE: u32 = u32::MAX;
/// Lanes of several questions are cut where they are longer than all of them together through this number, so that those who walk
/// to the end are not a few at last, who wait.
const PARTS: usize = 40;
/// A part has at least so many times the symbols that its walker reads before.
const LEAST: usize = 3;
/// Room for a walker for each lane and each part.
const MOST: usize = LANES + PARTS;

/// Walks from the beginning of a lane to its end, or from one place of it to another.
#[derive(Debug, Clone, Copy)]
struct Walker<P> {
    place: P,
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
    let all = block.ends[..lanes].iter().sum::<usize>();
    match T::SEVERAL {
        _ if lanes <= walk_few::FEW => walk_few::fill(block, plan, tables, lanes),
        true => fill_together(block, plan, tables, lanes, all.div_ceil(PARTS).max(LEAST * plan.longest as usize)),
        false => fill_together(block, plan, tables, lanes, usize::MAX),
    }
}

/// Fills them with a walker for each lane, or for each of the parts of at least `part` indices that it is cut into. They take
/// turns, since each step waits for memory; one that is at its end leaves.
///
/// A walker that sets out in the middle of a lane does so as many symbols before its part as matches are long, without a match:
/// then it has the match that there would be from the beginning. What it leaves on the way there, the walker of the part before
/// writes again later: that one sets out behind it, and never catches up, since its match ends with the other's, so that it follows
/// at least as many suffix links at each symbol.
#[inline(always)]
fn fill_together<T: Tables>(block: &mut Block, plan: &Plan, tables: &T, lanes: usize, part: usize) {
    let (mut walkers, mut count) = set_out(block, plan, tables, lanes, part);
    let Block { symbols, records, matched, .. } = block;
    let (symbols, records, matched) = (&symbols[..], &mut records[..], &mut matched[..]);
    while count > 0 {
        let mut is_one_done = false;
        for walker in &mut walkers[..count] {
            let table = tables.table(walker.place);
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

/// The walkers where they set out, and their number.
#[inline(always)]
fn set_out<T: Tables>(
    block: &Block,
    plan: &Plan,
    tables: &T,
    lanes: usize,
    part: usize,
) -> ([Walker<T::Place>; MOST], usize) {
    let nobody = Walker { place: tables.place(0), state: 0, length: 0, slot: 0, at: 0, next: 0, last: 0 };
    let (mut walkers, mut count) = ([nobody; MOST], 0);
    for (lane, &end) in block.ends[..lanes].iter().enumerate() {
        let (place, first) = (tables.place(lane), lane * plan.indices);
        let parts = (end / part).max(1);
        for number in 0..parts {
            let (before, last) = (first + end * number / parts, first + end * (number + 1) / parts);
            let (from, at) = match number {
                0 => (tables.begin(lane), first),
                _ => (tables.table(place).root(), before - plan.longest as usize),
            };
            let Match { state, length, .. } = from;
            let slot = from.slot(block.symbols[at + 1]);
            walkers[count] =
                Walker { place, state, length, slot, at: at as u32, next: at as u32 + 1, last: last as u32 };
            count += 1;
        }
    }
    (walkers, count)
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
