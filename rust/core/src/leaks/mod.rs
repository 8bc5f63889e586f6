//! Which texts of a benchmark documents contain, whole or nearly so.
//!
//! Texts are compared without differences of width, case, spaces and punctuation (see `fold`). A document contains a
//! text if some stretch of it, at most twice as long as the text, has a given share of the text's distinct n-grams.
//!
//! One pass over a document is enough. Of a text with `g` distinct n-grams, of which `m` are needed, any stretch that
//! contains it has more than `s` of each `g − m + 1 + s` of them; the rarest, its anchors, are looked up for each
//! character. Where more than `s` are near each other, n-grams are compared exactly.

mod anchors;
mod finder;
mod fold;
mod stretch;

pub use finder::{Leak, LeakFinder, LeakMemory};
