//! Fluency of the published scores: document frequencies of the distinct n-grams before the best cut.

use super::scale::Cut;

/// The largest `raw(k) · d(k) / baseline` and the first `k` that attains it, from what each further character adds to
/// `raw`; `discounts[k]` is `d(k)`.
pub(super) fn best_cut(gains: impl Iterator<Item = u64>, discounts: &[f64], baseline: f64) -> Cut {
    let (mut raw, mut best, mut best_length) = (0, 0.0, 0);
    for (gain, (length, discount)) in gains.zip(discounts.iter().enumerate().skip(1)) {
        raw += gain;
        let value = raw as f64 * discount / baseline;
        if value > best {
            (best, best_length) = (value, length as u32);
        }
    }
    (best, best_length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_cuts_wins() {
        assert_eq!(best_cut([5, 0, 0].into_iter(), &[1.0; 4], 1.0), (5.0, 1));
        assert_eq!(best_cut([5, 5, 5].into_iter(), &[1.0, 1.0, 1.0, 0.5], 2.0), (5.0, 2));
        assert_eq!(best_cut(std::iter::empty(), &[1.0], 1.0), (0.0, 0));
    }
}
