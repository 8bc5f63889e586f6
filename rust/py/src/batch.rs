//! Many responses to many questions at once.

use crate::errors::{bad_input, to_python};
use crate::numeric::array;
use crate::rules::Rules;
use crate::scorer::{Scorer, StoredScorer};
use crate::text_column::Texts;
use crate::threads::pool_for;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pfgen_core::{Batch, Columns, Group, Source, TOTALS, score_groups, score_groups_parallel, totals_again};
use pyo3::prelude::*;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// A question as Python gives it: scorer, rules, places of its sources.
type Entry = (ScorerSource, Py<Rules>, Vec<usize>);

/// A scorer, or where to read it for each batch.
#[derive(FromPyObject)]
enum ScorerSource {
    Made(Py<Scorer>),
    Stored(Py<StoredScorer>),
}

/// Code of a text that is not a key.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// Places of totals.
const HELPFULNESS: usize = 2;
const AVERAGE: usize = 3;

/// What a batch needs of one question.
pub(crate) struct Question {
    scorer: ScorerSource,
    pub(crate) rules: Arc<pfgen_core::Rules>,
    columns: Vec<usize>,
}

impl Question {
    /// The scorer, if it is in memory.
    pub(crate) fn made(&self) -> Option<&pfgen_core::Scorer> {
        match self.source() {
            Source::Made(scorer) => Some(scorer),
            Source::Stored(_) => None,
        }
    }

    fn source(&self) -> Source<'_> {
        match &self.scorer {
            ScorerSource::Made(scorer) => Source::Made(&scorer.get().core),
            ScorerSource::Stored(stored) => Source::Stored(&stored.get().core),
        }
    }

    fn settings(&self) -> &pfgen_core::Settings {
        match self.source() {
            Source::Made(scorer) => scorer.settings(),
            Source::Stored(stored) => &stored.settings,
        }
    }
}

/// The numbers of the questions that responses answer; `UNKNOWN` where there is none.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Codes {
    pub(crate) of: Vec<u32>,
}

#[pymethods]
impl Codes {
    #[new]
    fn new(numbers: PyReadonlyArray1<'_, u32>) -> Self {
        Self { of: numbers.as_array().iter().copied().collect() }
    }

    fn __len__(&self) -> usize {
        self.of.len()
    }

    fn array<'py>(&self, py: Python<'py>) -> PyResult<Column<'py, u32>> {
        array(py, &self.of)
    }

    /// Rows of unknown questions.
    fn unknown(&self) -> Vec<usize> {
        self.of.iter().enumerate().filter(|&(_, &number)| number == UNKNOWN).map(|(row, _)| row).collect()
    }

    /// The numbers that occur from row `start` on, in so many rows, ascending, but that of unknown questions.
    #[pyo3(signature = (start=0, count=usize::MAX))]
    fn asked(&self, start: usize, count: usize) -> Vec<u32> {
        let found: BTreeSet<u32> = self.of.iter().skip(start).take(count).copied().collect();
        found.into_iter().filter(|&number| number != UNKNOWN).collect()
    }

    /// The rows of a number from row `start` on, in so many rows.
    #[pyo3(signature = (number, start=0, count=usize::MAX))]
    fn rows(&self, number: u32, start: usize, count: usize) -> Vec<usize> {
        let rows = self.of.iter().enumerate().skip(start).take(count);
        rows.filter(|&(_, &mine)| mine == number).map(|(row, _)| row).collect()
    }
}

/// Lengths and scores of responses.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Scored {
    pub(crate) columns: Columns,
}

#[pymethods]
impl Scored {
    /// Of columns from elsewhere.
    #[new]
    fn new(lengths: PyReadonlyArray1<'_, u32>, columns: Vec<PyReadonlyArray1<'_, f64>>) -> PyResult<Self> {
        let lengths: Vec<u32> = lengths.as_array().iter().copied().collect();
        let scores: Vec<Vec<f64>> = columns.iter().map(|column| column.as_array().iter().copied().collect()).collect();
        if scores.iter().any(|column| column.len() != lengths.len()) {
            return Err(bad_input("columns of different lengths".to_owned()));
        }
        Ok(Self { columns: Columns { lengths, scores } })
    }

    /// The rows of all of these, one after another.
    #[staticmethod]
    fn joined(parts: Vec<PyRef<'_, Self>>) -> Self {
        let width = parts.first().map_or(0, |part| part.columns.scores.len());
        let mut columns = Columns { lengths: Vec::new(), scores: vec![Vec::new(); width] };
        for part in &parts {
            columns.lengths.extend(&part.columns.lengths);
            for (into, column) in columns.scores.iter_mut().zip(&part.columns.scores) {
                into.extend(column);
            }
        }
        Self { columns }
    }

    fn __len__(&self) -> usize {
        self.columns.lengths.len()
    }

    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Column<'py, u32>> {
        array(py, &self.columns.lengths)
    }

    /// The totals, each source's share of Fluency, each source's share of Truthfulness.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Column<'py, f64>>> {
        self.columns.scores.iter().map(|column| array(py, column)).collect()
    }
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

    /// The number of each text.
    #[pyo3(signature = (texts, threads=None))]
    fn find(&self, py: Python<'_>, texts: &Texts, threads: Option<i64>) -> PyResult<Codes> {
        let find = || {
            let number = |row| self.number(texts.get(row));
            Ok::<_, PyErr>(match pool_for(threads, texts.len())? {
                None => (0..texts.len()).map(number).collect(),
                Some(pool) => pool.install(|| (0..texts.len()).into_par_iter().map(number).collect()),
            })
        };
        Ok(Codes { of: py.detach(find)? })
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
        let question =
            |(scorer, rules, columns): Entry| Question { scorer, rules: Arc::clone(&rules.get().core), columns };
        Self { questions: questions.into_iter().map(|entry| entry.map(question)).collect(), sources }
    }

    /// Scores `count` responses, those of `texts` from `start` on, with plain or compensated sums.
    ///
    /// `others` holds, for questions with patterns that are not literals, the ends of these: a row for each of its responses.
    #[pyo3(signature = (codes, texts, start, count, others, compensated, threads=None))]
    #[allow(clippy::too_many_arguments)] // all that a batch consists of
    fn score(
        &self,
        py: Python<'_>,
        codes: &Codes,
        texts: &Texts,
        start: usize,
        count: usize,
        others: Vec<(u32, PyReadonlyArray2<'_, u32>)>,
        compensated: bool,
        threads: Option<i64>,
    ) -> PyResult<Scored> {
        let others =
            others.into_iter().map(|(number, ends)| (number, ends.as_array().iter().copied().collect())).collect();
        let numbers = start.checked_add(count).and_then(|end| codes.of.get(start..end));
        let numbers = numbers.ok_or_else(|| bad_input("more responses than questions".to_owned()))?;
        let mut columns = py.detach(|| self.columns(numbers, texts, start, &others, threads))?;
        if compensated {
            py.detach(|| self.sum_again(numbers, &mut columns));
        }
        Ok(Scored { columns })
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
                Some(question) if others.len() == rows.len() * question.rules.others() => {
                    let Question { rules, columns, .. } = question;
                    groups.push(Group { scorer: question.source(), rules, columns, rows, others });
                }
                _ => return Err(bad_input(format!("question {number} is not ready"))),
            }
        }
        let batch = Batch { groups: &groups, sources: self.sources, count: numbers.len() };
        let response = |row| texts.get(start + row);
        let columns = match pool_for(threads, numbers.len())? {
            None => score_groups(batch, response),
            Some(pool) => pool.install(|| score_groups_parallel(batch, response)),
        };
        columns.map_err(to_python)
    }

    /// Replaces totals of variant `pfgen-bench` by compensated sums of the sources' shares.
    fn sum_again(&self, numbers: &[u32], columns: &mut Columns) {
        for (row, &number) in numbers.iter().enumerate() {
            let Some(question) = &self.questions[number as usize] else { continue };
            let shares = |first: usize| {
                let scores = &columns.scores;
                question.columns.iter().map(move |&source| scores[first + source][row])
            };
            let both = [shares(TOTALS), shares(TOTALS + self.sources)];
            let [fluency, truthfulness, average] =
                totals_again(question.settings(), both, columns.scores[HELPFULNESS][row], true);
            for (total, value) in [fluency, truthfulness].into_iter().enumerate() {
                columns.scores[total][row] = value;
            }
            columns.scores[AVERAGE][row] = average;
        }
    }
}
