//! The steps from answers to scores on their own, for benches and tests; not a stable interface.

pub use crate::score::compact::passes::{Pass, Passes};

use crate::error::Result;
use crate::index::corpus::{Corpus, Markers, SourceText};
use crate::index::states::States;
use crate::score::{Scorer, Settings};

/// Derives the states of n-grams up to `settings.max_n` and returns their number.
///
/// # Errors
/// As [`Scorer::new`].
pub fn count_states(sources: &[SourceText<'_>], settings: &Settings) -> Result<usize> {
    let corpus = Corpus::new(sources, Markers::None)?;
    Ok(States::derive(&corpus, settings.max_n.max(settings.truthfulness_n))?.list.len())
}

/// Builds the table of a scorer, compact if it has room, but no baselines; returns the table's size in bytes.
///
/// # Errors
/// As [`Scorer::new`].
pub fn build_table(sources: &[SourceText<'_>], settings: &Settings) -> Result<usize> {
    Scorer::table_only(sources, settings.clone())
}

/// The passes over `responses`; `None` if the scorer's table is wide.
pub fn passes<'a>(scorer: &'a Scorer, responses: &'a [&'a str]) -> Option<Passes<'a>> {
    scorer.passes(responses)
}

/// The content of a file of stored scorers with the checksums that belong to it, for tests of what is changed on purpose.
pub fn with_checksums(content: Vec<u8>) -> Vec<u8> {
    crate::store::with_checksums(content)
}
