//! Selection against errors counted with dictionaries, on random text over small alphabets.

use pfgen_core::Error;
use pfgen_core::references::{Candidates, Selector, naive};
use proptest::prelude::*;
use std::ops::RangeInclusive;

/// A pool, whose texts have a weight and a stratum each, and what is asked for.
#[derive(Debug, Clone)]
struct Case {
    texts: Vec<String>,
    weights: Option<Vec<u64>>,
    strata: Option<Vec<u32>>,
    count: usize,
    lengths: RangeInclusive<usize>,
}

impl Case {
    fn with<R>(&self, ask: impl FnOnce(&Candidates<'_>) -> R) -> R {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        ask(&Candidates { texts: &texts, weights: self.weights.as_deref(), strata: self.strata.as_deref() })
    }

    fn grown(&self, texts: usize) -> Selector {
        let selector = self.with(|candidates| Selector::new(candidates, self.count, &self.lengths));
        let mut selector = selector.expect("the case is sound");
        while !selector.grow(texts) {}
        selector
    }

    fn naive(&self, rows: &[u32]) -> f64 {
        self.with(|candidates| naive::error(candidates, rows, *self.lengths.start(), *self.lengths.end()))
    }

    /// How many of `rows` each stratum has.
    fn shares(&self, rows: &[u32]) -> Vec<usize> {
        let stratum = |row: u32| self.strata.as_ref().map_or(0, |strata| strata[row as usize]);
        [0, 3, 7, 900].map(|number| rows.iter().filter(|&&row| stratum(row) == number).count()).to_vec()
    }

    /// All choices of so many of each stratum.
    fn choices(&self, shares: &[usize]) -> Vec<Vec<u32>> {
        let of = |bits: u32| (0..self.texts.len() as u32).filter(|row| bits >> row & 1 == 1).collect::<Vec<_>>();
        (0..1u32 << self.texts.len()).map(of).filter(|rows| self.shares(rows) == shares).collect()
    }
}

fn cases(most: usize) -> impl Strategy<Value = Case> {
    let row = ("[ab]{0,12}|[あいう]{0,9}|[a𠮷\n]{0,9}", 1u64..2000, prop_oneof![Just(3u32), Just(7), Just(900)]);
    let rows = prop::collection::vec(row, 1..most);
    (rows, 1usize..16, 1usize..3, 0usize..10, any::<(bool, bool)>()).prop_map(
        |(rows, count, min_n, more, (weighted, split))| {
            let weights = weighted.then(|| rows.iter().map(|row| row.1).collect());
            let strata = split.then(|| rows.iter().map(|row| row.2).collect());
            let texts = rows.into_iter().map(|row| row.0).collect();
            Case { texts, weights, strata, count, lengths: min_n..=min_n + more }
        },
    )
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.max(1e-6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn errors_are_those_of_dictionaries(case in cases(14), texts in 1usize..5) {
        let selector = case.grown(usize::MAX);
        let rows = selector.rows();
        prop_assert_eq!(rows.len(), case.count.min(case.texts.len()));
        prop_assert!(rows.is_sorted_by(|a, b| a < b));
        prop_assert!(close(selector.error(), case.naive(&rows)));
        prop_assert_eq!(case.grown(texts).rows(), rows);
    }

    #[test]
    fn the_mean_error_is_that_of_all_choices(case in cases(9)) {
        let selector = case.grown(usize::MAX);
        let all = case.choices(&case.shares(&selector.rows()));
        let mean = all.iter().map(|rows| case.naive(rows)).sum::<f64>() / all.len() as f64;
        prop_assert!(close(selector.random_error(), mean), "{} {mean}", selector.random_error());
    }

    #[test]
    fn each_text_is_the_best_one_at_its_turn(case in cases(9)) {
        let Case { count, .. } = case;
        let mut before = Vec::new();
        for size in 1..=count.min(case.texts.len()) {
            // A choice that grows to `size` texts; without strata, it does not depend on how many are asked for.
            let case = Case { count: size, strata: None, ..case.clone() };
            let rows = case.grown(usize::MAX).rows();
            let alternatives = (0..case.texts.len() as u32).filter(|row| !before.contains(row));
            let least = alternatives.map(|row| case.naive(&[&before[..], &[row]].concat())).fold(f64::MAX, f64::min);
            prop_assert!(close(case.naive(&rows), least));
            before = rows;
        }
    }

    #[test]
    fn the_order_of_texts_does_not_matter(case in cases(14), turn in 0usize..14) {
        fn turned<T: Clone>(rows: &[T], by: usize) -> Vec<T> {
            let (a, b) = rows.split_at(by % rows.len());
            b.iter().chain(a).rev().cloned().collect()
        }
        let texts = |case: &Case| {
            let mut texts: Vec<String> =
                case.grown(3).rows().iter().map(|&row| case.texts[row as usize].clone()).collect();
            texts.sort_unstable();
            texts
        };
        // Equal texts of several strata are different ones.
        let mut distinct = case.texts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assume!(distinct.len() == case.texts.len());
        let other = Case {
            texts: turned(&case.texts, turn),
            weights: case.weights.as_ref().map(|weights| turned(weights, turn)),
            strata: case.strata.as_ref().map(|strata| turned(strata, turn)),
            ..case.clone()
        };
        prop_assert_eq!(texts(&other), texts(&case));
    }
}

#[test]
fn shares_are_by_weight() {
    let case = |weights| Case {
        texts: vec!["あ".to_owned(); 8],
        weights,
        strata: Some(vec![1, 1, 0, 0, 0, 0, 0, 0]),
        count: 4,
        lengths: 1..=3,
    };
    let of_the_first_two = |weights| case(weights).grown(4).rows().iter().filter(|&&row| row < 2).count();
    assert_eq!(of_the_first_two(None), 1);
    assert_eq!(of_the_first_two(Some(vec![3, 3, 1, 1, 1, 1, 1, 1])), 2);
    assert_eq!(of_the_first_two(Some(vec![90, 90, 1, 1, 1, 1, 1, 1])), 2);
}

#[test]
fn what_cannot_be_chosen_from_is_refused() {
    let refused = |texts: &[&str], weights: Option<&[u64]>, strata: Option<&[u32]>, count, lengths| {
        Selector::new(&Candidates { texts, weights, strata }, count, &lengths).expect_err("it is refused")
    };
    let two = ["あ", "い"];
    assert_eq!(refused(&[], None, None, 1, 1..=10), Error::EmptyPool);
    assert_eq!(refused(&two, Some(&[1, 0]), None, 1, 1..=10), Error::ZeroWeight { row: 1 });
    assert_eq!(refused(&two, Some(&[1 << 30, 1 << 30]), None, 1, 1..=10), Error::PoolTooLarge);
    assert_eq!(refused(&two, Some(&[u64::MAX, u64::MAX]), None, 1, 1..=10), Error::PoolTooLarge);
    let unequal = |what, length| Error::UnequalLengths { what, length, texts: 2 };
    assert_eq!(refused(&two, Some(&[1]), None, 1, 1..=10), unequal("weights", 1));
    assert_eq!(refused(&two, None, Some(&[1, 2, 3]), 1, 1..=10), unequal("strata", 3));
    for (count, min_n, max_n, setting) in
        [(0, 1, 10, "count"), (1, 0, 10, "min_n"), (1, 11, 10, "max_n"), (1, 1, 1 << 15, "max_n")]
    {
        assert!(refused(&two, None, None, count, min_n..=max_n).to_string().contains(setting));
    }
}

#[test]
fn texts_without_ngrams_are_chosen_from_all_the_same() {
    let case = Case { texts: vec![String::new(); 5], weights: None, strata: None, count: 2, lengths: 1..=10 };
    let selector = case.grown(2);
    assert_eq!((selector.error(), selector.random_error(), selector.rows()), (0.0, 0.0, vec![0, 1]));
}

#[test]
fn more_than_there_are_means_all() {
    let case = Case {
        texts: ["猫", "犬", "猫犬"].map(String::from).to_vec(),
        weights: None,
        strata: Some(vec![2, 1, 2]),
        count: 9,
        lengths: 1..=2,
    };
    let selector = case.grown(9);
    assert_eq!((selector.rows(), selector.error()), (vec![0, 1, 2], 0.0));
}
