//! The error of a choice in the obvious way: the oracle of the tests.

use super::search::{Candidates, Ratio};
use std::collections::{BTreeMap, BTreeSet};

type Ngrams = BTreeSet<Vec<char>>;

/// The error of choosing `rows`, over n-grams of `min_n` to `max_n` characters, from dictionaries.
pub fn error(candidates: &Candidates<'_>, rows: &[u32], min_n: usize, max_n: usize) -> Ratio {
    let sets: Vec<Ngrams> = candidates.texts.iter().map(|text| ngrams(text, min_n, max_n)).collect();
    let weight = |row: usize| candidates.weights.map_or(1, |weights| i128::from(weights[row]));
    let mut frequencies: BTreeMap<&Vec<char>, (i128, i128)> = BTreeMap::new();
    for (row, set) in sets.iter().enumerate() {
        for ngram in set {
            let frequency = frequencies.entry(ngram).or_default();
            frequency.0 += i128::from(rows.contains(&(row as u32)));
            frequency.1 += weight(row);
        }
    }
    let (chosen, pool) = (rows.len() as i128, (0..sets.len()).map(weight).sum::<i128>());
    let square = |&(count, mass): &(i128, i128)| (pool * count - chosen * mass).pow(2) as u128;
    Ratio {
        numerator: frequencies.values().map(square).sum(),
        denominator: frequencies.len() as u128 * ((chosen * pool) as u128).pow(2),
    }
}

/// How many n-grams of the texts stand in each set of two texts or more, and in each text only.
pub fn classes(texts: &[&str], min_n: usize, max_n: usize) -> (BTreeMap<BTreeSet<usize>, u32>, Vec<u32>) {
    let mut texts_of: BTreeMap<Vec<char>, BTreeSet<usize>> = BTreeMap::new();
    for (number, text) in texts.iter().enumerate() {
        for ngram in ngrams(text, min_n, max_n) {
            texts_of.entry(ngram).or_default().insert(number);
        }
    }
    let (mut classes, mut alone) = (BTreeMap::new(), vec![0; texts.len()]);
    for set in texts_of.into_values() {
        match set.first() {
            Some(&text) if set.len() == 1 => alone[text] += 1,
            _ => *classes.entry(set).or_default() += 1,
        }
    }
    (classes, alone)
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
