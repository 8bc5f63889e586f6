//! Laying out the edges of all states in one array, so that following one is a single read.
//!
//! A state with base `b` keeps its edge by symbol `s` at `b ^ s` (a double array with exclusive or: Aoe, "An Efficient
//! Digital Search Algorithm by Using a Double-Array Structure", 1989). No two states with different edges share a base,
//! so that the symbol found there tells whether the edge is the state's own. States with many edges are placed first;
//! those with one edge, the most, fill the gaps.

use super::{NOWHERE, ROOT, TARGET_BITS, UNKNOWN, UNKNOWN_SKIPPED, number_of};
use crate::index::states::States;
use crate::text::Symbol;

const FREE: u32 = u32::MAX;
/// Where a state's edges are not placed after so many tries, the array grows.
const MOST_TRIES: usize = 256;
/// Steps of this size (a prime) reach every part of the array.
const STRIDE: usize = 1_000_003;

/// Edges of the compact table and where each state has its own.
pub(super) struct Placement {
    pub(super) bases: Vec<u32>,
    pub(super) edges: Vec<u32>,
}

impl Placement {
    /// Places the edges of all states; `symbols` gives the compact symbol of each dense one.
    pub(super) fn of(states: &States, symbols: &[u16]) -> Self {
        let mut slots = Slots::new(symbols.len(), states.edges.len());
        let compact = |&(symbol, target): &(Symbol, u32)| (symbols[symbol as usize], number_of(target));
        let mut bases = vec![Slots::NOTHING; states.list.len()];
        let mut own = Vec::new();
        for state in by_falling_edges(states) {
            own.clear();
            own.extend(states.edges_of(state).iter().map(compact));
            if state == ROOT as usize {
                own.extend([(UNKNOWN, NOWHERE), (UNKNOWN_SKIPPED, NOWHERE)]);
            }
            bases[state] = slots.place(&own);
        }
        // N-grams of the greatest length go on as their parents do; other states without edges keep nothing.
        for (number, state) in states.list.iter().enumerate().filter(|(_, state)| state.above + 1 == states.depth) {
            bases[number] = bases[state.parent as usize];
        }
        Self { bases, edges: slots.edges }
    }
}

/// States with edges, the root first, then those with more edges before those with fewer.
fn by_falling_edges(states: &States) -> Vec<usize> {
    let mut order: Vec<usize> = (1..states.list.len()).filter(|&state| !states.edges_of(state).is_empty()).collect();
    order.sort_by_key(|&state| std::cmp::Reverse(states.edges_of(state).len()));
    order.insert(0, ROOT as usize);
    order
}

/// The array of edges while it is filled. A state's edges stay within one block, whose size is a power of two.
struct Slots {
    edges: Vec<u32>,
    used_bases: Vec<bool>,
    block: usize,
    /// Where several edges are tried next.
    probe: usize,
    /// Before it, single edges have taken every slot that they could.
    filled: usize,
}

impl Slots {
    /// The base of states without edges.
    const NOTHING: u32 = 0;

    fn new(symbols: usize, edges: usize) -> Self {
        let block = symbols.next_power_of_two();
        let length = (edges + edges / 32 + symbols).next_multiple_of(block);
        let mut used_bases = vec![false; length];
        used_bases[Self::NOTHING as usize] = true;
        Self { edges: vec![FREE; length], used_bases, block, probe: 0, filled: 0 }
    }

    /// Puts edges where there is room for all of them and gives their base.
    fn place(&mut self, own: &[(u16, u32)]) -> u32 {
        let found = if own.len() == 1 { self.find_one(own[0].0) } else { self.find_several(own) };
        let base = found.unwrap_or_else(|| self.grow());
        self.used_bases[base] = true;
        for &(symbol, target) in own {
            self.edges[base ^ symbol as usize] = u32::from(symbol) << TARGET_BITS | target;
        }
        base as u32
    }

    /// Tries places all over the array, so that it fills evenly and those with fewer edges find room, too.
    fn find_several(&mut self, own: &[(u16, u32)]) -> Option<usize> {
        for _ in 0..MOST_TRIES {
            self.probe = (self.probe + STRIDE) % self.edges.len();
            let Some(slot) = self.next_free(self.probe) else { continue };
            let base = slot ^ own[0].0 as usize;
            let fits = |&(symbol, _): &(u16, u32)| self.edges[base ^ symbol as usize] == FREE;
            if !self.used_bases[base] && own[1..].iter().all(fits) {
                return Some(base);
            }
        }
        None
    }

    /// The first free slot whose base is free, too.
    fn find_one(&mut self, symbol: u16) -> Option<usize> {
        self.filled = self.next_free(self.filled)?;
        let mut slot = self.filled;
        for _ in 0..MOST_TRIES {
            let base = slot ^ symbol as usize;
            if !self.used_bases[base] {
                return Some(base);
            }
            slot = self.next_free(slot + 1)?;
        }
        None
    }

    fn next_free(&self, from: usize) -> Option<usize> {
        self.edges[from..].iter().position(|&edge| edge == FREE).map(|at| from + at)
    }

    /// A base in a new block.
    fn grow(&mut self) -> usize {
        let base = self.edges.len();
        self.edges.resize(base + self.block, FREE);
        self.used_bases.resize(base + self.block, false);
        base
    }
}
