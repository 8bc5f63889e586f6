//! Fluency and Truthfulness of responses, and the positions of literal keywords.

pub(crate) mod compact;
mod expressions;
mod fluency;
mod keywords;
#[doc(hidden)]
pub mod naive;
mod repeats;
mod rules;
mod scale;
mod scorer;
mod settings;
pub(crate) mod totals;
mod truthfulness;
mod wide;
mod windows;

pub use compact::InstructionSet;
pub(crate) use compact::block::LANES;
pub use expressions::Expression;
pub use keywords::{Literals, NOT_FOUND};
pub use rules::{Helpful, Rule, RuleScratch, RuleStep, Rules};
pub use scale::Cut;
pub use scorer::{Scorer, Scratch, SourceScore};
pub use settings::{Settings, Variant};
pub use totals::{TOTALS, again as totals_again};
pub use wide::Explanation;
