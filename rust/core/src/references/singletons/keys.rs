//! N-grams as numbers: equal n-grams have equal keys, and different ones different keys.
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
    /// What it gives.
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
    /// What a symbol is worth that just left.
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
