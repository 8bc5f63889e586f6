//! Public queries of the index: counts, frequencies, places, continuations, lists of n-grams.

use super::document_frequency::AnswerCounter;
use super::ngram_index::NgramIndex;
use crate::error::{Error, Result};
use crate::text::{SEPARATOR, Symbol};
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

/// In how many answers an n-gram occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFrequency {
    /// Of all sources together.
    pub total: u32,
    /// Of each source, in the index's order.
    pub by_source: Vec<u32>,
}

/// One place where an n-gram occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// Position of the source in the index's order.
    pub source: usize,
    /// Position of the answer within its source.
    pub answer: usize,
    /// Code points before the occurrence.
    pub offset: usize,
}

/// One place with the text around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcordanceLine {
    /// Where.
    pub at: Occurrence,
    /// Up to `width` characters before it.
    pub left: String,
    /// Up to `width` characters after it.
    pub right: String,
}

/// An n-gram and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ngram {
    /// Its text.
    pub text: String,
    /// Occurrences.
    pub count: u32,
    /// Answers that contain it.
    pub frequency: DocumentFrequency,
}

impl DocumentFrequency {
    pub(super) fn new(by_source: Vec<u32>) -> Self {
        Self { total: by_source.iter().sum(), by_source }
    }
}

impl NgramIndex {
    /// Occurrences of `pattern` in all answers, overlapping ones included. `O(m log N)`.
    ///
    /// # Errors
    /// [`Error::EmptyPattern`] for the empty pattern.
    pub fn count(&self, pattern: &str) -> Result<usize> {
        Ok(self.ranks_of(pattern)?.len())
    }

    /// Answers that contain `pattern`. `O(m log N + c log k + k)`.
    ///
    /// # Errors
    /// [`Error::EmptyPattern`] for the empty pattern.
    pub fn document_frequency(&self, pattern: &str) -> Result<DocumentFrequency> {
        let ranks = self.ranks_of(pattern)?;
        Ok(DocumentFrequency::new(self.frequency_of_ranks(ranks, &mut AnswerCounter::new(self))))
    }

    /// Document frequencies of many patterns: `O(m log N + c log k)` for each, since they share the counters.
    ///
    /// # Errors
    /// [`Error::EmptyPattern`] if one is empty.
    pub fn document_frequencies<'a>(&self, patterns: impl Iterator<Item = &'a str>) -> Result<Vec<DocumentFrequency>> {
        let mut counter = AnswerCounter::new(self);
        patterns
            .map(|pattern| {
                let ranks = self.ranks_of(pattern)?;
                Ok(DocumentFrequency::new(self.frequency_of_ranks(ranks, &mut counter)))
            })
            .collect()
    }

    /// All places of `pattern`, by source, answer and offset. `O(m log N + c (log c + log k))`.
    ///
    /// # Errors
    /// [`Error::EmptyPattern`] for the empty pattern.
    pub fn locate(&self, pattern: &str) -> Result<Vec<Occurrence>> {
        let ranks = self.ranks_of(pattern)?;
        let mut places: Vec<_> = self.suffixes[ranks].iter().map(|&position| self.occurrence(position)).collect();
        places.sort_unstable();
        Ok(places)
    }

    /// All places of `pattern` with up to `width` characters on both sides. `O(m log N + c (log c + log k + width))`.
    ///
    /// # Errors
    /// [`Error::EmptyPattern`] for the empty pattern.
    pub fn concordance(&self, pattern: &str, width: usize) -> Result<Vec<ConcordanceLine>> {
        let length = pattern.chars().count();
        Ok(self.locate(pattern)?.into_iter().map(|at| self.concordance_line(at, length, width)).collect())
    }

    /// What follows `pattern`, most frequent first (then in code-point order); `None` is an answer's end.
    ///
    /// # Errors
    /// [`Error::EmptyPattern`] for the empty pattern.
    pub fn next_characters(&self, pattern: &str) -> Result<Vec<(Option<char>, usize)>> {
        let depth = pattern.chars().count();
        let ranks = self.ranks_of(pattern)?;
        let mut found = Vec::new();
        let mut start = ranks.start;
        while start < ranks.end {
            let symbol = self.symbol_at(start, depth);
            let rest = &self.suffixes[start..ranks.end];
            let run = rest.partition_point(|&position| self.corpus.text[position as usize + depth] <= symbol);
            found.push((self.corpus.alphabet.character(symbol), run));
            start += run;
        }
        found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    /// The n-grams of `n` characters that at least `min_df` answers contain, by descending document frequency, then
    /// descending count, then code-point order; at most `top` of them. `O(N log k)` plus sorting. Empty for `n = 0`.
    pub fn ngrams(&self, n: usize, min_df: u32, top: Option<usize>) -> Vec<Ngram> {
        let mut counter = AnswerCounter::new(self);
        let mut found: Vec<_> = self
            .runs(n)
            .map(|ranks| {
                let position = self.suffixes[ranks.start];
                let frequency = DocumentFrequency::new(self.frequency_of_ranks(ranks.clone(), &mut counter));
                (position, ranks.len() as u32, frequency)
            })
            .filter(|(_, _, frequency)| frequency.total >= min_df)
            .collect();
        // Runs come in code-point order, which a stable sort keeps among equals.
        found.sort_by_key(|(_, count, frequency)| Reverse((frequency.total, *count)));
        found.truncate(top.unwrap_or(usize::MAX));
        found
            .into_iter()
            .map(|(position, count, frequency)| Ngram { text: self.text_at(position, n), count, frequency })
            .collect()
    }

    /// Ranks of the suffixes that begin with `pattern`.
    fn ranks_of(&self, pattern: &str) -> Result<Range<usize>> {
        if pattern.is_empty() {
            return Err(Error::EmptyPattern);
        }
        Ok(self.corpus.alphabet.pattern(pattern).map_or(0..0, |symbols| self.ranks_of_symbols(&symbols)))
    }

    fn ranks_of_symbols(&self, pattern: &[Symbol]) -> Range<usize> {
        let compare = |position: u32| {
            let suffix = &self.corpus.text[position as usize..];
            suffix[..pattern.len().min(suffix.len())].cmp(pattern)
        };
        let start = self.suffixes.partition_point(|&position| compare(position) == Ordering::Less);
        let length = self.suffixes[start..].partition_point(|&position| compare(position) == Ordering::Equal);
        start..start + length
    }

    /// Maximal ranges of ranks whose suffixes share their first `n` symbols, all within one answer.
    fn runs(&self, n: usize) -> impl Iterator<Item = Range<usize>> {
        let (length, mut rank) = (self.suffixes.len(), if n == 0 { self.suffixes.len() } else { 0 });
        std::iter::from_fn(move || {
            while rank < length && (self.corpus.remaining(self.suffixes[rank]) as usize) < n {
                rank += 1;
            }
            let start = rank;
            rank += usize::from(start < length);
            while rank < length && self.lcp[rank] as usize >= n {
                rank += 1;
            }
            (start < rank).then_some(start..rank)
        })
    }

    fn symbol_at(&self, rank: usize, depth: usize) -> Symbol {
        self.corpus.text.get(self.suffixes[rank] as usize + depth).copied().unwrap_or(SEPARATOR)
    }

    fn text_at(&self, position: u32, length: usize) -> String {
        let symbols = &self.corpus.text[position as usize..position as usize + length];
        symbols.iter().filter_map(|&symbol| self.corpus.alphabet.character(symbol)).collect()
    }

    fn occurrence(&self, position: u32) -> Occurrence {
        let answer = self.corpus.answer_at(position);
        let source = self.corpus.source_of(answer);
        let start = self.corpus.answer_starts[answer as usize] as usize + self.corpus.markers_at_each_end();
        Occurrence {
            source,
            answer: (answer - self.corpus.source_starts[source]) as usize,
            offset: position as usize - start,
        }
    }

    fn concordance_line(&self, at: Occurrence, length: usize, width: usize) -> ConcordanceLine {
        let symbols = self.corpus.characters_of(self.corpus.source_starts[at.source] as usize + at.answer);
        let text = |range: Range<usize>| {
            symbols[range].iter().filter_map(|&symbol| self.corpus.alphabet.character(symbol)).collect()
        };
        let end = at.offset + length;
        ConcordanceLine {
            at,
            left: text(at.offset.saturating_sub(width)..at.offset),
            right: text(end..end.saturating_add(width).min(symbols.len())),
        }
    }
}
