//! The tables that the lanes of a block are read with: one for all, or several.

use super::block::LANES;
use crate::index::compact::{CompactView, Match};

/// What the lanes are read with.
pub(super) trait Tables {
    /// Whether there may be several.
    const SEVERAL: bool;

    /// What a walker keeps to find its table.
    type Place: Copy;

    fn place(&self, lane: usize) -> Self::Place;

    fn table(&self, place: Self::Place) -> &CompactView<'_>;

    /// The match after the added `^`.
    fn begin(&self, lane: usize) -> Match;
}

/// One question's table for all lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct One<'a> {
    pub(super) table: CompactView<'a>,
    pub(super) begin: Match,
}

impl Tables for One<'_> {
    const SEVERAL: bool = false;

    type Place = ();

    #[inline(always)]
    fn place(&self, _: usize) {}

    #[inline(always)]
    fn table(&self, (): ()) -> &CompactView<'_> {
        &self.table
    }

    #[inline(always)]
    fn begin(&self, _: usize) -> Match {
        self.begin
    }
}

/// The tables of several questions, and which of them each lane is read with.
#[derive(Debug)]
pub(super) struct Each<'a> {
    pub(super) tables: [One<'a>; LANES],
    pub(super) places: [usize; LANES],
}

impl Tables for Each<'_> {
    const SEVERAL: bool = true;

    type Place = usize;

    #[inline(always)]
    fn place(&self, lane: usize) -> usize {
        self.places[lane]
    }

    #[inline(always)]
    fn table(&self, place: usize) -> &CompactView<'_> {
        &self.tables[place % LANES].table
    }

    #[inline(always)]
    fn begin(&self, lane: usize) -> Match {
        self.tables[self.places[lane] % LANES].begin
    }
}
