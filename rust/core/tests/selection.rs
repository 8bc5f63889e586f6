//! Selection against errors counted with dictionaries, on random text over small alphabets.

use pfgen_core::Error;
use pfgen_core::references::{Candidates, Ratio, Search, Selector, naive};
use proptest::prelude::*;

/// A pool, whose texts have a weight and a stratum each, and a search.
#[derive(Debug, Clone)]
struct Case {
    texts: Vec<String>,
    weights: Option<Vec<u64>>,
    strata: Option<Vec<u32>>,
    search: Search,
}

impl Case {
    fn with<R>(&self, ask: impl FnOnce(&Candidates<'_>) -> R) -> R {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        ask(&Candidates { texts: &texts, weights: self.weights.as_deref(), strata: self.strata.as_deref() })
    }

    fn selector(&self) -> Selector {
        self.with(|candidates| Selector::new(candidates, &self.search)).expect("the case is sound")
    }

    fn naive(&self, rows: &[u32]) -> Ratio {
        self.with(|candidates| naive::error(candidates, rows, self.search.min_n, self.search.max_n))
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let row = ("[ab]{0,12}|[あいう]{0,9}|[a𠮷\n]{0,9}", 1u64..2000, prop_oneof![Just(3u32), Just(7), Just(900)]);
    let rows = prop::collection::vec(row, 1..14);
    let search = (1usize..16, 1usize..3, 0usize..10, any::<u64>(), 1usize..4);
    (rows, search, any::<(bool, bool)>()).prop_map(|(rows, (count, min_n, more, seed, restarts), (weighted, split))| {
        let weights = weighted.then(|| rows.iter().map(|row| row.1).collect());
        let strata = split.then(|| rows.iter().map(|row| row.2).collect());
        let texts = rows.into_iter().map(|row| row.0).collect();
        Case { texts, weights, strata, search: Search { count, min_n, max_n: min_n + more, seed, restarts } }
    })
}

/// As a fraction is compared.
fn at_most(a: Ratio, b: Ratio) -> bool {
    assert_eq!(a.denominator, b.denominator);
    a.numerator <= b.numerator
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn errors_are_exact_and_never_rise(case in cases()) {
        let mut selector = case.selector();
        selector.run(u64::MAX);
        prop_assert_eq!((selector.error(), selector.greedy_error(), selector.rows()), (None, None, vec![]));
        prop_assert!(selector.grow(usize::MAX));
        let greedy = selector.error().unwrap();
        prop_assert_eq!(selector.greedy_error(), Some(greedy));
        let mut last = greedy;
        for limit in [0, 1, 7, 40, 41, 300, 2000] {
            selector.run(limit);
            let rows = selector.rows();
            prop_assert_eq!(rows.len(), case.search.count.min(case.texts.len()));
            prop_assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
            let error = selector.error().unwrap();
            prop_assert_eq!(error, case.naive(&rows));
            prop_assert!(at_most(error, last));
            prop_assert!(selector.proposals() <= limit);
            last = error;
        }
        prop_assert_eq!(selector.greedy_error(), Some(greedy));
        for draw in 0..3 {
            prop_assert_eq!(selector.random_error(draw), case.selector().random_error(draw));
        }
    }

    #[test]
    fn rounds_and_threads_do_not_matter(case in cases(), limit in 0u64..3000, round in 1u64..500, texts in 1usize..5) {
        let mut expected = case.selector();
        expected.grow(usize::MAX);
        expected.run(limit);
        for threads in [1, 2, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut selector = case.selector();
            while !selector.grow(texts) {}
            for until in (round..limit).step_by(round as usize).chain([limit]) {
                pool.install(|| selector.run_parallel(until));
            }
            prop_assert_eq!(selector.rows(), expected.rows());
            prop_assert_eq!(selector.proposals(), expected.proposals());
        }
        let mut again = case.selector();
        again.grow(usize::MAX);
        again.run(expected.proposals());
        prop_assert_eq!(again.rows(), expected.rows());
    }

    #[test]
    fn the_best_restart_wins(case in cases()) {
        let single = |restarts| {
            let mut selector = Case { search: Search { restarts, ..case.search }, ..case.clone() }.selector();
            selector.grow(usize::MAX);
            selector.run(500);
            selector.error().unwrap()
        };
        prop_assert!(at_most(single(3), single(1)));
    }

    #[test]
    fn strata_keep_their_shares(case in cases()) {
        let Some(strata) = &case.strata else { return Ok(()) };
        let mut selector = case.selector();
        selector.grow(usize::MAX);
        let chosen = |rows: Vec<u32>| {
            let mut chosen: Vec<u32> = rows.into_iter().map(|row| strata[row as usize]).collect();
            chosen.sort_unstable();
            chosen
        };
        let before = chosen(selector.rows());
        selector.run(1000);
        prop_assert_eq!(chosen(selector.rows()), before);
    }
}

#[test]
fn shares_are_by_weight() {
    let texts = vec!["あ".to_owned(); 8];
    let case = |weights| Case {
        texts: texts.clone(),
        weights,
        strata: Some(vec![1, 1, 0, 0, 0, 0, 0, 0]),
        search: Search { count: 4, min_n: 1, max_n: 3, seed: 0, restarts: 1 },
    };
    let of_the_first_two = |weights| {
        let mut selector = case(weights).selector();
        selector.grow(4);
        selector.rows().iter().filter(|&&row| row < 2).count()
    };
    assert_eq!(of_the_first_two(None), 1);
    assert_eq!(of_the_first_two(Some(vec![3, 3, 1, 1, 1, 1, 1, 1])), 2);
    assert_eq!(of_the_first_two(Some(vec![90, 90, 1, 1, 1, 1, 1, 1])), 2);
}

#[test]
fn what_cannot_be_chosen_from_is_refused() {
    let search = Search { count: 1, min_n: 1, max_n: 10, seed: 0, restarts: 1 };
    let refused = |texts: &[&str], weights: Option<&[u64]>, strata: Option<&[u32]>, search: Search| {
        Selector::new(&Candidates { texts, weights, strata }, &search).expect_err("it is refused")
    };
    let two = ["あ", "い"];
    assert_eq!(refused(&[], None, None, search), Error::EmptyPool);
    assert_eq!(refused(&two, Some(&[1, 0]), None, search), Error::ZeroWeight { row: 1 });
    assert_eq!(refused(&two, Some(&[1 << 30, 1 << 30]), None, search), Error::PoolTooLarge);
    assert_eq!(refused(&two, Some(&[u64::MAX, u64::MAX]), None, search), Error::PoolTooLarge);
    let unequal = |what, length| Error::UnequalLengths { what, length, texts: 2 };
    assert_eq!(refused(&two, Some(&[1]), None, search), unequal("weights", 1));
    assert_eq!(refused(&two, None, Some(&[1, 2, 3]), search), unequal("strata", 3));
    for (search, setting) in [
        (Search { count: 0, ..search }, "count"),
        (Search { restarts: 0, ..search }, "restarts"),
        (Search { restarts: 1001, ..search }, "restarts"),
        (Search { min_n: 0, ..search }, "min_n"),
        (Search { min_n: 11, ..search }, "max_n"),
        (Search { max_n: 1 << 15, ..search }, "max_n"),
    ] {
        assert!(refused(&two, None, None, search).to_string().contains(setting));
    }
    let long: String = (0x4e00..0x4e00 + 7000).filter_map(char::from_u32).collect();
    assert!(matches!(refused(&["あ", &long], None, None, search), Error::TextTooRich { row: 1, ngrams: 65_536.. }));
}

#[test]
fn texts_without_ngrams_are_chosen_from_all_the_same() {
    let case = Case {
        texts: vec![String::new(); 5],
        weights: None,
        strata: None,
        search: Search { count: 2, min_n: 1, max_n: 10, seed: 0, restarts: 2 },
    };
    let mut selector = case.selector();
    assert!(selector.grow(2));
    selector.run(100);
    assert_eq!(selector.error(), Some(Ratio { numerator: 0, denominator: 0 }));
    assert_eq!(selector.rows().len(), 2);
}

#[test]
fn more_than_there_are_means_all() {
    let case = Case {
        texts: ["猫", "犬", "猫犬"].map(String::from).to_vec(),
        weights: None,
        strata: Some(vec![2, 1, 2]),
        search: Search { count: 9, min_n: 1, max_n: 2, seed: 0, restarts: 1 },
    };
    let mut selector = case.selector();
    assert!(selector.grow(9));
    selector.run(u64::MAX);
    assert_eq!(selector.rows(), [0, 1, 2]);
    assert_eq!((selector.proposals(), selector.neighbours()), (0, 0));
    assert_eq!(selector.error().unwrap().numerator, 0);
}
