//! The filter of seldom n-grams where the answers lie in shards and none holds them all.
//!
//! ```text
//! shard ──► NgramSketch ─┐                  ┌─► mask ──► nearest ──► NgramKeys ─┐
//! shard ──► NgramSketch ─┴─► merged sketch ─┴─► mask ──► nearest ──► NgramKeys ─┴─► counted exactly in all shards
//! ```
//!
//! A sketch has a counter of two bits for each hash of an n-gram, which stops at three. Different n-grams may share a
//! counter, so it is at least the number of occurrences of each of them, as far as two bits tell it. Hence
//! an answer that has an n-gram whose counter is at most the threshold has a seldom n-gram for certain; the others are a
//! superset of the survivors. Which of them have a seldom n-gram nevertheless is found by counting exactly
//! those of their n-grams that are seldom among themselves: what occurs often among some answers does so among all.
//!
//! Both kinds of counts are merged by addition up to three. That is associative and commutative, so neither the shards nor
//! the order of merging matter; it is not idempotent, so each part must be merged once.

mod counters;
mod envelope;
mod keys;
mod nearest;
mod ngram_keys;
mod ngram_sketch;

pub use nearest::{Near, nearest};
pub use ngram_keys::NgramKeys;
pub use ngram_sketch::{NgramSketch, SketchShape};
