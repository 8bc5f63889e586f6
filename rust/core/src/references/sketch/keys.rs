//! N-grams as numbers that mean the same in every shard: there is no common alphabet, so code points are the digits.

use xxhash_rust::xxh3::xxh3_128;

/// Bits of a code point.
const BITS: usize = 21;
/// Characters that 128 bits hold exactly.
const EXACT: usize = 6;

/// Replaces `keys` with those of the n-grams of a text, in order.
///
/// Different n-grams have different keys. From 7 characters on these are digests of 128 bits; that two n-grams of one pool
/// share one is not to be expected.
#[inline(always)]
pub(super) fn ngram_keys(text: &str, n: usize, keys: &mut Vec<u128>) {
    keys.clear();
    if n <= EXACT {
        let used = (1 << (BITS * n)) - 1;
        let mut key = 0;
        for (at, character) in (1..).zip(text.chars()) {
            key = (key << BITS | character as u128) & used;
            if at >= n {
                keys.push(key);
            }
        }
    } else {
        let bytes: Vec<u8> = text.chars().flat_map(|character| u32::from(character).to_le_bytes()).collect();
        keys.extend(bytes.windows(n.saturating_mul(4)).step_by(4).map(xxh3_128));
    }
}

/// A hash of a key that spreads evenly; different seeds give unrelated ones.
#[inline(always)]
pub(super) fn hash(key: u128, seed: u64) -> u64 {
    let lower = (key as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let upper = ((key >> u64::BITS) as u64 ^ seed.rotate_left(32)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    let mixed = lower ^ upper.rotate_left(29) ^ lower >> 32;
    // The last steps of SplitMix64.
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn keys(text: &str, n: usize) -> Vec<u128> {
        let mut keys = vec![7];
        ngram_keys(text, n, &mut keys);
        keys
    }

    #[test]
    fn equal_ngrams_have_equal_keys() {
        for n in 1..12 {
            let text = "ab\u{10ffff}\0𠮷ab\u{10ffff}\0𠮷ab\u{10ffff}\0𠮷";
            let found = keys(text, n);
            assert_eq!(found.len(), 16 - n, "{n}");
            assert_eq!(found[0..6.min(11 - n)], found[5..11.min(16 - n)], "{n}");
            assert_eq!(found.iter().collect::<HashSet<_>>().len(), 5.min(16 - n), "{n}");
        }
        assert!(keys("ab", 3).is_empty() && keys("", 1).is_empty() && keys("abcdefgh", usize::MAX).is_empty());
    }

    #[test]
    fn the_length_of_an_ngram_is_not_in_doubt() {
        assert_eq!(keys("\0a", 2), [u128::from(b'a')]);
        assert_eq!(keys("a", 1), [u128::from(b'a')]);
        assert_eq!(keys("aaaaaaa", 6), [keys("aaaaaa", 6)[0]; 2]);
    }

    #[test]
    fn hashes_spread_evenly() {
        // Neighbouring keys in their upper 10 bits: every one of 1,024 slots is hit about 64 times.
        for (seed, shift) in [(0, 0), (0, 21), (1, 42), (2, 84), (3, 63)] {
            let mut slots = vec![0_u32; 1 << 10];
            (0..1_u128 << 16).for_each(|key| slots[(hash(key << shift, seed) >> 54) as usize] += 1);
            let (least, most) = (slots.iter().min().unwrap(), slots.iter().max().unwrap());
            assert!(*least > 25 && *most < 115, "{seed} {shift}: {least} to {most}");
        }
        assert_ne!(hash(1, 0) >> 54, hash(1, 1) >> 54);
    }
}
