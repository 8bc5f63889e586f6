//! The n-grams by which a document that may contain a text is noticed.

use std::iter::successors;

const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
const FACTOR: u64 = 0xD6E8_FEB8_6659_FD93;

/// The hashes of all n-grams of `text`, in order, in time linear in its length.
pub(super) fn hashes(text: &[u32], n: usize) -> impl Iterator<Item = u64> {
    let leading = successors(Some(1u64), |power| Some(power.wrapping_mul(BASE))).nth(n - 1).unwrap_or(0);
    let step = move |hash: u64, symbol: u32| hash.wrapping_mul(BASE).wrapping_add(u64::from(symbol));
    let first = text.get(..n - 1).unwrap_or(&[]).iter().fold(0, |hash, &symbol| step(hash, symbol));
    let rest = text.get(n - 1..).unwrap_or(&[]).iter().zip(text);
    rest.scan(first, move |hash, (&entering, &leaving)| {
        let whole = step(*hash, entering);
        *hash = whole.wrapping_sub(u64::from(leaving).wrapping_mul(leading));
        Some(whole.wrapping_mul(FACTOR))
    })
}

/// Counts n-grams by their hashes; one count may be that of several n-grams.
pub(super) struct Counts {
    counts: Vec<u16>,
    shift: u32,
}

impl Counts {
    /// Room for about this number of n-grams.
    pub(super) fn new(grams: usize) -> Self {
        let bits = bits_for(grams);
        Self { counts: vec![0; 1 << bits], shift: 64 - bits }
    }

    pub(super) fn add(&mut self, hash: u64) {
        let count = &mut self.counts[(hash >> self.shift) as usize];
        *count = count.saturating_add(1);
    }

    pub(super) fn of(&self, hash: u64) -> u16 {
        self.counts[(hash >> self.shift) as usize]
    }
}

/// Texts by the hashes of their anchors.
#[derive(Debug)]
pub(super) struct Anchors {
    sorted: Vec<(u64, u32)>,
    /// Where the hashes with each beginning begin in `sorted`.
    starts: Vec<u32>,
    starts_shift: u32,
    /// A Bloom filter of the hashes, each with two bits of one word; small enough for a cache, unlike the above.
    occurs: Vec<u64>,
    occurs_shift: u32,
}

impl Anchors {
    pub(super) fn new(mut sorted: Vec<(u64, u32)>) -> Self {
        sorted.sort_unstable();
        let bits = bits_for(sorted.len());
        let starts_shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for &(hash, _) in &sorted {
            starts[(hash >> starts_shift) as usize + 1] += 1;
        }
        (1..starts.len()).for_each(|bucket| starts[bucket] += starts[bucket - 1]);
        let occurs_shift = starts_shift + 2;
        let mut occurs = vec![0; 1 << (bits - 2)];
        for &(hash, _) in &sorted {
            occurs[(hash >> occurs_shift) as usize] |= two_bits(hash);
        }
        Self { sorted, starts, starts_shift, occurs, occurs_shift }
    }

    /// False only if no text has an anchor with this hash.
    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let bits = two_bits(hash);
        self.occurs[(hash >> self.occurs_shift) as usize] & bits == bits
    }

    /// The texts that have an anchor with this hash.
    #[inline]
    pub(super) fn texts(&self, hash: u64) -> impl Iterator<Item = u32> {
        let bucket = (hash >> self.starts_shift) as usize;
        let found = &self.sorted[self.starts[bucket] as usize..self.starts[bucket + 1] as usize];
        found.iter().filter(move |&&(other, _)| other == hash).map(|&(_, text)| text)
    }
}

fn two_bits(hash: u64) -> u64 {
    1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63)
}

/// The logarithm of a power of two that is at least `count`, and at least 2^6.
fn bits_for(count: usize) -> u32 {
    count.next_power_of_two().trailing_zeros().max(6)
}

#[cfg(test)]
mod tests {
    use super::{Anchors, hashes};

    #[test]
    fn equal_ngrams_have_equal_hashes_wherever_they_are() {
        let text: Vec<u32> = "あいうえおかあいうえ".chars().map(u32::from).collect();
        let found: Vec<u64> = hashes(&text, 4).collect();
        assert_eq!(found.len(), 7);
        assert_eq!(found[0], found[6]);
        assert_eq!(found.iter().collect::<std::collections::HashSet<_>>().len(), 6);
        assert_eq!(hashes(&text, 11).count(), 0);
        assert_eq!(hashes(&text[..1], 1).count(), 1);
    }

    #[test]
    fn texts_are_found_by_all_their_anchors() {
        let all: Vec<(u64, u32)> = (0..1000).map(|i| (u64::from(i % 300u32).wrapping_mul(1 << 55), i)).collect();
        let anchors = Anchors::new(all.clone());
        for &(hash, _) in &all {
            let expected: Vec<u32> = all.iter().filter(|other| other.0 == hash).map(|other| other.1).collect();
            assert_eq!(anchors.texts(hash).collect::<Vec<_>>(), expected);
            assert!(anchors.may_have(hash));
        }
        assert_eq!(anchors.texts(1).count(), 0);
        assert_eq!(Anchors::new(Vec::new()).texts(5).count(), 0);
    }
}
