//! What scores are measured by, whatever the table.

use super::settings::Settings;
use crate::error::{Error, Result};
use crate::index::corpus::Corpus;

/// A value and the length in characters of the first cut that attains it (0 where nothing scores).
pub type Cut = (f64, u32);

/// Discounts, and what characters are worth, for the answers of one question.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    pub(super) answer_counts: Vec<usize>,
    /// `d(k)` for every cut.
    pub(super) discounts: Vec<f64>,
    /// Per source, what a character covered by a document frequency is worth to Truthfulness.
    pub(super) worth: Vec<Vec<f64>>,
}

impl Scale {
    pub(super) fn new(corpus: &Corpus, settings: &Settings) -> Result<Self> {
        let counts: Vec<_> = (0..corpus.names.len()).map(|source| corpus.answer_count(source)).collect();
        if let Some(source) = counts.iter().position(|&count| count == 0) {
            return Err(Error::NoAnswers { source: corpus.names[source].clone() });
        }
        // The wide table sums frequencies as 32-bit numbers.
        if counts.iter().any(|&count| u32::try_from(count * settings.max_n).is_err()) {
            let reason = "max_n times the answers of a source must stay below 2^32".to_owned();
            return Err(Error::InvalidSettings { reason });
        }
        Ok(Self::of_counts(counts, settings))
    }

    pub(super) fn of_counts(answer_counts: Vec<usize>, settings: &Settings) -> Self {
        Self {
            discounts: (0..=settings.max_length + 1).map(|length| settings.discount(length)).collect(),
            worth: answer_counts.iter().map(|&count| worth(count, settings.threshold)).collect(),
            answer_counts,
        }
    }

    pub(super) fn sources(&self) -> usize {
        self.answer_counts.len()
    }

    /// Per source, the smallest document frequency that counts in full, or the largest that there can be.
    pub(super) fn full(&self) -> Vec<u32> {
        let full = |worth: &Vec<f64>| worth.iter().position(|&worth| worth >= 1.0).unwrap_or(worth.len() - 1) as u32;
        self.worth.iter().map(full).collect()
    }
}

/// What a character is worth, by the document frequency that it is covered by.
fn worth(answers: usize, threshold: f64) -> Vec<f64> {
    let scale = 1.0 / threshold;
    (0..=answers).map(|frequency| (frequency as f64 / answers as f64 * scale).min(1.0)).collect()
}
