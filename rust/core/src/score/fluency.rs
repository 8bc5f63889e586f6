//! Fluency of the published figures: document frequencies of the distinct n-grams before the best cut.

use super::scorer::Scratch;
use super::settings::Settings;
use crate::text::Symbol;

/// Characters of the response that a cut may include; the traced text has one more at each end unless it was cut.
pub(super) fn length(scratch: &Scratch, settings: &Settings) -> usize {
    (scratch.symbols.len() - 2).min(settings.max_length)
}

/// For each start in `symbols` the length, up to `max_n`, of the longest n-gram there that also begins earlier.
///
/// "Seen before" is closed under prefixes, so this one number replaces a set of n-grams. Quadratic in the length, which
/// the settings bound, over a row of small integers: common[j] of (i, j) is one more than that of (i + 1, j + 1).
pub(super) fn seen_before(symbols: &[Symbol], max_n: usize, seen: &mut Vec<u32>) {
    let length = symbols.len();
    seen.clear();
    seen.resize(length, 0);
    for distance in 1..length {
        let mut common = 0;
        for start in (distance..length).rev() {
            common = if symbols[start] == symbols[start - distance] { common + 1 } else { 0 };
            seen[start] = seen[start].max(common);
        }
    }
    for value in seen {
        *value = (*value).min(max_n as u32);
    }
}

/// The largest `raw(k) · d(k)` and the first `k` that attains it, from what each further character adds.
pub(super) fn best_cut(gains: impl Iterator<Item = u64>, settings: &Settings) -> (f64, u32) {
    let (mut raw, mut best, mut best_length) = (0, 0.0, 0);
    for (before, gain) in gains.enumerate() {
        raw += gain;
        let value = raw as f64 * settings.discount(before + 1);
        if value > best {
            best = value;
            best_length = before as u32 + 1;
        }
    }
    (best, best_length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(symbols: &[Symbol], max_n: usize) -> Vec<u32> {
        let longest = |start: usize| {
            (1..=max_n.min(symbols.len() - start))
                .filter(|&n| (0..start).any(|earlier| symbols[earlier..earlier + n] == symbols[start..start + n]))
                .max()
        };
        (0..symbols.len()).map(|start| longest(start).unwrap_or(0) as u32).collect()
    }

    proptest! {
        #[test]
        fn seen_before_equals_the_obvious_way(symbols in prop::collection::vec(0i32..3, 0..40), max_n in 1usize..12) {
            let mut seen = Vec::new();
            seen_before(&symbols, max_n, &mut seen);
            prop_assert_eq!(seen, naive(&symbols, max_n));
        }
    }

    #[test]
    fn the_first_of_equal_cuts_wins() {
        let settings = Settings::default();
        assert_eq!(best_cut([5, 0, 0].into_iter(), &settings), (5.0, 1));
        assert_eq!(best_cut(std::iter::empty(), &settings), (0.0, 0));
    }
}
