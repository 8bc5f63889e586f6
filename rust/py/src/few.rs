//! `Few`: small calls of `bench.scorer()`, in which everything but scoring counts.

use crate::batch::{Batches, Numbers};
use crate::errors::bad_input;
use numpy::PyArray1;
use pfgen_core::{Asked, TOTALS, score_totals};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

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
                score_totals(&[self.asked(number, answer)?], self.total, &mut score);
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
        let mut asked = Vec::with_capacity(texts.len());
        for (place, text) in texts.iter().enumerate() {
            let answer = text.cast::<PyString>().ok()?.to_str().ok()?;
            asked.push(self.asked(number(place)?, answer)?);
        }
        let mut scores = vec![0.0; asked.len()];
        let mut score = || score_totals(&asked, self.total, &mut scores);
        if asked.len() <= BRIEF {
            score();
        } else {
            py.detach(score);
        }
        Some(PyArray1::from_vec(py, scores))
    }

    /// `None` where the question is unknown, is not ready, or has patterns that are not literals.
    fn asked<'a>(&'a self, number: u32, response: &'a str) -> Option<Asked<'a>> {
        let question = self.batches.get().questions.get(number as usize)?.as_ref()?;
        let (scorer, rules) = (question.made()?, &question.rules);
        (rules.others() == 0).then_some(Asked { scorer, rules, response })
    }
}
