//! Predictions and metrics of llm-jp-eval.
//!
//! Texts are code points, as Python's strings are: lone surrogates are among them. What is a letter, a space or a capital,
//! and what NFKC makes of a code point, is told by the running Python ([`Page`]), because its Unicode version is the one that
//! published values depend on. What depends on the characters around it (combining marks, the final sigma) is handed back
//! ([`Unready::InContext`]) for Python to decide.

mod code_points;
mod distance;
mod metrics;
mod normalize;
mod words;

pub use code_points::{CodePoints, Page, PageError, Requests, Unready, flags};
pub use metrics::{Form, Metric, Scratch};
