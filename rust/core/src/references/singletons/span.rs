//! Which keys a pass counts, and into which bucket each goes.

use super::keys::Key;

/// The keys from `start` on whose distance from it has at most `bits` bits, divided evenly into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u64,
    bits: u32,
    shift: u32,
    buckets: usize,
}

impl Span {
    /// All keys, in so many buckets: a power of two, at least two.
    pub(super) fn whole(buckets: usize) -> Self {
        Self { start: 0, bits: u64::BITS, shift: u64::BITS - buckets.ilog2(), buckets }
    }

    /// The bucket of `key`; what is not less than [`buckets`](Self::buckets) is outside.
    #[inline(always)]
    pub(super) fn bucket<K: Key>(&self, key: K) -> usize {
        (key.position().wrapping_sub(self.start) >> self.shift) as usize
    }

    /// Where `key` stands among the keys of its bucket, as a fraction of 2^64.
    #[inline(always)]
    pub(super) fn within_bucket<K: Key>(&self, key: K) -> u64 {
        key.position() << (u64::BITS - self.shift)
    }

    /// Where `key` stands among the keys of a span as wide as this one, as a fraction of 2^64.
    #[inline(always)]
    pub(super) fn within<K: Key>(&self, key: K) -> u64 {
        key.position() << (u64::BITS - self.bits)
    }

    pub(super) fn buckets(&self) -> usize {
        self.buckets
    }

    /// Gives up the upper half of the buckets; one is always left.
    pub(super) fn halve(&mut self) {
        if self.buckets > 1 {
            self.buckets /= 2;
            self.bits -= 1;
        }
    }

    /// The keys after these, as many, in so many buckets; `None` after the last key.
    pub(super) fn next(&self, buckets: usize) -> Option<Self> {
        let width = 1_u64.checked_shl(self.bits)?;
        let start = self.start.checked_add(width)?;
        // A bucket has at least two keys, so that no shift reaches the number of bits.
        let buckets = buckets.min((width / 2) as usize).max(1);
        Some(Self { start, bits: self.bits, shift: self.bits - buckets.ilog2(), buckets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_every_key_once() {
        let mut span = Span::whole(8);
        let keys: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, !(1 << bit), (1 << bit) - 1]).collect();
        let (mut times, mut passes) = (vec![0; keys.len()], 0);
        loop {
            if passes < 3 {
                span.halve();
            }
            for (times, &key) in times.iter_mut().zip(&keys) {
                *times += i32::from(span.bucket(key) < span.buckets());
            }
            passes += 1;
            match span.next(8) {
                Some(next) => span = next,
                None => break,
            }
        }
        assert_eq!(passes, 4);
        assert!(times.iter().all(|&times| times == 1), "{times:?}");
    }

    #[test]
    fn one_bucket_is_left() {
        let mut span = Span::whole(2);
        span.halve();
        span.halve();
        assert_eq!(span.buckets(), 1);
        assert_eq!(span.bucket(u64::MAX / 2), 0);
        assert_eq!(span.within_bucket(u64::MAX / 4 + 1), 1 << 63);
    }
}
