//! Truthfulness of the published figures: the share of characters covered by a window that is common enough.

use super::scorer::{Scorer, Scratch};

/// What character `at` of the traced text is worth: the largest document frequency of the windows that cover it.
pub(super) fn coverage(scratch: &Scratch, scorer: &Scorer, source: usize, at: usize) -> u32 {
    let first = (at + 1).saturating_sub(scorer.settings.truthfulness_n);
    (first..=at).map(|start| scratch.windows[start * scorer.source_count() + source]).max().unwrap_or(0)
}

/// Marks the characters of the traced text that are skipped.
pub(super) fn mark_skipped(scratch: &mut Scratch, skipped: &[char]) {
    scratch.skipped.clear();
    scratch.skipped.extend(scratch.characters.iter().map(|character| skipped.contains(character)));
}

/// The best score over the cuts past the target length, or the last one; and the length of that cut.
pub(super) fn best_cut(scratch: &Scratch, scorer: &Scorer, source: usize) -> (f64, u32) {
    let settings = &scorer.settings;
    let (answers, scale) = (scorer.answer_counts[source] as f64, 1.0 / settings.threshold);
    let (mut total, mut count) = (0.0, 0u32);
    let (mut best, mut best_at) = (0.0, 0);
    let (mut last, mut last_at) = (0.0, 0);
    for at in 0..scratch.characters.len() {
        if scratch.skipped[at] {
            continue;
        }
        let frequency = f64::from(coverage(scratch, scorer, source, at));
        total += (frequency / answers * scale).min(1.0);
        count += 1;
        last = total / f64::from(count) * settings.discount(at);
        last_at = at as u32;
        if at >= settings.target_length && last > best {
            (best, best_at) = (last, last_at);
        }
    }
    if last > best { (last, last_at) } else { (best, best_at) }
}
