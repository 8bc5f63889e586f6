//! The shared table of cases (`tests/cases.json`), as far as it speaks of the index and of what is refused.

use pfgen_core::{Error, Markers, NgramIndex, Result, Scorer, Settings, SourceText, Variant};
use serde_json::Value;

const TABLE: &str = include_str!("../../../tests/cases.json");

fn cases() -> Vec<Value> {
    let table: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    table.as_array().expect("the table is a list").clone()
}

fn with_sources<R>(case: &Value, work: impl Fn(&[SourceText<'_>]) -> Result<R>) -> Result<R> {
    let text = |answer: &'_ Value| answer.as_str().expect("an answer is text").to_owned();
    let sources: Vec<(&String, Vec<String>)> = case["sources"]
        .as_object()
        .expect("sources are an object")
        .iter()
        .map(|(name, answers)| (name, answers.as_array().expect("a list of answers").iter().map(text).collect()))
        .collect();
    let borrowed: Vec<_> = sources
        .iter()
        .map(|(name, answers)| SourceText { name, answers: answers.iter().map(String::as_str).collect() })
        .collect();
    work(&borrowed)
}

fn index(case: &Value) -> NgramIndex {
    with_sources(case, |sources| NgramIndex::build(sources, Markers::None)).expect("every case has a source")
}

fn scorer(case: &Value, variant: Variant) -> Result<Scorer> {
    with_sources(case, |sources| Scorer::new(sources, settings(case, variant)))
}

fn settings(case: &Value, variant: Variant) -> Settings {
    let chosen = &case["settings"];
    let default = Settings::default();
    let number = |name: &str, usual: usize| chosen[name].as_u64().map_or(usual, |value| value as usize);
    Settings {
        variant,
        min_n: number("min_n", default.min_n),
        max_n: number("max_n", default.max_n),
        truthfulness_n: number("truthfulness_n", default.truthfulness_n),
        threshold: chosen["threshold"].as_f64().unwrap_or(default.threshold),
        target_length: number("target_length", default.target_length),
        zero_length: number("zero_length", default.zero_length),
        max_length: number("max_length", default.max_length),
        skipped: chosen["skipped"].as_str().map_or(default.skipped, |skipped| skipped.chars().collect()),
        helpfulness: true,
    }
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::InvalidSettings { .. } => "settings",
        Error::NoAnswers { .. } => "no-answers",
        Error::ZeroBaseline { .. } => "zero-baseline",
        _ => "another error",
    }
}

#[test]
fn counts_and_document_frequencies() {
    let mut checked = 0;
    for case in cases() {
        let index = index(&case);
        for expected in case["expected"].as_array().expect("a list") {
            let pattern = expected["pattern"].as_str().expect("a pattern is text");
            let place = format!("{}: {pattern:?}", case["name"]);
            assert_eq!(index.count(pattern).unwrap() as u64, expected["count"].as_u64().unwrap(), "{place}");
            let frequency = index.document_frequency(pattern).unwrap();
            for (name, &got) in index.source_names().iter().zip(&frequency.by_source) {
                assert_eq!(u64::from(got), expected["df"][name].as_u64().unwrap(), "{place} in {name}");
            }
            assert_eq!(frequency.total, frequency.by_source.iter().sum::<u32>(), "{place}");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} patterns in the table");
}

#[test]
fn every_case_is_scored_or_refused_as_the_table_says() {
    for case in cases() {
        for (variant, name) in [(Variant::PfgenBench, "pfgen-bench"), (Variant::Paper, "paper")] {
            let refused = scorer(&case, variant).err();
            assert_eq!(refused.as_ref().map(kind), case["error"][name].as_str(), "{}, {name}", case["name"]);
        }
    }
}

#[test]
fn what_is_refused_is_named() {
    for case in cases() {
        if let Err(error) = scorer(&case, Variant::PfgenBench) {
            let name = match &error {
                Error::NoAnswers { source } | Error::ZeroBaseline { source } => source,
                Error::InvalidSettings { reason } => reason,
                other => panic!("{}: {other}", case["name"]),
            };
            assert!(error.to_string().contains(name.as_str()) && !name.is_empty(), "{}", case["name"]);
        }
    }
}
