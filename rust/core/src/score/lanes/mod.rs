//! The hot path: Fluency and Truthfulness of the published variant, many responses at a time, over the compact table.
//!
//! Up to [`LANES`] responses to one question go through four passes, each of which reads what the one before left in a
//! [`Block`]:
//!
//! 1. `load`: characters become symbols, response `i` in lane `i`;
//! 2. `repeats`: for every character the longest n-gram ending there that ended earlier, all lanes in one instruction;
//! 3. `walk`: the table's state at every character, the lanes' steps interleaved, since each one waits for memory;
//! 4. `finish`: gains, sums and best cuts, a response at a time, its sources side by side.
//!
//! The passes are plain Rust over fixed-size arrays, compiled once for each instruction set of [`dispatch`]; the compiler
//! vectorises them. Integers throughout up to the last step, and floating-point operations in a fixed order, make the
//! results the same on all.

mod block;
mod dispatch;
mod finish;
#[cfg(feature = "internals")]
pub(crate) mod passes;
mod repeats;
mod walk;

pub(crate) use block::Block;
pub use dispatch::InstructionSet;

use dispatch::Work;

use super::scorer::{Cut, Scale};
use super::settings::Settings;
use super::{fluency, truthfulness};
use crate::fetch::fetch_text;
use crate::index::compact::{CompactTable, CompactView, LEVELS_BITS, Lanes, MOST_SOURCES};

/// Responses that are read side by side.
pub(crate) const LANES: usize = 32;

/// Most of the text is Japanese.
const BYTES_A_CHARACTER: usize = 3;
/// So many responses before one is read it is fetched.
const AHEAD: usize = 4;

/// A value for each source, and one to fill the vector.
pub(super) type Lane4 = [f64; MOST_SOURCES + 1];

/// The settings in the form in which the passes use them.
#[derive(Debug)]
struct Plan {
    /// Longest n-gram; a match does not grow beyond it.
    longest: u32,
    window: usize,
    target: usize,
    zero: usize,
    max_length: usize,
    /// Characters that are read, with the added `$`: what lies behind reaches no score.
    positions: usize,
    /// The same in `^response$`, and room for the windows that go on after them.
    indices: usize,
    /// Symbol of the added `$`.
    end_symbol: u16,
    /// State and match length after the added `^`.
    begin: (u32, u32),
    /// Level of the window that ends with it.
    begin_level: u16,
    /// Whether it counts for Truthfulness.
    keeps_begin: u16,
    /// `d(k)` for every cut.
    discounts: Vec<f64>,
    /// What a character is worth to Truthfulness, by the levels of what covers it in each source.
    worth: Vec<Lane4>,
}

/// What one response scores against each source.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LaneScore {
    /// Best `raw(k) · d(k)`, not yet divided by the baseline.
    pub(super) fluency: Lane4,
    pub(super) truthfulness: Lane4,
    /// Characters of the whole response.
    pub(super) length: usize,
}

/// Scores responses to one question over its compact table.
#[derive(Debug)]
pub(super) struct LaneScorer {
    table: CompactTable,
    plan: Plan,
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
    pub(super) fn new(table: CompactTable, settings: &Settings, scale: &Scale) -> Self {
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

    pub(super) fn table(&self) -> &CompactTable {
        &self.table
    }

    /// Characters of a Truthfulness window.
    pub(super) fn window(&self) -> usize {
        self.plan.window
    }

    /// Scores up to [`LANES`] responses into as many scores; faster where they are of similar length.
    pub(super) fn score(&self, set: InstructionSet, responses: &[&str], block: &mut Block, scores: &mut [LaneScore]) {
        dispatch::run(set, ScoreBlock { scorer: self, responses, block, scores });
    }

    /// Fluency and Truthfulness of one response against each source, with their cuts: the obvious way, over the same gains.
    pub(super) fn cuts(&self, response: &str, block: &mut Block, scale: &Scale, baselines: &[f64]) -> Vec<(Cut, Cut)> {
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
    fn finish(&self, responses: &[&str], block: &mut Block, scores: &mut [LaneScore]) {
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
    fn load(&self, responses: &[&str], block: &mut Block) {
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
pub(super) fn positions(settings: &Settings) -> usize {
    (settings.zero_length + settings.truthfulness_n).saturating_sub(2).clamp(1, settings.max_length + 1)
}

/// What the levels of all sources together, as a state's record has them, are worth.
fn worth_by_levels(worth: &[Vec<f64>], lanes: Lanes) -> Vec<Lane4> {
    let of = |levels, source: usize| {
        worth.get(source).map_or(0.0, |worth| worth[lanes.level(levels, source).min(worth.len() - 1)])
    };
    (0..1 << LEVELS_BITS).map(|levels| std::array::from_fn(|source| of(levels, source))).collect()
}
