//! `LeakFinder`: texts of a benchmark in documents.

use crate::errors::to_python;
use crate::text_column::Texts;
use crate::threads::pool_of;
use numpy::PyArray1;
use pfgen_core::{Leak, LeakMemory};
use pyo3::prelude::*;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;

/// The rows of documents, what they contain, with which share, and where that begins and ends.
type Leaks<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
);

/// Finds texts in documents that contain them, whole or nearly so.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct LeakFinder {
    core: pfgen_core::LeakFinder,
    pool: Arc<ThreadPool>,
}

#[pymethods]
impl LeakFinder {
    #[new]
    #[pyo3(signature = (texts, n, coverage, threads=None))]
    fn new(py: Python<'_>, texts: &Texts, n: usize, coverage: f64, threads: Option<i64>) -> PyResult<Self> {
        let texts: Vec<_> = texts.iter().collect();
        let core = py.detach(|| pfgen_core::LeakFinder::new(&texts, n, coverage)).map_err(to_python)?;
        Ok(Self { core, pool: pool_of(threads)? })
    }

    /// The number of distinct n-grams of each text; those without any are not found.
    fn grams<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, self.core.grams())
    }

    /// Columns of what the documents contain, sorted by row and number of the text.
    fn find<'py>(&self, py: Python<'py>, documents: &Texts) -> Leaks<'py> {
        let find = |memory: &mut LeakMemory, row| self.core.find(documents.get(row), memory);
        let rows = (0..documents.len()).into_par_iter().map_init(LeakMemory::default, find);
        let found: Vec<Vec<Leak>> = py.detach(|| self.pool.install(|| rows.collect()));
        let row_of = |(row, leaks): (usize, &Vec<Leak>)| std::iter::repeat_n(row as i64, leaks.len());
        let leaks = || found.iter().flatten();
        (
            PyArray1::from_iter(py, found.iter().enumerate().flat_map(row_of)),
            PyArray1::from_iter(py, leaks().map(|leak| i64::from(leak.text))),
            PyArray1::from_iter(py, leaks().map(|leak| leak.coverage)),
            PyArray1::from_iter(py, leaks().map(|leak| leak.begin as i64)),
            PyArray1::from_iter(py, leaks().map(|leak| leak.end as i64)),
        )
    }
}
