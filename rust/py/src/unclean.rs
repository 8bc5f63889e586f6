//! Answers that pfgen-bench would have cleaned.

use crate::text_column::Texts;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// The rows of answers that may not be clean: those with white space around them, and those with one of `marks`.
#[pyfunction]
pub(crate) fn unclean_rows(py: Python<'_>, answers: &Texts, marks: Vec<PyBackedStr>) -> Vec<usize> {
    py.detach(|| (0..answers.len()).filter(|&row| may_be_unclean(answers.get(row), &marks)).collect())
}

/// Whether the answer is none that Python would find clean; a few that it does may be among them.
pub(crate) fn may_be_unclean(answer: &str, marks: &[PyBackedStr]) -> bool {
    // Python's white space has four separators that Unicode's has not.
    let is_white = |character: char| character.is_whitespace() || ('\x1c'..='\x1f').contains(&character);
    answer.starts_with(is_white) || answer.ends_with(is_white) || marks.iter().any(|mark| answer.contains(&**mark))
}
