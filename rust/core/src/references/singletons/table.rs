//! The n-grams of a bucket: which are seldom so far, and in which rows they stand.

use super::keys::Key;
use super::pool::Pool;
use super::span::Span;

/// In place of a row: nothing stands here.
const EMPTY: u32 = u32::MAX;
/// In place of a row: the n-gram occurs more often than the threshold.
const OFTEN: u32 = u32::MAX - 1;
/// Rows that can be told from those.
pub(super) const MOST_ROWS: usize = OFTEN as usize;

/// A table has at most 7 of 10 slots taken, and grows by half: between 1.4 and 2.2 slots an entry.
const FULL: (usize, usize) = (7, 10);
const SMALLEST: usize = 16;

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
        // Two occurrences are never seldom. Which of both it is, is hard to foretell: no branch hangs on it.
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
    /// [`MOST_ROWS`] on, which are no rows.
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

    /// Makes place for so many first occurrences at once; half of them are of n-grams that come again.
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

    /// Puts an occurrence of the table before into a slot; of an n-gram that occurs often, one is enough.
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
