//! `Scorer` and `Literals`: batches of responses to numpy arrays.

use crate::errors::{bad_input, to_python};
use crate::index::Index;
use crate::settings::Settings;
use crate::text_column::{Text, Texts};
use crate::threads::with_threads;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pfgen_core::{NOT_FOUND, SourceScore, literal_ends, score_batch};
use pyo3::prelude::*;

type Matrix<'py, T> = Bound<'py, PyArray2<T>>;
type Scores<'py> = (Matrix<'py, f64>, Matrix<'py, u32>, Matrix<'py, f64>, Matrix<'py, u32>);
type Explained<'py> = (Matrix<'py, u32>, Matrix<'py, u32>, Matrix<'py, u64>, Bound<'py, PyArray1<bool>>);

/// Fluency and Truthfulness against the reference answers of one question.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Scorer {
    core: pfgen_core::Scorer,
}

#[pymethods]
impl Scorer {
    #[new]
    fn new(py: Python<'_>, index: &Index, settings: &Settings) -> PyResult<Self> {
        let settings = settings.core.clone();
        let core = py.detach(|| pfgen_core::Scorer::new(&index.core, settings)).map_err(to_python)?;
        Ok(Self { core })
    }

    #[getter]
    fn baselines(&self) -> Vec<f64> {
        self.core.baselines().to_vec()
    }

    #[pyo3(signature = (texts, rows=None, threads=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        rows: Option<PyReadonlyArray1<'py, i64>>,
        threads: Option<i64>,
    ) -> PyResult<Scores<'py>> {
        let rows = Rows::new(texts, rows.as_ref())?;
        let run = || score_batch(&self.core, rows.len(), |i| texts.get(rows.get(i)));
        let scores = py.detach(|| with_threads(threads, run))?;
        let shape = [rows.len(), self.core.source_count()];
        Ok((
            column(py, &scores, shape, |score| score.fluency)?,
            column(py, &scores, shape, |score| score.fluency_cut)?,
            column(py, &scores, shape, |score| score.truthfulness)?,
            column(py, &scores, shape, |score| score.truthfulness_cut)?,
        ))
    }

    fn explain<'py>(&self, py: Python<'py>, text: Text) -> PyResult<Explained<'py>> {
        let explanation = self.core.explain(&text.0);
        let shape = [explanation.skipped.len(), self.core.source_count()];
        Ok((
            PyArray1::from_vec(py, explanation.windows).reshape(shape)?,
            PyArray1::from_vec(py, explanation.coverage).reshape(shape)?,
            PyArray1::from_vec(py, explanation.gains).reshape(shape)?,
            PyArray1::from_vec(py, explanation.skipped),
        ))
    }
}

/// Literal keywords, prepared for searching many responses.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Literals {
    core: pfgen_core::Literals,
}

#[pymethods]
impl Literals {
    #[new]
    fn new(literals: &Texts) -> Self {
        Self { core: pfgen_core::Literals::new(literals.iter()) }
    }

    #[pyo3(signature = (texts, limit, rows=None, threads=None))]
    fn ends<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        limit: usize,
        rows: Option<PyReadonlyArray1<'py, i64>>,
        threads: Option<i64>,
    ) -> PyResult<Matrix<'py, u32>> {
        let rows = Rows::new(texts, rows.as_ref())?;
        let run = || literal_ends(&self.core, limit, rows.len(), |i| texts.get(rows.get(i)));
        let ends = py.detach(|| with_threads(threads, run))?;
        debug_assert!(ends.iter().all(|&end| end == NOT_FOUND || end as usize <= limit));
        PyArray1::from_vec(py, ends).reshape([rows.len(), self.core.len()])
    }
}

/// Which rows of a column to look at: all, or a checked selection.
enum Rows {
    All(usize),
    Some(Vec<usize>),
}

impl Rows {
    fn new(texts: &Texts, rows: Option<&PyReadonlyArray1<'_, i64>>) -> PyResult<Self> {
        let Some(rows) = rows else { return Ok(Self::All(texts.len())) };
        let check = |&row: &i64| match usize::try_from(row) {
            Ok(row) if row < texts.len() => Ok(row),
            _ => Err(bad_input(format!("row {row} is outside the column of {} rows", texts.len()))),
        };
        Ok(Self::Some(rows.as_array().iter().map(check).collect::<PyResult<_>>()?))
    }

    fn len(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Some(rows) => rows.len(),
        }
    }

    fn get(&self, i: usize) -> usize {
        match self {
            Self::All(_) => i,
            Self::Some(rows) => rows[i],
        }
    }
}

fn column<'py, T: Element>(
    py: Python<'py>,
    scores: &[SourceScore],
    shape: [usize; 2],
    value: impl Fn(&SourceScore) -> T,
) -> PyResult<Matrix<'py, T>> {
    PyArray1::from_vec(py, scores.iter().map(value).collect()).reshape(shape)
}
