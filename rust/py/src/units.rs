//! `Vocabulary`: texts to coded texts, a code point a word; where words and keywords end.

use crate::errors::{bad_input, to_python};
use crate::lines::TextArray;
use crate::text_column::{Text, Texts};
use crate::threads::pool_for;
use arrow_array::LargeStringArray;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pfgen_core::units::word_ends_into;
use pfgen_core::{Literals, words};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;

/// The words of some texts and their code points.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Vocabulary {
    core: pfgen_core::Vocabulary,
}

#[pymethods]
impl Vocabulary {
    #[new]
    #[pyo3(signature = (columns, reserved, threads=None))]
    fn new(py: Python<'_>, columns: Vec<Py<Texts>>, reserved: &str, threads: Option<i64>) -> PyResult<Self> {
        let columns: Vec<_> = columns.iter().map(Py::get).collect();
        let build = || {
            let texts: Vec<_> = columns.iter().flat_map(|texts| texts.iter()).collect();
            let core = match pool_for(threads, texts.len())? {
                None => pfgen_core::Vocabulary::new(&texts, reserved),
                Some(pool) => pool.install(|| pfgen_core::Vocabulary::new_parallel(&texts, reserved)),
            };
            core.map_err(to_python)
        };
        Ok(Self { core: py.detach(build)? })
    }

    fn __len__(&self) -> usize {
        self.core.len()
    }

    #[pyo3(signature = (texts, threads=None))]
    fn encode(&self, py: Python<'_>, texts: &Texts, threads: Option<i64>) -> PyResult<TextArray> {
        let encode = |row| {
            let mut coded = String::new();
            self.core.encode(texts.get(row), &mut coded);
            coded
        };
        let coded: Vec<String> = py.detach(|| by_row(texts.len(), threads, encode))?;
        Ok(TextArray(Arc::new(LargeStringArray::from_iter_values(coded))))
    }

    /// The words of a coded text.
    fn words(&self, coded: Text) -> Vec<String> {
        let word = |code| self.core.word(code).map_or_else(|| String::from(code), str::to_owned);
        coded.0.chars().map(word).collect()
    }
}

/// Where the first `limit` words of a text (all of them where that is `None`) begin and end, in code points.
#[pyfunction]
#[pyo3(signature = (text, limit=None))]
pub(crate) fn word_spans(text: Text, limit: Option<usize>) -> Vec<(usize, usize)> {
    let (mut at, mut bytes) = (0, 0);
    let mut characters_to = |end: usize| {
        at += text.0[bytes..end].chars().count();
        bytes = end;
        at
    };
    let span = |(start, word): (usize, &str)| (characters_to(start), characters_to(start + word.len()));
    words(&text.0).take(limit.unwrap_or(usize::MAX)).map(span).collect()
}

/// Ends of literals in texts as far as those are read, in words; a row a text.
#[pyfunction]
#[pyo3(signature = (literals, texts, limit, threads=None))]
pub(crate) fn word_ends<'py>(
    py: Python<'py>,
    literals: &Texts,
    texts: &Texts,
    limit: usize,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let count = literals.len();
    let literals = Literals::new(literals.iter());
    let ends = |row| {
        let mut ends = vec![0; count];
        word_ends_into(&literals, texts.get(row), limit, &mut ends);
        ends
    };
    let rows: Vec<Vec<u32>> = py.detach(|| by_row(texts.len(), threads, ends))?;
    let flat = PyArray1::from_vec(py, rows.into_iter().flatten().collect());
    flat.reshape([texts.len(), count]).map_err(|error| bad_input(error.to_string()))
}

fn by_row<T: Send>(rows: usize, threads: Option<i64>, of: impl Fn(usize) -> T + Send + Sync) -> PyResult<Vec<T>> {
    Ok(match pool_for(threads, rows)? {
        None => (0..rows).map(of).collect(),
        Some(pool) => pool.install(|| (0..rows).into_par_iter().map(of).collect()),
    })
}
