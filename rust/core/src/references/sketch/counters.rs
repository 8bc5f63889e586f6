//! Counters of two bits that stop at three, which threads may increase side by side: the order does not matter.

use crate::error::{Error, Result};
use crate::fetch::fetch;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The greatest count.
pub(super) const MOST: u32 = 3;
/// The lower bits of all counters of a word.
const LOWER: u64 = 0x5555_5555_5555_5555;
const COUNTERS: usize = 32;
/// Words that a thread merges at a time.
const CHUNK: usize = 1 << 14;
/// How counters are written: all of them, or the gaps between those that are not 0.
const DENSE: u8 = 0;
const SPARSE: u8 = 1;

#[derive(Debug)]
pub(super) struct Counters {
    words: Vec<AtomicU64>,
    len: usize,
}

impl Counters {
    /// So many counters, all 0.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] if there is no memory for them.
    pub(super) fn new(len: usize) -> Result<Self> {
        let mut words = Vec::new();
        let count = len.div_ceil(COUNTERS);
        words.try_reserve_exact(count).map_err(|_| Error::InvalidSettings {
            reason: format!("no memory for {len} counters: choose a smaller sketch"),
        })?;
        words.resize_with(count, AtomicU64::default);
        Ok(Self { words, len })
    }

    #[inline(always)]
    pub(super) fn fetch(&self, at: usize) {
        fetch(&self.words, at / COUNTERS);
    }

    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> u32 {
        (self.words[at / COUNTERS].load(Relaxed) >> (at % COUNTERS * 2)) as u32 & MOST
    }

    #[inline(always)]
    pub(super) fn add(&self, at: usize, amount: u32) {
        let (word, shift) = (&self.words[at / COUNTERS], at % COUNTERS * 2);
        let mut seen = word.load(Relaxed);
        loop {
            let before = (seen >> shift) as u32 & MOST;
            let added = u64::from(amount.min(MOST - before)) << shift;
            if added == 0 {
                return;
            }
            match word.compare_exchange_weak(seen, seen + added, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(found) => seen = found,
            }
        }
    }

    /// Adds as many counters to these.
    pub(super) fn merge(&mut self, other: &Self) {
        let parts = self.words.par_chunks_mut(CHUNK).zip(other.words.par_chunks(CHUNK));
        parts.for_each(|(mine, theirs)| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                let mine = mine.get_mut();
                *mine = sum(*mine, theirs.load(Relaxed));
            }
        });
    }

    /// Makes those above `threshold` 3 and all others 0.
    pub(super) fn round(&mut self, threshold: u32) {
        self.words.par_chunks_mut(CHUNK).for_each(|words| {
            for word in words.iter_mut().map(AtomicU64::get_mut) {
                let (upper, lower) = (*word >> 1 & LOWER, *word & LOWER);
                let above = match threshold {
                    0 => upper | lower,
                    1 => upper,
                    2 => upper & lower,
                    _ => 0,
                };
                *word = above | above << 1;
            }
        });
    }

    /// How many are not 0.
    pub(super) fn used(&self) -> usize {
        let used = |word: &AtomicU64| some(word.load(Relaxed)).count_ones() as usize;
        self.words.par_iter().with_min_len(CHUNK).map(used).sum()
    }

    /// Writes them in the shorter of the two forms; equal counters give equal bytes.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.push(SPARSE);
        if !self.write_gaps(bytes, start + 1 + self.words.len() * size_of::<u64>()) {
            bytes.truncate(start);
            bytes.push(DENSE);
            bytes.extend(self.words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()));
        }
    }

    /// Writes three times the gap and the count less one, in groups of seven bits; returns whether `most` bytes suffice.
    fn write_gaps(&self, bytes: &mut Vec<u8>, most: usize) -> bool {
        let mut next = 0;
        for (first, word) in (0..).step_by(COUNTERS).zip(&self.words) {
            let word = word.load(Relaxed);
            let mut left = some(word);
            while left != 0 {
                let shift = left.trailing_zeros();
                left &= left - 1;
                let at: u64 = first + u64::from(shift / 2);
                let mut number = (at - next) * u64::from(MOST) + ((word >> shift) & 3) - 1;
                next = at + 1;
                while number >= 1 << 7 {
                    bytes.push(number as u8 | 1 << 7);
                    number >>= 7;
                }
                bytes.push(number as u8);
            }
            if bytes.len() >= most {
                return false;
            }
        }
        true
    }

    /// Adds counters as they were written; `None`, and nothing is added, if as many cannot be read.
    pub(super) fn merge_written(&mut self, bytes: &[u8]) -> Option<()> {
        match bytes.split_first()? {
            (&DENSE, words) => self.merge_words(words),
            (&SPARSE, gaps) => self.merge_gaps(gaps),
            _ => None,
        }
    }

    fn merge_words(&mut self, bytes: &[u8]) -> Option<()> {
        let (words, []) = bytes.as_chunks::<{ size_of::<u64>() }>() else { return None };
        let beyond = match self.len % COUNTERS {
            0 => 0,
            within => u64::MAX << (2 * within),
        };
        if words.len() != self.words.len() || words.last().is_some_and(|&last| u64::from_le_bytes(last) & beyond != 0) {
            return None;
        }
        let parts = self.words.par_chunks_mut(CHUNK).zip(words.par_chunks(CHUNK));
        parts.for_each(|(mine, theirs)| {
            for (mine, &theirs) in mine.iter_mut().zip(theirs) {
                let mine = mine.get_mut();
                *mine = sum(*mine, u64::from_le_bytes(theirs));
            }
        });
        Some(())
    }

    fn merge_gaps(&self, bytes: &[u8]) -> Option<()> {
        self.each_written(bytes, |_, _| ())?;
        self.each_written(bytes, |at, count| self.add(at, count))
    }

    fn each_written(&self, mut bytes: &[u8], take: impl Fn(usize, u32)) -> Option<()> {
        let mut next = 0_u64;
        while !bytes.is_empty() {
            let (number, rest) = read_number(bytes)?;
            bytes = rest;
            let at = next.checked_add(number / u64::from(MOST)).filter(|&at| at < self.len as u64)?;
            next = at + 1;
            take(at as usize, (number % u64::from(MOST)) as u32 + 1);
        }
        Some(())
    }
}

/// The sums of two words of counters.
#[inline(always)]
fn sum(one: u64, other: u64) -> u64 {
    let (upper, other_upper) = (one >> 1 & LOWER, other >> 1 & LOWER);
    let (lower, other_lower) = (one & LOWER, other & LOWER);
    let carry = lower & other_lower;
    let full = (upper & other_upper) | ((upper | other_upper) & carry);
    (upper | other_upper | carry) << 1 | (lower ^ other_lower) | full
}

/// The lower bits of those counters that are not 0.
#[inline(always)]
fn some(word: u64) -> u64 {
    (word | word >> 1) & LOWER
}

/// A number in groups of seven bits, the lowest first, and what follows it.
fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().position(|byte| byte >> 7 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    let groups = number.iter().rev();
    let value = groups.fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (length <= 9).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counters(counts: &[u32]) -> Counters {
        let counters = Counters::new(counts.len()).unwrap();
        counts.iter().enumerate().for_each(|(at, &count)| counters.add(at, count));
        counters
    }

    fn list(counters: &Counters) -> Vec<u32> {
        (0..counters.len).map(|at| counters.get(at)).collect()
    }

    fn written(counters: &Counters) -> Vec<u8> {
        let mut bytes = Vec::new();
        counters.write(&mut bytes);
        bytes
    }

    #[test]
    fn all_pairs_of_counts() {
        let pairs: Vec<(u32, u32)> = (0..4).flat_map(|one| (0..4).map(move |other| (one, other))).collect();
        let (ones, others): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        let mut merged = counters(&ones);
        merged.merge(&counters(&others));
        let expected: Vec<u32> = pairs.iter().map(|(one, other)| (one + other).min(3)).collect();
        assert_eq!(list(&merged), expected);
    }

    #[test]
    fn only_greater_counts_are_left() {
        for threshold in 0..4 {
            let mut rounded = counters(&[0, 1, 2, 3, 3, 0, 1]);
            rounded.round(threshold);
            let expected = [0, 1, 2, 3, 3, 0, 1].map(|count| if count > threshold { 3 } else { 0 });
            assert_eq!(list(&rounded), expected);
        }
    }

    #[test]
    fn what_was_not_written_is_refused() {
        let bytes = written(&counters(&[1; 40]));
        assert_eq!((bytes[0], bytes.len()), (DENSE, 17));
        let accepts = |bytes: &[u8], len| Counters::new(len).unwrap().merge_written(bytes).is_some();
        assert!(accepts(&bytes, 40));
        assert!(!accepts(&bytes, 39) && !accepts(&bytes, 32) && !accepts(&bytes, 65));
        assert!(!accepts(&bytes[..16], 40) && !accepts(&[], 40) && !accepts(&[2, 0], 40));
        // Counter 39 is the last one; a number must end, and be of 63 bits at most.
        assert!(accepts(&[SPARSE, 39 * 3], 40) && !accepts(&[SPARSE, 40 * 3], 40));
        assert!(!accepts(&[SPARSE, 0x80], 40));
        assert!(!accepts(&[&[SPARSE], &[0x80; 9][..], &[1]].concat(), 40));
    }

    #[test]
    fn nothing_is_added_from_what_is_refused() {
        let mut counters = counters(&[0; 40]);
        assert!(counters.merge_written(&[SPARSE, 0, 0, 40 * 3]).is_none());
        assert_eq!(counters.used(), 0);
    }

    proptest! {
        #[test]
        fn counts_are_added_up_to_three(
            ones in proptest::collection::vec(0..6_u32, 1..200), seed in any::<u64>(), zeros in 0..600_usize,
        ) {
            let mut ones = ones;
            ones.resize(ones.len() + zeros, 0);
            let others: Vec<u32> = (0..ones.len()).map(|at| (seed.rotate_left(at as u32) % 5) as u32).collect();
            let expected: Vec<u32> = ones.iter().zip(&others).map(|(one, other)| (one + other).min(3)).collect();
            let (one, other) = (counters(&ones), counters(&others));
            let mut merged = counters(&others);
            merged.merge(&one);
            prop_assert_eq!(&list(&merged), &expected);
            prop_assert_eq!(merged.used(), expected.iter().filter(|&&count| count > 0).count());
            let mut read = counters(&vec![0; ones.len()]);
            for part in [&one, &other] {
                prop_assert!(read.merge_written(&written(part)).is_some());
            }
            prop_assert_eq!(&list(&read), &expected);
            prop_assert_eq!(written(&read), written(&merged));
            prop_assert!(written(&one).len() <= 1 + ones.len().div_ceil(COUNTERS) * 8);
        }
    }
}
