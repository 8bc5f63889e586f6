//! Edges as the table has them: 8 bytes each.

use super::record::{BASE_BITS, TARGET_BITS, TARGET_MASK};
use bytemuck::{Pod, Zeroable};

/// An edge, in 64 bits: its symbol (22), where the edges of the state that it leads to are (22), and that state (20). So a
/// walk that finds its symbols reads one place at each of them.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Edge(u64);

const SYMBOL_SHIFT: u32 = TARGET_BITS + BASE_BITS;

impl Edge {
    /// A slot without an edge: no symbol has this number.
    pub(super) const FREE: Self = Self(u64::MAX);

    pub(super) fn new(symbol: u32, base: u32, target: u32) -> Self {
        Self(u64::from(symbol) << SYMBOL_SHIFT | u64::from(base) << TARGET_BITS | u64::from(target))
    }

    #[inline(always)]
    pub(super) fn is_by(self, symbol: u16) -> bool {
        self.0 >> SYMBOL_SHIFT == u64::from(symbol)
    }

    #[inline(always)]
    pub(super) fn target(self) -> u32 {
        self.0 as u32 & TARGET_MASK
    }

    /// Where the edges of the target are.
    #[inline(always)]
    pub(super) fn base(self) -> u32 {
        (self.0 >> TARGET_BITS) as u32 & ((1 << BASE_BITS) - 1)
    }

    pub(super) fn is_free(self) -> bool {
        self.0 == Self::FREE.0
    }
}
