//! Truthfulness of the published figures: the share of characters covered by a window that is common enough.

use super::reader::{Reader, Scratch};

/// What character `at` of the traced text is worth: the largest document frequency of the windows that cover it.
pub(super) fn coverage(reader: &Reader, scratch: &Scratch, source: usize, at: usize) -> u32 {
    let last = (at + reader.settings.truthfulness_n).min(scratch.symbols.len());
    (at..last).map(|end| scratch.windows[end * reader.source_count() + source]).max().unwrap_or(0)
}

/// The best score over the cuts past the target length, or the last one; and the length of that cut.
pub(super) fn best_cut(reader: &Reader, scratch: &Scratch, source: usize) -> (f64, u32) {
    let (worth, target) = (&reader.worth[source], reader.settings.target_length);
    let (mut total, mut count, mut last_at) = (0.0, 0u32, 0);
    let (mut best, mut best_at) = (0.0, 0);
    let score = |total: f64, count: u32, at: usize| total / f64::from(count) * reader.discounts[at];
    for (at, _) in scratch.skipped.iter().enumerate().filter(|(_, skipped)| !**skipped) {
        total += worth[coverage(reader, scratch, source, at) as usize];
        count += 1;
        last_at = at;
        if at >= target && score(total, count, at) > best {
            (best, best_at) = (score(total, count, at), at);
        }
    }
    // Past the target length the last score has been looked at already, unless it is negative.
    if count > 0 && score(total, count, last_at) > best {
        (best, best_at) = (score(total, count, last_at), last_at);
    }
    (best, best_at as u32)
}
