//! A small memory of n-grams that were just met, so that frequent ones are not staged over and over.

use super::keys::Key;
use super::span::Span;

/// An n-gram, and how many answers with it were staged, packed: more of them fit into the cache.
#[repr(C, packed(4))]
#[derive(Default)]
struct Known<K> {
    key: K,
    staged: u32,
}

impl<K: Key> Clone for Known<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Key> Copy for Known<K> {}

/// A slot remembers one n-gram, the last that came by, and how often it was staged since.
pub(super) struct Recent<K> {
    slots: Vec<Known<K>>,
    shift: u32,
}

impl<K: Key> Recent<K> {
    /// Bytes of a slot.
    pub(super) const SLOT: usize = size_of::<Known<K>>();

    /// With so many slots: a power of two, at least two.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: vec![Known::default(); slots], shift: u64::BITS - slots.ilog2() }
    }

    /// Whether enough occurrences of `key` are staged: more would not change that it occurs often. Otherwise this one
    /// must be staged.
    ///
    /// What a slot forgets is counted anew, which stages more than needed and changes nothing.
    #[inline(always)]
    pub(super) fn enough(&mut self, key: K, weight: u32, threshold: u32, span: &Span) -> bool {
        let slot = &mut self.slots[(span.within(key) >> self.shift) as usize];
        // Whether it is known is hard to foretell, so no branch hangs on it.
        let Known { key: known, staged } = *slot;
        let before = if known == key { staged } else { 0 };
        *slot = Known { key, staged: before.saturating_add(weight) };
        before > threshold
    }

    /// Forgets everything, as a pass begins: it counts from the start.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Known::default());
    }
}
