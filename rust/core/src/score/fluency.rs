//! Fluency of the published figures: document frequencies of the distinct n-grams before the best cut.

use super::reader::{Reader, Scratch};

/// The largest `raw(k) · d(k) / baseline` against one source, and the first `k` that attains it.
pub(super) fn best_cut(reader: &Reader, scratch: &Scratch, source: usize, baseline: f64) -> (f64, u32) {
    let gains = scratch.gains.iter().skip(source).step_by(reader.source_count());
    // The first symbol is the added `^`.
    best_value(gains.skip(1).take(reader.counted(scratch)).copied(), &reader.discounts, baseline)
}

/// The same from what each further character adds; `discounts[k]` is `d(k)`.
fn best_value(gains: impl Iterator<Item = u64>, discounts: &[f64], baseline: f64) -> (f64, u32) {
    let (mut raw, mut best, mut best_length) = (0, 0.0, 0);
    for (before, gain) in gains.enumerate() {
        raw += gain;
        let value = raw as f64 * discounts[before + 1] / baseline;
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

    #[test]
    fn the_first_of_equal_cuts_wins() {
        assert_eq!(best_value([5, 0, 0].into_iter(), &[1.0; 4], 1.0), (5.0, 1));
        assert_eq!(best_value([5, 5, 5].into_iter(), &[1.0, 1.0, 1.0, 0.5], 2.0), (5.0, 2));
        assert_eq!(best_value(std::iter::empty(), &[1.0], 1.0), (0.0, 0));
    }
}
