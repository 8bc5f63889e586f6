//! The scorer over the compact table.

use super::block::Block;
use super::dispatch::{self, InstructionSet, Work};
use super::plan::{PerSource, Plan};
use super::{finish, repeats, walk};
use crate::fetch::fetch_text;
use crate::index::compact::{CompactTable, CompactView, MOST_SOURCES, Packing};
use crate::score::scale::{Cut, Scale};
use crate::score::settings::Settings;
use crate::score::{fluency, truthfulness};

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
}

impl Work for ScoreBlock<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { scorer, responses, block, scores } = self;
        scorer.read(responses, block);
        scorer.finish(responses, block, scores);
    }
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

    /// Scores up to 32 responses into as many scores; faster where they are of similar length.
    pub(crate) fn score(
        &self,
        set: InstructionSet,
        responses: &[&str],
        block: &mut Block,
        scores: &mut [CompactScore],
    ) {
        dispatch::run(set, ScoreBlock { scorer: self, responses, block, scores });
    }

    /// Fluency and Truthfulness of one response against each source, with their cuts: the obvious way, over the same gains.
    pub(crate) fn cuts(&self, response: &str, block: &mut Block, scale: &Scale, baselines: &[f64]) -> Vec<(Cut, Cut)> {
        let (plan, view) = (&self.plan, self.table.view());
        self.read(&[response], block);
        self.gather(block, &view, 1);
        let cuts = block.lengths[0].min(plan.zero - 1);
        let follows = self.counts_after(&view, response);
        let end = (block.ends[0] + 1).min(plan.zero);
        finish::cover(block, plan, view.packing, 1);
        let of_source = |(source, &baseline): (usize, &f64)| {
            let gains = block.gains[1..][..cuts].iter().map(|&gain| finish::apart(gain, view.packing)[source] as u64);
            let covered = block.levels[..end].iter().zip(&block.kept);
            let worth = covered.map(|(&level, &kept)| (kept == 1).then(|| plan.worth[level as usize][source]));
            let truthfulness = truthfulness::best_cut(worth, &plan.discounts, plan.target, follows);
            (fluency::best_cut(gains, &scale.discounts, baseline), truthfulness)
        };
        baselines.iter().enumerate().map(of_source).collect()
    }

    /// The last pass.
    #[inline(always)]
    pub(super) fn finish(&self, responses: &[&str], block: &mut Block, scores: &mut [CompactScore]) {
        match self.table.view().packing.sources() {
            1 => self.finish_of::<1>(responses, block, scores),
            2 => self.finish_of::<2>(responses, block, scores),
            _ => self.finish_of::<MOST_SOURCES>(responses, block, scores),
        }
    }

    /// The same, compiled for each number of sources.
    #[inline(always)]
    fn finish_of<const SOURCES: usize>(&self, responses: &[&str], block: &mut Block, scores: &mut [CompactScore]) {
        let (plan, packing) = (&self.plan, Packing::new(SOURCES));
        let mut view = self.table.view();
        view.packing = packing;
        let used = &mut scores[..responses.len()];
        self.gather(block, &view, used.len());
        finish::cover(block, plan, packing, used.len());
        for (lane, score) in used.iter_mut().enumerate() {
            score.length = block.lengths[lane];
            score.fluency = finish::best_fluency(block, plan, packing, lane);
        }
        for (first, scores) in (0..).step_by(finish::SIDE_BY_SIDE).zip(used.chunks_mut(finish::SIDE_BY_SIDE)) {
            let totals = finish::undiscounted(block, plan, first);
            for ((lane, score), total) in (first..).zip(scores).zip(totals) {
                let follows = || self.counts_after(&view, responses[lane]);
                score.truthfulness = finish::best_truthfulness(block, plan, lane, total, follows);
            }
        }
    }

    /// The first three passes.
    #[inline(always)]
    fn read(&self, responses: &[&str], block: &mut Block) {
        self.load(responses, block);
        repeats::fill(block, &self.plan, responses.len(), block.longest(responses.len()));
        walk::fill(block, &self.plan, &self.table.view(), responses.len());
    }

    #[inline(always)]
    pub(super) fn load(&self, responses: &[&str], block: &mut Block) {
        block.prepare(&self.plan);
        // Responses to one question lie all over a large batch.
        let bytes = BYTES_A_CHARACTER * self.plan.positions;
        responses.iter().take(AHEAD).for_each(|response| fetch_text(response.as_bytes(), bytes));
        for (lane, response) in responses.iter().enumerate() {
            if let Some(next) = responses.get(lane + AHEAD) {
                fetch_text(next.as_bytes(), bytes);
            }
            block.load(&self.plan, &self.table.view(), lane, response);
        }
    }

    #[inline(always)]
    fn gather(&self, block: &mut Block, view: &CompactView<'_>, lanes: usize) {
        finish::gather(block, &self.plan, &self.table, view, lanes);
        if self.plan.begin.length > 0 {
            (0..lanes).for_each(|lane| finish::leave_out_begin(block, &self.plan, view, lane));
        }
    }

    /// Whether Truthfulness counts a character at the zero length or beyond, as far as it reads.
    #[cold]
    fn counts_after(&self, view: &CompactView<'_>, response: &str) -> bool {
        let text = response.chars().chain(std::iter::once('$')).take(self.plan.max_length + 1);
        text.skip(self.plan.zero - 1).any(|character| !self.table.skips(view.symbol(character)))
    }
}
