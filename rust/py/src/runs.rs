//! The scores of a run: as rows of its store, ranked, and summed by rank.

use crate::errors::bad_input;
use numpy::ndarray::{Array2, ArrayView1};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pfgen_core::ranking::{Bounds, left_sum, ranked, sorted_places};
use pyo3::prelude::*;

/// Mean and variance of each column, and rows.
type Summary = (Vec<(f64, f64)>, Vec<Vec<f64>>);

/// A row for each response: line, start (0 where there is none), length, and its value in each column.
///
/// Rows are sorted by number, stable.
#[pyfunction]
pub(crate) fn rows_by_number<'py>(
    py: Python<'py>,
    numbers: PyReadonlyArray1<'py, u32>,
    lines: PyReadonlyArray1<'py, i64>,
    starts: Option<PyReadonlyArray1<'py, i64>>,
    lengths: PyReadonlyArray1<'py, u32>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<Bounds>)> {
    let (numbers, lines, lengths) = (numbers.as_array(), lines.as_array(), lengths.as_array());
    let starts = starts.as_ref().map(PyReadonlyArray1::as_array);
    let columns: Vec<_> = columns.iter().map(PyReadonlyArray1::as_array).collect();
    let sizes = columns.iter().map(ArrayView1::len).chain(starts.map(|starts| starts.len()));
    if sizes.chain([lines.len(), lengths.len()]).any(|size| size != numbers.len()) {
        return Err(bad_input("columns of different lengths".to_owned()));
    }
    let (matrix, bounds) = py.detach(|| {
        let (bounds, places) = sorted_places(numbers.iter().copied());
        let mut matrix = Array2::zeros((numbers.len(), 3 + columns.len()));
        for (row, place) in places.into_iter().enumerate() {
            let start = starts.map_or(0, |starts| starts[row]);
            let first = [lines[row] as f64, start as f64, f64::from(lengths[row])];
            let values = first.into_iter().chain(columns.iter().map(|column| column[row]));
            matrix.row_mut(place).iter_mut().zip(values).for_each(|(into, value)| *into = value);
        }
        (matrix, bounds)
    });
    Ok((matrix.into_pyarray(py), bounds))
}

/// Of the responses to a question: means and variances of these columns, added from the left by descending value in the column
/// `average` (equal ones in their order, NaN last), and the rows at these places in that order.
///
/// Sums are plain, or compensated as in `pfgen_rs.metrics.sums`. O(rows · (log rows + columns)).
#[pyfunction]
pub(crate) fn ranked_summary(
    py: Python<'_>,
    rows: PyReadonlyArray2<'_, f64>,
    columns: Vec<usize>,
    average: usize,
    places: Vec<usize>,
    compensated: bool,
) -> PyResult<Summary> {
    let rows = rows.as_array();
    let (height, width) = rows.dim();
    if columns.iter().chain([&average]).any(|&column| column >= width) || places.iter().any(|&place| place >= height) {
        return Err(bad_input("a column or a place is out of range".to_owned()));
    }
    Ok(py.detach(|| {
        let ranks: Vec<_> = ranked(rows.column(average).iter().copied()).map(|place| place as usize).collect();
        let count = height as f64;
        let mut moments = Vec::with_capacity(columns.len());
        for column in columns {
            let values = ranks.iter().map(|&place| rows[[place, column]]);
            let mean = left_sum(values.clone(), compensated) / count;
            let variance = left_sum(values.map(|value| (value - mean) * (value - mean)), compensated) / count;
            moments.push((mean, variance));
        }
        let samples = places.iter().map(|&place| rows.row(ranks[place]).to_vec()).collect();
        (moments, samples)
    }))
}
