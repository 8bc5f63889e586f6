//! The arithmetic of published runs: rows sorted by question, values ranked, and sums in the published order.

/// A number, and where its rows begin and end.
pub type Bounds = (u32, usize, usize);

/// Where the rows of each number that occurs begin and end, and the place of each row, when sorted by number, stable.
///
/// Takes memory for the largest number; O(rows + largest number).
pub fn sorted_places(numbers: impl Iterator<Item = u32> + Clone) -> (Vec<Bounds>, Vec<usize>) {
    let most = numbers.clone().max().map_or(0, |most| most as usize + 1);
    let mut next = vec![0; most];
    for number in numbers.clone() {
        next[number as usize] += 1;
    }
    let (mut bounds, mut end) = (Vec::new(), 0);
    for (number, next) in (0u32..).zip(&mut next) {
        let start = end;
        end += *next;
        if *next > 0 {
            bounds.push((number, start, end));
        }
        *next = start;
    }
    let places = numbers.map(|number| {
        next[number as usize] += 1;
        next[number as usize] - 1
    });
    let places = places.collect();
    (bounds, places)
}

/// The places of values by descending value, equal ones (zeros of both signs, too) in their order and NaN last.
pub fn ranked(values: impl Iterator<Item = f64>) -> impl Iterator<Item = u32> {
    let mut keys: Vec<_> = values.map(descending_key).zip(0u32..).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, place)| place)
}

/// A number that is the smaller, the larger `value` is; zeros are equal, and NaN has the largest.
fn descending_key(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (0.0 - value).to_bits(); // never -0.0
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The sum of the values from the left: plain (-0.0 of none, as in numpy's accumulation) or compensated (Neumaier's, as Python's
/// `sum` since 3.12).
pub fn left_sum(values: impl Iterator<Item = f64>, compensated: bool) -> f64 {
    if compensated { compensated_sum(values) } else { plain_sum(values) }
}

fn plain_sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(-0.0, |total, value| total + value)
}

/// Errors are summed apart, and left out where they are not finite.
fn compensated_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (total, error) = values.fold((0.0, -0.0), |(before, error): (f64, f64), value| {
        let total = before + value;
        let part = total - before;
        (total, error + ((before - (total - part)) + (value - part)))
    });
    if error.is_finite() { total + error } else { total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_sorted_by_number_and_keep_their_order(numbers in prop::collection::vec(0u32..9, 0..50)) {
            let (bounds, places) = sorted_places(numbers.iter().copied());
            let mut sorted: Vec<usize> = (0..numbers.len()).collect();
            sorted.sort_by_key(|&row| numbers[row]);
            for (place, &row) in sorted.iter().enumerate() {
                prop_assert_eq!(places[row], place);
            }
            let mut end = 0;
            for (number, start, stop) in bounds {
                prop_assert!(start == end && stop > start);
                prop_assert!(sorted[start..stop].iter().all(|&row| numbers[row] == number));
                end = stop;
            }
            prop_assert_eq!(end, numbers.len());
        }

        #[test]
        fn values_are_ranked_as_by_a_stable_sort(
            picked in prop::collection::vec(prop::sample::select(&[0.0, -0.0, 0.5, 1e-300, -1.0, f64::INFINITY, f64::NAN][..]), 0..40)
        ) {
            let mut expected: Vec<u32> = (0u32..).take(picked.len()).collect();
            expected.sort_by(|&a, &b| {
                let (a, b) = (picked[a as usize], picked[b as usize]);
                a.is_nan().cmp(&b.is_nan()).then(b.partial_cmp(&a).unwrap_or(std::cmp::Ordering::Equal))
            });
            prop_assert_eq!(ranked(picked.iter().copied()).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn compensated_sums_keep_what_plain_ones_lose() {
        let values = [1.0, 1e100, 1.0, -1e100];
        assert_eq!([false, true].map(|compensated| left_sum(values.into_iter(), compensated)), [0.0, 2.0]);
        assert_eq!(left_sum([f64::INFINITY, 1.0].into_iter(), true), f64::INFINITY);
    }

    #[test]
    fn sums_of_nothing_and_of_negative_zeros_have_a_sign() {
        assert!(
            left_sum([].into_iter(), false).is_sign_negative()
                && left_sum([-0.0].into_iter(), false).is_sign_negative()
        );
        assert!(left_sum([].into_iter(), true).is_sign_positive());
    }
}
