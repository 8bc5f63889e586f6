//! Exact pfgen-bench scoring over a suffix-array index of reference answers.
//!
//! * [`NgramIndex`] answers questions about n-grams of any length in the reference answers of one question.
//! * [`Scorer`] is derived from it and gives Fluency and Truthfulness of responses.
//! * [`Literals`] finds the literal keywords that Helpfulness rules ask for.
//!
//! Lengths and offsets are Unicode code points everywhere. The crate knows no file format and no Python.

mod batch;
mod error;
pub mod index;
pub mod round;
pub mod score;
pub mod text;

pub use batch::{literal_ends, score_batch};
pub use error::{Error, Result};
pub use index::{Markers, NgramIndex, SourceText};
pub use score::{Explanation, Literals, NOT_FOUND, Scorer, Settings, SourceScore, Variant};
