//! Answers that pfgen-bench would have cleaned.

use crate::text_column::Texts;
use memchr::memmem::Finder;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// The rows of answers that may not be clean: those with white space around them, and those with one of `marks`.
#[pyfunction]
pub(crate) fn unclean_rows(py: Python<'_>, answers: &Texts, marks: Vec<PyBackedStr>) -> Vec<usize> {
    let marks = Marks::new(&marks);
    py.detach(|| (0..answers.len()).filter(|&row| marks.may_be_unclean(answers.get(row))).collect())
}

/// What is not found in an answer that is clean.
struct Marks<'a> {
    finders: Vec<Finder<'a>>,
}

impl<'a> Marks<'a> {
    fn new(marks: &'a [PyBackedStr]) -> Self {
        Self { finders: marks.iter().map(|mark| Finder::new(mark.as_bytes())).collect() }
    }

    /// Whether the answer is none that Python would find clean; a few that it does may be among them.
    fn may_be_unclean(&self, answer: &str) -> bool {
        // Python's white space has four separators that Unicode's has not.
        let is_white = |character: char| character.is_whitespace() || ('\x1c'..='\x1f').contains(&character);
        let has_mark = || self.finders.iter().any(|mark| mark.find(answer.as_bytes()).is_some());
        answer.starts_with(is_white) || answer.ends_with(is_white) || has_mark()
    }
}
