//! Laying out the edges of all states in one array, so that following one is a single read.
//!
//! A state with base `b` keeps its edge by symbol `s` at `b ^ s` (a double array with exclusive or: Aoe, "An Efficient
//! Digital Search Algorithm by Using a Double-Array Structure", 1989). No two states with different edges share a base,
//! so that the symbol found there tells whether the edge is the state's own. An edge also holds the base of the state
//! that it leads to. States with many edges are placed first; those with one edge, the most, fill the gaps.

use super::edge::Edge;
use super::record::{NOWHERE, TARGET_BITS, TARGET_MASK};
use super::symbols::{UNKNOWN, UNKNOWN_SKIPPED};
use crate::index::states::{ROOT, States};
use crate::text::Symbol;

/// The array grows if a state's edges are not placed after this many tries.
const MOST_TRIES: usize = 256;
/// Steps of this size (a prime) reach every part of the array.
const STRIDE: usize = 1_000_003;

/// A slot without an edge, while they are placed.
const FREE: u32 = u32::MAX;

/// Edges of the compact table and where each state has its own.
pub(super) struct Placement {
    pub(super) bases: Vec<u32>,
    slots: Vec<u32>,
}

impl Placement {
    /// Places the edges of all states; `numbers` gives the number of each state, `symbols` the compact symbol of each
    /// dense one.
    pub(super) fn of(states: &States, numbers: &[u32], symbols: &[u16]) -> Self {
        let mut slots = Slots::new(symbols.len(), states.edges.len());
        let compact = |&(symbol, target): &(Symbol, u32)| (symbols[symbol as usize], numbers[target as usize]);
        let mut bases = vec![Slots::NOTHING; states.list.len()];
        let (several, single) = by_edges(states, symbols.len());
        let mut own = Vec::new();
        for state in several {
            own.clear();
            own.extend(states.edges_of(state).iter().map(compact));
            if state == ROOT as usize {
                own.extend([(UNKNOWN, NOWHERE), (UNKNOWN_SKIPPED, NOWHERE)]);
            }
            bases[state] = slots.place_several(&own);
        }
        let mut gaps = Gaps::default();
        for same_symbol in single.chunk_by(|one, next| one.symbol == next.symbol) {
            // Which slots fit depends on the symbol, so those that did not fit one are tried for the next.
            gaps.tried = 0;
            for one in same_symbol {
                let own = (symbols[one.symbol as usize], numbers[one.target as usize]);
                bases[one.state as usize] = slots.place_one(own, &mut gaps);
            }
        }
        // N-grams of the greatest length go on as their suffix links do; other states without edges keep nothing.
        for (number, state) in states.list.iter().enumerate().filter(|(_, state)| state.above + 1 == states.depth) {
            bases[number] = bases[state.link as usize];
        }
        Self { bases, slots: slots.edges }
    }

    /// The number of slots for edges, used and free.
    pub(super) fn edges(&self) -> usize {
        self.slots.len()
    }

    /// Writes the edges, with where each state that they lead to has its own.
    pub(super) fn write_edges(&self, numbers: &[u32], into: &mut [Edge]) {
        let mut base_of = vec![Slots::NOTHING; self.bases.len() + 1];
        for (&number, &base) in numbers.iter().zip(&self.bases) {
            base_of[number as usize] = base;
        }
        for (edge, &slot) in into.iter_mut().zip(&self.slots) {
            *edge = match (slot >> TARGET_BITS, slot & TARGET_MASK) {
                _ if slot == FREE => Edge::FREE,
                (symbol, target) => Edge::new(symbol, base_of[target as usize], target),
            };
        }
    }
}

/// The only edge of a state.
#[derive(Debug, Clone, Copy, Default)]
struct Only {
    state: u32,
    symbol: Symbol,
    target: u32,
}

/// States with several edges, the root first, then those with more before those with fewer; and those with one, by symbol, the
/// last of them first.
fn by_edges(states: &States, symbols: usize) -> (Vec<usize>, Vec<Only>) {
    let (mut several, mut single, mut ends) = (Vec::new(), Vec::with_capacity(states.list.len()), vec![0; symbols]);
    for state in 1..states.list.len() {
        match *states.edges_of(state) {
            [] => {}
            [(symbol, target)] => {
                ends[symbol as usize] += 1;
                single.push(Only { state: state as u32, symbol, target });
            }
            _ => several.push(state),
        }
    }
    several.sort_by_key(|&state| std::cmp::Reverse(states.edges_of(state).len()));
    several.insert(0, ROOT as usize);
    for symbol in 1..symbols {
        ends[symbol] += ends[symbol - 1];
    }
    let mut sorted = vec![Only::default(); single.len()];
    for only in single {
        let end = &mut ends[only.symbol as usize];
        *end -= 1;
        sorted[*end] = only;
    }
    (several, sorted)
}

/// The array of edges while it is filled: symbols and targets. A state's edges stay within one block, whose size is a
/// power of two.
struct Slots {
    edges: Vec<u32>,
    used_bases: Vec<bool>,
    block: usize,
    /// Where several edges are tried next.
    probe: usize,
}

/// Free slots for single edges: those that did not fit so far, and those not yet looked at.
#[derive(Default)]
struct Gaps {
    useless: Vec<u32>,
    /// Of the useless ones, those that were tried for the symbol at hand.
    tried: usize,
    /// All free slots from here on are still to be looked at.
    next: usize,
}

impl Slots {
    /// The base of states without edges.
    const NOTHING: u32 = 0;

    fn new(symbols: usize, edges: usize) -> Self {
        let block = symbols.next_power_of_two();
        let length = (edges + edges / 32 + symbols).next_multiple_of(block);
        let mut used_bases = vec![false; length];
        used_bases[Self::NOTHING as usize] = true;
        Self { edges: vec![FREE; length], used_bases, block, probe: 0 }
    }

    /// Puts edges where there is room for all of them and returns their base: tries places all over the array, so that
    /// it fills evenly and those with fewer edges find room, too.
    fn place_several(&mut self, own: &[(u16, u32)]) -> u32 {
        for _ in 0..MOST_TRIES {
            self.probe = (self.probe + STRIDE) % self.edges.len();
            if self.fits(self.probe, own) {
                return self.put(self.probe, own);
            }
        }
        // The newest block has the most room left.
        let last = self.edges.len() - self.block..self.edges.len();
        let base = last.into_iter().find(|&base| self.fits(base, own)).unwrap_or_else(|| self.grow());
        self.put(base, own)
    }

    fn fits(&self, base: usize, own: &[(u16, u32)]) -> bool {
        !self.used_bases[base] && own.iter().all(|&(symbol, _)| self.edges[base ^ symbol as usize] == FREE)
    }

    /// Puts a single edge into a gap whose base is free.
    fn place_one(&mut self, own: (u16, u32), gaps: &mut Gaps) -> u32 {
        let base_of = |slot: u32| slot as usize ^ own.0 as usize;
        while let Some(&slot) = gaps.useless.get(gaps.tried) {
            if !self.used_bases[base_of(slot)] {
                gaps.useless.swap_remove(gaps.tried);
                return self.put(base_of(slot), &[own]);
            }
            gaps.tried += 1;
        }
        while let Some(&edge) = self.edges.get(gaps.next) {
            let slot = gaps.next as u32;
            gaps.next += 1;
            if edge == FREE && !self.used_bases[base_of(slot)] {
                return self.put(base_of(slot), &[own]);
            }
            if edge == FREE {
                gaps.useless.push(slot);
                gaps.tried += 1;
            }
        }
        let base = self.grow();
        self.put(base, &[own])
    }

    fn put(&mut self, base: usize, own: &[(u16, u32)]) -> u32 {
        self.used_bases[base] = true;
        for &(symbol, target) in own {
            self.edges[base ^ symbol as usize] = u32::from(symbol) << TARGET_BITS | target;
        }
        base as u32
    }

    /// A base in a new block.
    fn grow(&mut self) -> usize {
        let base = self.edges.len();
        self.edges.resize(base + self.block, FREE);
        self.used_bases.resize(base + self.block, false);
        base
    }
}
