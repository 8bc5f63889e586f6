//! The scores of a run: as rows of its store, ranked, and summed by rank.

use crate::errors::bad_input;
use numpy::ndarray::{Array2, ArrayView1};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

type Matrix<'py, T> = Bound<'py, PyArray2<T>>;
/// Rows, and where those of each number begin and end.
type Rows<'py> = (Matrix<'py, f64>, Vec<(u32, usize, usize)>);

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
) -> PyResult<Rows<'py>> {
    let (numbers, lines, lengths) = (numbers.as_array(), lines.as_array(), lengths.as_array());
    let starts = starts.as_ref().map(PyReadonlyArray1::as_array);
    let columns: Vec<_> = columns.iter().map(PyReadonlyArray1::as_array).collect();
    let sizes = columns.iter().map(ArrayView1::len).chain(starts.map(|starts| starts.len()));
    if sizes.chain([lines.len(), lengths.len()]).any(|size| size != numbers.len()) {
        return Err(bad_input("columns of different lengths".to_owned()));
    }
    let (matrix, bounds) = py.detach(|| {
        let (bounds, places) = sorted_places(numbers);
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

/// Where the rows of each number that occurs begin and end, and the place of each row, sorted by number.
fn sorted_places(numbers: ArrayView1<'_, u32>) -> (Vec<(u32, usize, usize)>, Vec<usize>) {
    let most = numbers.iter().max().map_or(0, |&most| most as usize + 1);
    let mut next = vec![0; most];
    for &number in numbers {
        next[number as usize] += 1;
    }
    let (mut bounds, mut end) = (Vec::new(), 0);
    for (number, next) in (0u32..).zip(&mut next) {
        let start = end;
        end += *next;
        if *next > 0 {
            bounds.push((number, start, end));
        }
        *next = start;
    }
    let places = numbers.iter().map(|&number| {
        next[number as usize] += 1;
        next[number as usize] - 1
    });
    let places = places.collect();
    (bounds, places)
}

/// The places of each row's values by descending value, equal ones in their order and NaN last.
#[pyfunction]
pub(crate) fn ranking<'py>(py: Python<'py>, values: PyReadonlyArray2<'py, f64>) -> Matrix<'py, i64> {
    let values = values.as_array();
    let ranked = py.detach(|| {
        let mut ranked = Array2::zeros(values.dim());
        for (mut into, row) in ranked.rows_mut().into_iter().zip(values.rows()) {
            let mut keys: Vec<_> = row.iter().map(|&value| descending_key(value)).zip(0u32..).collect();
            keys.sort_unstable();
            into.iter_mut().zip(keys).for_each(|(into, (_, place))| *into = i64::from(place));
        }
        ranked
    });
    ranked.into_pyarray(py)
}

/// A number that is the smaller, the larger `value` is; zeros are equal, and NaN has the largest.
fn descending_key(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (0.0 - value).to_bits(); // never -0.0
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
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
        let sum = if compensated { compensated_sum } else { plain_sum };
        match &around {
            None => sum(&mut { ranked }),
            Some(around) => sum(&mut ranked.map(|value| (value - around[row]) * (value - around[row]))),
        }
    };
    Ok(py.detach(|| (0..rows).map(|row| total(row) / count as f64).collect()))
}

fn plain_sum(values: &mut dyn Iterator<Item = f64>) -> f64 {
    values.fold(-0.0, |total, value| total + value)
}

/// Neumaier's sum: errors are summed apart, and left out where they are not finite.
fn compensated_sum(values: &mut dyn Iterator<Item = f64>) -> f64 {
    let (total, error) = values.fold((0.0, -0.0), |(before, error): (f64, f64), value| {
        let total = before + value;
        let part = total - before;
        (total, error + ((before - (total - part)) + (value - part)))
    });
    if error.is_finite() { total + error } else { total }
}
