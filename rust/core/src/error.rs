//! Everything that can go wrong in this crate, one variant a cause.

use std::fmt;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure; its `Display` is a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// There is no source to build from.
    NoSources,
    /// A source has no answers, so its frequencies are undefined.
    NoAnswers {
        /// Name of the source.
        source: String,
    },
    /// The mean Fluency of a source's own answers is not positive, so nothing can be divided by it.
    ZeroBaseline {
        /// Name of the source.
        source: String,
    },
    /// The reference answers together are longer than the suffix array's 31-bit positions.
    TextTooLong {
        /// Symbols in the concatenated answers.
        symbols: usize,
    },
    /// The suffix array could not be built.
    SuffixArray {
        /// What the construction said.
        reason: String,
    },
    /// A query for the empty n-gram, which occurs everywhere and nowhere.
    EmptyPattern,
    /// A setting leaves its range or contradicts another.
    InvalidSettings {
        /// What is wrong.
        reason: String,
    },
    /// A file of stored scorers that cannot be used.
    DamagedStore {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file of stored scorers that cannot be read.
    UnreadableStore {
        /// What the operating system said.
        reason: String,
    },
    /// The worker threads could not be started.
    Threads {
        /// What the operating system said.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSources => write!(f, "there are no reference answers: give at least one source"),
            Self::NoAnswers { source } => {
                write!(f, "source {source:?} has no reference answers: remove it or add answers")
            }
            Self::ZeroBaseline { source } => write!(
                f,
                "the reference answers of source {source:?} score 0 against themselves \
                 (are they all empty?), so nothing can be measured against them"
            ),
            Self::TextTooLong { symbols } => write!(
                f,
                "the reference answers of one question hold {symbols} characters, more than 2^31 - 1: split them"
            ),
            Self::SuffixArray { reason } => write!(f, "the suffix array could not be built: {reason}"),
            Self::EmptyPattern => write!(f, "the empty n-gram has no frequency: give at least one character"),
            Self::InvalidSettings { reason } => write!(f, "{reason}"),
            Self::DamagedStore { reason } => write!(f, "the stored index cannot be used: {reason}"),
            Self::UnreadableStore { reason } => write!(f, "the stored index cannot be read: {reason}"),
            Self::Threads { reason } => write!(f, "the worker threads could not be started: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
