//! Exact pfgen-bench scoring over a suffix-array index of reference answers.
//!
//! * [`NgramIndex`] answers questions about n-grams of any length in the reference answers of one question.
//! * [`Scorer`] is derived from it and computes the Fluency and Truthfulness of responses.
//! * [`Literals`] finds the literal keywords that Helpfulness rules ask for.
//! * [`references`] selects reference answers from many candidates.
//! * [`LeakFinder`] finds texts in documents that contain them nearly whole.
//! * [`Vocabulary`] maps words to code points, so that all of the above works on words as well.
//!
//! Lengths and offsets are Unicode code points everywhere. The crate knows nothing of file formats or Python.

mod batch;
mod blob;
pub mod decimals;
mod error;
mod fetch;
pub mod index;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod leaks;
pub mod markup;
pub mod ranking;
pub mod references;
pub mod round;
pub mod run;
pub mod score;
mod store;
pub mod text;
pub mod units;
mod words;

pub use batch::{
    Asked, Batch, Columns, Group, Lone, Source, score_groups, score_groups_parallel, score_lone, score_totals,
};
pub use error::{Error, Result};
pub use fetch::fetch_text;
pub use index::{Markers, NgramIndex, SourceText};
pub use leaks::{Leak, LeakFinder, LeakMemory};
pub use score::{
    Cut, Explanation, Expression, Helpful, InstructionSet, Literals, NOT_FOUND, Rule, RuleScratch, RuleStep, Rules,
    Scorer, Scratch, Settings, SourceScore, TOTALS, Variant, totals_again,
};
pub use store::{KEY_BYTES, Store, StoredScorer, store_header, write_store};
pub use units::Vocabulary;
pub use words::words;
