//! `Few`: small calls of `bench.scorer()`, in which everything but scoring counts.

use crate::batch::{Batches, Numbers};
use crate::errors::bad_input;
use numpy::PyArray1;
use pfgen_core::{TOTALS, score_total};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::ops::Range;

/// Calls with more answers than that are for threads.
const MOST: usize = 255;
/// Up to this many answers, other threads wait for less than it takes to let them go on.
const BRIEF: usize = 4;

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// One total of a few answers, with questions and answers in the plainest form.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Few {
    numbers: Py<Numbers>,
    batches: Py<Batches>,
    total: usize,
}

/// An answer and its question.
struct Row<'a> {
    number: u32,
    place: usize,
    answer: &'a str,
}

#[pymethods]
impl Few {
    /// Scores by column `total` of the totals.
    #[new]
    fn new(numbers: Py<Numbers>, batches: Py<Batches>, total: usize) -> PyResult<Self> {
        if total >= TOTALS {
            return Err(bad_input(format!("total {total} is out of range: there are {TOTALS} totals")));
        }
        Ok(Self { numbers, batches, total })
    }

    /// The total of each answer in a list; `questions` is a list, too, or one question for all of them. `None` for what the
    /// general way scores or rejects.
    #[pyo3(signature = (questions, answers, /))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        questions: &Bound<'py, PyAny>,
        answers: &Bound<'py, PyAny>,
    ) -> Option<Column<'py>> {
        let answers = answers.cast::<PyList>().ok()?;
        if let Ok(question) = questions.cast::<PyString>() {
            let number = self.numbers.get().number(question.to_str().ok()?);
            if answers.len() == 1 {
                let answer = answers.get_item(0).ok()?;
                let answer = answer.cast::<PyString>().ok()?.to_str().ok()?;
                let mut score = [0.0];
                self.of_question(number, &[answer], &mut score)?;
                return Some(PyArray1::from_slice(py, &score));
            }
            return self.of_rows(py, answers, |_| Some(number));
        }
        let questions = questions.cast::<PyList>().ok()?;
        if questions.len() != answers.len() {
            return None;
        }
        let mut last: Option<(Bound<'py, PyAny>, u32)> = None;
        self.of_rows(py, answers, |place| {
            let question = questions.get_item(place).ok()?;
            if let Some((same, number)) = &last
                && question.is(same)
            {
                return Some(*number);
            }
            let number = self.numbers.get().number(question.cast::<PyString>().ok()?.to_str().ok()?);
            last = Some((question, number));
            Some(number)
        })
    }
}

impl Few {
    fn of_rows<'py>(
        &self,
        py: Python<'py>,
        answers: &Bound<'py, PyList>,
        mut number: impl FnMut(usize) -> Option<u32>,
    ) -> Option<Column<'py>> {
        if answers.len() > MOST {
            return None;
        }
        // Kept alive, whatever other threads do with the list.
        let texts: Vec<_> = answers.iter().collect();
        let mut rows = Vec::with_capacity(texts.len());
        for (place, text) in texts.iter().enumerate() {
            let answer = text.cast::<PyString>().ok()?.to_str().ok()?;
            rows.push(Row { number: number(place)?, place, answer });
        }
        let scores = if rows.len() <= BRIEF { self.scores(&mut rows) } else { py.detach(|| self.scores(&mut rows)) }?;
        Some(PyArray1::from_slice(py, &scores))
    }

    fn scores(&self, rows: &mut [Row<'_>]) -> Option<Vec<f64>> {
        rows.sort_unstable_by_key(|row| (row.number, row.answer.len()));
        let answers: Vec<&str> = rows.iter().map(|row| row.answer).collect();
        let (mut sorted, mut scores) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for of_question in groups(rows) {
            let number = rows[of_question.start].number;
            self.of_question(number, &answers[of_question.clone()], &mut sorted[of_question])?;
        }
        for (row, score) in rows.iter().zip(sorted) {
            scores[row.place] = score;
        }
        Some(scores)
    }

    /// `None` where the question is unknown, is not ready, or has patterns that are not literals.
    fn of_question(&self, number: u32, answers: &[&str], scores: &mut [f64]) -> Option<()> {
        let question = self.batches.get().questions.get(number as usize)?.as_ref()?;
        if question.rules.others() > 0 {
            return None;
        }
        score_total(&question.scorer, &question.rules, answers, self.total, scores);
        Some(())
    }
}

/// The rows of each question.
fn groups<'a, 'b>(rows: &'a [Row<'b>]) -> impl Iterator<Item = Range<usize>> + use<'a, 'b> {
    rows.chunk_by(|a, b| a.number == b.number).scan(0, |end, group| {
        let start = *end;
        *end += group.len();
        Some(start..*end)
    })
}
