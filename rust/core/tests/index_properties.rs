//! The index against the obvious search of every answer, on random text over small alphabets.

use pfgen_core::index::naive::{self, Sources};
use pfgen_core::index::{ConcordanceLine, Ngram, Occurrence};
use pfgen_core::{Error, Markers, NgramIndex, SourceText};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn build(sources: &Sources, markers: Markers) -> NgramIndex {
    let borrowed: Vec<_> = sources
        .iter()
        .map(|(name, answers)| SourceText { name, answers: answers.iter().map(String::as_str).collect() })
        .collect();
    NgramIndex::build(&borrowed, markers).expect("there is a source")
}

/// One to three sources with up to five short answers each.
fn sources() -> impl Strategy<Value = Sources> {
    let answers = || prop::collection::vec("[ab]{0,12}|[あ𠮷^$]{0,9}|[a\u{0}\n\u{2028}]{0,9}", 0..6);
    prop::collection::vec(answers(), 1..4)
        .prop_map(|lists| lists.into_iter().zip(["P", "S", "T"]).map(|(list, name)| (name.to_owned(), list)).collect())
}

/// Patterns over the same characters and one that no answer has.
fn pattern() -> impl Strategy<Value = String> {
    "[ab]{1,5}|[あ𠮷^$]{1,3}|[a\u{0}\n\u{2028}鯨]{1,3}"
}

fn either() -> impl Strategy<Value = Markers> {
    prop_oneof![Just(Markers::None), Just(Markers::BeginEnd)]
}

fn places(sources: &Sources, pattern: &str) -> Vec<Occurrence> {
    let mut places = Vec::new();
    for (source, (_, answers)) in sources.iter().enumerate() {
        for (answer, text) in answers.iter().enumerate() {
            let offsets = naive::offsets(text, pattern);
            places.extend(offsets.into_iter().map(|offset| Occurrence { source, answer, offset }));
        }
    }
    places
}

/// The text around a place, cut out character by character.
fn around(sources: &Sources, at: Occurrence, length: usize, width: usize) -> ConcordanceLine {
    let text: Vec<char> = sources[at.source].1[at.answer].chars().collect();
    let (before, end) = (&text[..at.offset], at.offset + length);
    ConcordanceLine {
        at,
        left: before[before.len().saturating_sub(width)..].iter().collect(),
        right: text[end..].iter().take(width).collect(),
    }
}

fn ngrams(sources: &Sources, n: usize, min_df: u32) -> Vec<(String, u32, Vec<u32>)> {
    let texts = sources.iter().flat_map(|(_, answers)| answers);
    let windows = |text: &String| {
        let characters: Vec<char> = text.chars().collect();
        characters.windows(n).map(|window| window.iter().collect::<String>()).collect::<Vec<_>>()
    };
    let distinct: BTreeSet<String> = texts.flat_map(windows).collect();
    let mut found: Vec<_> = distinct
        .into_iter()
        .map(|gram| (naive::count(sources, &gram) as u32, naive::document_frequency(sources, &gram), gram))
        .filter(|(_, frequency, _)| frequency.iter().sum::<u32>() >= min_df)
        .map(|(count, frequency, gram)| (gram, count, frequency))
        .collect();
    found.sort_by_key(|(_, count, frequency)| std::cmp::Reverse((frequency.iter().sum::<u32>(), *count)));
    found
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn counts_and_frequencies(sources in sources(), patterns in prop::collection::vec(pattern(), 1..6)) {
        let index = build(&sources, Markers::None);
        let batch = index.document_frequencies(patterns.iter().map(String::as_str)).unwrap();
        for (pattern, in_batch) in patterns.iter().zip(batch) {
            prop_assert_eq!(index.count(pattern).unwrap(), naive::count(&sources, pattern));
            let frequency = index.document_frequency(pattern).unwrap();
            prop_assert_eq!(&frequency.by_source, &naive::document_frequency(&sources, pattern));
            prop_assert_eq!(frequency.total, frequency.by_source.iter().sum::<u32>());
            prop_assert_eq!(frequency, in_batch);
        }
    }

    #[test]
    fn places_and_their_surroundings(sources in sources(), pattern in pattern(), width in 0usize..15) {
        let index = build(&sources, Markers::None);
        let expected = places(&sources, &pattern);
        prop_assert_eq!(index.locate(&pattern).unwrap(), expected.clone());
        let length = pattern.chars().count();
        let lines: Vec<_> = expected.into_iter().map(|at| around(&sources, at, length, width)).collect();
        prop_assert_eq!(index.concordance(&pattern, width).unwrap(), lines);
    }

    #[test]
    fn what_follows(sources in sources(), pattern in pattern()) {
        let length = pattern.chars().count();
        let mut expected: BTreeMap<Option<char>, usize> = BTreeMap::new();
        for at in places(&sources, &pattern) {
            *expected.entry(around(&sources, at, length, 1).right.chars().next()).or_default() += 1;
        }
        // In the order of the characters, an answer's end first; a stable sort keeps it among equals.
        let mut expected: Vec<_> = expected.into_iter().collect();
        expected.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        prop_assert_eq!(build(&sources, Markers::None).next_characters(&pattern).unwrap(), expected);
    }

    #[test]
    fn lists_of_ngrams(
        sources in sources(), n in 1usize..8, min_df in 0u32..4, top in prop::option::of(0usize..6),
    ) {
        let mut expected = ngrams(&sources, n, min_df);
        expected.truncate(top.unwrap_or(usize::MAX));
        let found = build(&sources, Markers::None).ngrams(n, min_df, top);
        let found: Vec<_> = found
            .into_iter()
            .map(|Ngram { text, count, frequency }| (text, count, frequency.by_source))
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn markers_change_no_text(sources in sources(), pattern in pattern(), markers in either()) {
        let index = build(&sources, markers);
        prop_assert_eq!(index.count(&pattern).unwrap(), naive::count(&sources, &pattern));
        prop_assert_eq!(index.locate(&pattern).unwrap(), places(&sources, &pattern));
        let plain = build(&sources, Markers::None);
        prop_assert_eq!(index.concordance(&pattern, 2).unwrap(), plain.concordance(&pattern, 2).unwrap());
        prop_assert_eq!(index.next_characters(&pattern).unwrap(), plain.next_characters(&pattern).unwrap());
        let all: Vec<_> = sources.iter().flat_map(|(_, answers)| answers).cloned().collect();
        let again: Vec<_> = (0..all.len()).map(|answer| index.answer(answer)).collect();
        prop_assert_eq!(index.character_count(), all.iter().map(|answer| answer.chars().count()).sum::<usize>());
        prop_assert_eq!(again, all);
    }
}

#[test]
fn the_empty_pattern_is_an_error() {
    let index = build(&vec![("P".to_owned(), vec!["あ".to_owned()])], Markers::None);
    assert_eq!(index.count(""), Err(Error::EmptyPattern));
    assert_eq!(index.document_frequency(""), Err(Error::EmptyPattern));
    assert_eq!(index.document_frequencies(["あ", ""].into_iter()), Err(Error::EmptyPattern));
    assert_eq!(index.locate(""), Err(Error::EmptyPattern));
    assert_eq!(index.concordance("", 1), Err(Error::EmptyPattern));
    assert_eq!(index.next_characters(""), Err(Error::EmptyPattern));
    assert_eq!(index.ngrams(0, 0, None), []);
}

#[test]
fn no_sources_are_an_error() {
    assert_eq!(NgramIndex::build(&[], Markers::None).unwrap_err(), Error::NoSources);
}

#[test]
fn indexes_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<NgramIndex>();
    shared::<pfgen_core::Scorer>();
    shared::<pfgen_core::Literals>();
}
