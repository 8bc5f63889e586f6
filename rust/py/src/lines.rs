//! `decode_lines`: JSON lines to Arrow columns that refer to the bytes they came in.

use crate::errors::bad_input;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use arrow_schema::Field;
use bytes::Bytes;
use numpy::PyArray1;
use pfgen_lines::{Fields, Irregular, decode};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::ffi::to_array_pycapsules;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
/// Texts at each key, line numbers, starts of lines, lines left to Python, and the number of lines.
type Decoded<'py> = (Vec<TextArray>, Numbers<'py>, Numbers<'py>, Vec<(usize, usize, usize)>, usize);

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
/// Texts come in the order question, answer, `more_fields`; the latter are null where a line lacks them.
#[pyfunction]
pub(crate) fn decode_lines<'py>(
    py: Python<'py>,
    text: PyBackedBytes,
    question_field: &str,
    answer_field: &str,
    more_fields: Vec<PyBackedStr>,
) -> PyResult<Decoded<'py>> {
    let more: Vec<&str> = more_fields.iter().map(|field| &**field).collect();
    let fields = Fields { question: question_field, answer: answer_field, more: &more };
    let text = Buffer::from(Bytes::from_owner(text));
    let lines = py.detach(|| decode(&text, fields)).map_err(|error| bad_input(error.to_string()))?;
    let place = |line: Irregular| (line.number, line.start, line.end);
    let columns = [lines.questions, lines.answers].into_iter().chain(lines.more);
    Ok((
        columns.map(|column| TextArray(Arc::new(column))).collect(),
        PyArray1::from_vec(py, lines.numbers),
        PyArray1::from_vec(py, lines.starts),
        lines.irregular.into_iter().map(place).collect(),
        lines.count,
    ))
}

/// A digest of some bytes (XXH3, 128 bits), to recognise them; not cryptographic.
#[pyfunction]
pub(crate) fn digest(py: Python<'_>, data: &[u8]) -> String {
    format!("{:032x}", py.detach(|| xxh3_128(data)))
}
