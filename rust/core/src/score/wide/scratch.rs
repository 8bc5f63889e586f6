//! What reading a response leaves, for the metrics to use.

use crate::score::repeats::Seen;
use crate::text::Symbol;

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The response with what stands at its ends, as characters and as symbols.
    pub(super) characters: Vec<char>,
    pub(super) symbols: Vec<Symbol>,
    /// The counted symbols once more, where they fit.
    pub(super) narrow: Vec<i16>,
    /// Per counted character, how long the longest n-gram ending there is that also ended earlier.
    pub(super) seen: Seen,
    /// Per symbol and source, what Fluency gains when the cut includes it.
    pub(super) gains: Vec<u64>,
    /// Per symbol and source, the document frequency of the Truthfulness window that ends there.
    pub(super) windows: Vec<u32>,
    /// Per symbol, whether Truthfulness skips it.
    pub(super) skipped: Vec<bool>,
}
