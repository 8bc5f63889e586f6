//! A first reading of the answers: how many there are, and of which characters.

use crate::text::Alphabet;
use rayon::prelude::*;

/// Texts that a thread reads at a time.
const CHUNK: usize = 1 << 12;
const WORDS: usize = char::MAX as usize / 64 + 1;

/// What is known of the answers before n-grams are counted.
#[derive(Debug, Clone)]
pub struct Scan {
    n: usize,
    rows: usize,
    ngrams: u64,
    characters: Characters,
}

impl Scan {
    /// Nothing scanned yet; n-grams will be of `n` characters (at least one).
    pub fn new(n: usize) -> Self {
        Self { n: n.max(1), rows: 0, ngrams: 0, characters: Characters::default() }
    }

    /// Reads the next texts, with the threads of the rayon pool that it is called in.
    pub fn add(&mut self, texts: &[&str]) {
        let parts = texts.par_chunks(CHUNK).map(|texts| self.part(texts));
        let found = parts.reduce(Default::default, |one, other| (one.0 + other.0, one.1.with(&other.1)));
        self.rows += texts.len();
        self.ngrams += found.0;
        self.characters = std::mem::take(&mut self.characters).with(&found.1);
    }

    fn part(&self, texts: &[&str]) -> (u64, Characters) {
        let (mut ngrams, mut characters) = (0, Characters::empty());
        for text in texts {
            let mut length = 0;
            for character in text.chars() {
                characters.insert(character);
                length += 1;
            }
            ngrams += (length + 1_usize).saturating_sub(self.n) as u64;
        }
        (ngrams, characters)
    }

    /// Length of the n-grams.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Texts read.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Occurrences of n-grams in them.
    pub fn ngrams(&self) -> u64 {
        self.ngrams
    }

    pub(super) fn alphabet(&self) -> Alphabet {
        Alphabet::from_characters(self.characters.list())
    }
}

/// A set of characters, a bit each.
#[derive(Debug, Clone, Default)]
struct Characters(Vec<u64>);

impl Characters {
    fn empty() -> Self {
        Self(vec![0; WORDS])
    }

    fn insert(&mut self, character: char) {
        self.0[character as usize / 64] |= 1 << (character as usize % 64);
    }

    fn with(mut self, other: &Self) -> Self {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
        self
    }

    fn list(&self) -> Vec<char> {
        let known = |&code: &u32| self.0[code as usize / 64] >> (code % 64) & 1 == 1;
        (0..self.0.len() as u32 * 64).filter(known).filter_map(char::from_u32).collect()
    }
}
