//! The scorer over the compact table.

use super::block::Block;
use super::dispatch::{self, InstructionSet, Work};
use super::{finish, repeats, walk};
use crate::fetch::fetch_text;
use crate::index::compact::{CompactTable, CompactView, LEVELS_BITS, Lanes, MOST_SOURCES};
use crate::score::scorer::{Cut, Scale};
use crate::score::settings::Settings;
use crate::score::{fluency, truthfulness};

/// Responses that are read side by side.
pub(crate) const LANES: usize = 32;

/// Most of the text is Japanese.
const BYTES_A_CHARACTER: usize = 3;
/// So many responses before one is read it is fetched.
const AHEAD: usize = 4;

/// A value for each source, and one to fill the vector.
pub(crate) type Lane4 = [f64; MOST_SOURCES + 1];

/// The settings in the form in which the passes use them.
#[derive(Debug)]
pub(super) struct Plan {
    /// Longest n-gram; a match does not grow beyond it.
    pub(super) longest: u32,
    pub(super) window: usize,
    pub(super) target: usize,
    pub(super) zero: usize,
    pub(super) max_length: usize,
    /// Characters that are read, with the added `$`: what lies behind reaches no score.
    pub(super) positions: usize,
    /// The same in `^response$`, and room for the windows that go on after them.
    pub(super) indices: usize,
    /// Symbol of the added `$`.
    pub(super) end_symbol: u16,
    /// State and match length after the added `^`.
    pub(super) begin: (u32, u32),
    /// Level of the window that ends with it.
    pub(super) begin_level: u16,
    /// Whether it counts for Truthfulness.
    pub(super) keeps_begin: u16,
    /// `d(k)` for every cut.
    pub(super) discounts: Vec<f64>,
    /// What a character is worth to Truthfulness, by the levels of what covers it in each source.
    pub(super) worth: Vec<Lane4>,
}

/// What one response scores against each source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LaneScore {
    /// Best `raw(k) · d(k)`, not yet divided by the baseline.
    pub(crate) fluency: Lane4,
    pub(crate) truthfulness: Lane4,
    /// Characters of the whole response.
    pub(crate) length: usize,
}

/// Scores responses to one question over its compact table.
#[derive(Debug)]
pub(crate) struct LaneScorer {
    pub(super) table: CompactTable,
    pub(super) plan: Plan,
}

/// All passes over some responses.
struct ScoreBlock<'a> {
    scorer: &'a LaneScorer,
    responses: &'a [&'a str],
    block: &'a mut Block,
    scores: &'a mut [LaneScore],
}

impl Work for ScoreBlock<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { scorer, responses, block, scores } = self;
        scorer.read(responses, block);
        scorer.finish(responses, block, scores);
    }
}

impl LaneScorer {
    pub(crate) fn new(table: CompactTable, settings: &Settings, scale: &Scale) -> Self {
        let view = table.view();
        let begin_symbol = view.symbol('^');
        let begin = view.begin(begin_symbol);
        let ends_window = begin.1 as usize >= settings.truthfulness_n;
        let plan = Plan {
            longest: settings.max_n as u32,
            window: settings.truthfulness_n,
            target: settings.target_length,
            zero: settings.zero_length,
            max_length: settings.max_length,
            positions: positions(settings),
            indices: positions(settings) + 1 + settings.truthfulness_n,
            end_symbol: view.symbol('$'),
            begin,
            begin_level: if ends_window { view.record(begin.0).levels() } else { 0 },
            keeps_begin: u16::from(!table.skips(begin_symbol)),
            discounts: scale.discounts.clone(),
            worth: worth_by_levels(&scale.worth, view.lanes),
        };
        Self { table, plan }
    }

    pub(crate) fn table(&self) -> &CompactTable {
        &self.table
    }

    /// Characters of a Truthfulness window.
    pub(crate) fn window(&self) -> usize {
        self.plan.window
    }

    /// Scores up to [`LANES`] responses into as many scores; faster where they are of similar length.
    pub(crate) fn score(&self, set: InstructionSet, responses: &[&str], block: &mut Block, scores: &mut [LaneScore]) {
        dispatch::run(set, ScoreBlock { scorer: self, responses, block, scores });
    }

    /// Fluency and Truthfulness of one response against each source, with their cuts: the obvious way, over the same gains.
    pub(crate) fn cuts(&self, response: &str, block: &mut Block, scale: &Scale, baselines: &[f64]) -> Vec<(Cut, Cut)> {
        let (plan, view) = (&self.plan, self.table.view());
        self.read(&[response], block);
        self.gather(block, &view, 0);
        let cuts = block.lengths[0].min(plan.zero - 1);
        let follows = self.counts_after(&view, response);
        let end = (block.ends[0] + 1).min(plan.zero);
        finish::cover(block, plan, view.lanes, 0);
        let of_source = |(source, &baseline): (usize, &f64)| {
            let gains = block.gains[..cuts].iter().map(|&gain| finish::apart(gain, view.lanes)[source] as u64);
            let covered = block.levels[..end].iter().zip(&block.kept);
            let worth = covered.map(|(&level, &kept)| (kept == 1).then(|| plan.worth[level as usize][source]));
            let truthfulness = truthfulness::best_cut(worth, &plan.discounts, plan.target, follows);
            (fluency::best_cut(gains, &scale.discounts, baseline), truthfulness)
        };
        baselines.iter().enumerate().map(of_source).collect()
    }

    /// The last pass.
    #[inline(always)]
    pub(super) fn finish(&self, responses: &[&str], block: &mut Block, scores: &mut [LaneScore]) {
        let (plan, view) = (&self.plan, self.table.view());
        let used = &mut scores[..responses.len()];
        for (lane, score) in used.iter_mut().enumerate() {
            self.gather(block, &view, lane);
            finish::cover(block, plan, view.lanes, lane);
            score.length = block.lengths[lane];
            score.fluency = finish::best_fluency(&block.gains[..score.length.min(plan.zero - 1)], plan, view.lanes);
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
        repeats::fill(block, responses.len(), block.longest(responses.len()));
        walk::fill(block, &self.plan, &self.table.view(), responses.len());
    }

    #[inline(always)]
    pub(super) fn load(&self, responses: &[&str], block: &mut Block) {
        block.prepare(&self.plan);
        // Responses to one question lie all over a large batch.
        let bytes = BYTES_A_CHARACTER * self.plan.positions;
        responses.iter().take(AHEAD).for_each(|response| fetch_text(response, bytes));
        for (lane, response) in responses.iter().enumerate() {
            if let Some(next) = responses.get(lane + AHEAD) {
                fetch_text(next, bytes);
            }
            block.load(&self.plan, &self.table.view(), lane, response);
        }
    }

    #[inline(always)]
    fn gather(&self, block: &mut Block, view: &CompactView<'_>, lane: usize) {
        finish::gather(block, &self.plan, &self.table, view, lane);
        if self.plan.begin.1 > 0 {
            finish::leave_out_begin(block, &self.plan, view, lane);
        }
    }

    /// Whether Truthfulness counts a character at the zero length or beyond, as far as it reads.
    #[cold]
    fn counts_after(&self, view: &CompactView<'_>, response: &str) -> bool {
        let text = response.chars().chain(std::iter::once('$')).take(self.plan.max_length + 1);
        text.skip(self.plan.zero - 1).any(|character| !self.table.skips(view.symbol(character)))
    }
}

/// Characters, with the added `$`, that can reach a score: those before the zero length, and what their windows cover.
pub(crate) fn positions(settings: &Settings) -> usize {
    (settings.zero_length + settings.truthfulness_n).saturating_sub(2).clamp(1, settings.max_length + 1)
}

/// What the levels of all sources together, as a state's record has them, are worth.
fn worth_by_levels(worth: &[Vec<f64>], lanes: Lanes) -> Vec<Lane4> {
    let of = |levels, source: usize| {
        worth.get(source).map_or(0.0, |worth| worth[lanes.level(levels, source).min(worth.len() - 1)])
    };
    (0..1 << LEVELS_BITS).map(|levels| std::array::from_fn(|source| of(levels, source))).collect()
}
