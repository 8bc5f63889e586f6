//! `ParquetFile`: a table written as Parquet, bit by bit.

use crate::errors::bad_input;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3_arrow::{PySchema, PyTable};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a column's different texts in a row group from which on they are written one by one.
const LARGEST_DICTIONARY: usize = 1 << 16;

/// A Parquet file that is being written, without compression and statistics.
///
/// Texts that repeat are written once a row group. The file is complete after `finish`.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct ParquetFile(Mutex<Option<ArrowWriter<File>>>);

#[pymethods]
impl ParquetFile {
    /// Begins to write the existing file at `path`.
    #[new]
    #[pyo3(signature = (path, schema, row_group_size))]
    fn new(path: PathBuf, schema: PySchema, row_group_size: usize) -> PyResult<Self> {
        let schema = without_views(schema.into_inner().as_ref());
        let properties = properties(&schema, row_group_size);
        let file = File::options().write(true).open(path)?;
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(failed)?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Adds the rows of a table in Arrow's form.
    fn write(&self, py: Python<'_>, table: PyTable) -> PyResult<()> {
        py.detach(|| {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let writer = held.as_mut().ok_or_else(finished)?;
            table.batches().iter().try_for_each(|batch| writer.write(batch)).map_err(failed)
        })
    }

    /// Writes what is left, and the footer.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(finished)?;
            writer.close().map(drop).map_err(failed)
        })
    }
}

/// The same columns with texts as other libraries expect them in a file: views are a form for memory.
fn without_views(schema: &Schema) -> SchemaRef {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8View => Arc::new(Field::clone(field).with_data_type(DataType::LargeUtf8)),
        _ => field.clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Compression would take much of the time, and dictionaries of numbers save little.
fn properties(schema: &Schema, row_group_size: usize) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(row_group_size))
        .set_dictionary_enabled(false)
        .set_dictionary_page_size_limit(LARGEST_DICTIONARY);
    for field in schema.fields().iter().filter(|field| field.data_type() == &DataType::LargeUtf8) {
        properties = properties.set_column_dictionary_enabled(vec![field.name().clone()].into(), true);
    }
    properties.build()
}

fn finished() -> PyErr {
    bad_input("the Parquet file is finished already".to_owned())
}

/// An `OSError` with the system's number, if it is the system that failed.
fn failed(error: ParquetError) -> PyErr {
    let message = error.to_string();
    let ParquetError::External(inner) = error else {
        return PyOSError::new_err(message);
    };
    match inner.downcast::<io::Error>() {
        Ok(error) => match error.raw_os_error() {
            Some(number) => system_error(number, &error.to_string()),
            None => (*error).into(),
        },
        Err(_) => PyOSError::new_err(message),
    }
}

/// The error as Python raises it: number and message apart.
fn system_error(number: i32, text: &str) -> PyErr {
    let message = text.rsplit_once(" (os error").map_or(text, |(message, _)| message);
    PyOSError::new_err((number, message.to_owned()))
}
