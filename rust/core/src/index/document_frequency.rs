//! In how many answers of each source an n-gram occurs.

use super::ngram_index::NgramIndex;
use std::ops::Range;

/// Counts distinct answers; reused between ranges so that a range costs only its own length.
#[derive(Debug)]
pub(super) struct AnswerCounter {
    /// The last range each answer was seen in.
    last_seen: Vec<u32>,
    round: u32,
}

impl AnswerCounter {
    pub(super) fn new(index: &NgramIndex) -> Self {
        Self { last_seen: vec![0; index.corpus.answers()], round: 0 }
    }

    /// Writes the document frequency in each source of the n-gram whose occurrences are `answers`, the answer of each
    /// occurrence. `O(answers)`.
    pub(super) fn count(&mut self, index: &NgramIndex, answers: impl Iterator<Item = u32>, into: &mut [u32]) {
        self.round += 1;
        into.fill(0);
        for answer in answers {
            let last = &mut self.last_seen[answer as usize];
            if *last != self.round {
                *last = self.round;
                into[index.corpus.source_of(answer)] += 1;
            }
        }
    }
}

impl NgramIndex {
    /// Document frequency in each source of the n-gram whose suffixes have the ranks `ranks`.
    pub(super) fn frequency_of_ranks(&self, ranks: Range<usize>, counter: &mut AnswerCounter) -> Vec<u32> {
        let mut frequency = vec![0; self.corpus.names.len()];
        let answers = self.suffixes[ranks].iter().map(|&position| self.corpus.answer_at(position));
        counter.count(self, answers, &mut frequency);
        frequency
    }
}
