//! Reading a response over the wide table, a character at a time: variant `paper`, explanations, and settings or questions
//! for which the compact table has no room.

pub(super) mod explanation;
mod paper;
pub(super) mod scorer;
pub(super) mod scratch;

pub use explanation::Explanation;
