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
    pub(super) edges: Vec<Edge>,
}

impl Placement {
    /// Places the edges of all states; `numbers` gives the number of each state, `symbols` the compact symbol of each
    /// dense one.
    pub(super) fn of(states: &States, numbers: &[u32], symbols: &[u16]) -> Self {
        let mut slots = Slots::new(symbols.len(), states.edges.len());
        let compact = |&(symbol, target): &(Symbol, u32)| (symbols[symbol as usize], numbers[target as usize]);
        let mut bases = vec![Slots::NOTHING; states.list.len()];
        let (several, single) = by_edges(states);
        let mut own = Vec::new();
        for state in several {
            own.clear();
            own.extend(states.edges_of(state).iter().map(compact));
            if state == ROOT as usize {
                own.extend([(UNKNOWN, NOWHERE), (UNKNOWN_SKIPPED, NOWHERE)]);
            }
            bases[state] = slots.place_several(&own);
        }
        let mut gaps = slots.gaps();
        for mut same_symbol in single {
            // Which slots fit depends on the symbol, so those that did not fit one are tried for the next.
            gaps.rewind();
            while let Some(state) = same_symbol.pop() {
                bases[state] = slots.place_one(compact(&states.edges_of(state)[0]), &mut gaps);
            }
        }
        // N-grams of the greatest length go on as their suffix links do; other states without edges keep nothing.
        for (number, state) in states.list.iter().enumerate().filter(|(_, state)| state.above + 1 == states.depth) {
            bases[number] = bases[state.link as usize];
        }
        let mut base_of = vec![Slots::NOTHING; bases.len() + 1];
        for (&number, &base) in numbers.iter().zip(&bases) {
            base_of[number as usize] = base;
        }
        let with_base = |edge: u32| match (edge >> TARGET_BITS, edge & TARGET_MASK) {
            _ if edge == FREE => Edge::FREE,
            (symbol, target) => Edge::new(symbol, base_of[target as usize], target),
        };
        let edges = slots.edges.into_iter().map(with_base).collect();
        Self { bases, edges }
    }
}

/// States with several edges, the root first, then those with more before those with fewer; and those with one, by symbol.
fn by_edges(states: &States) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut several, mut single) = (Vec::new(), Vec::new());
    for state in 1..states.list.len() {
        match states.edges_of(state) {
            [] => {}
            [(symbol, _)] => {
                let symbol = *symbol as usize;
                if single.len() <= symbol {
                    single.resize_with(symbol + 1, Vec::new);
                }
                single[symbol].push(state);
            }
            _ => several.push(state),
        }
    }
    several.sort_by_key(|&state| std::cmp::Reverse(states.edges_of(state).len()));
    several.insert(0, ROOT as usize);
    (several, single)
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

/// Free slots for single edges: those that did not fit so far, and those not yet tried.
struct Gaps {
    unlooked: std::vec::IntoIter<u32>,
    useless: Vec<u32>,
    tried: usize,
}

impl Gaps {
    fn rewind(&mut self) {
        self.tried = 0;
    }
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

    fn gaps(&self) -> Gaps {
        let free = (0u32..).zip(&self.edges).filter(|(_, edge)| **edge == FREE).map(|(slot, _)| slot);
        Gaps { unlooked: free.collect::<Vec<_>>().into_iter(), useless: Vec::new(), tried: 0 }
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
        for slot in gaps.unlooked.by_ref() {
            if !self.used_bases[base_of(slot)] {
                return self.put(base_of(slot), &[own]);
            }
            gaps.useless.push(slot);
            gaps.tried += 1;
        }
        let (start, base) = (self.edges.len() as u32, self.grow());
        let more = start..self.edges.len() as u32;
        gaps.unlooked = more.filter(|&slot| base_of(slot) != base).collect::<Vec<_>>().into_iter();
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
