//! The singleton filter against counting every n-gram in a dictionary.

use pfgen_core::Error;
use pfgen_core::references::{Scan, SingletonFilter, SingletonSettings};
use proptest::prelude::*;
use std::collections::HashMap;

fn ngrams(text: &str, n: usize) -> Vec<String> {
    text.chars().collect::<Vec<_>>().windows(n).map(|ngram| ngram.iter().collect()).collect()
}

/// Drops what has a seldom n-gram, once, and gives what each round dropped.
fn naive(texts: &[String], weights: Option<&[u32]>, n: usize, threshold: u32, repeat: bool) -> (Vec<bool>, Vec<usize>) {
    let weight = |row: usize| weights.map_or(1, |weights| weights[row]);
    let mut kept: Vec<bool> = (0..texts.len()).map(|row| weight(row) > 0).collect();
    let mut rounds = Vec::new();
    loop {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for (row, text) in texts.iter().enumerate().filter(|&(row, _)| kept[row]) {
            for ngram in ngrams(text, n) {
                *counts.entry(ngram).or_default() += weight(row);
            }
        }
        let seldom = |text: &String| ngrams(text, n).iter().any(|ngram| counts[ngram] <= threshold);
        let dropped: Vec<usize> = (0..texts.len()).filter(|&row| kept[row] && seldom(&texts[row])).collect();
        for &row in &dropped {
            kept[row] = false;
        }
        rounds.push(dropped.len());
        if !repeat || dropped.is_empty() {
            return (kept, rounds);
        }
    }
}

/// What the filter makes of it, and how many passes it took.
fn filter(
    texts: &[String],
    weights: Option<&[u32]>,
    n: usize,
    settings: SingletonSettings,
    repeat: bool,
    batch: usize,
) -> (Vec<bool>, Vec<usize>, usize) {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut scan = Scan::new(n);
    texts.chunks(batch).for_each(|texts| scan.add(texts));
    let mut filter = SingletonFilter::new(&scan, weights.map(Vec::from), settings).unwrap();
    let (mut rounds, mut passes) = (Vec::new(), 0);
    loop {
        loop {
            for (number, texts) in texts.chunks(batch).enumerate() {
                filter.add(texts, number * batch).unwrap();
            }
            passes += 1;
            if !filter.finish_pass() {
                break;
            }
        }
        rounds.push(filter.finish_round());
        if !repeat || rounds.last() == Some(&0) {
            return (filter.kept(), rounds, passes);
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,60}", "[あいう]{0,40}", "[a-e𠮷]{0,12}", "[\u{0}あ\n]{0,20}", "\\PC{0,8}"]
}

proptest! {
    #[test]
    fn as_counted_in_a_dictionary(
        texts in proptest::collection::vec(text(), 0..30), weights in proptest::collection::vec(0..4u32, 30),
        weighted: bool, repeat: bool, n in prop_oneof![1..=6usize, 7..=40usize], threshold in 0..=3u32,
        batch in 1..=40usize, threads in prop_oneof![Just(1usize), Just(2), Just(8)],
    ) {
        let weights = weighted.then(|| &weights[..texts.len()]);
        let settings = SingletonSettings { threshold, memory: 0, threads };
        let (kept, rounds, _) = filter(&texts, weights, n, settings, repeat, batch);
        prop_assert_eq!((kept, rounds), naive(&texts, weights, n, threshold, repeat));
    }
}

/// Many different texts, among which some n-grams are frequent.
fn many(count: u64) -> Vec<String> {
    let mut state = 1_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let character = |code: u64| char::from_u32(0x3042 + code as u32).unwrap();
    let mut text = || (0..20 + draw(40)).map(|_| character(draw(7) * draw(7))).collect();
    (0..count).map(|_| text()).collect()
}

#[test]
fn little_memory_takes_more_passes() {
    let texts = many(1_500);
    for (n, threshold) in [(4, 1), (5, 2), (20, 1), (30, 1)] {
        let expected = naive(&texts, None, n, threshold, true);
        for (memory, threads) in [(1 << 30, 1), (1 << 30, 3), (1 << 18, 2), (0, 1), (0, 8)] {
            let settings = SingletonSettings { threshold, memory, threads };
            let (kept, rounds, passes) = filter(&texts, None, n, settings, true, 400);
            assert_eq!((kept, rounds), expected, "n {n}, memory {memory}, {threads} threads");
            let one_each = passes == expected.1.len();
            assert_eq!(one_each, memory == 1 << 30, "n {n}, memory {memory}: {passes} passes");
        }
    }
}

#[test]
fn a_text_that_is_longer_than_what_is_staged_at_once() {
    let texts = vec![many(3_000).concat(), "あ".repeat(200_000), String::new()];
    let settings = SingletonSettings { threshold: 1, memory: 0, threads: 2 };
    let (kept, rounds, _) = filter(&texts, None, 6, settings, false, 2);
    assert_eq!((kept, rounds), naive(&texts, None, 6, 1, false));
}

#[test]
fn answers_must_stay_what_they_were() {
    let settings = SingletonSettings { threshold: 1, memory: 1 << 20, threads: 1 };
    let mut scan = Scan::new(2);
    scan.add(&["猫", "犬"]);
    let mut filter = SingletonFilter::new(&scan, None, settings).unwrap();
    assert_eq!(filter.add(&["猫", "鳥"], 0), Err(Error::ChangedAnswers { row: 1 }));
    assert_eq!(filter.add(&["猫", "犬"], 1), Err(Error::ChangedAnswers { row: 2 }));
    assert_eq!(filter.add(&["猫"], usize::MAX), Err(Error::ChangedAnswers { row: 2 }));
    assert!(matches!(SingletonFilter::new(&scan, Some(vec![1]), settings), Err(Error::InvalidSettings { .. })));
}
