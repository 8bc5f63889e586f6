//! Choosing texts whose n-grams are distributed as those of a whole pool.
//!
//! With `c` the number of chosen texts that contain an n-gram, `D` that of the pool (weights counted), `m` texts chosen
//! and `M` in the pool, the error is the mean of `(c/m − D/M)²` over the pool's n-grams. Times `(m M)²` it is the sum of
//! `M² c² − 2 m M c D + m² D²`. A text that joins a choice adds `M² (2c + 1) − 2 m M D` for each of its n-grams: it is
//! judged by its overlaps with the chosen texts, and by a constant.

use super::classes::Classes;
use super::digests::digest;
use super::shares::shares;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// The largest sum of weights.
const MOST_MASS: u64 = i32::MAX as u64;

/// Texts to choose from.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    /// The texts, a row each.
    pub texts: &'a [&'a str],
    /// How often each occurs in the pool: at least once. Once if this is `None`.
    pub weights: Option<&'a [u64]>,
    /// The number of each text's stratum. One stratum if this is `None`.
    pub strata: Option<&'a [u32]>,
}

/// A choice that grows text by text.
///
/// Makes the mean squared error between the n-gram distributions of the choice and of the pool small (Imajo et al. 2025,
/// section 3.2.4), as document frequencies, which is what Fluency uses. Each text is the one that makes the choice, as
/// far as it is, most like the pool, and of equally good ones that of the least digest (then the first): neither the
/// order of the texts nor threads matter.
///
/// Strata get their shares of the choice by the sums of their weights (largest remainder, then the stratum of the
/// smaller number).
///
/// Another text takes `O(K + s)` time for `K` texts, where `s` is the number of texts of each of its classes, summed up.
#[derive(Debug)]
pub struct Selector {
    classes: Classes,
    digests: Vec<u128>,
    /// How often each text occurs, and all together.
    weights: Vec<u64>,
    mass: u64,
    /// Stratum of each text; rows and number to choose of each stratum.
    stratum_of: Vec<usize>,
    strata: Vec<Stratum>,
    /// Texts to choose, and those chosen.
    count: usize,
    chosen: Vec<u32>,
    is_chosen: Vec<bool>,
    /// Of each text: its n-grams, the sum of their frequencies in the pool, and that of their counts in the choice.
    ngrams: Vec<u64>,
    frequencies: Vec<u64>,
    overlaps: Vec<u64>,
}

#[derive(Debug, Clone, Default)]
struct Stratum {
    texts: usize,
    mass: u64,
    share: usize,
    taken: usize,
}

impl Selector {
    /// Counts the n-grams of `lengths` characters: `O(N × longest)` for `N` characters.
    ///
    /// # Errors
    /// [`Error::EmptyPool`], [`Error::UnequalLengths`], [`Error::ZeroWeight`], [`Error::InvalidSettings`] for an invalid
    /// number, and [`Error::PoolTooLarge`] or [`Error::TextTooLong`] beyond what can be counted.
    pub fn new(candidates: &Candidates<'_>, count: usize, lengths: &RangeInclusive<usize>) -> Result<Self> {
        let mass = check(candidates, count, lengths)?;
        let texts = candidates.texts.len();
        let weights = candidates.weights.map_or_else(|| vec![1; texts], <[u64]>::to_vec);
        let count = count.min(texts);
        let (stratum_of, strata) = strata(candidates.strata, &weights, count);
        let digests: Vec<u128> = candidates.texts.iter().map(|text| digest(text, 0)).collect();
        let lengths = *lengths.start() as u16..=*lengths.end() as u16;
        let classes = Classes::find(candidates.texts, &digests, &lengths)?;
        let (mut ngrams, mut frequencies) = (vec![0; texts], vec![0; texts]);
        for (class, &weight) in classes.weights.iter().enumerate() {
            let of_class: u64 = classes.texts(class).iter().map(|&text| weights[text as usize]).sum();
            for text in classes.texts(class).iter().map(|&text| text as usize) {
                ngrams[text] += u64::from(weight);
                frequencies[text] += u64::from(weight) * of_class;
            }
        }
        Ok(Self {
            classes,
            digests,
            weights,
            mass,
            stratum_of,
            strata,
            count,
            chosen: Vec::with_capacity(count),
            is_chosen: vec![false; texts],
            ngrams,
            frequencies,
            overlaps: vec![0; texts],
        })
    }

    /// Chooses up to `texts` further texts; returns whether the choice is complete.
    ///
    /// The `k`-th text is judged as the last of `k`, not of all: then the beginnings of the choice are typical, too, and
    /// the whole is far better than one whose first texts only have what is common.
    pub fn grow(&mut self, texts: usize) -> bool {
        for _ in 0..texts {
            let is_open = |text: &usize| {
                let stratum = &self.strata[self.stratum_of[*text]];
                !self.is_chosen[*text] && stratum.taken < stratum.share
            };
            let open = (0..self.digests.len()).filter(is_open);
            let Some(best) = open.min_by_key(|&text| (self.added(text), self.digests[text])) else { return true };
            self.is_chosen[best] = true;
            self.strata[self.stratum_of[best]].taken += 1;
            self.chosen.push(best as u32);
            for class in self.classes.of(best).iter().map(|&class| class as usize) {
                let weight = u64::from(self.classes.weights[class]);
                for &text in self.classes.texts(class) {
                    self.overlaps[text as usize] += weight;
                }
            }
        }
        self.chosen.len() == self.count
    }

    /// What a text would add to the choice, divided by the pool's mass.
    fn added(&self, text: usize) -> i128 {
        let size = self.chosen.len() as i128 + 1;
        i128::from(self.mass) * i128::from(self.ngrams[text] + 2 * self.overlaps[text])
            - 2 * size * i128::from(self.frequencies[text])
    }

    /// The chosen rows, ascending.
    pub fn rows(&self) -> Vec<u32> {
        let mut rows = self.chosen.clone();
        rows.sort_unstable();
        rows
    }

    /// Error of the choice; 0 where there is no n-gram.
    pub fn error(&self) -> f64 {
        let whole = self.chosen.len() as i128 * i128::from(self.mass);
        self.mean(|texts, pool| {
            let chosen = texts.iter().filter(|&&text| self.is_chosen[text as usize]).count() as i128;
            let difference = chosen * i128::from(self.mass) - i128::from(pool) * self.chosen.len() as i128;
            (difference as f64 / whole as f64).powi(2)
        })
    }

    /// The mean error of all choices that keep the shares of the strata.
    ///
    /// How many texts of a stratum have an n-gram is hypergeometrically distributed; the mean of a squared difference is
    /// the square of the mean one, and the variance.
    pub fn random_error(&self) -> f64 {
        let (count, mut of_stratum) = (self.count as f64, vec![0u32; self.strata.len()]);
        self.mean(|texts, pool| {
            for &text in texts {
                of_stratum[self.stratum_of[text as usize]] += 1;
            }
            let (mut expected, mut variance) = (0.0, 0.0);
            for (stratum, having) in self.strata.iter().zip(&mut of_stratum) {
                let (texts, share) = (stratum.texts as f64, stratum.share as f64);
                let part = f64::from(std::mem::take(having)) / texts;
                expected += share * part;
                variance += share * part * (1.0 - part) * (texts - share) / (texts - 1.0).max(1.0);
            }
            let difference = expected / count - pool as f64 / self.mass as f64;
            difference.powi(2) + variance / count.powi(2)
        })
    }

    /// The mean over the pool's n-grams of what `of` makes of the texts that contain one, and the sum of their weights.
    fn mean(&self, mut of: impl FnMut(&[u32], u64) -> f64) -> f64 {
        let (mut sum, mut ngrams) = (0.0, 0u64);
        for (class, &weight) in self.classes.weights.iter().enumerate() {
            let texts = self.classes.texts(class);
            let pool = texts.iter().map(|&text| self.weights[text as usize]).sum();
            sum += f64::from(weight) * of(texts, pool);
            ngrams += u64::from(weight);
        }
        if ngrams == 0 { 0.0 } else { sum / ngrams as f64 }
    }
}

/// Rejects what cannot be chosen from; returns the sum of the weights.
fn check(candidates: &Candidates<'_>, count: usize, lengths: &RangeInclusive<usize>) -> Result<u64> {
    let texts = candidates.texts.len();
    if texts == 0 {
        return Err(Error::EmptyPool);
    }
    for (what, length) in
        [("weights", candidates.weights.map(<[u64]>::len)), ("strata", candidates.strata.map(<[u32]>::len))]
    {
        if let Some(length) = length.filter(|&length| length != texts) {
            return Err(Error::UnequalLengths { what, length, texts });
        }
    }
    let invalid = |reason: &str| Err(Error::InvalidSettings { reason: reason.to_owned() });
    match (count, *lengths.start(), *lengths.end()) {
        (0, ..) => return invalid("count must be at least 1"),
        (_, 0, _) => return invalid("min_n must be at least 1"),
        (_, min_n, max_n) if min_n > max_n => return invalid("max_n must not be smaller than min_n"),
        (_, _, max_n) if i16::try_from(max_n).is_err() => return invalid("max_n must not be larger than 32,767"),
        _ => {}
    }
    let Some(weights) = candidates.weights else { return Ok(texts as u64) };
    if let Some(row) = weights.iter().position(|&weight| weight == 0) {
        return Err(Error::ZeroWeight { row });
    }
    let mass = weights.iter().fold(0u64, |sum, &weight| sum.saturating_add(weight));
    if mass > MOST_MASS { Err(Error::PoolTooLarge) } else { Ok(mass) }
}

/// The stratum of each text, and the strata in the order of their numbers.
fn strata(numbers: Option<&[u32]>, weights: &[u64], count: usize) -> (Vec<usize>, Vec<Stratum>) {
    let mut known = numbers.map_or_else(|| vec![0], <[u32]>::to_vec);
    known.sort_unstable();
    known.dedup();
    let stratum = |text| numbers.map_or(0, |numbers| known.binary_search(&numbers[text]).unwrap_or(0));
    let stratum_of: Vec<usize> = (0..weights.len()).map(stratum).collect();
    let mut strata = vec![Stratum::default(); known.len()];
    for (&stratum, weight) in stratum_of.iter().zip(weights) {
        strata[stratum].texts += 1;
        strata[stratum].mass += weight;
    }
    let masses: Vec<u64> = strata.iter().map(|stratum| stratum.mass).collect();
    let limits: Vec<usize> = strata.iter().map(|stratum| stratum.texts).collect();
    for (stratum, share) in strata.iter_mut().zip(shares(count, &masses, &limits)) {
        stratum.share = share;
    }
    (stratum_of, strata)
}
