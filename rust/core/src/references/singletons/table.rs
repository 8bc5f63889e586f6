//! Where n-grams are counted: what was just met, what is staged by bucket, and each bucket's table of which n-grams are
//! seldom so far and in which rows they stand.

use super::keys::{Key, Span};
use super::pool::{MOST_ROWS, Pool};
use crate::fetch::fetch;

/// In place of a row: the slot is free.
const EMPTY: u32 = u32::MAX;
/// In place of a row: the n-gram occurs more often than the threshold.
const OFTEN: u32 = MOST_ROWS as u32;

/// A table has at most 7 of 10 slots taken, and grows by half: between 1.4 and 2.2 slots an entry.
const FULL: (usize, usize) = (7, 10);
const SMALLEST: usize = 16;

/// Occurrences in a block.
pub(super) const BLOCK: usize = 64;
/// In place of a block: there is none.
const NO_BLOCK: u32 = u32::MAX;
/// Occurrences that a line of the cache holds, at least.
const LINE: usize = 64 / 20;

/// An occurrence of an n-gram, packed: 12 bytes where keys have 8.
#[repr(C, packed(4))]
pub(super) struct Occurrence<K> {
    key: K,
    row: u32,
}

impl<K: Key> Clone for Occurrence<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Key> Copy for Occurrence<K> {}

impl<K: Key> Occurrence<K> {
    #[inline(always)]
    pub(super) fn new(key: K, row: u32) -> Self {
        Self { key, row }
    }

    pub(super) fn empty() -> Self {
        Self::new(K::default(), EMPTY)
    }

    #[inline(always)]
    fn key(self) -> K {
        self.key
    }

    #[inline(always)]
    fn row(self) -> u32 {
        self.row
    }
}

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

    /// With this many slots: a power of two, at least two.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: vec![Known::default(); slots], shift: u64::BITS - slots.ilog2() }
    }

    /// Whether enough occurrences of `key` are staged: more would not change that it occurs often. Otherwise this one
    /// must be staged.
    ///
    /// What a slot forgets is counted again, which stages more than needed and changes nothing.
    #[inline(always)]
    pub(super) fn enough(&mut self, key: K, weight: u32, threshold: u32, span: &Span) -> bool {
        let slot = &mut self.slots[(span.within(key) >> self.shift) as usize];
        // Whether it is known is hard to predict, so nothing branches on it.
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

/// A fixed number of blocks, which buckets take as they need them.
pub(super) struct Staging<K> {
    occurrences: Vec<Occurrence<K>>,
    /// By bucket, where its next occurrence goes: always a place in a block of its own.
    ends: Vec<u32>,
    /// By block, the block before it in its bucket.
    before: Vec<u32>,
    blocks: usize,
}

impl<K: Key> Staging<K> {
    /// With this many blocks: at least one more than there are buckets.
    pub(super) fn new(buckets: usize, blocks: usize) -> Self {
        let (occurrences, before) = (Vec::with_capacity(blocks * BLOCK), Vec::with_capacity(blocks));
        let mut staging = Self { occurrences, ends: vec![0; buckets], before, blocks };
        staging.clear();
        staging
    }

    /// Whether another occurrence might find no room.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.before.len() == self.blocks
    }

    /// Puts an occurrence into a bucket; the staging must not be full.
    #[inline(always)]
    pub(super) fn push(&mut self, bucket: usize, occurrence: Occurrence<K>) {
        let end = &mut self.ends[bucket];
        self.occurrences[*end as usize] = occurrence;
        *end += 1;
        if (*end as usize).is_multiple_of(BLOCK) {
            let last = *end / BLOCK as u32 - 1;
            self.take_block(bucket, last);
        }
    }

    /// The occurrences of a bucket, in parts.
    pub(super) fn bucket(&self, bucket: usize) -> impl Iterator<Item = &[Occurrence<K>]> {
        let mut end = self.ends[bucket] as usize;
        let mut block = end / BLOCK;
        std::iter::from_fn(move || {
            let part = self.occurrences.get(block * BLOCK..end)?;
            let next = self.before[block];
            block = next as usize;
            end = (block + 1) * BLOCK;
            for at in (block * BLOCK..end).step_by(LINE) {
                fetch(&self.occurrences, at);
            }
            Some(part)
        })
    }

    pub(super) fn clear(&mut self) {
        self.before.clear();
        for bucket in 0..self.ends.len() {
            self.take_block(bucket, NO_BLOCK);
        }
    }

    #[inline(never)]
    fn take_block(&mut self, bucket: usize, last: u32) {
        let start = self.before.len() * BLOCK;
        self.before.push(last);
        self.ends[bucket] = start as u32;
        if start == self.occurrences.len() {
            self.occurrences.resize(start + BLOCK, Occurrence::empty());
        }
    }
}

/// Open addressing in the order of the keys, so that growing reads and writes from the left to the right.
///
/// A seldom n-gram takes a slot an occurrence; once its weights exceed the threshold, all of them say [`OFTEN`].
pub(super) struct Table<K> {
    slots: Vec<Occurrence<K>>,
    taken: usize,
}

impl<K: Key> Table<K> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), taken: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Occurrence<K>>()
    }

    /// Counts an occurrence.
    #[inline(always)]
    pub(super) fn add(&mut self, occurrence: Occurrence<K>, span: &Span, pool: &Pool) {
        if self.taken * FULL.1 >= self.slots.len() * FULL.0 {
            self.grow(span);
        }
        let mut at = self.home(occurrence.key(), span);
        while self.slots[at].row() != EMPTY && self.slots[at].key() != occurrence.key() {
            at = self.next(at);
        }
        if pool.threshold > 1 {
            return self.add_from(at, occurrence, span, pool);
        }
        // Two occurrences are never seldom. Which of the two it is, is hard to predict, so nothing branches on it.
        let new = self.slots[at].row() == EMPTY;
        let seldom = new & (pool.weight(occurrence.row()) <= pool.threshold);
        let row = if seldom { occurrence.row() } else { OFTEN };
        self.slots[at] = Occurrence::new(occurrence.key(), row);
        self.taken += usize::from(new);
    }

    /// Counts an occurrence of an n-gram that several rows may hold, the first of them at `at` if any.
    fn add_from(&mut self, mut at: usize, occurrence: Occurrence<K>, span: &Span, pool: &Pool) {
        let mut weight = pool.weight(occurrence.row());
        loop {
            let found = self.slots[at];
            if found.row() == EMPTY {
                let row = if weight > pool.threshold { OFTEN } else { occurrence.row() };
                self.slots[at] = Occurrence::new(occurrence.key(), row);
                self.taken += 1;
                return;
            }
            if found.key() == occurrence.key() {
                if found.row() == OFTEN {
                    return;
                }
                weight = weight.saturating_add(pool.weight(found.row()));
                if weight > pool.threshold {
                    return self.is_often(occurrence.key(), span);
                }
            }
            at = self.next(at);
        }
    }

    /// The rows that hold n-grams which are still seldom, some several times, and among them numbers from
    /// [`MOST_ROWS`] on, which are not rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().map(|slot| slot.row())
    }

    fn is_often(&mut self, key: K, span: &Span) {
        let mut at = self.home(key, span);
        while self.slots[at].row() != EMPTY {
            if self.slots[at].key() == key {
                self.slots[at] = Occurrence::new(key, OFTEN);
            }
            at = self.next(at);
        }
    }

    #[inline(always)]
    fn home(&self, key: K, span: &Span) -> usize {
        ((u128::from(span.within_bucket(key)) * self.slots.len() as u128) >> u64::BITS) as usize
    }

    #[inline(always)]
    fn next(&self, at: usize) -> usize {
        if at + 1 < self.slots.len() { at + 1 } else { 0 }
    }

    /// Makes room for this many first occurrences at once; half of them are of n-grams that occur again.
    pub(super) fn expect(&mut self, occurrences: usize) {
        if self.slots.is_empty() {
            self.slots = vec![Occurrence::empty(); (occurrences * 3 / 4).max(SMALLEST)];
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, span: &Span) {
        let size = self.slots.len() + self.slots.len() / 2;
        let before = std::mem::replace(&mut self.slots, vec![Occurrence::empty(); size]);
        self.taken = 0;
        for occurrence in before.into_iter().filter(|slot| slot.row() != EMPTY) {
            self.put_back(occurrence, span);
        }
    }

    /// Puts an occurrence of the table before it grew into a slot; for an n-gram that occurs often, one is enough.
    fn put_back(&mut self, occurrence: Occurrence<K>, span: &Span) {
        let mut at = self.home(occurrence.key(), span);
        while self.slots[at].row() != EMPTY {
            if occurrence.row() == OFTEN && self.slots[at].key() == occurrence.key() {
                return;
            }
            at = self.next(at);
        }
        self.slots[at] = occurrence;
        self.taken += 1;
    }
}
