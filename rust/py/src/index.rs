//! `Index`: n-gram statistics of reference answers.

use crate::errors::to_python;
use crate::text_column::{Text, Texts};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pfgen_core::index::Ngram;
use pfgen_core::{Error, Markers, NgramIndex, SourceText};
use pyo3::prelude::*;

/// Source name, answer, offset.
type Place<'a> = (&'a str, usize, usize);

/// Suffix array with LCP over the reference answers of one question.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Index {
    pub(crate) core: NgramIndex,
}

#[pymethods]
impl Index {
    #[new]
    fn new(py: Python<'_>, sources: Vec<(String, Py<Texts>)>) -> PyResult<Self> {
        let sources: Vec<_> = sources.iter().map(|(name, answers)| (&**name, answers.get())).collect();
        let build = || {
            let texts = sources.iter().map(|&(name, answers)| SourceText { name, answers: answers.iter().collect() });
            NgramIndex::build(&texts.collect::<Vec<_>>(), Markers::None)
        };
        Ok(Self { core: py.detach(build).map_err(to_python)? })
    }

    #[getter]
    fn sources(&self) -> Vec<&str> {
        self.core.source_names().iter().map(String::as_str).collect()
    }

    #[getter]
    fn answer_counts(&self) -> Vec<usize> {
        (0..self.core.source_names().len()).map(|source| self.core.answer_count(source)).collect()
    }

    #[getter]
    fn character_count(&self) -> usize {
        self.core.character_count()
    }

    fn count(&self, pattern: Text) -> PyResult<usize> {
        self.core.count(&pattern.0).map_err(to_python)
    }

    fn document_frequency(&self, pattern: Text) -> PyResult<Vec<u32>> {
        Ok(self.core.document_frequency(&pattern.0).map_err(to_python)?.by_source)
    }

    fn locate(&self, pattern: Text) -> PyResult<Vec<Place<'_>>> {
        let places = self.core.locate(&pattern.0).map_err(to_python)?;
        Ok(places.into_iter().map(|at| (self.name(at.source), at.answer, at.offset)).collect())
    }

    fn concordance(&self, pattern: Text, width: usize) -> PyResult<Vec<(Place<'_>, String, String)>> {
        let lines = self.core.concordance(&pattern.0, width).map_err(to_python)?;
        let place = |source, answer, offset| (self.name(source), answer, offset);
        Ok(lines
            .into_iter()
            .map(|line| (place(line.at.source, line.at.answer, line.at.offset), line.left, line.right))
            .collect())
    }

    fn next_characters(&self, pattern: Text) -> PyResult<Vec<(Option<char>, usize)>> {
        self.core.next_characters(&pattern.0).map_err(to_python)
    }

    fn ngrams(&self, py: Python<'_>, n: usize, min_df: u32, top: Option<usize>) -> Vec<(String, u32, Vec<u32>)> {
        let found = py.detach(|| self.core.ngrams(n, min_df, top));
        found.into_iter().map(|Ngram { text, count, frequency }| (text, count, frequency.by_source)).collect()
    }

    fn count_batch<'py>(&self, py: Python<'py>, patterns: &Texts) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let count = || patterns.iter().map(|pattern| Ok(self.core.count(pattern)? as u64)).collect();
        let counts: Result<Vec<_>, Error> = py.detach(count);
        Ok(PyArray1::from_vec(py, counts.map_err(to_python)?))
    }

    fn document_frequency_batch<'py>(&self, py: Python<'py>, patterns: &Texts) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let found = py.detach(|| self.core.document_frequencies(patterns.iter())).map_err(to_python)?;
        let shape = [found.len(), self.core.source_names().len()];
        PyArray1::from_vec(py, found.into_iter().flat_map(|frequency| frequency.by_source).collect()).reshape(shape)
    }
}

impl Index {
    fn name(&self, source: usize) -> &str {
        &self.core.source_names()[source]
    }
}
