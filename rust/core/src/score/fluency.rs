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
/// the settings bound: `common[j]` of start `i`, how far the texts from `i` and from `j` agree, is one more than
/// `common[j + 1]` of start `i + 1` where the first symbols agree. A row is one loop without dependencies, which the
/// compiler turns into vector instructions.
pub(super) fn seen_before(symbols: &[Symbol], max_n: usize, buffers: &mut Seen) {
    let length = symbols.len();
    let Seen { lengths, row, next } = buffers;
    for buffer in [&mut *lengths, &mut *row, &mut *next] {
        buffer.clear();
        buffer.resize(length + 1, 0);
    }
    for start in (1..length).rev() {
        let symbol = symbols[start];
        let mut longest = 0;
        for ((common, &after), &earlier) in row.iter_mut().zip(&next[1..=start]).zip(&symbols[..start]) {
            *common = if earlier == symbol { after + 1 } else { 0 };
            longest = longest.max(*common);
        }
        lengths[start] = longest.min(max_n as u32);
        std::mem::swap(row, next);
    }
}

/// Buffers of [`seen_before`]; `lengths` holds its result.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lengths: Vec<u32>,
    row: Vec<u32>,
    next: Vec<u32>,
}

/// The largest `raw(k) · d(k)` and the first `k` that attains it, from what each further character adds;
/// `discounts[k]` is `d(k)`.
pub(super) fn best_cut(gains: impl Iterator<Item = u64>, discounts: &[f64]) -> (f64, u32) {
    let (mut raw, mut best, mut best_length) = (0, 0.0, 0);
    for (before, gain) in gains.enumerate() {
        raw += gain;
        let value = raw as f64 * discounts[before + 1];
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
            let mut seen = Seen::default();
            // What an earlier response left in the buffers must not matter.
            seen_before(&[1; 30], max_n, &mut seen);
            seen_before(&symbols, max_n, &mut seen);
            prop_assert_eq!(&seen.lengths[..symbols.len()], naive(&symbols, max_n));
        }
    }

    #[test]
    fn the_first_of_equal_cuts_wins() {
        assert_eq!(best_cut([5, 0, 0].into_iter(), &[1.0; 4]), (5.0, 1));
        assert_eq!(best_cut([5, 5, 5].into_iter(), &[1.0, 1.0, 1.0, 0.5]), (10.0, 2));
        assert_eq!(best_cut(std::iter::empty(), &[1.0]), (0.0, 0));
    }
}
