//! N-gram statistics of the reference answers of one question.

mod document_frequency;
#[doc(hidden)]
pub mod naive;
mod queries;
mod suffix_array;
pub(crate) mod tables;

pub use queries::{ConcordanceLine, DocumentFrequency, Ngram, Occurrence};

use crate::error::{Error, Result};
use crate::text::{Alphabet, BEGIN, END, SEPARATOR, Symbol};

/// One source of reference answers.
#[derive(Debug, Clone)]
pub struct SourceText<'a> {
    /// Name of the source, e.g. `P`.
    pub name: &'a str,
    /// Its answers; their order is kept.
    pub answers: Vec<&'a str>,
}

/// Whether answers are indexed with markers at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markers {
    /// The answers' own characters only.
    None,
    /// A begin marker before and an end marker after every answer; both differ from every character.
    BeginEnd,
}

/// Suffix array with LCP over all reference answers of one question; answers any question about n-grams of any length.
///
/// With `N` characters in all answers, a pattern of `m` characters that occurs `c` times, and `k` answers:
///
/// | operation | time |
/// | --- | --- |
/// | [`build`](Self::build) | `O(N)` |
/// | [`count`](Self::count) | `O(m log N)` |
/// | [`document_frequency`](Self::document_frequency) | `O(m log N + c log k + k)` |
/// | [`locate`](Self::locate), [`concordance`](Self::concordance) | `O(m log N + c (log c + log k))` |
/// | [`next_characters`](Self::next_characters) | `O(m log N + d log N)` for `d` distinct continuations |
/// | [`ngrams`](Self::ngrams) | `O(N log k)` plus sorting the result |
///
/// Memory: 12 bytes a character (text, suffix array, LCP).
#[derive(Debug, Clone)]
pub struct NgramIndex {
    alphabet: Alphabet,
    names: Vec<String>,
    /// First answer of each source, and one past the last.
    source_starts: Vec<u32>,
    /// First symbol of each answer, and the text's length.
    answer_starts: Vec<u32>,
    text: Vec<Symbol>,
    suffixes: Vec<u32>,
    lcp: Vec<u32>,
    markers: Markers,
}

impl NgramIndex {
    /// Builds the index.
    ///
    /// # Errors
    /// [`Error::NoSources`] without sources, [`Error::TextTooLong`] beyond 2^31 − 1 symbols.
    pub fn build(sources: &[SourceText<'_>], markers: Markers) -> Result<Self> {
        if sources.is_empty() {
            return Err(Error::NoSources);
        }
        let answers = || sources.iter().flat_map(|source| source.answers.iter().copied());
        let alphabet = Alphabet::of(answers());
        let (mut text, answer_starts) = concatenate(&alphabet, answers(), markers);
        let suffixes = suffix_array::suffix_array(&mut text)?;
        let lcp = suffix_array::lcp_array(&text, &suffixes);
        let mut source_starts = vec![0];
        for source in sources {
            source_starts.push(source_starts[source_starts.len() - 1] + source.answers.len() as u32);
        }
        let names = sources.iter().map(|source| source.name.to_owned()).collect();
        Ok(Self { alphabet, names, source_starts, answer_starts, text, suffixes, lcp, markers })
    }

    /// The alphabet of the answers.
    pub fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// Names of the sources, in the order given.
    pub fn source_names(&self) -> &[String] {
        &self.names
    }

    /// Number of answers of source `source`.
    pub fn answer_count(&self, source: usize) -> usize {
        (self.source_starts[source + 1] - self.source_starts[source]) as usize
    }

    /// Number of characters of all answers together.
    pub fn character_count(&self) -> usize {
        let extra = match self.markers {
            Markers::None => 1,
            Markers::BeginEnd => 3,
        };
        self.text.len() - extra * (self.answer_starts.len() - 1)
    }

    /// Whether the answers carry markers.
    pub fn markers(&self) -> Markers {
        self.markers
    }

    /// Answer `answer` (counted over all sources) as text, without markers.
    pub fn answer(&self, answer: usize) -> String {
        self.symbols_of(answer).iter().filter_map(|&symbol| self.alphabet.character(symbol)).collect()
    }

    /// The same answers indexed with other markers.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn with_markers(&self, markers: Markers) -> Result<Self> {
        let answers: Vec<String> = (0..self.answer_starts.len() - 1).map(|answer| self.answer(answer)).collect();
        let sources: Vec<_> = self
            .names
            .iter()
            .zip(self.source_starts.windows(2))
            .map(|(name, bounds)| SourceText {
                name,
                answers: answers[bounds[0] as usize..bounds[1] as usize].iter().map(String::as_str).collect(),
            })
            .collect();
        Self::build(&sources, markers)
    }

    fn symbols_of(&self, answer: usize) -> &[Symbol] {
        let (start, end) = (self.answer_starts[answer], self.answer_starts[answer + 1]);
        &self.text[start as usize..end as usize - 1]
    }

    fn source_of(&self, answer: u32) -> usize {
        self.source_starts.partition_point(|&start| start <= answer) - 1
    }

    fn answer_at(&self, position: u32) -> u32 {
        self.answer_starts.partition_point(|&start| start <= position) as u32 - 1
    }

    /// Symbols from `position` to the end of its answer.
    fn remaining(&self, position: u32) -> u32 {
        self.answer_starts[self.answer_at(position) as usize + 1] - 1 - position
    }
}

fn concatenate<'a>(
    alphabet: &Alphabet,
    answers: impl Iterator<Item = &'a str>,
    markers: Markers,
) -> (Vec<Symbol>, Vec<u32>) {
    let (mut text, mut starts) = (Vec::new(), vec![0]);
    for answer in answers {
        if markers == Markers::BeginEnd {
            text.push(BEGIN);
        }
        text.extend(answer.chars().map(|character| alphabet.symbol(character)));
        if markers == Markers::BeginEnd {
            text.push(END);
        }
        text.push(SEPARATOR);
        starts.push(text.len() as u32);
    }
    (text, starts)
}
