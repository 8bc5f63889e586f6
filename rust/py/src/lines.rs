//! `decode_lines`: JSON lines to Arrow columns that refer to the bytes they came in.

use crate::errors::bad_input;
use crate::numeric::array;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use arrow_schema::Field;
use bytes::Bytes;
use numpy::{PyArray1, PyReadonlyArray1};
use pfgen_lines::{Fields, Irregular, decode};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::ffi::to_array_pycapsules;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
/// Texts at each key, places of the lines, lines left to Python, and the number of lines.
type Decoded = (Vec<TextArray>, Places, Vec<(usize, usize, usize)>, usize);

/// Where responses are: the line of each, and where that begins, if it does so somewhere.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Places {
    pub(crate) lines: Vec<i64>,
    pub(crate) starts: Option<Vec<i64>>,
}

#[pymethods]
impl Places {
    #[new]
    #[pyo3(signature = (lines, starts=None))]
    fn new(lines: PyReadonlyArray1<'_, i64>, starts: Option<PyReadonlyArray1<'_, i64>>) -> PyResult<Self> {
        let values = |array: PyReadonlyArray1<'_, i64>| array.as_array().iter().copied().collect::<Vec<_>>();
        let (lines, starts) = (values(lines), starts.map(values));
        if starts.as_ref().is_some_and(|starts| starts.len() != lines.len()) {
            return Err(bad_input("columns of different lengths".to_owned()));
        }
        Ok(Self { lines, starts })
    }

    fn __len__(&self) -> usize {
        self.lines.len()
    }

    /// The line of a response.
    fn line(&self, row: usize) -> PyResult<i64> {
        self.lines.get(row).copied().ok_or_else(|| PyIndexError::new_err(row))
    }

    /// Those of some responses: from one, and up to another or the end.
    fn between(&self, start: usize, stop: usize) -> Self {
        let part = |places: &Vec<i64>| {
            let stop = stop.min(places.len());
            places[start.min(stop)..stop].to_vec()
        };
        Self { lines: part(&self.lines), starts: self.starts.as_ref().map(part) }
    }

    #[getter]
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Numbers<'py>> {
        array(py, &self.lines)
    }

    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Option<Numbers<'py>>> {
        self.starts.as_ref().map(|starts| array(py, starts)).transpose()
    }
}

/// A column of text on its way to another library, by Arrow's PyCapsule interface.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct TextArray(pub(crate) ArrayRef);

#[pymethods]
impl TextArray {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let field = Arc::new(Field::new("", self.0.data_type().clone(), self.0.is_nullable()));
        Ok(to_array_pycapsules(py, field, &self.0, requested_schema)?)
    }
}

/// Decodes whole lines; those that are not plainly records are listed, for Python to judge.
///
/// Texts come in the order question, answer, `more_fields`; the latter are null where a line lacks them. `first` is the number
/// of the first line, which begins at `start`; lines left to Python have numbers and places within `text`.
#[pyfunction]
pub(crate) fn decode_lines(
    py: Python<'_>,
    text: PyBackedBytes,
    question_field: &str,
    answer_field: &str,
    more_fields: Vec<PyBackedStr>,
    first: i64,
    start: i64,
) -> PyResult<Decoded> {
    let more: Vec<&str> = more_fields.iter().map(|field| &**field).collect();
    let fields = Fields { question: question_field, answer: answer_field, more: &more };
    let text = Buffer::from(Bytes::from_owner(text));
    let lines = py.detach(|| decode(&text, fields)).map_err(|error| bad_input(error.to_string()))?;
    let place = |line: Irregular| (line.number, line.start, line.end);
    let columns = [lines.questions, lines.answers].into_iter().chain(lines.more);
    let after = |numbers: Vec<i64>, first| numbers.into_iter().map(|number| number + first).collect();
    let places = Places { lines: after(lines.numbers, first), starts: Some(after(lines.starts, start)) };
    Ok((
        columns.map(|column| TextArray(Arc::new(column))).collect(),
        places,
        lines.irregular.into_iter().map(place).collect(),
        lines.count,
    ))
}

/// A digest of some bytes (XXH3, 128 bits), to recognise them; not cryptographic.
#[pyfunction]
pub(crate) fn digest(py: Python<'_>, data: &[u8]) -> String {
    format!("{:032x}", py.detach(|| xxh3_128(data)))
}
