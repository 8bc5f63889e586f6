//! The index itself: text, suffix array and LCP array.

use super::corpus::{Corpus, Markers, SourceText};
use super::suffix_array;
use crate::error::Result;
use crate::text::Alphabet;

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
    pub(super) corpus: Corpus,
    pub(super) suffixes: Vec<u32>,
    pub(super) lcp: Vec<u32>,
}

impl NgramIndex {
    /// Builds the index.
    ///
    /// # Errors
    /// [`Error::NoSources`](crate::Error::NoSources) without sources, [`Error::TextTooLong`](crate::Error::TextTooLong)
    /// beyond 2^31 − 1 symbols.
    pub fn build(sources: &[SourceText<'_>], markers: Markers) -> Result<Self> {
        let mut corpus = Corpus::new(sources, markers)?;
        let suffixes = suffix_array::suffix_array(&mut corpus.text)?;
        let lcp = suffix_array::lcp_array(&corpus.text, &suffixes);
        Ok(Self { corpus, suffixes, lcp })
    }

    /// The alphabet of the answers.
    pub fn alphabet(&self) -> &Alphabet {
        &self.corpus.alphabet
    }

    /// Names of the sources, in the order given.
    pub fn source_names(&self) -> &[String] {
        &self.corpus.names
    }

    /// Number of answers of source `source`.
    pub fn answer_count(&self, source: usize) -> usize {
        self.corpus.answer_count(source)
    }

    /// Number of characters of all answers together.
    pub fn character_count(&self) -> usize {
        self.corpus.character_count()
    }

    /// Answer `answer` (counted over all sources) as text, without markers.
    pub fn answer(&self, answer: usize) -> String {
        self.corpus.answer(answer)
    }
}
