//! Fluency and Truthfulness of responses, and the positions of literal keywords.

mod explanation;
mod fluency;
mod keywords;
pub(crate) mod lanes;
#[doc(hidden)]
pub mod naive;
mod paper;
mod reader;
mod repeats;
mod rules;
mod scorer;
mod settings;
pub(crate) mod totals;
mod truthfulness;
mod windows;

pub use explanation::Explanation;
pub use keywords::{Literals, NOT_FOUND};
pub use lanes::InstructionSet;
pub use rules::{Helpful, Rule, RuleScratch, RuleStep, Rules};
pub use scorer::{Cut, Scorer, Scratch, SourceScore};
pub use settings::{Settings, Variant};
pub use totals::TOTALS;
