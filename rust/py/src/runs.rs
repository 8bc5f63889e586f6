//! The scores of a run: as rows of its store, ranked, and summed by rank.

use crate::batch::{Codes, Scored, UNKNOWN};
use crate::errors::bad_input;
use crate::lines::Places;
use crate::settings::Settings;
use pfgen_core::TOTALS;
use pfgen_core::ranking::Bounds;
use pfgen_core::run::{self, PLACE, row_bytes, write_rows};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Mean and variance of each column, and rows.
type Question = (Vec<(f64, f64)>, Vec<Vec<f64>>);
/// Some rows, from one to another.
type Piece = (PyBackedBytes, usize, usize);

/// A row for each response, as bytes: line, start (0 where there is none), length, and its scores, all of them float64.
///
/// Rows are sorted by the number of the question, stable. Also returns the rows of each number.
#[pyfunction]
pub(crate) fn sorted_rows<'py>(
    py: Python<'py>,
    codes: &Codes,
    places: &Places,
    scored: &Scored,
) -> PyResult<(Bound<'py, PyBytes>, Vec<Bounds>)> {
    let (count, columns) = (codes.of.len(), &scored.columns);
    if [places.lines.len(), columns.lengths.len()].iter().any(|&length| length != count) {
        return Err(bad_input("columns of different lengths".to_owned()));
    }
    if codes.of.contains(&UNKNOWN) {
        return Err(bad_input("a question is out of range".to_owned()));
    }
    let place = |row: usize| (places.lines[row], places.starts.as_ref().map_or(0, |starts| starts[row]));
    let mut bounds = Vec::new();
    let rows = PyBytes::new_with(py, count * row_bytes(columns.scores.len()), |rows| {
        bounds = write_rows(&codes.of, place, columns, rows);
        Ok(())
    })?;
    Ok((rows, bounds))
}

/// The same rows with totals that are plain or compensated sums of the shares: of each question the range of its rows, and the
/// places of its sources.
#[pyfunction]
pub(crate) fn sum_again<'py>(
    py: Python<'py>,
    rows: PyBackedBytes,
    width: usize,
    bounds: Vec<(usize, usize, Vec<usize>)>,
    settings: &Settings,
    compensated: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (size, all) = (row_bytes(width.saturating_sub(PLACE)), width.saturating_sub(PLACE + TOTALS) / 2);
    let fits = |(start, stop, sources): &(usize, usize, Vec<usize>)| {
        start <= stop && stop.saturating_mul(size) <= rows.len() && sources.iter().all(|&source| source < all)
    };
    if !bounds.iter().all(fits) {
        return Err(bad_input("rows or sources are out of range".to_owned()));
    }
    PyBytes::new_with(py, rows.len(), |into| {
        into.copy_from_slice(&rows);
        for (start, stop, sources) in &bounds {
            let rows = into[start * size..stop * size].chunks_exact_mut(size);
            rows.for_each(|row| run::sum_again(row, sources, all, &settings.core, compensated));
        }
        Ok(())
    })
}

/// The summary of a run, question by question.
#[pyclass(module = "pfgen_rs._native")]
pub(crate) struct RunSummary {
    core: run::Summary,
    width: usize,
    size: usize,
}

#[pymethods]
impl RunSummary {
    /// Of rows with so many columns in all; `average` is that of the score.
    #[new]
    fn new(width: usize, average: usize, trials: usize, compensated: bool) -> PyResult<Self> {
        if width < PLACE || average >= width {
            return Err(bad_input("a column is out of range".to_owned()));
        }
        let size = row_bytes(width - PLACE);
        Ok(Self { core: run::Summary::new(trials, average, compensated), width, size })
    }

    /// Adds a question, whose rows are in the file's order: means and variances of these columns, added from the left by
    /// descending score (equal ones in their order, NaN last), and the rows at these places in that order.
    fn add(
        &mut self,
        py: Python<'_>,
        pieces: Vec<Piece>,
        columns: Vec<usize>,
        places: Vec<usize>,
    ) -> PyResult<Question> {
        let mut rows = Vec::new();
        for (content, start, stop) in &pieces {
            let range = start.saturating_mul(self.size)..stop.saturating_mul(self.size);
            let bytes = content.get(range);
            rows.extend(bytes.ok_or_else(|| bad_input("rows are out of range".to_owned()))?.chunks(self.size));
        }
        let fits = |&column: &usize| column < self.width;
        if !columns.iter().all(fits) || places.iter().any(|&place| place >= rows.len()) {
            return Err(bad_input("a column or a place is out of range".to_owned()));
        }
        let summary = &mut self.core;
        let (moments, samples) = py.detach(|| summary.add(&rows, &columns, &places));
        Ok((moments, samples.into_iter().map(run::values).collect()))
    }

    /// Adds the lengths of a chunk's responses, once all questions are there.
    fn add_lengths(&mut self, py: Python<'_>, rows: PyBackedBytes) {
        let (summary, size) = (&mut self.core, self.size);
        py.detach(|| summary.add_lengths(rows.chunks_exact(size)));
    }

    /// Mean and variance of the trials' scores.
    #[getter]
    fn scores(&self) -> (f64, f64) {
        self.core.scores()
    }

    /// Mean and variance of the lengths.
    #[getter]
    fn lengths(&self) -> (f64, f64) {
        self.core.lengths()
    }

    /// Number of empty answers, and of others that have next to nothing in common with the references.
    #[getter]
    fn worthless(&self) -> (usize, usize) {
        (self.core.empty, self.core.foreign)
    }
}
