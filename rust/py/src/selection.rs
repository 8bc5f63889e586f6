//! `Selector`: texts chosen so that their n-grams are distributed as those of a pool.

use crate::errors::to_python;
use crate::text_column::Texts;
use numpy::{PyArray1, PyReadonlyArray1};
use pfgen_core::references::{self, Candidates};
use pyo3::prelude::*;

/// A choice of texts that grows.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct Selector {
    core: references::Selector,
}

#[pymethods]
impl Selector {
    #[new]
    fn new(
        py: Python<'_>,
        texts: &Texts,
        count: usize,
        weights: Option<PyReadonlyArray1<'_, u64>>,
        strata: Option<PyReadonlyArray1<'_, u32>>,
        min_n: usize,
        max_n: usize,
    ) -> PyResult<Self> {
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let strata = strata.map(|strata| strata.as_array().to_vec());
        let build = || {
            let texts: Vec<&str> = texts.iter().collect();
            let candidates = Candidates { texts: &texts, weights: weights.as_deref(), strata: strata.as_deref() };
            references::Selector::new(&candidates, count, &(min_n..=max_n))
        };
        Ok(Self { core: py.detach(build).map_err(to_python)? })
    }

    fn grow(&mut self, py: Python<'_>, texts: usize) -> bool {
        py.detach(|| self.core.grow(texts))
    }

    fn error(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.core.error())
    }

    fn random_error(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.core.random_error())
    }

    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.core.rows().into_iter().map(i64::from).collect())
    }
}
