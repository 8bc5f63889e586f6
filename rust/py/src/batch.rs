//! Many responses to many questions at once.

use crate::errors::bad_input;
use crate::rules::Rules;
use crate::scorer::Scorer;
use crate::text_column::Texts;
use crate::threads::pool_for;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pfgen_core::{Batch, Columns, Group, TOTALS, score_groups, score_groups_parallel};
use pyo3::prelude::*;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

type Column<'py, T> = Bound<'py, PyArray1<T>>;
type Scored<'py> = (Column<'py, u32>, Vec<Column<'py, f64>>);

/// A question as Python gives it: scorer, rules, places of its sources.
type Entry = (Py<Scorer>, Py<Rules>, Vec<usize>);

/// Code of a text that is not a key.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// What a batch needs of one question.
pub(crate) struct Question {
    pub(crate) scorer: Arc<pfgen_core::Scorer>,
    pub(crate) rules: Arc<pfgen_core::Rules>,
    columns: Vec<usize>,
}

/// Texts by number; several texts may have the same one.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Numbers {
    of: FxHashMap<String, u32>,
}

#[pymethods]
impl Numbers {
    /// Key `i` of each list has number `i`; the first list that has a text decides.
    #[new]
    fn new(lists: Vec<Vec<String>>) -> Self {
        let mut of = FxHashMap::default();
        for list in lists {
            for (text, number) in list.into_iter().zip(0..) {
                of.entry(text).or_insert(number);
            }
        }
        Self { of }
    }

    /// The number of each text; `UNKNOWN` where there is none.
    #[pyo3(signature = (texts, threads=None))]
    fn find<'py>(&self, py: Python<'py>, texts: &Texts, threads: Option<i64>) -> PyResult<Column<'py, u32>> {
        let find = || {
            let number = |row| self.number(texts.get(row));
            Ok::<_, PyErr>(match pool_for(threads, texts.len())? {
                None => (0..texts.len()).map(number).collect(),
                Some(pool) => pool.install(|| (0..texts.len()).into_par_iter().map(number).collect()),
            })
        };
        Ok(PyArray1::from_vec(py, py.detach(find)?))
    }
}

impl Numbers {
    pub(crate) fn number(&self, text: &str) -> u32 {
        self.of.get(text).copied().unwrap_or(UNKNOWN)
    }
}

/// Scores responses to a fixed list of questions.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Batches {
    pub(crate) questions: Vec<Option<Question>>,
    sources: usize,
}

#[pymethods]
impl Batches {
    /// Question `i` scores what has the number `i`; `columns` are the places of its sources among all `sources`.
    #[new]
    fn new(questions: Vec<Option<Entry>>, sources: usize) -> Self {
        let question = |(scorer, rules, columns): Entry| Question {
            scorer: Arc::clone(&scorer.get().core),
            rules: Arc::clone(&rules.get().core),
            columns,
        };
        Self { questions: questions.into_iter().map(|entry| entry.map(question)).collect(), sources }
    }

    /// Lengths, and the columns of scores: the totals, shares of Fluency by source, shares of Truthfulness.
    ///
    /// The responses are those of `texts` from `start` on. `others` holds, for questions with patterns that are not
    /// literals, the ends of these: a row for each of its responses.
    #[pyo3(signature = (numbers, texts, start, others, threads=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        numbers: PyReadonlyArray1<'py, u32>,
        texts: &Texts,
        start: usize,
        others: Vec<(u32, PyReadonlyArray2<'py, u32>)>,
        threads: Option<i64>,
    ) -> PyResult<Scored<'py>> {
        let numbers: Vec<u32> = numbers.as_array().iter().copied().collect();
        let others =
            others.into_iter().map(|(number, ends)| (number, ends.as_array().iter().copied().collect())).collect();
        let columns = py.detach(|| self.columns(&numbers, texts, start, &others, threads))?;
        let scores = columns.scores.into_iter().map(|column| PyArray1::from_vec(py, column)).collect();
        Ok((PyArray1::from_vec(py, columns.lengths), scores))
    }

    /// Column `total` of the totals, or `None` if a question is unknown: the fast path for thousands of small calls.
    #[pyo3(signature = (numbers, questions, texts, total, threads=None))]
    fn total<'py>(
        &self,
        py: Python<'py>,
        numbers: &Numbers,
        questions: &Texts,
        texts: &Texts,
        total: usize,
        threads: Option<i64>,
    ) -> PyResult<Option<Column<'py, f64>>> {
        if total >= TOTALS {
            return Err(bad_input(format!("total {total} is out of range: there are {TOTALS} totals")));
        }
        let found: Vec<u32> = questions.iter().map(|text| numbers.number(text)).collect();
        if found.contains(&UNKNOWN) {
            return Ok(None);
        }
        if found.len() != texts.len() {
            return Err(bad_input(format!("{} questions but {} answers", found.len(), texts.len())));
        }
        let mut columns = py.detach(|| self.columns(&found, texts, 0, &FxHashMap::default(), threads))?;
        Ok(Some(PyArray1::from_vec(py, columns.scores.swap_remove(total))))
    }
}

impl Batches {
    fn columns(
        &self,
        numbers: &[u32],
        texts: &Texts,
        start: usize,
        others: &FxHashMap<u32, Vec<u32>>,
        threads: Option<i64>,
    ) -> PyResult<Columns> {
        if start.checked_add(numbers.len()).is_none_or(|end| end > texts.len()) {
            return Err(bad_input(format!("{} questions but {} answers", numbers.len(), texts.len())));
        }
        let mut rows = vec![Vec::new(); self.questions.len()];
        for (row, &number) in (0u32..).zip(numbers) {
            match rows.get_mut(number as usize) {
                Some(mine) => mine.push(row),
                None => return Err(bad_input(format!("row {row} has no question"))),
            }
        }
        let mut groups = Vec::new();
        for (number, (question, rows)) in
            (0u32..).zip(self.questions.iter().zip(&rows)).filter(|(_, (_, rows))| !rows.is_empty())
        {
            let others = others.get(&number).map(Vec::as_slice).unwrap_or_default();
            match question {
                Some(Question { scorer, rules, columns }) if others.len() == rows.len() * rules.others() => {
                    groups.push(Group { scorer, rules, columns, rows, others });
                }
                _ => return Err(bad_input(format!("question {number} is not ready"))),
            }
        }
        let batch = Batch { groups: &groups, sources: self.sources, count: numbers.len() };
        let response = |row| texts.get(start + row);
        Ok(match pool_for(threads, numbers.len())? {
            None => score_groups(batch, response),
            Some(pool) => pool.install(|| score_groups_parallel(batch, response)),
        })
    }
}
