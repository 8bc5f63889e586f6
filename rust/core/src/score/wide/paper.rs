//! The papers' equations taken literally (variant `paper`): markers are part of the n-grams, every occurrence counts,
//! the whole length is discounted.

use super::scorer::{Reader, Scratch};

/// `F` of eqs. 1–3, divided by the baseline. The frequencies are summed as integers and divided once.
pub(super) fn fluency(reader: &Reader, scratch: &Scratch, source: usize, length: usize, baseline: f64) -> f64 {
    let discount = discount(reader, length);
    if discount == 0.0 {
        return 0.0;
    }
    let sum: u64 = scratch.gains.iter().skip(source).step_by(reader.source_count()).sum();
    discount * (sum as f64 / reader.scale.answer_counts[source] as f64) / baseline
}

/// `T` of eqs. 6–9 and the cut it is taken at.
pub(super) fn truthfulness(reader: &Reader, scratch: &Scratch, source: usize, length: usize) -> (f64, u32) {
    let (target, threshold) = (reader.settings.target_length, reader.settings.threshold);
    let (mut total, mut count) = (0.0, 0u32);
    let (mut best, mut best_at) = (0.0, 0);
    for at in 1..=length.min(reader.settings.zero_length) {
        if !scratch.skipped[at] {
            let likelihood =
                f64::from(likeliest(reader, scratch, source, at)) / reader.scale.answer_counts[source] as f64;
            total += likelihood.min(threshold) / threshold;
            count += 1;
        }
        if at < target && at < length {
            continue;
        }
        let mean = if count == 0 { 0.0 } else { total / f64::from(count) };
        let value = discount(reader, at) * mean;
        if value > best {
            (best, best_at) = (value, at);
        }
    }
    (best, best_at as u32)
}

/// Largest document frequency of the windows that start at `at − 1`, `at` and `at + 1` (eq. 7).
fn likeliest(reader: &Reader, scratch: &Scratch, source: usize, at: usize) -> u32 {
    let sources = reader.source_count();
    let ends = at + reader.settings.truthfulness_n - 2..at + reader.settings.truthfulness_n + 1;
    ends.filter_map(|end| scratch.windows.get(end * sources + source).copied()).max().unwrap_or(0)
}

fn discount(reader: &Reader, length: usize) -> f64 {
    reader.settings.discount(length).max(0.0)
}
