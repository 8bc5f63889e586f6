//! The scores of a run: as rows of its store, ranked, and summed by rank.

use crate::errors::bad_input;
use numpy::ndarray::{Array2, ArrayView1};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pfgen_core::ranking::{Bounds, left_sum, ranked, sorted_places};
use pyo3::prelude::*;

type Matrix<'py, T> = Bound<'py, PyArray2<T>>;

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
) -> PyResult<(Matrix<'py, f64>, Vec<Bounds>)> {
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

/// The places of each row's values by descending value, equal ones in their order and NaN last.
#[pyfunction]
pub(crate) fn ranking<'py>(py: Python<'py>, values: PyReadonlyArray2<'py, f64>) -> Matrix<'py, i64> {
    let values = values.as_array();
    let places = py.detach(|| {
        let mut places = Array2::zeros(values.dim());
        for (mut into, row) in places.rows_mut().into_iter().zip(values.rows()) {
            into.iter_mut().zip(ranked(row.iter().copied())).for_each(|(into, place)| *into = i64::from(place));
        }
        places
    });
    places.into_pyarray(py)
}

/// The mean of each row's values, added from the left in the order of `ranks`; with `around`, of their squared distances to
/// the number that it has for the row. Sums are plain, or compensated as in `pfgen_rs.metrics.sums`.
#[pyfunction]
#[pyo3(signature = (values, ranks, compensated, around=None))]
pub(crate) fn ranked_means<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    ranks: PyReadonlyArray2<'py, i64>,
    compensated: bool,
    around: Option<Vec<f64>>,
) -> PyResult<Vec<f64>> {
    let (values, ranks) = (values.as_array(), ranks.as_array());
    let rows = values.nrows();
    if ranks.dim() != values.dim() || around.as_ref().is_some_and(|around| around.len() != rows) {
        return Err(bad_input("values, ranks and centres of different sizes".to_owned()));
    }
    let count = values.ncols();
    if ranks.iter().any(|&place| usize::try_from(place).map_or(true, |place| place >= count)) {
        return Err(bad_input("a rank is out of range".to_owned()));
    }
    let total = |row: usize| {
        let values = values.row(row);
        let ranked = ranks.row(row).into_iter().map(move |&place| values[place as usize]);
        match &around {
            None => left_sum(ranked, compensated),
            Some(around) => left_sum(ranked.map(|value| (value - around[row]) * (value - around[row])), compensated),
        }
    };
    Ok(py.detach(|| (0..rows).map(|row| total(row) / count as f64).collect()))
}
