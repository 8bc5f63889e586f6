//! The scorer over the compact table.

use super::block::{Block, LANES};
use super::dispatch::{self, InstructionSet, Work};
use super::plan::{PerSource, Plan};
use super::tables::{Each, One};
use super::{finish, repeats, walk};
use crate::fetch::fetch_text;
use crate::index::compact::{CompactTable, CompactView, MOST_SOURCES, Packing};
use crate::score::scale::{Cut, Scale};
use crate::score::settings::Settings;
use crate::score::{fluency, truthfulness};
use std::ops::Range;

/// Most of the text is Japanese.
const BYTES_A_CHARACTER: usize = 3;
/// How many responses ahead of the one being read are prefetched.
const AHEAD: usize = 4;

/// What one response scores against each source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CompactScore {
    /// Best `raw(k) · d(k)`, not yet divided by the baseline.
    pub(crate) fluency: PerSource,
    pub(crate) truthfulness: PerSource,
    /// Characters of the whole response.
    pub(crate) length: usize,
}

/// Scores responses to one question over its compact table.
#[derive(Debug)]
pub(crate) struct CompactScorer {
    pub(super) table: CompactTable,
    pub(super) plan: Plan,
}

/// All passes over some responses.
struct ScoreBlock<'a> {
    scorer: &'a CompactScorer,
    responses: &'a [&'a str],
    block: &'a mut Block,
    scores: &'a mut [CompactScore],
    truthfulness: bool,
}

impl Work for ScoreBlock<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { scorer, responses, block, scores, truthfulness } = self;
        scorer.read(responses, block);
        scorer.finish(responses, block, 0, scores, truthfulness);
    }
}

/// The same for responses to several questions, those to the same one beside each other.
struct ScoreMixed<'a> {
    /// Of each response.
    scorers: &'a [&'a CompactScorer],
    responses: &'a [&'a str],
    block: &'a mut Block,
    scores: &'a mut [CompactScore],
}

impl Work for ScoreMixed<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { scorers, responses, block, scores } = self;
        let (first, lanes) = (scorers[0], responses.len());
        let mut tables = Each { tables: [first.one(); LANES], places: [0; LANES] };
        for (scorer, part) in parts(scorers) {
            scorer.fetch_symbols(&responses[part]);
        }
        for (place, (scorer, part)) in parts(scorers).enumerate() {
            tables.tables[place] = scorer.one();
            tables.places[part.clone()].fill(place);
            scorer.load(&responses[part.clone()], block, part.start);
        }
        repeats::fill(block, &first.plan, lanes, block.longest(lanes));
        walk::fill(block, &first.plan, &tables, lanes);
        for (scorer, part) in parts(scorers) {
            scorer.finish(&responses[part.clone()], block, part.start, &mut scores[part], true);
        }
    }
}

/// The scorers of lanes, and the lanes of each.
fn parts<'a>(scorers: &'a [&'a CompactScorer]) -> impl Iterator<Item = (&'a CompactScorer, Range<usize>)> {
    scorers.chunk_by(|a, b| std::ptr::eq(*a, *b)).scan(0, |end, part| {
        let start = *end;
        *end += part.len();
        Some((part[0], start..*end))
    })
}

impl CompactScorer {
    pub(crate) fn new(table: CompactTable, settings: &Settings, scale: &Scale) -> Self {
        let plan = Plan::new(&table, settings, scale);
        Self { table, plan }
    }

    pub(crate) fn table(&self) -> &CompactTable {
        &self.table
    }

    /// Characters of a Truthfulness window.
    pub(crate) fn window(&self) -> usize {
        self.plan.window
    }

    /// Scores up to 32 responses into as many scores, whose Truthfulness stays as it is unless it is asked for; faster where
    /// they are of similar length.
    pub(crate) fn score(
        &self,
        set: InstructionSet,
        responses: &[&str],
        block: &mut Block,
        scores: &mut [CompactScore],
        truthfulness: bool,
    ) {
        dispatch::run(set, ScoreBlock { scorer: self, responses, block, scores, truthfulness });
    }

    /// Scores up to 32 responses, each with a scorer of its own, that [go together](Self::goes_with); responses with the same
    /// scorer stand beside each other. As fast as the same number of responses to one question.
    pub(crate) fn score_mixed(
        set: InstructionSet,
        scorers: &[&Self],
        responses: &[&str],
        block: &mut Block,
        scores: &mut [CompactScore],
    ) {
        dispatch::run(set, ScoreMixed { scorers, responses, block, scores });
    }

    /// Whether buffers for one have the form of those for the other, and matches grow as long.
    pub(crate) fn goes_with(&self, other: &Self) -> bool {
        let form = |plan: &Plan| (plan.positions, plan.indices, plan.longest);
        form(&self.plan) == form(&other.plan)
    }

    /// Fluency and Truthfulness of one response against each source, with their cuts: the obvious way, over the same gains.
    pub(crate) fn cuts(&self, response: &str, block: &mut Block, scale: &Scale, baselines: &[f64]) -> Vec<(Cut, Cut)> {
        let (plan, view) = (&self.plan, self.table.view());
        self.read(&[response], block);
        self.gather(block, &view, 0..1);
        let cuts = block.lengths[0].min(plan.zero - 1);
        let follows = self.counts_after(&view, response);
        let end = (block.ends[0] + 1).min(plan.zero);
        finish::cover(block, plan, view.packing, 0..1);
        let of_source = |(source, &baseline): (usize, &f64)| {
            let gains = block.gains[1..][..cuts].iter().map(|&gain| finish::apart(gain, view.packing)[source] as u64);
            let covered = block.levels[..end].iter().zip(&block.kept);
            let worth = covered.map(|(&level, &kept)| (kept == 1).then(|| plan.worth[level as usize][source]));
            let truthfulness = truthfulness::best_cut(worth, &plan.discounts, plan.target, follows);
            (fluency::best_cut(gains, &scale.discounts, baseline), truthfulness)
        };
        baselines.iter().enumerate().map(of_source).collect()
    }

    /// The last pass, over responses from lane `first` on.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        responses: &[&str],
        block: &mut Block,
        first: usize,
        scores: &mut [CompactScore],
        truthfulness: bool,
    ) {
        match self.table.view().packing.sources() {
            1 => self.finish_of::<1>(responses, block, first, scores, truthfulness),
            2 => self.finish_of::<2>(responses, block, first, scores, truthfulness),
            _ => self.finish_of::<MOST_SOURCES>(responses, block, first, scores, truthfulness),
        }
    }

    /// The same, compiled for each number of sources.
    #[inline(always)]
    fn finish_of<const SOURCES: usize>(
        &self,
        responses: &[&str],
        block: &mut Block,
        first: usize,
        scores: &mut [CompactScore],
        truthfulness: bool,
    ) {
        let (plan, packing) = (&self.plan, Packing::new(SOURCES));
        let mut view = self.table.view();
        view.packing = packing;
        let (used, lanes) = (&mut scores[..responses.len()], first..first + responses.len());
        self.gather(block, &view, lanes.clone());
        for (lane, score) in lanes.clone().zip(used.iter_mut()) {
            score.length = block.lengths[lane];
            score.fluency = finish::best_fluency(block, plan, packing, lane);
        }
        if !truthfulness {
            return;
        }
        finish::cover(block, plan, packing, lanes.clone());
        for (start, scores) in lanes.step_by(finish::SIDE_BY_SIDE).zip(used.chunks_mut(finish::SIDE_BY_SIDE)) {
            let totals = finish::undiscounted(block, plan, start);
            for ((lane, score), total) in (start..).zip(scores).zip(totals) {
                let follows = || self.counts_after(&view, responses[lane - first]);
                score.truthfulness = finish::best_truthfulness(block, plan, SOURCES, lane, total, follows);
            }
        }
    }

    /// The first three passes.
    #[inline(always)]
    fn read(&self, responses: &[&str], block: &mut Block) {
        self.load(responses, block, 0);
        repeats::fill(block, &self.plan, responses.len(), block.longest(responses.len()));
        walk::fill(block, &self.plan, &self.one(), responses.len());
    }

    /// What lanes of this question are read with.
    #[inline(always)]
    pub(super) fn one(&self) -> One<'_> {
        One { table: self.table.view(), begin: self.plan.begin }
    }

    /// Prefetches what `load` reads of a table that is not in the cache.
    #[inline(always)]
    fn fetch_symbols(&self, responses: &[&str]) {
        let table = self.table.view();
        for response in responses {
            response.chars().take(self.plan.positions).for_each(|character| table.fetch_symbol(character));
        }
    }

    /// Reads responses into the lanes from `first` on.
    #[inline(always)]
    pub(super) fn load(&self, responses: &[&str], block: &mut Block, first: usize) {
        block.prepare(&self.plan);
        // Responses to one question lie all over a large batch, most of them in memory pages of their own: the processor looks
        // these up side by side before the rest is fetched.
        for response in responses {
            fetch_text(response.as_bytes(), 1);
        }
        let bytes = BYTES_A_CHARACTER * self.plan.positions;
        responses.iter().take(AHEAD).for_each(|response| fetch_text(response.as_bytes(), bytes));
        for (lane, response) in responses.iter().enumerate() {
            if let Some(next) = responses.get(lane + AHEAD) {
                fetch_text(next.as_bytes(), bytes);
            }
            block.load(&self.plan, &self.table.view(), first + lane, response);
        }
    }

    #[inline(always)]
    fn gather(&self, block: &mut Block, view: &CompactView<'_>, lanes: Range<usize>) {
        finish::gather(block, &self.plan, &self.table, view, lanes.clone());
        if self.plan.begin.length > 0 {
            lanes.for_each(|lane| finish::leave_out_begin(block, &self.plan, view, lane));
        }
    }

    /// Whether Truthfulness counts a character at the zero length or beyond, as far as it reads.
    #[cold]
    fn counts_after(&self, view: &CompactView<'_>, response: &str) -> bool {
        let text = response.chars().chain(std::iter::once('$')).take(self.plan.max_length + 1);
        text.skip(self.plan.zero - 1).any(|character| !self.table.skips(view.symbol(character)))
    }
}
