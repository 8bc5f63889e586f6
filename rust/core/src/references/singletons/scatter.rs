//! One thread's way from texts to staged occurrences.

use super::keys::Scheme;
use super::pool::Pool;
use super::recent::Recent;
use super::span::Span;
use super::staging::Staging;
use super::table::Occurrence;
use crate::error::{Error, Result};
use crate::text::{SEPARATOR, Symbol, UNKNOWN};

/// Texts of consecutive rows, and how far they are read.
pub(super) struct Part<'a> {
    texts: &'a [&'a str],
    row: usize,
    /// N-grams of the first text that are already staged.
    ngrams: usize,
}

impl<'a> Part<'a> {
    pub(super) fn new(texts: &'a [&'a str], first_row: usize) -> Self {
        Self { texts, row: first_row, ngrams: 0 }
    }
}

/// What a thread keeps between texts.
pub(super) struct Scatter<S: Scheme> {
    pub(super) staging: Staging<S::Key>,
    pub(super) recent: Recent<S::Key>,
    symbols: Vec<Symbol>,
}

impl<S: Scheme> Scatter<S> {
    pub(super) fn new(staging: Staging<S::Key>, recent: Recent<S::Key>) -> Self {
        Self { staging, recent, symbols: Vec::new() }
    }

    /// Stages n-grams until the part is read, or nothing more can be staged; says whether it is read.
    pub(super) fn read(&mut self, part: &mut Part<'_>, scheme: &S, span: &Span, pool: &Pool) -> Result<bool> {
        while let Some((text, others)) = part.texts.split_first() {
            if pool.has(part.row) {
                self.symbols.clear();
                self.symbols.push(SEPARATOR);
                self.symbols.extend(text.chars().map(|character| pool.alphabet.symbol(character)));
                if self.symbols.contains(&UNKNOWN) {
                    return Err(Error::ChangedAnswers { row: part.row });
                }
                if !self.stage(part, scheme, span, pool) {
                    return Ok(false);
                }
            }
            *part = Part { texts: others, row: part.row + 1, ngrams: 0 };
        }
        Ok(true)
    }

    /// Stages what is left of the n-grams of the symbols; says whether all found a place.
    fn stage(&mut self, part: &mut Part<'_>, scheme: &S, span: &Span, pool: &Pool) -> bool {
        let Self { staging, recent, symbols } = self;
        let (row, weight) = (part.row as u32, pool.weight(part.row as u32));
        for (staged, key) in scheme.keys(&symbols[part.ngrams..]).enumerate() {
            let bucket = span.bucket(key);
            if bucket >= span.buckets() {
                continue;
            }
            if staging.is_full() {
                part.ngrams += staged;
                return false;
            }
            if !recent.enough(key, weight, pool.threshold, span) {
                staging.push(bucket, Occurrence::new(key, row));
            }
        }
        true
    }
}
