//! `Scan`, `SingletonFilter`: answers with an n-gram that occurs seldom; `text_digests`.

use crate::errors::to_python;
use crate::text_column::Texts;
use crate::threads::pool_of;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pfgen_core::references::{self, SingletonSettings};
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::sync::Arc;

/// A first reading of all answers.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct Scan {
    core: references::Scan,
    pool: Arc<ThreadPool>,
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (n, threads=None))]
    fn new(n: usize, threads: Option<i64>) -> PyResult<Self> {
        Ok(Self { core: references::Scan::new(n), pool: pool_of(threads)? })
    }

    #[getter]
    fn rows(&self) -> usize {
        self.core.rows()
    }

    fn add(&mut self, py: Python<'_>, texts: &Texts) {
        let Self { core, pool } = self;
        py.detach(|| pool.install(|| core.add(&texts.iter().collect::<Vec<_>>())));
    }
}

/// Counts n-grams in passes over the answers, and drops answers in rounds.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct SingletonFilter {
    core: references::SingletonFilter,
    pool: Arc<ThreadPool>,
}

#[pymethods]
impl SingletonFilter {
    #[new]
    #[pyo3(signature = (scan, *, threshold, weights, memory, threads=None))]
    fn new(
        py: Python<'_>,
        scan: &Scan,
        threshold: u32,
        weights: Option<PyReadonlyArray1<'_, u32>>,
        memory: usize,
        threads: Option<i64>,
    ) -> PyResult<Self> {
        let pool = pool_of(threads)?;
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let settings = SingletonSettings { threshold, memory, threads: pool.current_num_threads() };
        let core = py.detach(|| references::SingletonFilter::new(&scan.core, weights, settings)).map_err(to_python)?;
        Ok(Self { core, pool })
    }

    fn add(&mut self, py: Python<'_>, texts: &Texts, first_row: usize) -> PyResult<()> {
        let Self { core, pool } = self;
        let add = || pool.install(|| core.add(&texts.iter().collect::<Vec<_>>(), first_row));
        py.detach(add).map_err(to_python)
    }

    /// Ends a pass; returns whether the round needs another.
    fn finish_pass(&mut self, py: Python<'_>) -> bool {
        let Self { core, pool } = self;
        py.detach(|| pool.install(|| core.finish_pass()))
    }

    /// Ends a round; returns how many rows it dropped.
    fn finish_round(&mut self, py: Python<'_>) -> usize {
        py.detach(|| self.core.finish_round())
    }

    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.core.kept())
    }
}

/// Digests of the texts: a row each, the upper half first.
#[pyfunction]
#[pyo3(signature = (texts, seed, threads=None))]
pub(crate) fn text_digests<'py>(
    py: Python<'py>,
    texts: &Texts,
    seed: u64,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let pool = pool_of(threads)?;
    let digests = py.detach(|| pool.install(|| references::text_digests(&texts.iter().collect::<Vec<_>>(), seed)));
    Ok(PyArray2::from_owned_array(py, numpy::ndarray::Array2::from(digests)))
}
