//! The error of a choice in the obvious way: the oracle of the tests.

use super::Candidates;
use std::collections::{BTreeMap, BTreeSet};

type Ngrams = BTreeSet<Vec<char>>;

/// The error of choosing `rows`, over n-grams of `min_n` to `max_n` characters, from dictionaries.
pub fn error(candidates: &Candidates<'_>, rows: &[u32], min_n: usize, max_n: usize) -> f64 {
    let sets: Vec<Ngrams> = candidates.texts.iter().map(|text| ngrams(text, min_n, max_n)).collect();
    let weight = |row: usize| candidates.weights.map_or(1.0, |weights| weights[row] as f64);
    let mut shares: BTreeMap<&Vec<char>, (f64, f64)> = BTreeMap::new();
    let pool: f64 = (0..sets.len()).map(weight).sum();
    for (row, set) in sets.iter().enumerate() {
        for ngram in set {
            let share = shares.entry(ngram).or_default();
            share.0 += if rows.contains(&(row as u32)) { 1.0 / rows.len() as f64 } else { 0.0 };
            share.1 += weight(row) / pool;
        }
    }
    let squares: f64 = shares.values().map(|(chosen, pool)| (chosen - pool).powi(2)).sum();
    squares / shares.len().max(1) as f64
}

/// How many n-grams there are of each set of texts.
pub fn classes(texts: &[&str], min_n: usize, max_n: usize) -> BTreeMap<BTreeSet<usize>, u32> {
    let mut texts_of: BTreeMap<Vec<char>, BTreeSet<usize>> = BTreeMap::new();
    for (number, text) in texts.iter().enumerate() {
        for ngram in ngrams(text, min_n, max_n) {
            texts_of.entry(ngram).or_default().insert(number);
        }
    }
    let mut classes = BTreeMap::new();
    for set in texts_of.into_values() {
        *classes.entry(set).or_default() += 1;
    }
    classes
}

fn ngrams(text: &str, min_n: usize, max_n: usize) -> Ngrams {
    let characters: Vec<char> = text.chars().collect();
    (min_n..=max_n).flat_map(|n| characters.windows(n).map(<[char]>::to_vec)).collect()
}

/// How often each n-gram of `n` characters occurs in the texts, each of which counts as often as its weight says.
pub fn occurrences(texts: &[String], weights: &[u32], n: usize) -> BTreeMap<Vec<char>, u64> {
    let mut counts = BTreeMap::new();
    for (text, &weight) in texts.iter().zip(weights) {
        for ngram in text.chars().collect::<Vec<_>>().windows(n) {
            *counts.entry(ngram.to_vec()).or_default() += u64::from(weight);
        }
    }
    counts
}
