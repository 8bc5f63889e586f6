//! The index against the search of every answer.

use super::case::{self, Texts};
use arbitrary::{Result, Unstructured};
use pfgen_core::index::naive::{self, Sources};
use pfgen_core::index::{Ngram, Occurrence};
use pfgen_core::{Error, Markers, NgramIndex};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the case that the bytes stand for; whether there was one.
pub(crate) fn check(bytes: &[u8]) -> bool {
    decoded(&mut Unstructured::new(bytes)).is_ok()
}

fn decoded(input: &mut Unstructured<'_>) -> Result<()> {
    let mut texts = Texts::new(input)?;
    let answers = case::answers(input, &mut texts, 3)?;
    let markers = *input.choose(&[Markers::None, Markers::BeginEnd])?;
    let index = NgramIndex::build(&case::borrowed(&answers), markers).expect("there is a source");
    texts.with_unknown();
    let sources: Sources = answers.into_iter().map(|answers| (String::new(), answers)).collect();
    for pattern in texts.texts(input, 8)? {
        let length = input.int_in_range(1..=12)?;
        let pattern: String = pattern.chars().take(length).collect();
        check_pattern(&index, &sources, &pattern);
    }
    check_texts(&index, &sources);
    if markers == Markers::None {
        let (n, min_df) = (input.int_in_range(1..=6)?, input.int_in_range(0..=3)?);
        assert_eq!(index.ngrams(n, min_df, None), ngrams(&sources, n, min_df));
    }
    Ok(())
}

fn check_pattern(index: &NgramIndex, sources: &Sources, pattern: &str) {
    if pattern.is_empty() {
        assert_eq!(index.count(pattern), Err(Error::EmptyPattern));
        return;
    }
    assert_eq!(index.count(pattern), Ok(naive::count(sources, pattern)), "{pattern:?}");
    let frequency = index.document_frequency(pattern).expect("it is not empty");
    assert_eq!(frequency.by_source, naive::document_frequency(sources, pattern), "{pattern:?}");
    assert_eq!(frequency.total, frequency.by_source.iter().sum::<u32>());
    let places = places(sources, pattern);
    assert_eq!(index.locate(pattern).as_ref(), Ok(&places), "{pattern:?}");
    for line in index.concordance(pattern, 3).expect("it is not empty") {
        let around = format!("{}{pattern}{}", line.left, line.right);
        assert!(sources[line.at.source].1[line.at.answer].contains(&around), "{pattern:?}");
    }
    assert_eq!(index.next_characters(pattern), Ok(followers(sources, &places, pattern)), "{pattern:?}");
}

fn check_texts(index: &NgramIndex, sources: &Sources) {
    let answers = || sources.iter().flat_map(|(_, answers)| answers);
    assert_eq!(index.character_count(), answers().map(|answer| answer.chars().count()).sum::<usize>());
    for (number, answer) in answers().enumerate() {
        assert_eq!(&index.answer(number), answer);
    }
}

fn places(sources: &Sources, pattern: &str) -> Vec<Occurrence> {
    let answers = sources.iter().enumerate().flat_map(|(source, (_, answers))| {
        answers.iter().enumerate().map(move |(answer, text)| (source, answer, naive::offsets(text, pattern)))
    });
    let of_answer = |(source, answer, offsets): (usize, usize, Vec<usize>)| {
        offsets.into_iter().map(move |offset| Occurrence { source, answer, offset })
    };
    answers.flat_map(of_answer).collect()
}

fn followers(sources: &Sources, places: &[Occurrence], pattern: &str) -> Vec<(Option<char>, usize)> {
    let length = pattern.chars().count();
    let mut counts = BTreeMap::<Option<char>, usize>::new();
    for at in places {
        *counts.entry(sources[at.source].1[at.answer].chars().nth(at.offset + length)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    counts
}

fn ngrams(sources: &Sources, n: usize, min_df: u32) -> Vec<Ngram> {
    let mut distinct = BTreeSet::new();
    for answer in sources.iter().flat_map(|(_, answers)| answers) {
        let characters: Vec<char> = answer.chars().collect();
        distinct.extend(characters.windows(n).map(String::from_iter));
    }
    let ngram = |text: String| {
        let by_source = naive::document_frequency(sources, &text);
        let frequency = pfgen_core::index::DocumentFrequency { total: by_source.iter().sum(), by_source };
        Ngram { count: naive::count(sources, &text) as u32, frequency, text }
    };
    let mut found: Vec<_> = distinct.into_iter().map(ngram).filter(|ngram| ngram.frequency.total >= min_df).collect();
    found.sort_by_key(|ngram| std::cmp::Reverse((ngram.frequency.total, ngram.count)));
    found
}
