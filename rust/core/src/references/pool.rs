//! The texts to choose from, and what makes a choice good.
//!
//! With `c` the number of chosen texts that contain an n-gram, `D` that of the pool (weights counted), `m` texts chosen
//! and `M` in the pool, the error is the mean of `(c/m − D/M)²` over the pool's n-grams. Times `(m M)²` it is a sum of
//! integers, `M² Σc² − 2 m M Σc D + m² ΣD²`; the first sum is that of the overlaps of all pairs of chosen texts, the
//! second one of a constant of each chosen text, the third one fixed. Nothing is rounded anywhere.

use super::classes::Classes;
use super::overlaps::{Adder, Overlaps};
use super::random::Random;
use super::search::{Candidates, Search};
use super::shares::shares;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// Candidates in the order of their strata, which is that of their *places*.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Texts to choose.
    pub(crate) count: usize,
    pub(crate) strata: Vec<Stratum>,
    /// Texts of the pool: the sum of the weights.
    pub(crate) mass: u32,
    /// Distinct n-grams of each text.
    pub(crate) ngrams: Vec<u16>,
    /// Sum of the weighted frequencies of each text's n-grams.
    pub(crate) sums: Vec<i64>,
    /// Row of each place.
    rows: Vec<u32>,
    classes: Classes,
    overlaps: Overlaps,
    /// Sum of the squared weighted frequencies of the pool's n-grams.
    squares: u128,
}

/// Texts of which a fixed number is chosen.
#[derive(Debug)]
pub(crate) struct Stratum {
    pub(crate) places: Range<usize>,
    pub(crate) share: usize,
}

impl Pool {
    pub(crate) fn new(candidates: &Candidates<'_>, search: &Search) -> Result<Self> {
        let mass = check(candidates, search)?;
        let (rows, ranges) = by_stratum(candidates);
        let weight = |row: u32| candidates.weights.map_or(1, |weights| weights[row as usize]);
        let weights: Vec<u64> = rows.iter().map(|&row| weight(row)).collect();
        let count = search.count.min(rows.len());
        let masses: Vec<u64> = ranges.iter().map(|places| weights[places.clone()].iter().sum()).collect();
        let limits: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        let strata = ranges.into_iter().zip(shares(count, &masses, &limits));

        let texts: Vec<&str> = rows.iter().map(|&row| candidates.texts[row as usize]).collect();
        let classes = Classes::find(&texts, &(search.min_n as u16..=search.max_n as u16))?;
        let ngrams = (0..rows.len()).map(|place| ngrams_of(&classes, place, rows[place]));
        let ngrams: Vec<u16> = ngrams.collect::<Result<_>>()?;
        check_size(&classes, count, mass)?;
        let (sums, squares) = frequencies(&classes, &weights);
        Ok(Self {
            count,
            strata: strata.map(|(places, share)| Stratum { places, share }).collect(),
            mass: mass as u32,
            ngrams,
            sums,
            rows,
            overlaps: Overlaps::new(&classes),
            classes,
            squares,
        })
    }

    /// Number of texts.
    pub(crate) fn texts(&self) -> usize {
        self.rows.len()
    }

    /// The rows of `places`, ascending.
    pub(crate) fn rows(&self, places: &[u32]) -> Vec<u32> {
        let mut rows: Vec<u32> = places.iter().map(|&place| self.rows[place as usize]).collect();
        rows.sort_unstable();
        rows
    }

    /// N-grams that the text at `place` shares with every text, itself included.
    pub(crate) fn overlaps(&self, place: u32, adder: &mut Adder) -> Vec<u16> {
        let place = place as usize;
        let mut row = self.overlaps.row(self.classes.of(place), adder);
        row[place] = self.ngrams[place];
        row
    }

    /// The stratum of the text at `place`.
    pub(crate) fn stratum(&self, place: u32) -> &Stratum {
        let next = self.strata.partition_point(|stratum| stratum.places.start <= place as usize);
        &self.strata[next - 1]
    }

    /// What the texts at `places` add to an empty choice, divided by the pool's mass, from the counts of all n-grams.
    pub(crate) fn cost(&self, places: &[u32]) -> i128 {
        let (mass, mut counts) = (i128::from(self.mass), vec![0u32; self.classes.len()]);
        let mut cost = 0;
        for place in places.iter().map(|&place| place as usize) {
            // A count that grows from c to c + 1 adds 2c + 1 to the squares.
            cost += mass * i128::from(self.ngrams[place]) - 2 * self.count as i128 * i128::from(self.sums[place]);
            for class in self.classes.of(place).iter().map(|&class| class as usize) {
                cost += 2 * mass * i128::from(self.classes.weights[class]) * i128::from(counts[class]);
                counts[class] += 1;
            }
        }
        cost
    }

    /// The sum of `(M c − m D)²` for a choice whose texts add `cost` to an empty one.
    pub(crate) fn squares(&self, cost: i128) -> u128 {
        let nothing_chosen = (self.count as u128).pow(2) * self.squares;
        nothing_chosen.wrapping_add_signed(cost * i128::from(self.mass))
    }

    /// What an error is divided by: n-grams times `(m M)²`.
    pub(crate) fn scale(&self) -> u128 {
        u128::from(self.classes.ngrams) * (self.count as u128 * u128::from(self.mass)).pow(2)
    }

    /// A random choice that keeps the shares of the strata.
    pub(crate) fn random(&self, random: &mut Random) -> Vec<u32> {
        let mut chosen = Vec::new();
        for stratum in &self.strata {
            let mut places: Vec<u32> = stratum.places.clone().map(|place| place as u32).collect();
            random.draw(&mut places, stratum.share);
            chosen.extend_from_slice(&places[..stratum.share]);
        }
        chosen
    }
}

impl Stratum {
    /// Texts that each chosen one may be replaced by.
    pub(crate) fn alternatives(&self) -> usize {
        self.places.len() - self.share
    }
}

/// Rejects what cannot be chosen from; returns the sum of the weights.
fn check(candidates: &Candidates<'_>, search: &Search) -> Result<u64> {
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
    match search {
        Search { count: 0, .. } => return invalid("count must be at least 1"),
        Search { restarts: 0 | MANY_RESTARTS.., .. } => return invalid("restarts must be between 1 and 1,000"),
        Search { min_n: 0, .. } => return invalid("min_n must be at least 1"),
        Search { min_n, max_n, .. } if min_n > max_n => return invalid("max_n must not be smaller than min_n"),
        Search { max_n, .. } if i16::try_from(*max_n).is_err() => {
            return invalid("max_n must not be larger than 32,767");
        }
        _ => {}
    }
    let Some(weights) = candidates.weights else { return Ok(texts as u64) };
    if let Some(row) = weights.iter().position(|&weight| weight == 0) {
        return Err(Error::ZeroWeight { row });
    }
    let mass = weights.iter().fold(0u64, |sum, &weight| sum.saturating_add(weight));
    if mass > MOST_MASS { Err(Error::PoolTooLarge) } else { Ok(mass) }
}

/// This many restarts can only be a mistake.
const MANY_RESTARTS: usize = 1001;
/// The largest sum of weights.
const MOST_MASS: u64 = i32::MAX as u64;

/// Rejects a pool whose squares would exceed 126 bits, or a text's part in them 61.
fn check_size(classes: &Classes, count: usize, mass: u64) -> Result<()> {
    let most = u128::from(u16::MAX) * u128::from(mass) * (1 + 4 * count as u128);
    let whole = (count as u128 * u128::from(mass)).checked_pow(2).and_then(|s| s.checked_mul(classes.ngrams.into()));
    match whole {
        Some(whole) if whole >> 126 == 0 && most >> 61 == 0 => Ok(()),
        _ => Err(Error::PoolTooLarge),
    }
}

/// Rows in the order of their strata's numbers, and the places of each stratum.
fn by_stratum(candidates: &Candidates<'_>) -> (Vec<u32>, Vec<Range<usize>>) {
    let mut strata: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in 0..candidates.texts.len() {
        let stratum = candidates.strata.map_or(0, |strata| strata[row]);
        strata.entry(stratum).or_default().push(row as u32);
    }
    let (mut rows, mut ranges) = (Vec::new(), Vec::new());
    for of_stratum in strata.into_values() {
        ranges.push(rows.len()..rows.len() + of_stratum.len());
        rows.extend(of_stratum);
    }
    (rows, ranges)
}

fn ngrams_of(classes: &Classes, place: usize, row: u32) -> Result<u16> {
    let ngrams = classes.ngrams_of(place);
    u16::try_from(ngrams).map_err(|_| Error::TextTooRich { row: row as usize, ngrams })
}

/// For each text the sum of the weighted frequencies of its n-grams; the sum of the squares over all n-grams.
fn frequencies(classes: &Classes, weights: &[u64]) -> (Vec<i64>, u128) {
    let mut masses = vec![0; classes.len()];
    for (text, weight) in weights.iter().enumerate() {
        for &class in classes.of(text) {
            masses[class as usize] += weight;
        }
    }
    let of_class = |class: u32| u64::from(classes.weights[class as usize]) * masses[class as usize];
    let of_text = |text: usize| {
        let shared: u64 = classes.of(text).iter().map(|&class| of_class(class)).sum();
        (shared + u64::from(classes.alone[text]) * weights[text]) as i64
    };
    let square = |(&ngrams, &mass): (&u32, &u64)| u128::from(ngrams) * u128::from(mass).pow(2);
    let squares = classes.weights.iter().zip(&masses).map(square).sum::<u128>()
        + classes.alone.iter().zip(weights).map(square).sum::<u128>();
    ((0..weights.len()).map(of_text).collect(), squares)
}
