//! From unrounded metrics to the scores that are reported for a response.

use super::scorer::SourceScore;
use super::settings::{Settings, Variant};
use crate::ranking::left_sum;
use crate::round::round_half_even;

/// Scores that every response has: Fluency, Truthfulness, Helpfulness and their mean.
pub const TOTALS: usize = 4;

/// Writes the totals in the order of [`TOTALS`], then each source's share of Fluency, then of Truthfulness.
///
/// Published scores are rounded in between and summed from the left; variant `paper` rounds nothing.
///
/// # Panics
/// If `row` is not `TOTALS + 2 × sources` long.
pub(crate) fn write(settings: &Settings, scores: &[SourceScore], helpfulness: f64, row: &mut [f64]) {
    let count = scores.len() as f64;
    let (totals, shares) = row.split_at_mut(TOTALS);
    let (fluency, truthfulness) = shares.split_at_mut(scores.len());
    for ((score, fluency), truthfulness) in scores.iter().zip(&mut *fluency).zip(&mut *truthfulness) {
        (*fluency, *truthfulness) = (score.fluency / count, score.truthfulness / count);
    }
    let from_left = |values: &[f64]| values.iter().fold(0.0, |sum, value| sum + value);
    let (whole_fluency, whole_truthfulness, helpfulness, average) = match settings.variant {
        Variant::PfgenBench => {
            for share in fluency.iter_mut().chain(&mut *truthfulness) {
                *share = round_half_even(*share, 6);
            }
            let (f, t, h) = (from_left(fluency), from_left(truthfulness), round_half_even(helpfulness, 5));
            (f, t, h, round_half_even(settings.average(f, t, h), 5))
        }
        Variant::Paper => {
            let f = scores.iter().fold(0.0, |sum, score| sum + score.fluency) / count;
            let t = scores.iter().fold(0.0, |sum, score| sum + score.truthfulness) / count;
            (f, t, helpfulness, settings.average(f, t, helpfulness))
        }
    };
    totals.copy_from_slice(&[whole_fluency, whole_truthfulness, helpfulness, average]);
}

/// Fluency, Truthfulness and their mean with Helpfulness of a response of variant `pfgen-bench`, from the shares of its sources
/// in file order: plain sums, or compensated ones (Neumaier's), which change at most the last digit.
pub fn again(
    settings: &Settings,
    [fluency, truthfulness]: [impl Iterator<Item = f64>; 2],
    helpfulness: f64,
    compensated: bool,
) -> [f64; 3] {
    let sum = |shares| left_sum(std::iter::once(0.0).chain(shares), compensated);
    let (f, t) = (sum(fluency), sum(truthfulness));
    [f, t, round_half_even(settings.average(f, t, helpfulness), 5)]
}
