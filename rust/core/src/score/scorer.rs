//! One question's scorer: the table, the baselines, and the walk that serves both metrics.

use super::fluency::{self, Seen};
use super::settings::{Settings, Variant};
use super::{paper, truthfulness};
use crate::error::{Error, Result};
use crate::index::tables::{Lengths, NgramTable};
use crate::index::{Markers, NgramIndex};
use crate::text::{Alphabet, Symbol};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

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
/// Read-only once built and shared by all threads. Scoring a response of `L` characters takes
/// `O(min(L, max_length) × (min(L, max_length) + max_n × sources))`.
#[derive(Debug)]
pub struct Scorer {
    pub(super) settings: Settings,
    pub(super) alphabet: Alphabet,
    pub(super) table: NgramTable,
    pub(super) answer_counts: Vec<usize>,
    /// `d(k)` for every cut.
    pub(super) discounts: Vec<f64>,
    /// Per source, what a character covered by a document frequency is worth to Truthfulness.
    pub(super) worth: Vec<Vec<f64>>,
    pub(super) skipped: FxHashSet<char>,
    baselines: Vec<f64>,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The response with what stands at its ends, as characters and as symbols.
    pub(super) characters: Vec<char>,
    pub(super) symbols: Vec<Symbol>,
    /// The counted symbols once more, where they fit.
    narrow: Vec<i16>,
    /// Per counted character, how long the longest n-gram ending there is that also ended earlier.
    pub(super) seen: Seen,
    /// Per symbol and source, what Fluency gains when the cut includes it.
    pub(super) gains: Vec<u64>,
    /// Per symbol and source, the document frequency of the Truthfulness window that ends there.
    pub(super) windows: Vec<u32>,
    /// Per symbol, whether Truthfulness skips it.
    pub(super) skipped: Vec<bool>,
}

impl Scorer {
    /// Derives the scoring table from the index and computes the baselines (in parallel, summed in order).
    ///
    /// # Errors
    /// [`Error::InvalidSettings`]; [`Error::NoAnswers`] or [`Error::ZeroBaseline`] naming the source.
    pub fn new(index: &NgramIndex, settings: Settings) -> Result<Self> {
        settings.validate()?;
        let sources = index.source_names().len();
        for source in 0..sources {
            if index.answer_count(source) == 0 {
                return Err(Error::NoAnswers { source: index.source_names()[source].clone() });
            }
        }
        let lengths = Lengths { summed: settings.min_n..=settings.max_n, window: settings.truthfulness_n };
        let table = match required_markers(settings.variant) {
            markers if markers == index.markers() => NgramTable::derive(index, lengths)?,
            markers => NgramTable::derive(&index.with_markers(markers)?, lengths)?,
        };
        let answer_counts: Vec<_> = (0..sources).map(|source| index.answer_count(source)).collect();
        let mut scorer = Self {
            alphabet: index.alphabet().clone(),
            table,
            discounts: (0..=settings.max_length + 1).map(|length| settings.discount(length)).collect(),
            worth: answer_counts.iter().map(|&count| truthfulness::worth(count, settings.threshold)).collect(),
            skipped: settings.skipped.iter().copied().collect(),
            answer_counts,
            baselines: vec![1.0; sources],
            settings,
        };
        scorer.baselines = scorer.own_fluency(index)?;
        Ok(scorer)
    }

    /// Mean Fluency of each source's own answers with baseline 1, in the index's order of sources.
    pub fn baselines(&self) -> &[f64] {
        &self.baselines
    }

    /// The settings it was built with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.answer_counts.len()
    }

    /// Scores `response` against every source into `scores`, one entry a source.
    ///
    /// # Panics
    /// If `scores` is shorter than the number of sources.
    pub fn score_into(&self, response: &str, scratch: &mut Scratch, scores: &mut [SourceScore]) {
        match self.settings.variant {
            Variant::PfgenBench => self.score_published(response, scratch, scores),
            Variant::Paper => self.score_paper(response, scratch, scores),
        }
    }

    fn score_published(&self, response: &str, scratch: &mut Scratch, scores: &mut [SourceScore]) {
        self.trace(response, scratch);
        let length = fluency::length(scratch, &self.settings);
        for (source, score) in scores.iter_mut().enumerate().take(self.source_count()) {
            let gains = scratch.gains.iter().skip(source).step_by(self.source_count()).skip(1).take(length);
            let (value, cut) = fluency::best_cut(gains.copied(), &self.discounts);
            score.fluency = value / self.baselines[source];
            score.fluency_cut = cut;
            let (value, cut) = truthfulness::best_cut(scratch, self, source);
            score.truthfulness = value;
            score.truthfulness_cut = cut;
        }
    }

    fn score_paper(&self, response: &str, scratch: &mut Scratch, scores: &mut [SourceScore]) {
        let length = paper::trace(self, response, scratch);
        for (source, score) in scores.iter_mut().enumerate().take(self.source_count()) {
            score.fluency = paper::fluency(self, scratch, source, length) / self.baselines[source];
            score.fluency_cut = length as u32;
            let (value, cut) = paper::truthfulness(self, scratch, source, length);
            score.truthfulness = value;
            score.truthfulness_cut = cut as u32;
        }
    }

    /// Fills `scratch` with the gains and windows of `^response$`, cut as the published scorer cuts it.
    pub(super) fn trace(&self, response: &str, scratch: &mut Scratch) {
        let whole = std::iter::once('^').chain(response.chars()).chain(std::iter::once('$'));
        scratch.characters.clear();
        scratch.characters.extend(whole.take(self.settings.max_length + 2));
        scratch.symbols.clear();
        scratch.symbols.extend(scratch.characters.iter().map(|&character| self.alphabet.symbol(character)));
        truthfulness::mark_skipped(scratch, &self.skipped);
        let counted = fluency::length(scratch, &self.settings);
        let Scratch { symbols, narrow, seen, .. } = scratch;
        if i16::try_from(self.alphabet.len()).is_ok() {
            narrow.clear();
            narrow.extend(symbols[1..=counted].iter().map(|&symbol| symbol as i16));
            fluency::seen_before(narrow, self.settings.max_n, seen);
        } else {
            fluency::seen_before(&symbols[1..=counted], self.settings.max_n, seen);
        }
        // The added `^` is no part of Fluency's n-grams, nor is what follows the longest cut.
        self.walk(scratch, |at, length, seen| match seen.get(at.wrapping_sub(1)) {
            Some(&seen) if at <= counted => (seen as usize, length.min(at)),
            _ => (0, 0),
        });
    }

    /// Reads the symbols and collects windows and gains: `counted(at, length, seen)` says which n-grams that end at `at`,
    /// where the longest known one has `length` symbols, count: those longer than the first number up to the second.
    pub(super) fn walk(&self, scratch: &mut Scratch, counted: impl Fn(usize, usize, &[i16]) -> (usize, usize)) {
        let sources = self.source_count();
        let Scratch { symbols, seen, gains, windows, .. } = scratch;
        gains.clear();
        gains.resize(symbols.len() * sources, 0);
        windows.clear();
        windows.resize(symbols.len() * sources, 0);
        let mut place = NgramTable::start();
        let rows = gains.chunks_exact_mut(sources).zip(windows.chunks_exact_mut(sources));
        for ((at, &symbol), (gain, window)) in symbols.iter().enumerate().zip(rows) {
            place = self.table.step(place, symbol);
            let (above, up_to) = counted(at, place.length, &seen.lengths);
            self.table.add_frequencies(place, above, up_to, gain);
            if let Some(frequencies) = self.table.window(place) {
                window.copy_from_slice(frequencies);
            }
        }
    }

    fn own_fluency(&self, index: &NgramIndex) -> Result<Vec<f64>> {
        let sources = self.source_count();
        let mut first = 0;
        (0..sources)
            .map(|source| {
                let answers = first..first + self.answer_counts[source];
                first = answers.end;
                let values: Vec<f64> = answers
                    .into_par_iter()
                    .map_init(
                        || (Scratch::default(), vec![SourceScore::default(); sources]),
                        |(scratch, scores), answer| {
                            self.score_into(&index.answer(answer), scratch, scores);
                            scores[source].fluency
                        },
                    )
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

fn required_markers(variant: Variant) -> Markers {
    match variant {
        Variant::PfgenBench => Markers::None,
        Variant::Paper => Markers::BeginEnd,
    }
}
