//! The answers: a first reading says how many there are and of which characters, and then every thread needs to know how
//! often each counts and which are dropped.

use crate::error::{Error, Result};
use crate::text::Alphabet;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Rows that can be told from the two largest numbers, which have a meaning of their own in tables.
pub(super) const MOST_ROWS: usize = u32::MAX as usize - 1;
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

    /// Reads the next texts, on the threads of the current rayon pool.
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

    fn alphabet(&self) -> Alphabet {
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

/// All answers of a pool.
pub(super) struct Pool {
    pub(super) alphabet: Alphabet,
    pub(super) threshold: u32,
    weights: Option<Vec<u32>>,
    kept: Vec<bool>,
    /// One more than there are rows, for what is no row.
    marked: Vec<AtomicBool>,
}

impl Pool {
    pub(super) fn new(scan: &Scan, weights: Option<Vec<u32>>, threshold: u32) -> Result<Self> {
        let rows = scan.rows();
        if rows > MOST_ROWS {
            return Err(Error::TooManyAnswers { answers: rows, most: MOST_ROWS });
        }
        if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != rows) {
            let reason =
                format!("there are {rows} answers but {} weights: expected one weight per answer", weights.len());
            return Err(Error::InvalidSettings { reason });
        }
        let kept = match &weights {
            None => vec![true; rows],
            Some(weights) => weights.iter().map(|&weight| weight > 0).collect(),
        };
        let marked = std::iter::repeat_with(AtomicBool::default).take(rows + 1).collect();
        Ok(Self { alphabet: scan.alphabet(), threshold, weights, kept, marked })
    }

    pub(super) fn rows(&self) -> usize {
        self.kept.len()
    }

    /// Whether a row counts in this round.
    #[inline]
    pub(super) fn has(&self, row: usize) -> bool {
        self.kept[row]
    }

    /// How many answers a row stands for.
    #[inline(always)]
    pub(super) fn weight(&self, row: u32) -> u32 {
        self.weights.as_ref().map_or(1, |weights| weights[row as usize])
    }

    /// Notes that a row has a seldom n-gram; nothing where the number is too large for a row. Marks are a set: neither
    /// order nor number matters.
    #[inline(always)]
    pub(super) fn mark(&self, row: u32) {
        self.marked[(row as usize).min(self.rows())].store(true, Relaxed);
    }

    /// Drops the marked rows and returns their number.
    pub(super) fn drop_marked(&mut self) -> usize {
        let mut dropped = 0;
        for (kept, marked) in self.kept.iter_mut().zip(&mut self.marked) {
            if std::mem::take(marked.get_mut()) {
                *kept = false;
                dropped += 1;
            }
        }
        dropped
    }

    pub(super) fn kept(&self) -> Vec<bool> {
        self.kept.clone()
    }
}
