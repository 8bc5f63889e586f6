//! `Expression`: a regular expression over columns of text.

use crate::text_column::Texts;
use crate::threads::pool_for;
use numpy::PyArray1;
use pyo3::prelude::*;
use rayon::prelude::*;

/// A regular expression that is matched in linear time.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Expression {
    core: pfgen_core::Expression,
}

#[pymethods]
impl Expression {
    /// `None` if the pattern is invalid or too large.
    #[staticmethod]
    fn compile(pattern: &str) -> Option<Self> {
        pfgen_core::Expression::new(pattern).map(|core| Self { core })
    }

    /// End of the first match in each text, as far as it is read, in code points; `UNKNOWN` where there is none.
    #[pyo3(signature = (texts, limit, threads=None))]
    fn ends<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        limit: usize,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let end = |row| self.core.end(texts.get(row), limit).unwrap_or(u32::MAX);
        let ends = py.detach(|| {
            Ok::<_, PyErr>(match pool_for(threads, texts.len())? {
                None => (0..texts.len()).map(end).collect(),
                Some(pool) => pool.install(|| (0..texts.len()).into_par_iter().map(end).collect()),
            })
        })?;
        Ok(PyArray1::from_vec(py, ends))
    }
}
