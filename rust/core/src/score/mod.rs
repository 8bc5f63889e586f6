//! Fluency and Truthfulness of responses, and the positions of literal keywords.

mod explanation;
mod fluency;
mod keywords;
mod paper;
mod scorer;
mod settings;
mod truthfulness;

pub use explanation::Explanation;
pub use keywords::{Literals, NOT_FOUND};
pub use scorer::{Scorer, Scratch, SourceScore};
pub use settings::{Settings, Variant};
