//! Fluency and Truthfulness of responses, and the positions of literal keywords.

mod explanation;
mod fluency;
mod keywords;
mod paper;
mod reader;
mod repeats;
mod scorer;
mod settings;
mod truthfulness;

pub use explanation::Explanation;
pub use keywords::{Literals, NOT_FOUND};
pub use reader::Scratch;
pub use scorer::{Scorer, SourceScore};
pub use settings::{Settings, Variant};
