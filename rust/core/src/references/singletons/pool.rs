//! The answers as far as every thread needs them: what they are made of, how often each counts, which are dropped.

use super::scan::Scan;
use super::table::MOST_ROWS;
use crate::error::{Error, Result};
use crate::text::Alphabet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
            let reason = format!("there are {rows} answers but {} weights: give one for each", weights.len());
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

    /// Drops the marked rows and gives their number.
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
