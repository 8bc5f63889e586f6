//! Arrays, and rounding of them.

use numpy::{Element, PyArray1, PyReadonlyArray1};
use pfgen_core::round;
use pyo3::prelude::*;

/// An array of these values. May be the first that the process needs: a signal while numpy is imported is an error like others,
/// and not a panic, which it would be within the conversion.
pub(crate) fn array<'py, T: Element>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    py.import("numpy")?;
    Ok(PyArray1::from_slice(py, values))
}

/// Each value of a float64 array rounded as Python's `round(value, digits)` does.
#[pyfunction]
pub(crate) fn round_half_even<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    digits: u32,
) -> Bound<'py, PyArray1<f64>> {
    let rounded = values.as_array().iter().map(|&value| round::round_half_even(value, digits.min(15))).collect();
    PyArray1::from_vec(py, rounded)
}
