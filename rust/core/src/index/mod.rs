//! N-gram statistics of the reference answers of one question.

pub(crate) mod compact;
pub(crate) mod corpus;
mod document_frequency;
#[doc(hidden)]
pub mod naive;
mod ngram_index;
mod queries;
pub(crate) mod states;
pub(crate) mod suffix_array;
pub(crate) mod tables;
mod tree;

pub use corpus::{Markers, SourceText};
pub use ngram_index::NgramIndex;
pub use queries::{ConcordanceLine, DocumentFrequency, Ngram, Occurrence};
