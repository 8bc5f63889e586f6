//! Truthfulness of the published scores: the share of characters covered by a window that is common enough.

use super::scale::Cut;

/// The best score over the cuts past the target length, or the last one, and the length of that cut.
///
/// `worth` gives what the characters of `^response$` are worth, `None` where one is skipped; `follows` says whether
/// further ones that are not skipped come after these, at lengths whose discount leaves nothing.
pub(super) fn best_cut(
    worth: impl Iterator<Item = Option<f64>>,
    discounts: &[f64],
    target: usize,
    follows: bool,
) -> Cut {
    let (mut total, mut count, mut last_at) = (0.0, 0u32, 0);
    let (mut best, mut best_at) = (0.0, 0);
    let score = |total: f64, count: u32, at: usize| total / f64::from(count) * discounts[at];
    for (at, worth) in worth.enumerate().filter_map(|(at, worth)| Some((at, worth?))) {
        total += worth;
        count += 1;
        last_at = at;
        if at >= target && score(total, count, at) > best {
            (best, best_at) = (score(total, count, at), at);
        }
    }
    // Past the target length the last score has been looked at already, unless it is negative.
    if count > 0 && !follows && score(total, count, last_at) > best {
        (best, best_at) = (score(total, count, last_at), last_at);
    }
    (best, best_at as u32)
}
