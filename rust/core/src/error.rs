//! Everything that can go wrong in this crate, one variant per cause.

use std::fmt;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure; its `Display` is a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// There are no sources to build from.
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
    /// More distinct words than there are code points for them.
    TooManyWords {
        /// Distinct words of more than one character.
        words: usize,
        /// Words that there is room for.
        room: usize,
    },
    /// The suffix array could not be built.
    SuffixArray {
        /// What the library reported.
        reason: String,
    },
    /// A query for the empty n-gram, which occurs everywhere and nowhere.
    EmptyPattern,
    /// A setting is out of range or contradicts another.
    InvalidSettings {
        /// What is wrong.
        reason: String,
    },
    /// There are no answers to choose from.
    EmptyPool,
    /// A column does not have as many rows as there are texts.
    UnequalLengths {
        /// The column.
        what: &'static str,
        /// Its rows.
        length: usize,
        /// The texts.
        texts: usize,
    },
    /// A text of weight 0.
    ZeroWeight {
        /// Its row.
        row: usize,
    },
    /// A pool whose weights add up to more than can be counted.
    PoolTooLarge,
    /// A file of stored scorers that cannot be used.
    DamagedStore {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file of stored scorers that cannot be read.
    UnreadableStore {
        /// The operating system's message.
        reason: String,
    },
    /// A rule over texts that cannot be used.
    InvalidRule {
        /// Its name.
        rule: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A pool of more answers than there are row numbers.
    TooManyAnswers {
        /// How many there are.
        answers: usize,
        /// How many there may be.
        most: usize,
    },
    /// A pool that is read several times differs between two readings.
    ChangedAnswers {
        /// The first row that differs.
        row: usize,
    },
    /// Counts from elsewhere that cannot be added.
    DamagedSketch {
        /// What is wrong with them.
        reason: String,
    },
    /// The worker threads could not be started.
    Threads {
        /// The operating system's message.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSources => write!(f, "no reference answers: at least one source is needed"),
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
                "the reference answers of one question have {symbols} characters, more than the limit of 2^31 - 1: \
                 split them"
            ),
            Self::TooManyWords { words, room } => {
                write!(f, "the texts have {words} distinct words, but only {room} fit: split the set of questions")
            }
            Self::SuffixArray { reason } => write!(f, "the suffix array could not be built: {reason}"),
            Self::EmptyPattern => write!(f, "empty n-gram: at least one character is needed"),
            Self::InvalidSettings { reason } => write!(f, "{reason}"),
            Self::EmptyPool => write!(f, "no answers to choose from: at least one is needed"),
            Self::UnequalLengths { what, length, texts } => {
                write!(f, "{what} has {length} rows, but there are {texts} answers: expected one row per answer")
            }
            Self::ZeroWeight { row } => {
                write!(f, "row {row} has weight 0: weights must be at least 1; leave out rows that do not count")
            }
            Self::PoolTooLarge => {
                write!(f, "the weights are too large: together more than 2,147,483,647; divide them by a common factor")
            }
            Self::DamagedStore { reason } => write!(f, "the stored index cannot be used: {reason}"),
            Self::UnreadableStore { reason } => write!(f, "the stored index cannot be read: {reason}"),
            Self::InvalidRule { rule, reason } => write!(f, "rule {rule:?}: {reason}"),
            Self::TooManyAnswers { answers, most } => {
                write!(f, "there are {answers} answers, more than the limit of {most}: split them")
            }
            Self::ChangedAnswers { row } => {
                write!(
                    f,
                    "row {row} has changed since the answers were first read: every reading must give the same answers"
                )
            }
            Self::DamagedSketch { reason } => write!(f, "the counts of n-grams cannot be used: {reason}"),
            Self::Threads { reason } => write!(f, "the worker threads could not be started: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
