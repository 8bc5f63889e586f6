//! Fluency of the published figures: document frequencies of the distinct n-grams before the best cut.

use super::scorer::Scratch;
use super::settings::Settings;

/// Characters of the response that a cut may include; the traced text has one more at each end unless it was cut.
pub(super) fn length(scratch: &Scratch, settings: &Settings) -> usize {
    (scratch.symbols.len() - 2).min(settings.max_length)
}

/// For each end in `symbols` the length, up to `max_n`, of the longest n-gram ending there that also ends earlier.
///
/// "Seen before" is closed under suffixes, so this one number replaces a set of n-grams. Quadratic in the length, which
/// the settings bound: how far the texts before `end` and before `earlier` agree is one more than one character before,
/// where the characters agree. A row is one loop without dependencies over 16-bit numbers, which the compiler turns into
/// vector instructions; narrow symbols double their number in one.
pub(super) fn seen_before<S: Copy + PartialEq>(symbols: &[S], max_n: usize, buffers: &mut Seen) {
    let Seen { lengths, row, previous } = buffers;
    for buffer in [&mut *lengths, &mut *row, &mut *previous] {
        buffer.clear();
        buffer.resize(symbols.len() + 1, 0);
    }
    for (end, &symbol) in symbols.iter().enumerate() {
        let mut longest = 0i16;
        for ((common, &before), &earlier) in row[1..].iter_mut().zip(&*previous).zip(&symbols[..end]) {
            *common = if earlier == symbol { before.saturating_add(1) } else { 0 };
            longest = longest.max(*common);
        }
        lengths[end] = longest.min(max_n as i16);
        std::mem::swap(row, previous);
    }
}

/// Buffers of [`seen_before`]; `lengths` holds its result.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lengths: Vec<i16>,
    row: Vec<i16>,
    previous: Vec<i16>,
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

    fn naive(symbols: &[i32], max_n: usize) -> Vec<i16> {
        let longest = |end: usize| {
            (1..=max_n.min(end))
                .rfind(|&n| (n..end).any(|earlier| symbols[earlier - n..earlier] == symbols[end - n..end]))
        };
        (1..=symbols.len()).map(|end| longest(end).unwrap_or(0) as i16).collect()
    }

    proptest! {
        #[test]
        fn seen_before_equals_the_obvious_way(symbols in prop::collection::vec(0i32..3, 0..40), max_n in 1usize..12) {
            let mut seen = Seen::default();
            // What an earlier response left in the buffers must not matter.
            seen_before(&[1i16; 30], max_n, &mut seen);
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
