//! Answers with an n-gram that occurs seldom among all of them (Imajo et al. 2025, section 3.2.3), found exactly and in
//! bounded memory.
//!
//! ```text
//! texts ──► symbols ──► keys ──► recent: seen often just now? ──► staging, by bucket ──► tables: one a bucket
//! ```
//!
//! An n-gram is a number, its *key* ([`keys`]), scrambled so that its upper bits spread evenly. They name a bucket.
//! Occurrences are *staged* by bucket until there are many, so that each bucket's table ([`table`]) is
//! read from memory once for many occurrences. A table keeps, of every n-gram that is still seldom, the rows it stands
//! in; of every other one, that it is not. What is left at the end names the rows to drop.
//!
//! Where the tables outgrow the memory, a *pass* over the texts gives up the upper half of its range of keys, and a
//! later pass takes it. Memory therefore depends on distinct n-grams, not on the length of the texts, and
//! neither it nor the number of threads changes the result: marks are a set.

mod filter;
mod keys;
mod pool;
mod table;

pub use filter::{SingletonFilter, SingletonSettings};
pub use pool::Scan;
