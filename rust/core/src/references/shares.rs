//! A number divided in proportion.

/// Shares of `count` in proportion to `masses` and at most `limits`, by the largest remainder (Hamilton's method); of
/// equal remainders the first. What goes beyond a limit is shared among the others in the same way.
///
/// The shares add up to `count`, which must not exceed the sum of the limits; masses must be positive.
pub(crate) fn shares(count: usize, masses: &[u64], limits: &[usize]) -> Vec<usize> {
    let mut shares = vec![0; masses.len()];
    let mut open: Vec<usize> = (0..masses.len()).collect();
    let mut left = count;
    loop {
        for (&part, share) in open.iter().zip(in_proportion(left, open.iter().map(|&part| masses[part]))) {
            shares[part] = share;
        }
        let full = |part: &usize| shares[*part] > limits[*part];
        if !open.iter().any(full) {
            return shares;
        }
        let over: Vec<usize> = open.iter().copied().filter(full).collect();
        open.retain(|part| !over.contains(part));
        for part in over {
            shares[part] = limits[part];
            left -= limits[part];
        }
    }
}

fn in_proportion(count: usize, masses: impl Iterator<Item = u64> + Clone) -> Vec<usize> {
    let whole: u128 = masses.clone().map(u128::from).sum();
    let exact = |mass: u64| count as u128 * u128::from(mass);
    let mut shares: Vec<usize> = masses.clone().map(|mass| (exact(mass) / whole) as usize).collect();
    let remainders: Vec<u128> = masses.map(|mass| exact(mass) % whole).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|&part| std::cmp::Reverse(remainders[part]));
    let missing = count - shares.iter().sum::<usize>();
    for &part in &order[..missing] {
        shares[part] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn remainders_and_limits_decide() {
        assert_eq!(shares(10, &[1, 1, 1], &[9, 9, 9]), [4, 3, 3]);
        assert_eq!(shares(3, &[10, 45, 45], &[9, 9, 9]), [0, 2, 1]);
        assert_eq!(shares(2, &[1, 3, 1], &[9, 9, 9]), [1, 1, 0]);
        assert_eq!(shares(10, &[90, 5, 5], &[2, 9, 9]), [2, 4, 4]);
        assert_eq!(shares(0, &[1, 2], &[1, 1]), [0, 0]);
        assert_eq!(shares(0, &[], &[]), []);
    }

    proptest! {
        #[test]
        fn shares_add_up(parts in prop::collection::vec((1u64..1000, 1usize..50), 1..8), per_mille in 0usize..=1000) {
            let (masses, limits): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let count = limits.iter().sum::<usize>() * per_mille / 1000;
            let shares = shares(count, &masses, &limits);
            prop_assert_eq!(shares.iter().sum::<usize>(), count);
            prop_assert!(shares.iter().zip(&limits).all(|(share, limit)| share <= limit));
        }
    }
}
