//! The hot path: Fluency and Truthfulness of the published variant, many responses at a time, over the compact table.
//!
//! Up to 32 responses to one question go through four passes, each of which reads what the one before left in a
//! `Block`:
//!
//! 1. `load`: characters become symbols, response `i` in lane `i`;
//! 2. `repeats`: for every character the longest n-gram ending there that ended earlier, all lanes in one instruction;
//! 3. `walk`: the table's state at every character, the lanes' steps interleaved, since each one waits for memory;
//! 4. `finish`: gains, sums and best cuts: a response at a time, its sources side by side, where sums have an order; else
//!    many characters in one instruction.
//!
//! The passes are plain Rust over fixed-size arrays, compiled once for each instruction set of `dispatch`; the compiler
//! vectorises them. Integers throughout up to the last step, and floating-point operations in a fixed order, make the
//! results the same on all.

pub(crate) mod block;
pub(super) mod dispatch;
mod finish;
#[cfg(feature = "internals")]
pub(crate) mod passes;
pub(super) mod plan;
mod repeats;
pub(super) mod scorer;
mod tables;
mod walk;
mod walk_few;

pub use dispatch::InstructionSet;
