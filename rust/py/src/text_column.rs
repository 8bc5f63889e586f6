//! A column of text from Python: Arrow memory or a sequence of `str`, read in place either way.

use crate::errors::bad_input;
use crate::threads::pool_for;
use crate::utf8;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray};
use arrow_schema::DataType;
use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;
use pyo3_arrow::input::AnyArray;
use rayon::ThreadPool;

/// A column of text, converted once and then used by any number of calls.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Texts {
    column: TextColumn,
}

/// Text that stays where Python has it; any thread may read it.
enum TextColumn {
    Arrow { chunks: Vec<Chunk>, starts: Vec<usize> },
    Strings(Vec<PyBackedStr>),
}

#[derive(Clone)]
enum Chunk {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
}

#[pymethods]
impl Texts {
    /// Checks that Arrow memory is UTF-8, with `threads` threads (all cores where that is `None`).
    #[new]
    #[pyo3(signature = (values, threads=None))]
    fn new(py: Python<'_>, values: TextColumn, threads: Option<i64>) -> PyResult<Self> {
        py.detach(|| values.check(threads))?;
        Ok(Self { column: values })
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__(&self, row: usize) -> PyResult<&str> {
        if row < self.len() { Ok(self.get(row)) } else { Err(PyIndexError::new_err(row)) }
    }

    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let lengths = py.detach(|| self.iter().map(|text| text.chars().count() as i64).collect());
        PyArray1::from_vec(py, lengths)
    }
}

impl Texts {
    pub(crate) fn len(&self) -> usize {
        self.column.len()
    }

    pub(crate) fn get(&self, row: usize) -> &str {
        self.column.get(row)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl TextColumn {
    fn len(&self) -> usize {
        match self {
            Self::Arrow { starts, .. } => starts[starts.len() - 1],
            Self::Strings(strings) => strings.len(),
        }
    }

    fn get(&self, row: usize) -> &str {
        match self {
            Self::Arrow { chunks, starts } => {
                let chunk = starts.partition_point(|&start| start <= row) - 1;
                chunks[chunk].get(row - starts[chunk])
            }
            Self::Strings(strings) => &strings[row],
        }
    }

    fn from_arrow(column: AnyArray) -> PyResult<Self> {
        let (arrays, _) = column.into_chunked_array()?.into_inner();
        let (mut chunks, mut starts) = (Vec::new(), vec![0]);
        for array in arrays {
            let start = starts[starts.len() - 1];
            if array.null_count() > 0
                && let Some(row) = (0..array.len()).find(|&row| array.is_null(row))
            {
                return Err(bad_input(format!("row {} is null: every row must be text", start + row)));
            }
            starts.push(start + array.len());
            chunks.push(Chunk::new(&array)?);
        }
        Ok(Self::Arrow { chunks, starts })
    }

    /// Rejects a row that is not UTF-8: other libraries hand over their memory unchecked.
    fn check(&self, threads: Option<i64>) -> PyResult<()> {
        let Self::Arrow { chunks, starts } = self else { return Ok(()) };
        let pool = pool_for(threads, self.len())?;
        for (chunk, start) in chunks.iter().zip(starts) {
            if let Some(row) = chunk.first_invalid(pool.as_deref()) {
                return Err(bad_input(format!("row {} is not UTF-8", start + row)));
            }
        }
        Ok(())
    }

    fn from_sequence(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = |(row, value): (usize, PyResult<Bound<'_, PyAny>>)| text(&value?, || format!("row {row}"));
        Ok(Self::Strings(values.try_iter()?.enumerate().map(text).collect::<PyResult<_>>()?))
    }
}

/// One text, in place.
pub(crate) struct Text(pub(crate) PyBackedStr);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        text(&value, || "the value".to_owned()).map(Self)
    }
}

fn text(value: &Bound<'_, PyAny>, place: impl Fn() -> String) -> PyResult<PyBackedStr> {
    let string = value.cast::<PyString>().map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        bad_input(format!("expected text, but {} is {kind}", place()))
    })?;
    PyBackedStr::try_from(string.clone())
        .map_err(|_| bad_input(format!("{} contains a lone surrogate, which is not valid Unicode text", place())))
}

impl<'py> FromPyObject<'_, 'py> for TextColumn {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() {
            return Err(bad_input("expected a column of text, not a single string: put it in a list".to_owned()));
        }
        if value.hasattr("__arrow_c_stream__")? || value.hasattr("__arrow_c_array__")? {
            let column =
                value.extract().map_err(|error: PyErr| bad_input(format!("the column cannot be read: {error}")))?;
            return Self::from_arrow(column);
        }
        Self::from_sequence(&value)
    }
}

impl Chunk {
    fn new(array: &ArrayRef) -> PyResult<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string().clone()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string().clone()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view().clone()),
            other => {
                let expected = "expected a column of text (Utf8, LargeUtf8 or Utf8View)";
                return Err(bad_input(format!("{expected}, not of {other}")));
            }
        })
    }

    fn first_invalid(&self, pool: Option<&ThreadPool>) -> Option<usize> {
        match self {
            Self::Utf8(array) if utf8::are_rows_valid(array, pool) => None,
            Self::LargeUtf8(array) if utf8::are_rows_valid(array, pool) => None,
            Self::Utf8View(array) if utf8::are_views_valid(array, pool) => None,
            Self::Utf8(array) => utf8::first_invalid(&BinaryArray::from(array.clone()), pool),
            Self::LargeUtf8(array) => utf8::first_invalid(&LargeBinaryArray::from(array.clone()), pool),
            Self::Utf8View(array) => utf8::first_invalid(&array.clone().to_binary_view(), pool),
        }
    }

    fn get(&self, row: usize) -> &str {
        match self {
            Self::Utf8(array) => array.value(row),
            Self::LargeUtf8(array) => array.value(row),
            Self::Utf8View(array) => array.value(row),
        }
    }
}
