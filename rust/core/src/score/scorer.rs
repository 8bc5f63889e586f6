//! One question's scorer: the metrics of a response, relative to the baselines.

use super::explanation::Explanation;
use super::reader::{Reader, Scratch};
use super::settings::{Settings, Variant};
use super::{fluency, paper, truthfulness};
use crate::error::{Error, Result};
use crate::index::NgramIndex;
use rayon::prelude::*;

/// A response's scores against one source, unrounded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SourceScore {
    /// Fluency, relative to the source's baseline.
    pub fluency: f64,
    /// Length of the first cut that gives this Fluency (0 where nothing scores).
    pub fluency_cut: u32,
    /// Truthfulness.
    pub truthfulness: f64,
    /// Characters of the response that this Truthfulness looks at.
    pub truthfulness_cut: u32,
}

/// Fluency and Truthfulness against the reference answers of one question.
///
/// Read-only once built and shared by all threads. Scoring a response of `L` characters, as far as they are read, takes
/// `O(L² / 8 + L × (max_n + sources))`: the square (published variant only) is the search for repeats, eight comparisons an
/// instruction; `max_n` bounds the way from a match to its shorter n-grams.
#[derive(Debug)]
pub struct Scorer {
    reader: Reader,
    baselines: Vec<f64>,
}

impl Scorer {
    /// Derives the scoring table from the index and computes the baselines (in parallel, summed in order).
    ///
    /// # Errors
    /// [`Error::InvalidSettings`]; [`Error::NoAnswers`] or [`Error::ZeroBaseline`] naming the source.
    pub fn new(index: &NgramIndex, settings: Settings) -> Result<Self> {
        let reader = Reader::new(index, settings)?;
        let mut scorer = Self { baselines: Vec::new(), reader };
        scorer.baselines = scorer.own_fluency(index)?;
        Ok(scorer)
    }

    /// Mean Fluency of each source's own answers with baseline 1, in the index's order of sources.
    pub fn baselines(&self) -> &[f64] {
        &self.baselines
    }

    /// The settings it was built with.
    pub fn settings(&self) -> &Settings {
        &self.reader.settings
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.reader.source_count()
    }

    /// Explains the published variant's Fluency and Truthfulness of `response`, in the time of scoring it.
    pub fn explain(&self, response: &str) -> Explanation {
        self.reader.explain(response)
    }

    /// Scores `response` against every source into `scores`, one entry a source.
    ///
    /// # Panics
    /// If `scores` is shorter than the number of sources.
    pub fn score_into(&self, response: &str, scratch: &mut Scratch, scores: &mut [SourceScore]) {
        let length = self.read(response, scratch);
        for ((source, score), &baseline) in scores.iter_mut().enumerate().zip(&self.baselines) {
            let (fluency, fluency_cut) = self.fluency(scratch, source, length, baseline);
            let (truthfulness, truthfulness_cut) = self.truthfulness(scratch, source, length);
            *score = SourceScore { fluency, fluency_cut, truthfulness, truthfulness_cut };
        }
    }

    /// Reads a response into `scratch` and gives the length that variant `paper` needs besides.
    fn read(&self, response: &str, scratch: &mut Scratch) -> usize {
        match self.settings().variant {
            Variant::PfgenBench => {
                self.reader.read(response, scratch);
                self.reader.counted(scratch)
            }
            Variant::Paper => self.reader.read_marked(response, scratch),
        }
    }

    /// Fluency against one source, and its cut.
    fn fluency(&self, scratch: &Scratch, source: usize, length: usize, baseline: f64) -> (f64, u32) {
        match self.settings().variant {
            Variant::PfgenBench => fluency::best_cut(&self.reader, scratch, source, baseline),
            Variant::Paper => (paper::fluency(&self.reader, scratch, source, length, baseline), length as u32),
        }
    }

    /// Truthfulness against one source, and its cut.
    fn truthfulness(&self, scratch: &Scratch, source: usize, length: usize) -> (f64, u32) {
        match self.settings().variant {
            Variant::PfgenBench => truthfulness::best_cut(&self.reader, scratch, source),
            Variant::Paper => paper::truthfulness(&self.reader, scratch, source, length),
        }
    }

    fn own_fluency(&self, index: &NgramIndex) -> Result<Vec<f64>> {
        let sources = self.source_count();
        let mut first = 0;
        (0..sources)
            .map(|source| {
                let answers = first..first + self.reader.answer_counts[source];
                first = answers.end;
                let values: Vec<f64> = answers
                    .into_par_iter()
                    .map_init(Scratch::default, |scratch, answer| {
                        let length = self.read(&index.answer(answer), scratch);
                        self.fluency(scratch, source, length, 1.0).0
                    })
                    .collect();
                let mean = values.iter().fold(0.0, |sum, value| sum + value) / values.len() as f64;
                if mean > 0.0 {
                    Ok(mean)
                } else {
                    Err(Error::ZeroBaseline { source: index.source_names()[source].clone() })
                }
            })
            .collect()
    }
}
