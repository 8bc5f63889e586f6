//! How often n-grams occur at most, in two bits for each hash.

use super::counters::{Counters, MOST};
use super::envelope::{Header, Kind, damaged, open, seal};
use super::keys::{hash, ngram_keys};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::RangeInclusive;

/// A sketch has 2^5 counters at least, which are a word, and 2^40 at most, which take 256 GiB.
const BITS: RangeInclusive<u32> = 5..=40;
const MOST_PART_BITS: u32 = 16;
/// Texts that a thread reads at a time.
const CHUNK: usize = 1 << 9;

/// What sketches must have in common so that they can be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchShape {
    /// Characters of an n-gram, at least one.
    pub n: usize,
    /// A sketch has 2^`bits` counters and takes 2^(`bits` - 2) bytes.
    pub bits: u32,
    /// Which n-grams share a counter depends on it.
    pub seed: u64,
    /// Which n-grams are counted, of 2^`part_bits` parts into which hashes divide them: sketches of all parts together
    /// are as good as one with so many times the counters, and are made one after another where memory is small.
    pub part: u32,
    /// 0 for all n-grams, and at most 16.
    pub part_bits: u32,
}

impl SketchShape {
    /// A sketch of all n-grams.
    pub fn whole(n: usize, bits: u32, seed: u64) -> Self {
        Self { n, bits, seed, part: 0, part_bits: 0 }
    }

    /// Bits so that there are two to four counters for each of `ngrams` occurrences, as far as `memory` bytes allow.
    ///
    /// An n-gram shares its counter with another one with a probability of at most `d / 2^bits`, where `d` is the number of
    /// distinct n-grams: less than a half if the memory suffices. The survivors do not depend on it, only how many answers
    /// are examined a second time.
    pub fn bits_for(ngrams: u64, memory: u64) -> u32 {
        let wanted = ngrams.saturating_mul(2).max(1).ilog2() + 1;
        let most = memory.saturating_mul(4).max(1).ilog2();
        wanted.min(most).clamp(*BITS.start(), *BITS.end())
    }
}

/// Upper bounds for the occurrences of all n-grams of some answers; see the [module](super).
///
/// Counts stop at three. The counters depend on the answers alone, not on their order or the number of threads.
#[derive(Debug)]
pub struct NgramSketch {
    shape: SketchShape,
    counters: Counters,
}

impl NgramSketch {
    /// A sketch of no answers.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] for a shape out of range or without memory for it.
    pub fn new(shape: SketchShape) -> Result<Self> {
        let SketchShape { n, bits, part, part_bits, .. } = shape;
        if n == 0 || !BITS.contains(&bits) {
            let (least, most) = (BITS.start(), BITS.end());
            let reason = format!(
                "a sketch needs n-grams of at least 1 character and {least} to {most} bits, not {n} and {bits}"
            );
            return Err(Error::InvalidSettings { reason });
        }
        if part_bits > MOST_PART_BITS || part >> part_bits > 0 {
            let reason =
                format!("there is no part {part} of 2^{part_bits}: expected one of at most 2^{MOST_PART_BITS}");
            return Err(Error::InvalidSettings { reason });
        }
        Ok(Self { shape, counters: Counters::new(1 << shape.bits)? })
    }

    /// Its shape.
    pub fn shape(&self) -> SketchShape {
        self.shape
    }

    /// The number of counters that are not 0.
    pub fn used(&self) -> usize {
        self.counters.used()
    }

    /// Counts the n-grams of answers in this part, each as often as its weight says (once where there are no weights), on the threads
    /// of the current rayon pool. Two occurrences in one answer are two.
    ///
    /// # Errors
    /// [`Error::UnequalLengths`] unless there is one weight per answer.
    pub fn update(&mut self, texts: &[&str], weights: Option<&[u32]>) -> Result<()> {
        check_weights(texts, weights)?;
        texts.par_chunks(CHUNK).enumerate().for_each(|(chunk, texts)| {
            let (mut keys, mut slots) = (Vec::new(), Vec::new());
            for (row, text) in (chunk * CHUNK..).zip(texts) {
                let weight = weights.map_or(1, |weights| weights[row]);
                if weight > 0 {
                    self.slots(text, &mut keys, &mut slots);
                    for &slot in &slots {
                        self.counters.add(slot, weight);
                    }
                }
            }
        });
        Ok(())
    }

    /// Adds the counts of other answers. Adding the same ones twice counts them twice.
    ///
    /// # Errors
    /// [`Error::DamagedSketch`] unless both have the same shape.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.check_shape(other.shape)?;
        self.counters.merge(&other.counters);
        Ok(())
    }

    /// Forgets all counts but whether they exceed `threshold`: [`mask`](Self::mask) needs no more, and fewer bytes tell it.
    /// Nothing may be counted or merged afterwards.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] if counters do not reach beyond the threshold.
    pub fn keep_often(&mut self, threshold: u32) -> Result<()> {
        check_threshold(threshold)?;
        self.counters.round(threshold);
        Ok(())
    }

    /// Which answers have no n-gram of this part that is seldom for certain: those without one whose counter is at most
    /// `threshold`.
    /// Answers of weight 0 are not among them.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] if counters do not reach beyond the threshold, and [`Error::UnequalLengths`] unless
    /// there is one weight per answer.
    pub fn mask(&self, texts: &[&str], weights: Option<&[u32]>, threshold: u32) -> Result<Vec<bool>> {
        check_weights(texts, weights)?;
        check_threshold(threshold)?;
        let chunks = texts.par_chunks(CHUNK).enumerate().map(|(chunk, texts)| {
            let (mut keys, mut slots) = (Vec::new(), Vec::new());
            let mut often = |(row, text): (usize, &&str)| {
                weights.is_none_or(|weights| weights[row] > 0) && {
                    self.slots(text, &mut keys, &mut slots);
                    slots.iter().all(|&slot| self.counters.get(slot) > threshold)
                }
            };
            (chunk * CHUNK..).zip(texts).map(&mut often).collect::<Vec<bool>>()
        });
        Ok(chunks.collect::<Vec<_>>().concat())
    }

    /// The sketch in a form that can be sent: few counters in few bytes, and many in 2^(`bits` - 2). Equal sketches have
    /// equal bytes on every platform.
    pub fn to_bytes(&self) -> Vec<u8> {
        let SketchShape { n, bits, seed, part, part_bits } = self.shape;
        let size = u64::from(part) << 16 | u64::from(part_bits) << 8 | u64::from(bits);
        let header = Header { kind: Kind::Sketch, n: n as u64, numbers: [size, seed] };
        seal(&header, |bytes| self.counters.write(bytes))
    }

    /// Adds a sketch from its bytes. After an error nothing is added.
    ///
    /// # Errors
    /// [`Error::DamagedSketch`] for anything but a sketch of the same shape.
    pub fn merge_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let ([size, seed], counters) = open(bytes, Kind::Sketch, self.shape.n)?;
        let (bits, part_bits) = ((size & 0xff) as u32, (size >> 8 & 0xff) as u32);
        let part = u32::try_from(size >> 16).unwrap_or(u32::MAX);
        self.check_shape(SketchShape { n: self.shape.n, bits, seed, part, part_bits })?;
        self.counters.merge_written(counters).ok_or_else(|| damaged("its counters cannot be read"))
    }

    /// The inverse of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and [`merge_bytes`](Self::merge_bytes).
    pub fn from_bytes(bytes: &[u8], shape: SketchShape) -> Result<Self> {
        let mut sketch = Self::new(shape)?;
        sketch.merge_bytes(bytes)?;
        Ok(sketch)
    }

    /// Replaces `slots` with the counters of a text's n-grams, which are fetched.
    #[inline(always)]
    fn slots(&self, text: &str, keys: &mut Vec<u128>, slots: &mut Vec<usize>) {
        ngram_keys(text, self.shape.n, keys);
        slots.clear();
        let SketchShape { bits, seed, part, part_bits, .. } = self.shape;
        for &key in &*keys {
            let place = hash(key, seed) >> (u64::BITS - bits - part_bits);
            if place >> bits == u64::from(part) {
                let slot = (place ^ u64::from(part) << bits) as usize;
                self.counters.fetch(slot);
                slots.push(slot);
            }
        }
    }

    fn check_shape(&self, other: SketchShape) -> Result<()> {
        if other == self.shape {
            return Ok(());
        }
        Err(damaged(&format!("it is a {other:?}, not a {:?}", self.shape)))
    }
}

pub(super) fn check_weights(texts: &[&str], weights: Option<&[u32]>) -> Result<()> {
    match weights {
        Some(weights) if weights.len() != texts.len() => {
            Err(Error::UnequalLengths { what: "weights", length: weights.len(), texts: texts.len() })
        }
        _ => Ok(()),
    }
}

pub(super) fn check_threshold(threshold: u32) -> Result<()> {
    if threshold < MOST {
        return Ok(());
    }
    let reason = format!("counters of two bits need a threshold of at most {}, not {threshold}", MOST - 1);
    Err(Error::InvalidSettings { reason })
}
