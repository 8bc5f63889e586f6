//! N-grams by themselves, and how often each occurs, up to three.

use super::counters::{Counters, MOST};
use super::envelope::{Header, Kind, damaged, open, seal};
use super::keys::ngram_keys;
use super::ngram_sketch::{check_threshold, check_weights};
use crate::error::{Error, Result};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64;

const KEY: usize = size_of::<u128>();
/// Texts that a thread reads at a time.
const CHUNK: usize = 1 << 10;

/// Distinct n-grams and their counts, which stop at three.
///
/// 16 bytes an n-gram; looking n-grams up takes another 32 to 70.
#[derive(Debug)]
pub struct NgramKeys {
    n: usize,
    /// Ascending.
    keys: Vec<u128>,
    counters: Counters,
    /// Where each key stands, made when it is first needed.
    places: OnceLock<FxHashMap<u128, usize>>,
}

impl NgramKeys {
    /// The n-grams of `n` characters of some answers, counted as often as the answers' weights say (once where there are no
    /// weights), on the threads of the current rayon pool.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] if `n` is 0, and [`Error::UnequalLengths`] unless there is one weight per answer.
    pub fn of(texts: &[&str], weights: Option<&[u32]>, n: usize) -> Result<Self> {
        check_weights(texts, weights)?;
        if n == 0 {
            return Err(Error::InvalidSettings { reason: "n-grams have at least 1 character".to_owned() });
        }
        let chunks = texts.par_chunks(CHUNK).enumerate().map(|(chunk, texts)| {
            let (mut found, mut keys) = (Vec::new(), Vec::new());
            for (row, text) in (chunk * CHUNK..).zip(texts) {
                ngram_keys(text, n, &mut keys);
                for _ in 0..weights.map_or(1, |weights| weights[row].min(MOST)) {
                    found.extend_from_slice(&keys);
                }
            }
            sorted(found)
        });
        let keys = chunks.reduce(Vec::new, |mut one, other| {
            one.extend(other);
            sorted(one)
        });
        Self::counted(n, keys.into_iter().map(|key| (key, 1)))
    }

    /// From keys in ascending order, equal ones behind each other.
    fn counted(n: usize, counts: impl Iterator<Item = (u128, u32)>) -> Result<Self> {
        let (mut keys, mut found) = (Vec::new(), Vec::<u8>::new());
        for (key, count) in counts {
            if keys.last() == Some(&key)
                && let Some(before) = found.last_mut()
            {
                *before = (u32::from(*before) + count).min(MOST) as u8;
            } else {
                keys.push(key);
                found.push(count as u8);
            }
        }
        let counters = Counters::new(keys.len())?;
        (0..).zip(&found).for_each(|(at, &count)| counters.add(at, u32::from(count)));
        Ok(Self { n, keys, counters, places: OnceLock::new() })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// These n-grams and others, whose counts are added where both have an n-gram.
    ///
    /// # Errors
    /// [`Error::DamagedSketch`] if the others have another length.
    pub fn merged(&self, other: &Self) -> Result<Self> {
        if self.n != other.n {
            return Err(damaged(&format!("its n-grams have {} characters, not {}", other.n, self.n)));
        }
        let (mut mine, mut theirs) = (self.counts().peekable(), other.counts().peekable());
        let merged = std::iter::from_fn(|| {
            let order = match (mine.peek(), theirs.peek()) {
                (Some(one), Some(other)) => one.0.cmp(&other.0),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            if order == Ordering::Greater { theirs.next() } else { mine.next() }
        });
        Self::counted(self.n, merged)
    }

    /// Those that occur at most `threshold` times, with no occurrence counted.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] if counters do not reach beyond the threshold.
    pub fn at_most(&self, threshold: u32) -> Result<Self> {
        check_threshold(threshold)?;
        let seldom = self.counts().filter(|&(_, count)| count <= threshold);
        Self::counted(self.n, seldom.map(|(key, _)| (key, 0)))
    }

    /// Counts these n-grams, and no others, in answers; see [`of`](Self::of).
    ///
    /// # Errors
    /// [`Error::UnequalLengths`] unless there is one weight per answer.
    pub fn count(&mut self, texts: &[&str], weights: Option<&[u32]>) -> Result<()> {
        check_weights(texts, weights)?;
        let places = self.places();
        texts.par_chunks(CHUNK).enumerate().for_each(|(chunk, texts)| {
            let mut keys = Vec::new();
            for (row, text) in (chunk * CHUNK..).zip(texts) {
                let weight = weights.map_or(1, |weights| weights[row]);
                ngram_keys(text, self.n, &mut keys);
                for &place in keys.iter().filter_map(|key| places.get(key)) {
                    self.counters.add(place, weight);
                }
            }
        });
        Ok(())
    }

    /// Whether each answer has one of these n-grams.
    pub fn in_texts(&self, texts: &[&str]) -> Vec<bool> {
        let places = self.places();
        let chunks = texts.par_chunks(CHUNK).map(|texts| {
            let mut keys = Vec::new();
            let mut has = |text: &&str| {
                ngram_keys(text, self.n, &mut keys);
                keys.iter().any(|key| places.contains_key(key))
            };
            texts.iter().map(&mut has).collect::<Vec<bool>>()
        });
        chunks.collect::<Vec<_>>().concat()
    }

    /// The n-grams and their counts in a form that can be sent; equal ones have equal bytes on every platform.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = Header { kind: Kind::Keys, n: self.n as u64, numbers: [self.keys.len() as u64, 0] };
        seal(&header, |bytes| {
            bytes.extend(self.keys.iter().flat_map(|key| key.to_le_bytes()));
            self.counters.write(bytes);
        })
    }

    /// The inverse of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::DamagedSketch`] for anything else.
    pub fn from_bytes(bytes: &[u8], n: usize) -> Result<Self> {
        let ([count, _], contents) = open(bytes, Kind::Keys, n)?;
        let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(KEY));
        let (keys, counts) = length.and_then(|length| contents.split_at_checked(length)).ok_or_else(unreadable)?;
        let keys: Vec<u128> = keys.as_chunks::<KEY>().0.iter().map(|&key| u128::from_le_bytes(key)).collect();
        let mut counters = Counters::new(keys.len())?;
        if !keys.is_sorted_by(|one, next| one < next) || counters.merge_written(counts).is_none() {
            return Err(unreadable());
        }
        Ok(Self { n, keys, counters, places: OnceLock::new() })
    }

    /// The counts alone, a quarter of a byte each, for [`merge_counts`](Self::merge_counts).
    pub fn counts_to_bytes(&self) -> Vec<u8> {
        let numbers = [self.keys.len() as u64, self.digest()];
        let header = Header { kind: Kind::Counts, n: self.n as u64, numbers };
        seal(&header, |bytes| self.counters.write(bytes))
    }

    /// Adds counts of the same n-grams. After an error nothing is added.
    ///
    /// # Errors
    /// [`Error::DamagedSketch`] for anything but the counts of the same n-grams.
    pub fn merge_counts(&mut self, bytes: &[u8]) -> Result<()> {
        let (numbers, counts) = open(bytes, Kind::Counts, self.n)?;
        if numbers != [self.keys.len() as u64, self.digest()] {
            return Err(damaged("it counts other n-grams"));
        }
        self.counters.merge_written(counts).ok_or_else(unreadable)
    }

    fn counts(&self) -> impl Iterator<Item = (u128, u32)> {
        self.keys.iter().enumerate().map(|(at, &key)| (key, self.counters.get(at)))
    }

    fn places(&self) -> &FxHashMap<u128, usize> {
        self.places.get_or_init(|| self.keys.iter().enumerate().map(|(at, &key)| (key, at)).collect())
    }

    fn digest(&self) -> u64 {
        self.keys.iter().fold(0, |digest, key| xxh3_64(&[&digest.to_le_bytes()[..], &key.to_le_bytes()].concat()))
    }
}

/// Sorts keys, which is linear for two sorted lists in a row, and leaves as many of each as are counted.
#[allow(clippy::stable_sort_primitive)] // it looks for sorted lists and merges them
fn sorted(mut keys: Vec<u128>) -> Vec<u128> {
    keys.sort();
    let (mut kept, most) = (0, MOST as usize);
    for at in 0..keys.len() {
        let key = keys[at];
        if kept < most || keys[kept - most] != key {
            keys[kept] = key;
            kept += 1;
        }
    }
    keys.truncate(kept);
    keys
}

fn unreadable() -> Error {
    damaged("its n-grams cannot be read")
}
