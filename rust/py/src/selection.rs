//! `Selector`: texts chosen so that their n-grams are distributed as those of a pool.

use crate::errors::to_python;
use crate::text_column::Texts;
use crate::threads::pool_for;
use numpy::{PyArray1, PyReadonlyArray1};
use pfgen_core::references::{self, Candidates, Ratio, Search};
use pyo3::prelude::*;

/// Numerator and denominator.
type Fraction = (u128, u128);

/// A choice of texts that improves as long as it runs.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct Selector {
    core: references::Selector,
    restarts: usize,
}

#[pymethods]
impl Selector {
    #[new]
    #[pyo3(signature = (texts, count, weights, strata, *, seed, restarts, min_n, max_n))]
    #[allow(clippy::too_many_arguments)] // one keyword a setting, as Python has them
    fn new(
        py: Python<'_>,
        texts: &Texts,
        count: usize,
        weights: Option<PyReadonlyArray1<'_, u64>>,
        strata: Option<PyReadonlyArray1<'_, u32>>,
        seed: u64,
        restarts: usize,
        min_n: usize,
        max_n: usize,
    ) -> PyResult<Self> {
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let strata = strata.map(|strata| strata.as_array().to_vec());
        let search = Search { count, min_n, max_n, seed, restarts };
        let build = || {
            let texts: Vec<&str> = texts.iter().collect();
            let candidates = Candidates { texts: &texts, weights: weights.as_deref(), strata: strata.as_deref() };
            references::Selector::new(&candidates, &search)
        };
        Ok(Self { core: py.detach(build).map_err(to_python)?, restarts })
    }

    #[getter]
    fn neighbours(&self) -> u64 {
        self.core.neighbours()
    }

    #[getter]
    fn largest_step(&self) -> u64 {
        self.core.largest_step()
    }

    #[getter]
    fn proposals(&self) -> u64 {
        self.core.proposals()
    }

    #[getter]
    fn error(&self) -> Fraction {
        fraction(self.core.error())
    }

    #[getter]
    fn greedy_error(&self) -> Fraction {
        fraction(self.core.greedy_error())
    }

    fn random_error(&self, py: Python<'_>, draw: u32) -> Fraction {
        fraction(Some(py.detach(|| self.core.random_error(draw))))
    }

    fn grow(&mut self, py: Python<'_>, texts: usize) -> bool {
        py.detach(|| self.core.grow(texts))
    }

    /// With `threads` threads (all cores where that is `None`), one a restart.
    #[pyo3(signature = (proposals, threads=None))]
    fn run(&mut self, py: Python<'_>, proposals: u64, threads: Option<i64>) -> PyResult<()> {
        let pool = pool_for(threads, if self.restarts > 1 { usize::MAX } else { 1 })?;
        py.detach(|| match pool {
            None => self.core.run(proposals),
            Some(pool) => pool.install(|| self.core.run_parallel(proposals)),
        });
        Ok(())
    }

    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.core.rows().into_iter().map(i64::from).collect())
    }
}

/// A choice that is not complete has the error 1.
fn fraction(error: Option<Ratio>) -> Fraction {
    error.map_or((1, 1), |error| (error.numerator, error.denominator))
}
