//! One question's scorer: the metrics of a response, relative to the baselines.

use super::compact::block::{Block, LANES};
use super::compact::dispatch::InstructionSet;
#[cfg(feature = "internals")]
use super::compact::passes::Passes;
use super::compact::plan::positions;
use super::compact::scorer::{CompactScore, CompactScorer};
use super::scale::{Cut, Scale};
use super::settings::{Settings, Variant};
use super::wide::explanation::Explanation;
use super::wide::scorer::WideScorer;
use super::wide::scratch::Scratch as WideScratch;
use crate::blob::{Blob, BlobBuilder};
use crate::error::{Error, Result};
use crate::fetch::fetch_text;
use crate::index::compact::{CompactTable, Reading};
use crate::index::corpus::{Corpus, Markers, SourceText};
use crate::index::tables::Lengths;
use crate::text::Alphabet;

/// A response's scores against one source, unrounded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SourceScore {
    /// Fluency, relative to the source's baseline.
    pub fluency: f64,
    /// Truthfulness.
    pub truthfulness: f64,
}

/// Fluency and Truthfulness against the reference answers of one question.
///
/// Read-only once built and shared by all threads. Scoring a response of `L` characters, as far as they are read, takes
/// `O(L² / 32 + L × max_n)`: the square is the search for repeats, 32 responses an instruction; `max_n` bounds the way
/// from a match to its shorter n-grams. Memory: 16 bytes a state and about 8 an edge in the compact layout.
#[derive(Debug)]
pub struct Scorer {
    settings: Settings,
    engine: Engine,
    baselines: Vec<f64>,
}

/// Which layout the scoring table has.
#[derive(Debug)]
enum Engine {
    Compact(Box<CompactScorer>, Scale),
    Wide(Box<WideScorer>),
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    block: Block,
    wide: WideScratch,
    scores: Vec<CompactScore>,
}

impl Scorer {
    /// Derives the scoring table from the reference answers and computes the baselines.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`]; [`Error::NoSources`]; [`Error::TextTooLong`]; [`Error::NoAnswers`] or
    /// [`Error::ZeroBaseline`] naming the source.
    pub fn new(sources: &[SourceText<'_>], settings: Settings) -> Result<Self> {
        Self::with_layout(sources, settings, Engine::new)
    }

    fn with_layout(
        sources: &[SourceText<'_>],
        settings: Settings,
        engine: impl Fn(&Corpus, &Settings, Scale) -> Result<Engine>,
    ) -> Result<Self> {
        let mut scorer = Self::without_baselines(sources, settings, engine)?;
        scorer.baselines = scorer.own_fluency(sources)?;
        Ok(scorer)
    }

    fn without_baselines(
        sources: &[SourceText<'_>],
        settings: Settings,
        engine: impl Fn(&Corpus, &Settings, Scale) -> Result<Engine>,
    ) -> Result<Self> {
        settings.validate()?;
        let markers = match settings.variant {
            Variant::PfgenBench => Markers::None,
            Variant::Paper => Markers::BeginEnd,
        };
        let corpus = Corpus::new(sources, markers)?;
        let scale = Scale::new(&corpus, &settings)?;
        let engine = engine(&corpus, &settings, scale)?;
        Ok(Self { baselines: vec![1.0; sources.len()], settings, engine })
    }

    /// Size in bytes of the table that [`new`](Self::new) builds before it scores the answers.
    #[cfg(feature = "internals")]
    pub(crate) fn table_only(sources: &[SourceText<'_>], settings: Settings) -> Result<usize> {
        Ok(Self::without_baselines(sources, settings, Engine::new)?.table_size())
    }

    /// The passes over `responses`; `None` if the table is wide.
    #[cfg(feature = "internals")]
    pub(crate) fn passes<'a>(&'a self, responses: &'a [&'a str]) -> Option<Passes<'a>> {
        match &self.engine {
            Engine::Compact(compact, _) => Some(Passes::new(compact, responses)),
            Engine::Wide(_) => None,
        }
    }

    /// The same with the wide layout, which has room for everything: what the compact one is tested against.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[doc(hidden)]
    pub fn new_wide(sources: &[SourceText<'_>], settings: Settings) -> Result<Self> {
        Self::with_layout(sources, settings, |corpus, settings, scale| {
            Ok(Engine::Wide(Box::new(WideScorer::new(corpus, settings.clone(), scale)?)))
        })
    }

    /// The settings that the scorer was built with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Mean Fluency of each source's own answers with baseline 1, in the order of the sources.
    pub fn baselines(&self) -> &[f64] {
        &self.baselines
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.baselines.len()
    }

    /// Whether the table has the compact layout.
    pub fn is_compact(&self) -> bool {
        matches!(self.engine, Engine::Compact(..))
    }

    /// Bytes of the scoring table.
    pub fn table_size(&self) -> usize {
        self.table().bytes().len()
    }

    /// Prefetches the first `most` bytes of the scoring table, those of the most frequent n-grams in the compact layout.
    pub(crate) fn fetch_table(&self, most: usize) {
        fetch_text(self.table().bytes(), most);
    }

    /// Scores `responses` against every source: entry `i × sources + s` of `scores` is response `i` against source `s`;
    /// `lengths` gets the responses' code points. Responses of similar length beside each other are scored faster.
    ///
    /// # Panics
    /// If `scores` or `lengths` is too short.
    pub fn score(&self, responses: &[&str], scratch: &mut Scratch, scores: &mut [SourceScore], lengths: &mut [u32]) {
        self.score_with(InstructionSet::chosen(), responses, scratch, scores, lengths);
    }

    /// The same with the given instructions; the result does not depend on them.
    ///
    /// # Panics
    /// As [`score`](Self::score).
    pub fn score_with(
        &self,
        set: InstructionSet,
        responses: &[&str],
        scratch: &mut Scratch,
        scores: &mut [SourceScore],
        lengths: &mut [u32],
    ) {
        self.score_wanted(set, responses, scratch, scores, lengths, true);
    }

    /// The same; without `truthfulness`, that of the scores means nothing.
    fn score_wanted(
        &self,
        set: InstructionSet,
        responses: &[&str],
        scratch: &mut Scratch,
        scores: &mut [SourceScore],
        lengths: &mut [u32],
        truthfulness: bool,
    ) {
        let sources = self.source_count();
        match &self.engine {
            Engine::Compact(compact, _) => {
                scratch.scores.resize(LANES, CompactScore::default());
                for (start, responses) in (0..).step_by(LANES).zip(responses.chunks(LANES)) {
                    compact.score(set, responses, &mut scratch.block, &mut scratch.scores, truthfulness);
                    for (i, score) in (start..).zip(&scratch.scores[..responses.len()]) {
                        lengths[i] = score.length as u32;
                        self.write(score, &mut scores[i * sources..][..sources]);
                    }
                }
            }
            Engine::Wide(wide) => {
                for ((response, scores), length) in responses.iter().zip(scores.chunks_mut(sources)).zip(lengths) {
                    let read = wide.load(response, &mut scratch.wide);
                    *length = read as u32;
                    for (source, into) in scores.iter_mut().enumerate() {
                        into.fluency = wide.fluency(&scratch.wide, source, read, self.baselines[source]).0;
                        if truthfulness {
                            into.truthfulness = wide.truthfulness(&scratch.wide, source, read).0;
                        }
                    }
                }
            }
        }
    }

    /// Scores each of up to 32 responses with a scorer of its own, as [`score`](Self::score) does; the scores of one response
    /// follow those of the one before. Responses with the same scorer must stand beside each other, and the scorers
    /// [go together](Self::goes_with).
    pub(crate) fn score_mixed(
        scorers: &[&Self],
        responses: &[&str],
        scratch: &mut Scratch,
        scores: &mut [SourceScore],
        lengths: &mut [u32],
    ) {
        let Some(Engine::Compact(first, _)) = scorers.first().map(|scorer| &scorer.engine) else { return };
        let mut compact = [&**first; LANES];
        for (compact, scorer) in compact.iter_mut().zip(scorers) {
            if let Engine::Compact(own, _) = &scorer.engine {
                *compact = own;
            }
        }
        scratch.scores.resize(LANES, CompactScore::default());
        let Scratch { block, scores: found, .. } = scratch;
        CompactScorer::score_mixed(InstructionSet::chosen(), &compact[..scorers.len()], responses, block, found);
        let mut start = 0;
        for ((scorer, found), length) in scorers.iter().zip(&*found).zip(lengths) {
            *length = found.length as u32;
            scorer.write(found, &mut scores[start..][..scorer.source_count()]);
            start += scorer.source_count();
        }
    }

    /// Writes what a response scores against each source.
    fn write(&self, score: &CompactScore, into: &mut [SourceScore]) {
        for (source, (into, baseline)) in into.iter_mut().zip(&self.baselines).enumerate() {
            into.fluency = score.fluency[source] / baseline;
            into.truthfulness = score.truthfulness[source];
        }
    }

    /// Whether both can be given to [`score_mixed`](Self::score_mixed).
    pub(crate) fn goes_with(&self, other: &Self) -> bool {
        match (&self.engine, &other.engine) {
            (Engine::Compact(mine, _), Engine::Compact(its, _)) => mine.goes_with(its),
            _ => false,
        }
    }

    /// Fluency and Truthfulness of one response against each source, with their cuts.
    pub fn cuts(&self, response: &str, scratch: &mut Scratch) -> Vec<(Cut, Cut)> {
        let sources = 0..self.source_count();
        match &self.engine {
            Engine::Compact(compact, scale) => compact.cuts(response, &mut scratch.block, scale, &self.baselines),
            Engine::Wide(wide) => {
                let length = wide.load(response, &mut scratch.wide);
                let (wide, read) = (&**wide, &scratch.wide);
                let fluency = |source| wide.fluency(read, source, length, self.baselines[source]);
                sources.map(|source| (fluency(source), wide.truthfulness(read, source, length))).collect()
            }
        }
    }

    /// Appends to `into`, for every window of `truthfulness_n` characters of `text`, the number of answers of each source that
    /// contain it: a row of sources a window, from the first. All of the text is read. Takes `O(L × max_n)`.
    pub fn windows(&self, text: &str, into: &mut Vec<u32>) {
        match &self.engine {
            Engine::Compact(compact, _) => compact.windows(text, into),
            Engine::Wide(wide) => wide.windows(text, into),
        }
    }

    /// Explains the published variant's Fluency and Truthfulness of `response`, in the time of building a table.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn explain(sources: &[SourceText<'_>], settings: &Settings, response: &str) -> Result<Explanation> {
        settings.validate()?;
        let corpus = Corpus::new(sources, Markers::None)?;
        let scale = Scale::new(&corpus, settings)?;
        Ok(WideScorer::new(&corpus, settings.clone(), scale)?.explain(response))
    }

    fn table(&self) -> &Blob {
        match &self.engine {
            Engine::Compact(compact, _) => compact.table().blob(),
            Engine::Wide(wide) => wide.table(),
        }
    }

    /// What [`stored`](Self::stored) restores the scorer from: everything but the table, and the table.
    pub(crate) fn parts(&self) -> [Blob; 2] {
        let (compact, scale, characters) = match &self.engine {
            Engine::Compact(_, scale) => (1u32, scale, Vec::new()),
            Engine::Wide(wide) => {
                let characters = wide.alphabet().characters().iter().map(|&character| u32::from(character));
                (0, &wide.scale, characters.collect())
            }
        };
        let counts: Vec<u64> = scale.answer_counts.iter().map(|&count| count as u64).collect();
        let compact = [compact];
        let head = BlobBuilder::default().array(&compact).array(&counts).array(&self.baselines).array(&characters);
        [head.finish(), self.table().clone()]
    }

    /// The scorer with these parts, for sources of so many `answers`.
    pub(crate) fn stored(settings: Settings, answers: &[usize], [head, table]: [Blob; 2]) -> Result<Self> {
        let damaged = |reason| Error::DamagedStore { reason };
        settings.validate()?;
        let (Some(&[compact]), Some(counts), Some(baselines), Some(characters), 4) = (
            head.checked::<u32>(0),
            head.checked::<u64>(1),
            head.checked::<f64>(2),
            head.checked::<u32>(3),
            head.arrays(),
        ) else {
            return Err(damaged("a scorer has unexpected arrays"));
        };
        if !counts.iter().copied().eq(answers.iter().map(|&count| count as u64)) {
            return Err(damaged("a scorer is of other answers"));
        }
        if baselines.len() != answers.len() || !baselines.iter().all(|&baseline| baseline > 0.0 && baseline.is_finite())
        {
            return Err(damaged("a scorer has invalid baselines"));
        }
        let scale = Scale::of_counts(answers.to_vec(), &settings);
        let baselines = baselines.to_vec();
        let engine = if compact == 1 {
            if !Engine::has_room(&settings, &scale) {
                return Err(damaged("a scorer has a compact table, which has no room for it"));
            }
            Engine::compact(CompactTable::stored(table, answers)?, &settings, scale)
        } else {
            let characters = characters.iter().map(|&code| char::from_u32(code));
            let alphabet = characters.collect::<Option<Vec<_>>>().and_then(Alphabet::stored);
            let alphabet = alphabet.ok_or(damaged("its characters are invalid"))?;
            Engine::Wide(Box::new(WideScorer::stored(table, alphabet, settings.clone(), scale)?))
        };
        Ok(Self { settings, engine, baselines })
    }

    fn own_fluency(&self, sources: &[SourceText<'_>]) -> Result<Vec<f64>> {
        let mut scratch = Scratch::default();
        let of_source = |(number, source): (usize, &SourceText<'_>)| {
            let mut scores = vec![SourceScore::default(); source.answers.len() * sources.len()];
            let mut lengths = vec![0; source.answers.len()];
            // Those of similar length are scored together, and added up in their own order.
            let mut order: Vec<usize> = (0..source.answers.len()).collect();
            order.sort_unstable_by_key(|&answer| source.answers[answer].len());
            let answers: Vec<&str> = order.iter().map(|&answer| source.answers[answer]).collect();
            self.score_wanted(InstructionSet::chosen(), &answers, &mut scratch, &mut scores, &mut lengths, false);
            let mut own = vec![0.0; answers.len()];
            for (&answer, score) in order.iter().zip(scores.iter().skip(number).step_by(sources.len())) {
                own[answer] = score.fluency;
            }
            let mean = own.iter().fold(0.0, |sum, fluency| sum + fluency) / own.len() as f64;
            if mean > 0.0 { Ok(mean) } else { Err(Error::ZeroBaseline { source: source.name.to_owned() }) }
        };
        sources.iter().enumerate().map(of_source).collect()
    }
}

impl Engine {
    fn new(corpus: &Corpus, settings: &Settings, scale: Scale) -> Result<Self> {
        let full = scale.full();
        if Self::has_room(settings, &scale)
            && let Some(table) = CompactTable::new(corpus, &lengths(settings), &reading(settings, &full))?
        {
            return Ok(Self::compact(table, settings, scale));
        }
        Ok(Self::Wide(Box::new(WideScorer::new(corpus, settings.clone(), scale)?)))
    }

    /// Whether the compact layout has room, as far as that is known before building.
    fn has_room(settings: &Settings, scale: &Scale) -> bool {
        let full = scale.full();
        settings.variant == Variant::PfgenBench
            && CompactTable::has_room(&scale.answer_counts, &lengths(settings), &reading(settings, &full))
    }

    fn compact(table: CompactTable, settings: &Settings, scale: Scale) -> Self {
        Self::Compact(Box::new(CompactScorer::new(table, settings, &scale)), scale)
    }
}

fn lengths(settings: &Settings) -> Lengths {
    Lengths { summed: settings.min_n..=settings.max_n, window: settings.truthfulness_n }
}

fn reading<'a>(settings: &'a Settings, full: &'a [u32]) -> Reading<'a> {
    Reading { skipped: &settings.skipped, full, positions: positions(settings) }
}
