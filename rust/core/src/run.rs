//! The scores of a run: rows of its responses sorted by question, and means of them in the published order.
//!
//! A row is the response's line, where that begins, its length (the [`PLACE`] columns), and its scores, all as float64 in
//! little-endian bytes: so they are in memory, in the file of a run that is larger than that, and between both.

use crate::batch::Columns;
use crate::ranking::{Bounds, left_sum, ranked, sorted_places};
use crate::score::{Settings, TOTALS, totals_again};

/// Columns before the scores.
pub const PLACE: usize = 3;
const LINE: usize = 0;
const LENGTH: usize = 2;
const WORD: usize = size_of::<f64>();
/// Answers with a lower score have next to nothing in common with the reference answers.
pub const FOREIGN: f64 = 0.02;

/// Bytes of a row with so many columns of scores.
pub const fn row_bytes(scores: usize) -> usize {
    (PLACE + scores) * WORD
}

/// Writes a row for each response into `rows`, sorted by number, stable. Returns the rows of each number.
///
/// `place` has the line of each response and where it begins.
///
/// # Panics
/// If the columns have fewer values than there are numbers, or `rows` has another size.
pub fn write_rows(
    numbers: &[u32],
    place: impl Fn(usize) -> (i64, i64),
    columns: &Columns,
    rows: &mut [u8],
) -> Vec<Bounds> {
    let (bounds, places) = sorted_places(numbers.iter().copied());
    let size = row_bytes(columns.scores.len());
    for (row, to) in places.into_iter().enumerate() {
        let (line, start) = place(row);
        let first = [line as f64, start as f64, f64::from(columns.lengths[row])];
        let values = first.into_iter().chain(columns.scores.iter().map(|column| column[row]));
        for (into, value) in rows[to * size..][..size].chunks_exact_mut(WORD).zip(values) {
            into.copy_from_slice(&value.to_le_bytes());
        }
    }
    bounds
}

/// A column of a row.
fn value(row: &[u8], column: usize) -> f64 {
    let mut bytes = [0; WORD];
    bytes.copy_from_slice(&row[column * WORD..][..WORD]);
    f64::from_le_bytes(bytes)
}

/// Replaces the totals of a row of variant `pfgen-bench` by sums of the shares of its `sources`, as [`totals_again`] adds them.
///
/// # Panics
/// If the row has fewer than `TOTALS + 2 * all` columns of scores, or a source is not below `all`.
pub fn sum_again(row: &mut [u8], sources: &[usize], all: usize, settings: &Settings, compensated: bool) {
    let shares = |first: usize| sources.iter().map(|&source| value(row, PLACE + first + source)).collect::<Vec<_>>();
    let both = [shares(TOTALS), shares(TOTALS + all)].map(Vec::into_iter);
    let helpfulness = value(row, PLACE + 2);
    let [fluency, truthfulness, average] = totals_again(settings, both, helpfulness, compensated);
    for (total, value) in [fluency, truthfulness, helpfulness, average].into_iter().enumerate() {
        row[(PLACE + total) * WORD..][..WORD].copy_from_slice(&value.to_le_bytes());
    }
}

/// All columns of a row.
pub fn values(row: &[u8]) -> Vec<f64> {
    (0..row.len() / WORD).map(|column| value(row, column)).collect()
}

/// Mean and variance of values, each added from the left. O(values).
fn moments(values: impl ExactSizeIterator<Item = f64> + Clone, compensated: bool) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = left_sum(values.clone(), compensated) / count;
    (mean, left_sum(values.map(|value| (value - mean) * (value - mean)), compensated) / count)
}

/// A question of a run: mean and variance of each column, and some rows.
pub type Question<'a> = (Vec<(f64, f64)>, Vec<&'a [u8]>);

/// A run that is summarised question by question, with plain or compensated sums.
///
/// Takes 16 bytes for each of the first `trials` responses to a question, and a constant number besides.
#[derive(Debug, Clone)]
pub struct Summary {
    average: usize,
    compensated: bool,
    questions: usize,
    responses: usize,
    total_length: f64,
    squares: (f64, f64),
    /// For each trial the sum of its scores, and the error of that.
    trials: Vec<(f64, f64)>,
    /// Empty answers.
    pub empty: usize,
    /// Others that score less than [`FOREIGN`].
    pub foreign: usize,
}

impl Summary {
    /// Of a run with at least `trials` responses to each question, whose score is in the column `average`.
    pub fn new(trials: usize, average: usize, compensated: bool) -> Self {
        Self {
            average,
            compensated,
            questions: 0,
            responses: 0,
            total_length: 0.0,
            squares: (0.0, 0.0),
            trials: vec![(0.0, 0.0); trials],
            empty: 0,
            foreign: 0,
        }
    }

    /// Adds a question, whose rows are in the file's order. Returns its means and variances of `columns`, added by
    /// descending score (equal ones in their order, NaN last), and the rows at `places` in that order.
    ///
    /// O(rows · (log rows + columns)).
    ///
    /// # Panics
    /// If a column or a place is out of range.
    pub fn add<'a>(&mut self, rows: &[&'a [u8]], columns: &[usize], places: &[usize]) -> Question<'a> {
        let score = |row: &&[u8]| value(row, self.average);
        for (trial, score) in self.trials.iter_mut().zip(rows.iter().map(score)) {
            *trial = added(*trial, score);
        }
        let ranks: Vec<_> = ranked(rows.iter().map(score)).map(|place| rows[place as usize]).collect();
        for row in rows {
            let (length, score) = (value(row, LENGTH), value(row, self.average));
            self.total_length += length; // whole numbers, so that the order does not matter
            self.empty += usize::from(length == 0.0);
            self.foreign += usize::from(length != 0.0 && score < FOREIGN);
        }
        self.questions += 1;
        self.responses += rows.len();
        let of = |&column: &usize| moments(ranks.iter().map(|row| value(row, column)), self.compensated);
        (columns.iter().map(of).collect(), places.iter().map(|&place| ranks[place]).collect())
    }

    /// Adds the lengths of a chunk's responses, after all questions: their variance is summed in the file's order.
    pub fn add_lengths<'a>(&mut self, rows: impl Iterator<Item = &'a [u8]>) {
        let mean = self.total_length / self.responses as f64;
        let mut lengths: Vec<_> = rows.map(|row| (value(row, LINE) as i64, value(row, LENGTH))).collect();
        lengths.sort_by_key(|&(line, _)| line);
        for (_, length) in lengths {
            self.squares = added(self.squares, (length - mean) * (length - mean));
        }
    }

    /// Mean and variance of the scores of the trials: each the mean over the questions.
    pub fn scores(&self) -> (f64, f64) {
        let count = self.questions as f64;
        moments(self.trials.iter().map(|&trial| self.sum(trial) / count), self.compensated)
    }

    /// Mean and variance of the lengths of all responses.
    pub fn lengths(&self) -> (f64, f64) {
        let count = self.responses as f64;
        (self.total_length / count, self.sum(self.squares) / count)
    }

    fn sum(&self, (total, error): (f64, f64)) -> f64 {
        if self.compensated && error.is_finite() { total + error } else { total }
    }
}

/// A sum and its error (Neumaier's) with one more value.
fn added((before, error): (f64, f64), value: f64) -> (f64, f64) {
    let total = before + value;
    let part = total - before;
    (total, error + ((before - (total - part)) + (value - part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(numbers: &[u32], scores: Vec<Vec<f64>>) -> (Vec<u8>, Vec<Bounds>) {
        let lengths = (0..).take(numbers.len()).collect();
        let columns = Columns { lengths, scores };
        let mut rows = vec![0; numbers.len() * row_bytes(columns.scores.len())];
        let bounds = write_rows(numbers, |row| (row as i64 + 1, row as i64 * 10), &columns, &mut rows);
        (rows, bounds)
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_responses_sorted_by_number(
            responses in prop::collection::vec((0u32..9, -1.0f64..1.0), 0..50)
        ) {
            let numbers: Vec<_> = responses.iter().map(|&(number, _)| number).collect();
            let (rows, bounds) = rows(&numbers, vec![responses.iter().map(|&(_, score)| score).collect()]);
            let mut sorted: Vec<usize> = (0..numbers.len()).collect();
            sorted.sort_by_key(|&row| numbers[row]);
            for (row, of) in rows.chunks(row_bytes(1)).zip(sorted) {
                prop_assert_eq!(values(row), vec![of as f64 + 1.0, of as f64 * 10.0, of as f64, responses[of].1]);
            }
            prop_assert_eq!(bounds.last().map_or(0, |&(_, _, end)| end), numbers.len());
        }

        #[test]
        fn sums_are_those_of_the_values_from_the_left(
            values in prop::collection::vec(prop_oneof![-1.0f64..1.0, -1e300f64..1e300, 0.0f64..1e-200], 1..40)
        ) {
            for compensated in [false, true] {
                let summary = Summary::new(0, PLACE, compensated);
                let sum = summary.sum(values.iter().fold((0.0, 0.0), |sum, &value| added(sum, value)));
                prop_assert_eq!(sum, left_sum(values.iter().copied(), compensated));
            }
        }
    }

    #[test]
    fn a_run_is_the_mean_of_its_trials_over_questions() {
        let (rows, _) = rows(&[0, 0, 0, 1, 1], vec![vec![0.5, 0.7, 0.01, 0.1, 0.3]]);
        let rows: Vec<_> = rows.chunks(row_bytes(1)).collect();
        let mut summary = Summary::new(2, PLACE, false);
        let (moments, samples) = summary.add(&rows[..3], &[PLACE], &[0, 2]);
        assert_eq!(moments[0].0, (0.7 + 0.5 + 0.01) / 3.0);
        assert_eq!(samples, [rows[1], rows[2]]);
        summary.add(&rows[3..], &[PLACE], &[]);
        summary.add_lengths(rows.iter().rev().copied());
        let trials = [[0.5, 0.1], [0.7, 0.3]].map(|scores| scores.iter().sum::<f64>() / 2.0);
        assert_eq!(summary.scores().0, trials.iter().sum::<f64>() / 2.0);
        assert_eq!(summary.lengths(), (2.0, 2.0));
        assert_eq!((summary.empty, summary.foreign), (1, 1));
    }
}
