//! `NgramSketch`, `NgramKeys`, `nearest`: the filter of seldom n-grams in shards.

use crate::errors::{bad_input, to_python};
use crate::text_column::Texts;
use crate::threads::pool_of;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pfgen_core::references::{self, SketchShape};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;
use std::sync::Arc;

type Weights<'py> = Option<PyReadonlyArray1<'py, u32>>;
/// Distances, digests (shape (k, 2)) and rows.
type NearColumns<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray2<u64>>, Bound<'py, PyArray1<i64>>);

/// Upper bounds for the occurrences of n-grams.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct NgramSketch {
    core: references::NgramSketch,
    pool: Arc<ThreadPool>,
}

#[pymethods]
impl NgramSketch {
    #[new]
    #[pyo3(signature = (n, bits, seed=0, *, part=0, part_bits=0, threads=None))]
    fn new(
        py: Python<'_>,
        n: usize,
        bits: u32,
        seed: u64,
        part: u32,
        part_bits: u32,
        threads: Option<i64>,
    ) -> PyResult<Self> {
        let pool = pool_of(threads)?;
        let shape = SketchShape { n, bits, seed, part, part_bits };
        let core = py.detach(|| references::NgramSketch::new(shape)).map_err(to_python)?;
        Ok(Self { core, pool })
    }

    #[staticmethod]
    fn bits_for(ngrams: u64, memory: u64) -> u32 {
        SketchShape::bits_for(ngrams, memory)
    }

    #[getter]
    fn used(&self, py: Python<'_>) -> usize {
        py.detach(|| self.pool.install(|| self.core.used()))
    }

    #[pyo3(signature = (texts, weights=None))]
    fn update(&mut self, py: Python<'_>, texts: &Texts, weights: Weights<'_>) -> PyResult<()> {
        let Self { core, pool } = self;
        let weights = owned(weights);
        py.detach(|| pool.install(|| core.update(&column(texts), weights.as_deref()))).map_err(to_python)
    }

    fn merge(&mut self, py: Python<'_>, other: &Self) -> PyResult<()> {
        let Self { core, pool } = self;
        py.detach(|| pool.install(|| core.merge(&other.core))).map_err(to_python)
    }

    fn merge_bytes(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let Self { core, pool } = self;
        py.detach(|| pool.install(|| core.merge_bytes(data))).map_err(to_python)
    }

    fn keep_often(&mut self, py: Python<'_>, threshold: u32) -> PyResult<()> {
        let Self { core, pool } = self;
        py.detach(|| pool.install(|| core.keep_often(threshold))).map_err(to_python)
    }

    #[pyo3(signature = (texts, weights, threshold))]
    fn mask<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        weights: Weights<'_>,
        threshold: u32,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let weights = owned(weights);
        let mask = || self.pool.install(|| self.core.mask(&column(texts), weights.as_deref(), threshold));
        Ok(PyArray1::from_vec(py, py.detach(mask).map_err(to_python)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.core.to_bytes()))
    }
}

/// N-grams and how often each occurs.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct NgramKeys {
    core: references::NgramKeys,
    pool: Arc<ThreadPool>,
}

#[pymethods]
impl NgramKeys {
    #[staticmethod]
    #[pyo3(signature = (texts, weights, n, threads=None))]
    fn of(py: Python<'_>, texts: &Texts, weights: Weights<'_>, n: usize, threads: Option<i64>) -> PyResult<Self> {
        let (pool, weights) = (pool_of(threads)?, owned(weights));
        let of = || pool.install(|| references::NgramKeys::of(&column(texts), weights.as_deref(), n));
        Ok(Self { core: py.detach(of).map_err(to_python)?, pool })
    }

    #[staticmethod]
    #[pyo3(signature = (data, n, threads=None))]
    fn from_bytes(py: Python<'_>, data: &[u8], n: usize, threads: Option<i64>) -> PyResult<Self> {
        let pool = pool_of(threads)?;
        let core = py.detach(|| references::NgramKeys::from_bytes(data, n)).map_err(to_python)?;
        Ok(Self { core, pool })
    }

    fn __len__(&self) -> usize {
        self.core.len()
    }

    fn merged(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let core = py.detach(|| self.core.merged(&other.core)).map_err(to_python)?;
        Ok(Self { core, pool: Arc::clone(&self.pool) })
    }

    fn at_most(&self, py: Python<'_>, threshold: u32) -> PyResult<Self> {
        let core = py.detach(|| self.core.at_most(threshold)).map_err(to_python)?;
        Ok(Self { core, pool: Arc::clone(&self.pool) })
    }

    #[pyo3(signature = (texts, weights=None))]
    fn count(&mut self, py: Python<'_>, texts: &Texts, weights: Weights<'_>) -> PyResult<()> {
        let Self { core, pool } = self;
        let weights = owned(weights);
        py.detach(|| pool.install(|| core.count(&column(texts), weights.as_deref()))).map_err(to_python)
    }

    fn in_texts<'py>(&self, py: Python<'py>, texts: &Texts) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, py.detach(|| self.pool.install(|| self.core.in_texts(&column(texts)))))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.core.to_bytes()))
    }

    fn counts_to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.core.counts_to_bytes()))
    }

    fn merge_counts(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        py.detach(|| self.core.merge_counts(data)).map_err(to_python)
    }
}

/// The `most` kept texts that the filter of lengths takes first: distances, digests (a row each) and rows.
#[pyfunction]
#[pyo3(signature = (texts, kept, target, seed, most, threads=None))]
pub(crate) fn nearest<'py>(
    py: Python<'py>,
    texts: &Texts,
    kept: PyReadonlyArray1<'_, bool>,
    target: u64,
    seed: u64,
    most: usize,
    threads: Option<i64>,
) -> PyResult<NearColumns<'py>> {
    let pool = pool_of(threads)?;
    let kept = kept.as_array();
    if kept.len() != texts.len() {
        return Err(bad_input(format!("expected one value per text, not {} for {}", kept.len(), texts.len())));
    }
    let rows: Vec<usize> = kept.iter().enumerate().filter_map(|(row, &kept)| kept.then_some(row)).collect();
    let found = py.detach(|| pool.install(|| references::nearest(&column(texts), &rows, target, seed, most)));
    let digests: Vec<[u64; 2]> = found.iter().map(|near| near.digest).collect();
    Ok((
        PyArray1::from_vec(py, found.iter().map(|near| near.distance).collect()),
        PyArray2::from_owned_array(py, numpy::ndarray::Array2::from(digests)),
        PyArray1::from_vec(py, found.iter().map(|near| near.row as i64).collect()),
    ))
}

fn column(texts: &Texts) -> Vec<&str> {
    texts.iter().collect()
}

fn owned(weights: Weights<'_>) -> Option<Vec<u32>> {
    weights.map(|weights| weights.as_array().to_vec())
}
