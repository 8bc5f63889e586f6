//! The papers' equations taken literally (variant `paper`): markers are part of the n-grams, every occurrence counts,
//! the whole length is discounted.

use super::scorer::{Scorer, Scratch};
use super::truthfulness;
use crate::text::{BEGIN, END};

/// Fills `scratch` with gains and windows of the marked response and returns the response's length.
///
/// Past the zero length nothing counts but the length itself, so only the characters up to there, and those that their
/// windows reach, are looked at.
pub(super) fn trace(scorer: &Scorer, response: &str, scratch: &mut Scratch) -> usize {
    let length = response.chars().count();
    let read = scorer.settings.zero_length + scorer.settings.truthfulness_n + scorer.settings.max_n;
    scratch.characters.clear();
    scratch.characters.push('^');
    scratch.characters.extend(response.chars().take(read));
    scratch.symbols.clear();
    scratch.symbols.push(BEGIN);
    let symbols = scratch.characters[1..].iter().map(|&character| scorer.alphabet.symbol(character));
    scratch.symbols.extend(symbols);
    if length <= read {
        scratch.symbols.push(END);
        scratch.characters.push('$');
    }
    truthfulness::mark_skipped(scratch, &scorer.skipped);
    scorer.walk(scratch, |_, length, _| (0, length));
    length
}

/// `F` of eqs. 1–3 before the division by the baseline. The frequencies are summed as integers and divided once.
pub(super) fn fluency(scorer: &Scorer, scratch: &Scratch, source: usize, length: usize) -> f64 {
    let discount = discount(scorer, length);
    if discount == 0.0 {
        return 0.0;
    }
    let sum: u64 = scratch.gains.iter().skip(source).step_by(scorer.source_count()).sum();
    discount * (sum as f64 / scorer.answer_counts[source] as f64)
}

/// `T` of eqs. 6–9 and the cut it is taken at.
pub(super) fn truthfulness(scorer: &Scorer, scratch: &Scratch, source: usize, length: usize) -> (f64, usize) {
    let (target, threshold) = (scorer.settings.target_length, scorer.settings.threshold);
    let (mut total, mut count) = (0.0, 0u32);
    let (mut best, mut best_at) = (0.0, 0);
    for at in 1..=length.min(scorer.settings.zero_length) {
        if !scratch.skipped[at] {
            let likelihood = f64::from(likeliest(scorer, scratch, source, at)) / scorer.answer_counts[source] as f64;
            total += likelihood.min(threshold) / threshold;
            count += 1;
        }
        if at < target && at < length {
            continue;
        }
        let mean = if count == 0 { 0.0 } else { total / f64::from(count) };
        let value = discount(scorer, at) * mean;
        if value > best {
            (best, best_at) = (value, at);
        }
    }
    (best, best_at)
}

/// Largest document frequency of the windows that start at `at − 1`, `at` and `at + 1` (eq. 7).
fn likeliest(scorer: &Scorer, scratch: &Scratch, source: usize, at: usize) -> u32 {
    let sources = scorer.source_count();
    let ends = at + scorer.settings.truthfulness_n - 2..at + scorer.settings.truthfulness_n + 1;
    ends.filter_map(|end| scratch.windows.get(end * sources + source).copied()).max().unwrap_or(0)
}

fn discount(scorer: &Scorer, length: usize) -> f64 {
    scorer.settings.discount(length).max(0.0)
}
