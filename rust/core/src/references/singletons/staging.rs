//! Occurrences by bucket, before they are counted.

use super::keys::Key;
use super::table::Occurrence;
use crate::fetch::fetch;

/// Occurrences in a block.
pub(super) const BLOCK: usize = 64;
/// In place of a block: there is none.
const NONE: u32 = u32::MAX;
/// Occurrences that a line of the cache holds, at least.
const LINE: usize = 64 / 20;

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
    /// With so many blocks: at least one more than there are buckets.
    pub(super) fn new(buckets: usize, blocks: usize) -> Self {
        let (occurrences, before) = (Vec::with_capacity(blocks * BLOCK), Vec::with_capacity(blocks));
        let mut staging = Self { occurrences, ends: vec![0; buckets], before, blocks };
        staging.clear();
        staging
    }

    /// Whether another occurrence might find no place.
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
            self.take_block(bucket, NONE);
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
