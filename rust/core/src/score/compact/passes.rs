//! The passes one at a time, for benches.

use super::block::{Block, LANES};
use super::dispatch::{self, InstructionSet, Work};
use super::scorer::{CompactScore, CompactScorer};
use super::{repeats, walk};

/// One of the passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Characters become symbols.
    Load,
    /// What ended earlier.
    Repeats,
    /// The table's states.
    Walk,
    /// Gains, sums and best cuts.
    Finish,
}

/// Up to 32 responses, of which every pass can be run again by itself.
#[derive(Debug)]
pub struct Passes<'a> {
    scorer: &'a CompactScorer,
    responses: &'a [&'a str],
    block: Block,
    scores: Vec<CompactScore>,
}

impl<'a> Passes<'a> {
    /// All passes have run once, so that each finds what those before it leave.
    pub(in crate::score) fn new(scorer: &'a CompactScorer, responses: &'a [&'a str]) -> Self {
        let responses = &responses[..responses.len().min(LANES)];
        let mut passes =
            Self { scorer, responses, block: Block::default(), scores: vec![CompactScore::default(); LANES] };
        for pass in [Pass::Load, Pass::Repeats, Pass::Walk, Pass::Finish] {
            passes.run(InstructionSet::chosen(), pass);
        }
        passes
    }

    /// Runs one pass.
    pub fn run(&mut self, set: InstructionSet, pass: Pass) {
        dispatch::run(set, OnePass { passes: self, pass });
    }
}

struct OnePass<'p, 'a> {
    passes: &'p mut Passes<'a>,
    pass: Pass,
}

impl Work for OnePass<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Passes { scorer, responses, block, scores } = self.passes;
        match self.pass {
            Pass::Load => scorer.load(responses, block, 0),
            Pass::Repeats => repeats::fill(block, &scorer.plan, responses.len(), block.longest(responses.len())),
            Pass::Walk => walk::fill(block, &scorer.plan, &scorer.one(), responses.len()),
            Pass::Finish => scorer.finish(responses, block, 0, scores, true),
        }
    }
}
