//! The papers' equations taken literally (variant `paper`): markers are part of the n-grams, every occurrence counts,
//! the whole length is discounted.

use super::scratch::Scratch;
use crate::score::scale::{Cut, Scale};
use crate::score::settings::Settings;

/// `F` of eqs. 1–3, not yet divided by the baseline. The frequencies are summed as integers and divided once.
pub(super) fn fluency(settings: &Settings, scale: &Scale, scratch: &Scratch, source: usize, length: usize) -> f64 {
    let discount = discount(settings, length);
    if discount == 0.0 {
        return 0.0;
    }
    let sum: u64 = scratch.gains.iter().skip(source).step_by(scale.sources()).sum();
    discount * (sum as f64 / scale.answer_counts[source] as f64)
}

/// `T` of eqs. 6–9 and the cut it is taken at.
pub(super) fn truthfulness(settings: &Settings, scale: &Scale, scratch: &Scratch, source: usize, length: usize) -> Cut {
    let (target, threshold) = (settings.target_length, settings.threshold);
    let (mut total, mut count) = (0.0, 0u32);
    let (mut best, mut best_at) = (0.0, 0);
    for at in 1..=length.min(settings.zero_length) {
        if !scratch.skipped[at] {
            let likelihood =
                f64::from(likeliest(settings, scale, scratch, source, at)) / scale.answer_counts[source] as f64;
            total += likelihood.min(threshold) / threshold;
            count += 1;
        }
        if at < target && at < length {
            continue;
        }
        let mean = if count == 0 { 0.0 } else { total / f64::from(count) };
        let value = discount(settings, at) * mean;
        if value > best {
            (best, best_at) = (value, at);
        }
    }
    (best, best_at as u32)
}

/// Largest document frequency of the windows that start at `at − 1`, `at` and `at + 1` (eq. 7).
fn likeliest(settings: &Settings, scale: &Scale, scratch: &Scratch, source: usize, at: usize) -> u32 {
    let sources = scale.sources();
    let ends = at + settings.truthfulness_n - 2..at + settings.truthfulness_n + 1;
    ends.filter_map(|end| scratch.windows.get(end * sources + source).copied()).max().unwrap_or(0)
}

fn discount(settings: &Settings, length: usize) -> f64 {
    settings.discount(length).max(0.0)
}
