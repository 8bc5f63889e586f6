//! What a score depends on besides the reference answers.

use super::keywords::NOT_FOUND;
use crate::error::{Error, Result};

/// Which reading of the benchmark to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The published scores (the default).
    PfgenBench,
    /// The papers' equations, taken literally.
    Paper,
}

/// Everything a user may change; [`Default`] gives the published scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which reading of the benchmark.
    pub variant: Variant,
    /// Shortest n-gram of Fluency.
    pub min_n: usize,
    /// Longest n-gram of Fluency.
    pub max_n: usize,
    /// Length of Truthfulness's windows.
    pub truthfulness_n: usize,
    /// Document frequency, as a share of the answers, from which a window counts in full.
    pub threshold: f64,
    /// Length up to which nothing is discounted.
    pub target_length: usize,
    /// Length at which the discount reaches 0.
    pub zero_length: usize,
    /// Characters past this are not read.
    pub max_length: usize,
    /// Characters that Truthfulness skips.
    pub skipped: Vec<char>,
    /// Whether Helpfulness is part of the average; a set without keyword rules leaves it out.
    pub helpfulness: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            variant: Variant::PfgenBench,
            min_n: 1,
            max_n: 10,
            truthfulness_n: 3,
            threshold: 0.005,
            target_length: 100,
            zero_length: 150,
            max_length: 200,
            skipped: "^$、。・「」『』（）【】［］〈〉《》".chars().collect(),
            helpfulness: true,
        }
    }
}

impl Settings {
    /// Checks that the settings make sense together.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`] naming the setting.
    pub fn validate(&self) -> Result<()> {
        let checks = [
            (self.min_n >= 1, "min_n must be at least 1"),
            (self.min_n <= self.max_n, "max_n must not be smaller than min_n"),
            (self.max_n <= self.max_length, "max_n must not be larger than max_length"),
            (i16::try_from(self.max_n).is_ok(), "max_n must not be larger than 32,767"),
            (self.truthfulness_n >= 1, "truthfulness_n must be at least 1"),
            (self.truthfulness_n <= self.max_length, "truthfulness_n must not be larger than max_length"),
            (i16::try_from(self.truthfulness_n).is_ok(), "truthfulness_n must not be larger than 32,767"),
            ((1e-9..=1.0).contains(&self.threshold), "threshold must be between 1e-9 and 1"),
            (self.target_length < self.zero_length, "zero_length must be larger than target_length"),
            (self.zero_length <= self.max_length, "max_length must not be smaller than zero_length"),
            (self.max_length < NOT_FOUND as usize, "max_length must not be larger than 9,998"),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, reason)) => Err(Error::InvalidSettings { reason: (*reason).to_owned() }),
            None => Ok(()),
        }
    }

    /// Mean of the metrics that are part of the average, added from the left.
    pub(crate) fn average(&self, fluency: f64, truthfulness: f64, helpfulness: f64) -> f64 {
        let both = fluency + truthfulness;
        if self.helpfulness { (both + helpfulness) / 3.0 } else { both / 2.0 }
    }

    /// `d(k)` of the published scores: 1 up to the target length, 0 at the zero length, negative beyond.
    pub(crate) fn discount(&self, length: usize) -> f64 {
        let excess = length.saturating_sub(self.target_length);
        1.0 - excess as f64 / (self.zero_length - self.target_length) as f64
    }
}
