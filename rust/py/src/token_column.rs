//! A column of tokens from Python, Arrow lists or sequences of sequences, as coded texts.

use crate::errors::bad_input;
use crate::lines::TextArray;
use crate::text_column::Text;
use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, LargeStringArray, OffsetSizeTrait};
use arrow_schema::DataType;
use pfgen_core::units::{LARGEST_TOKEN, token_code, token_of};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use pyo3_arrow::input::AnyArray;
use std::fmt::{Display, Write};
use std::ops::Range;
use std::sync::Arc;

const EXPECTED: &str = "expected a column of lists of token ids";

/// A column as Python hands it over.
pub(crate) enum TokenColumn {
    Arrow(Vec<ArrayRef>),
    Coded(Vec<String>),
}

/// Lists of tokens as coded texts, a code point a token.
#[pyfunction]
pub(crate) fn code_tokens(py: Python<'_>, values: TokenColumn) -> PyResult<TextArray> {
    let coded = py.detach(|| match values {
        TokenColumn::Arrow(arrays) => Ok(code_arrays(&arrays)?.finish()),
        TokenColumn::Coded(texts) => Ok::<_, PyErr>(LargeStringArray::from_iter_values(texts)),
    });
    Ok(TextArray(Arc::new(coded?)))
}

/// The tokens of a coded text.
#[pyfunction]
pub(crate) fn token_ids(coded: Text) -> Vec<u32> {
    coded.0.chars().filter_map(token_of).collect()
}

impl<'py> FromPyObject<'_, 'py> for TokenColumn {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() {
            return Err(bad_input(format!("{EXPECTED}, not a single string")));
        }
        if value.hasattr("__arrow_c_stream__")? || value.hasattr("__arrow_c_array__")? {
            let read = value.extract().and_then(|column: AnyArray| Ok(column.into_chunked_array()?));
            let column = read.map_err(|error| bad_input(format!("the column cannot be read: {error}")))?;
            return Ok(Self::Arrow(column.into_inner().0));
        }
        let rows = value.try_iter()?.enumerate();
        Ok(Self::Coded(rows.map(|(row, tokens)| code_row(row, &tokens?)).collect::<PyResult<_>>()?))
    }
}

fn code_row(row: usize, tokens: &Bound<'_, PyAny>) -> PyResult<String> {
    let kind = || tokens.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let no_list = || bad_input(format!("row {row} must be a list of token ids, not {}", kind()));
    if tokens.is_instance_of::<PyString>() {
        return Err(no_list());
    }
    tokens.try_iter().map_err(|_| no_list())?.map(|token| code_of(row, &token?)).collect()
}

fn code_of(row: usize, token: &Bound<'_, PyAny>) -> PyResult<char> {
    let id = if token.is_instance_of::<PyBool>() { None } else { token.extract::<u32>().ok() };
    match id.and_then(token_code) {
        Some(code) => Ok(code),
        None => Err(no_token(row, token.repr()?)),
    }
}

fn no_token(row: usize, token: impl Display) -> PyErr {
    bad_input(format!("row {row}: token ids must be whole numbers from 0 to {LARGEST_TOKEN}, not {token}"))
}

fn code_arrays(arrays: &[ArrayRef]) -> PyResult<LargeStringBuilder> {
    let (mut coded, mut first) = (LargeStringBuilder::new(), 0);
    for array in arrays {
        if let Some(row) = (0..array.len()).find(|&row| array.is_null(row)) {
            return Err(bad_input(format!("row {} is null: every row must be a list of token ids", first + row)));
        }
        match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                code_values(lists.values(), ranges(lists.value_offsets()), first, &mut coded)?;
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                code_values(lists.values(), ranges(lists.value_offsets()), first, &mut coded)?;
            }
            DataType::FixedSizeList(_, size) => {
                let (lists, size) = (array.as_fixed_size_list(), *size as usize);
                let rows = (0..lists.len()).map(|row| row * size..(row + 1) * size);
                code_values(lists.values(), rows, first, &mut coded)?;
            }
            other => return Err(bad_input(format!("{EXPECTED}, not of {other}"))),
        }
        first += array.len();
    }
    Ok(coded)
}

fn ranges<O: OffsetSizeTrait>(offsets: &[O]) -> impl Iterator<Item = Range<usize>> {
    offsets.windows(2).map(|ends| ends[0].as_usize()..ends[1].as_usize())
}

fn code_values(
    values: &ArrayRef,
    rows: impl Iterator<Item = Range<usize>>,
    first: usize,
    into: &mut LargeStringBuilder,
) -> PyResult<()> {
    match values.data_type() {
        DataType::Int8 => code_numbers::<Int8Type>(values, rows, first, into),
        DataType::Int16 => code_numbers::<Int16Type>(values, rows, first, into),
        DataType::Int32 => code_numbers::<Int32Type>(values, rows, first, into),
        DataType::Int64 => code_numbers::<Int64Type>(values, rows, first, into),
        DataType::UInt8 => code_numbers::<UInt8Type>(values, rows, first, into),
        DataType::UInt16 => code_numbers::<UInt16Type>(values, rows, first, into),
        DataType::UInt32 => code_numbers::<UInt32Type>(values, rows, first, into),
        DataType::UInt64 => code_numbers::<UInt64Type>(values, rows, first, into),
        // What libraries make of lists that are all empty.
        DataType::Null if values.is_empty() => {
            into.extend(rows.map(|_| Some("")));
            Ok(())
        }
        other => Err(bad_input(format!("{EXPECTED}, not of lists of {other}"))),
    }
}

fn code_numbers<T: ArrowPrimitiveType<Native: TryInto<u32> + Display>>(
    values: &ArrayRef,
    rows: impl Iterator<Item = Range<usize>>,
    first: usize,
    into: &mut LargeStringBuilder,
) -> PyResult<()> {
    let values = values.as_primitive::<T>();
    for (row, places) in (first..).zip(rows) {
        for place in places {
            if values.is_null(place) {
                return Err(no_token(row, "null"));
            }
            let token = values.value(place);
            let code = token.try_into().ok().and_then(token_code).ok_or_else(|| no_token(row, token))?;
            into.write_char(code).map_err(|error| bad_input(error.to_string()))?;
        }
        into.append_value("");
    }
    Ok(())
}
