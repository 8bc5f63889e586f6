//! N-grams as numbers, equal ones as equal keys and different ones as different keys, and the spans of keys that passes
//! count.
//!
//! Symbols are digits to the base of the alphabet's size, so that the next n-gram's number follows from the last one's.
//! Where that takes more than 128 bits, a digest of 128 bits stands for the n-gram; two n-grams of one pool that share
//! a digest are not to be expected (10^9 distinct ones have one chance in 10^20).

use crate::text::Symbol;
use xxhash_rust::xxh3::xxh3_128;

/// A scrambled n-gram.
pub(super) trait Key: Copy + Eq + Default + Send + Sync + 'static {
    /// Its upper 64 bits, which spread evenly.
    fn position(self) -> u64;
}

impl Key for u64 {
    #[inline(always)]
    fn position(self) -> u64 {
        self
    }
}

impl Key for u128 {
    #[inline(always)]
    fn position(self) -> u64 {
        (self >> u64::BITS) as u64
    }
}

/// A way from n-grams to keys.
pub(super) trait Scheme: Send + Sync + 'static {
    /// The type of its keys.
    type Key: Key;

    /// The keys of the n-grams of `symbols`, but for the first symbol: what stands before the first n-gram, as the
    /// n-grams roll on.
    fn keys<'a>(&'a self, symbols: &'a [Symbol]) -> impl Iterator<Item = Self::Key> + 'a;
}

/// N-grams as numbers of the type `K`, exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rolling<K> {
    n: usize,
    radix: K,
    /// The weight of the symbol that just left.
    leaving: K,
}

/// N-grams as digests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashed {
    pub(super) n: usize,
}

macro_rules! rolling {
    ($key:ty, $odd:expr) => {
        impl Rolling<$key> {
            /// `None` where `n` digits to the base `radix` do not fit.
            pub(super) fn new(radix: usize, n: usize) -> Option<Self> {
                let (radix, digits) = (radix as $key, u32::try_from(n).ok()?);
                // The greatest number is radix^n - 1.
                radix.checked_pow(digits - 1)?.checked_mul(radix)?;
                Some(Self { n, radix, leaving: radix.wrapping_pow(digits) })
            }

            /// One to one: the upper half changes the lower one, and an odd factor has an inverse.
            #[inline(always)]
            fn scrambled(number: $key) -> $key {
                (number ^ (number >> (<$key>::BITS / 2))).wrapping_mul($odd)
            }
        }

        impl Scheme for Rolling<$key> {
            type Key = $key;

            #[inline(always)]
            fn keys<'a>(&'a self, symbols: &'a [Symbol]) -> impl Iterator<Item = $key> + 'a {
                let digit = |symbol: Symbol| symbol as $key;
                let append = move |number: $key, symbol| number.wrapping_mul(self.radix).wrapping_add(digit(symbol));
                let (first, rest) = symbols.split_at(self.n.min(symbols.len()));
                let mut number = first.iter().fold(0, |number, &symbol| append(number, symbol));
                rest.iter().zip(symbols).map(move |(&entering, &left)| {
                    number = append(number, entering).wrapping_sub(digit(left).wrapping_mul(self.leaving));
                    Self::scrambled(number)
                })
            }
        }
    };
}

rolling!(u64, 0x9e37_79b9_7f4a_7c15);
rolling!(u128, 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);

impl Scheme for Hashed {
    type Key = u128;

    fn keys<'a>(&'a self, symbols: &'a [Symbol]) -> impl Iterator<Item = u128> + 'a {
        let ngrams = symbols.get(1..).unwrap_or_default().windows(self.n);
        ngrams.map(|ngram| xxh3_128(bytemuck::cast_slice(ngram)))
    }
}

/// The keys from `start` on whose distance from it has at most `bits` bits, divided evenly into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u64,
    bits: u32,
    shift: u32,
    buckets: usize,
}

impl Span {
    /// All keys, in this many buckets: a power of two, at least two.
    pub(super) fn whole(buckets: usize) -> Self {
        Self { start: 0, bits: u64::BITS, shift: u64::BITS - buckets.ilog2(), buckets }
    }

    /// The bucket of `key`; [`buckets`](Self::buckets) or more is outside the span.
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

    /// As many keys after these, in this many buckets; `None` after the last key.
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
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Keys of all n-grams with these symbols, each read in both places of a text.
    fn distinct<S: Scheme>(scheme: &S, radix: Symbol) -> usize {
        let symbols: Vec<Symbol> = (0..radix).flat_map(|a| (0..radix).flat_map(move |b| [a, b])).collect();
        let keys: HashSet<_> = symbols
            .chunks(2)
            .flat_map(|pair| scheme.keys(&[0, pair[0], pair[1]]).map(Key::position).collect::<Vec<_>>())
            .collect();
        keys.len()
    }

    #[test]
    fn different_ngrams_have_different_keys() {
        assert_eq!(distinct(&Rolling::<u64>::new(50, 2).unwrap(), 50), 2500);
        assert_eq!(distinct(&Hashed { n: 2 }, 50), 2500);
    }

    #[test]
    fn the_largest_radix_that_fits() {
        assert!(Rolling::<u64>::new(1 << 16, 4).is_none());
        assert!(Rolling::<u64>::new((1 << 16) - 1, 4).is_some());
        assert!(Rolling::<u64>::new(7131, 5).is_some());
        assert!(Rolling::<u64>::new(7132, 5).is_none());
        assert!(Rolling::<u128>::new(7132, 5).is_some());
        assert!(Rolling::<u128>::new(7132, 11).is_none());
    }

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

    proptest! {
        #[test]
        fn a_key_depends_on_its_ngram_alone(
            symbols in proptest::collection::vec(1..9i32, 0..40), n in 1..8usize, from in 0..40usize,
        ) {
            let mut text = vec![0];
            text.extend(&symbols);
            let scheme = Rolling::<u64>::new(9, n).unwrap();
            let alone: Vec<u64> =
                symbols.windows(n).flat_map(|ngram| scheme.keys(&[&[0], ngram].concat()).collect::<Vec<_>>()).collect();
            prop_assert_eq!(scheme.keys(&text).collect::<Vec<_>>(), &alone[..]);
            let from = from.min(alone.len());
            prop_assert_eq!(scheme.keys(&text[from..]).collect::<Vec<_>>(), &alone[from..]);
        }
    }
}
