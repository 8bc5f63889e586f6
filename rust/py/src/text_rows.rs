//! Rows of lists and columns of text as code points.

use crate::errors::bad_input;
use crate::text_column::Texts;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::ops::Range;

/// Rows and code points that are copied from lists at a time: little enough to stay in a processor's cache, and more rows
/// than it takes to keep threads busy.
const MOST_ROWS: usize = 1 << 13;
const MOST_POINTS: usize = 1 << 20;

/// A list of `str`, or a column; `place` begins what errors say.
pub(crate) enum TextRows<'a, 'py> {
    List { list: &'a Bound<'py, PyList>, len: usize, place: &'static str },
    Column(&'a Texts),
}

/// Some rows, which any thread may read.
pub(crate) enum Rows<'a> {
    Points { points: Vec<u32>, ends: Vec<usize> },
    Column { texts: &'a Texts, rows: Range<usize> },
}

impl<'a, 'py> TextRows<'a, 'py> {
    /// `value`: a list or `Texts`.
    pub(crate) fn new(value: &'a Bound<'py, PyAny>, place: &'static str) -> PyResult<Self> {
        if let Ok(texts) = value.cast::<Texts>() {
            return Ok(Self::Column(texts.get()));
        }
        let list = value.cast::<PyList>().map_err(|_| bad_input(format!("{place}expected a list of texts")))?;
        Ok(Self::List { list, len: list.len(), place })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List { len, .. } => *len,
            Self::Column(texts) => texts.len(),
        }
    }

    /// A row as Python has it.
    pub(crate) fn object(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyString>> {
        match self {
            Self::Column(texts) => Ok(PyString::new(py, texts.get(row))),
            Self::List { list, place, .. } => list.get_item(row)?.cast_into().map_err(|error| {
                let value = error.into_inner();
                let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
                bad_input(format!("{place}expected text in row {row}, found {kind}"))
            }),
        }
    }

    /// The rows from `start` on of sides of the same length, or if there are lists among them, as many as are copied at a
    /// time, at least one. `taken` has what was taken before.
    pub(crate) fn take<const N: usize>(
        py: Python<'py>,
        sides: [&Self; N],
        start: usize,
        taken: &mut [Rows<'a>; N],
    ) -> PyResult<()> {
        let len = sides[0].len();
        let (mut end, mut count) = (start, 0);
        for (side, rows) in sides.iter().zip(taken.iter_mut()) {
            if let Self::Column(texts) = side {
                *rows = Rows::Column { texts, rows: start..len };
            } else {
                rows.clear();
            }
        }
        if sides.iter().all(|side| matches!(side, Self::Column(_))) {
            return Ok(());
        }
        while end < len && end - start < MOST_ROWS && count < MOST_POINTS {
            for (side, rows) in sides.iter().zip(taken.iter_mut()) {
                if let Self::List { .. } = side {
                    count += rows.push(&side.object(py, end)?)?;
                }
            }
            end += 1;
        }
        for rows in taken {
            if let Rows::Column { rows, .. } = rows {
                rows.end = end;
            }
        }
        Ok(())
    }
}

impl Default for Rows<'_> {
    fn default() -> Self {
        Self::Points { points: Vec::new(), ends: Vec::new() }
    }
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Points { ends, .. } => ends.len(),
            Self::Column { rows, .. } => rows.len(),
        }
    }

    pub(crate) fn clear(&mut self) {
        if let Self::Points { points, ends } = self {
            points.clear();
            ends.clear();
        }
    }

    /// A row; `room` has it where it must be decoded.
    pub(crate) fn get<'r>(&'r self, row: usize, room: &'r mut Vec<u32>) -> &'r [u32] {
        match self {
            Self::Points { points, ends } => &points[row.checked_sub(1).map_or(0, |before| ends[before])..ends[row]],
            Self::Column { texts, rows } => {
                let text = texts.get(rows.start + row);
                room.resize(room.len().max(text.len()), 0);
                let mut count = 0;
                for (slot, c) in room.iter_mut().zip(text.chars()) {
                    *slot = u32::from(c);
                    count += 1;
                }
                &room[..count]
            }
        }
    }

    /// Copies a text to the end of the code points, and returns its length.
    ///
    /// Lone surrogates stay, and nothing is left with the string, as its UTF-8 would be, which takes ten times as long to
    /// make.
    #[allow(unsafe_code)] // no safe function copies code points
    pub(crate) fn push(&mut self, text: &Bound<'_, PyString>) -> PyResult<usize> {
        let Self::Points { points, ends } = self else { return Ok(0) };
        // SAFETY: `text` is a string, whatever its class makes of `len`, and the thread is attached.
        let length = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
        let length = usize::try_from(length).map_err(|_| PyErr::fetch(text.py()))?;
        points.reserve(length);
        let room = points.spare_capacity_mut();
        // SAFETY: as above; no more than the room that is told is written, and if the string needs more, nothing is.
        let copied =
            unsafe { ffi::PyUnicode_AsUCS4(text.as_ptr(), room.as_mut_ptr().cast(), room.len() as ffi::Py_ssize_t, 0) };
        if copied.is_null() {
            return Err(PyErr::fetch(text.py()));
        }
        // SAFETY: all of the string's characters were written, and strings do not change.
        unsafe { points.set_len(points.len() + length) };
        ends.push(points.len());
        Ok(length)
    }
}

/// The code points as text, unless there are surrogates.
pub(crate) fn string_of(points: &[u32]) -> Option<String> {
    points.iter().map(|&c| char::from_u32(c)).collect()
}
