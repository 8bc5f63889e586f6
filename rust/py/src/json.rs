//! `indented`: JSON as `json.dumps(…, ensure_ascii=False, indent=2)` writes it.

use pfgen_core::decimals::push_repr;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use std::fmt::Write;

const INDENT: &str = "  ";
/// Values that are nested deeper are left to Python, which says when it is too deep.
const DEEPEST: usize = 100;
/// Bytes that are looked at together.
const TOGETHER: usize = 32;

/// Returns a value as indented JSON. `other` is called with what is not usual in JSON (numbers that are not finite or do not
/// fit, keys that are not text, values of other types or nested too deeply) and with a newline and the indent of its lines,
/// and returns its text.
#[pyfunction]
pub(crate) fn indented<'py>(value: &Bound<'py, PyAny>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut writer = Writer { text: String::new(), line: "\n".to_owned(), other };
    writer.value(value)?;
    Ok(PyBytes::new(value.py(), writer.text.as_bytes()))
}

struct Writer<'a, 'py> {
    text: String,
    line: String,
    other: &'a Bound<'py, PyAny>,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            push_text(&mut self.text, text.to_str()?);
        } else if let Ok(number) = value.cast_exact::<PyFloat>()
            && number.value().is_finite()
        {
            push_repr(&mut self.text, number.value());
        } else if let Ok(object) = value.cast_exact::<PyDict>() {
            return self.object(object);
        } else if let Ok(list) = value.cast_exact::<PyList>() {
            return self.list(list);
        } else if value.is_none() {
            self.text.push_str("null");
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            self.text.push_str(if truth.is_true() { "true" } else { "false" });
        } else if value.is_exact_instance_of::<PyInt>()
            && let Ok(number) = value.extract::<i64>()
        {
            let _ = write!(self.text, "{number}");
        } else {
            return self.other(value);
        }
        Ok(())
    }

    fn object(&mut self, object: &Bound<'_, PyDict>) -> PyResult<()> {
        if object.is_empty() {
            self.text.push_str("{}");
            return Ok(());
        }
        if self.is_deep() {
            return self.other(object);
        }
        let start = self.text.len();
        self.open('{');
        for (i, (key, item)) in object.iter().enumerate() {
            let Ok(key) = key.cast_exact::<PyString>() else {
                self.text.truncate(start);
                self.leave();
                return self.other(object);
            };
            self.begin(i);
            push_text(&mut self.text, key.to_str()?);
            self.text.push_str(": ");
            self.value(&item)?;
        }
        self.close('}');
        Ok(())
    }

    fn list(&mut self, list: &Bound<'_, PyList>) -> PyResult<()> {
        if list.is_empty() {
            self.text.push_str("[]");
            return Ok(());
        }
        if self.is_deep() {
            return self.other(list);
        }
        self.open('[');
        for (i, item) in list.iter().enumerate() {
            self.begin(i);
            self.value(&item)?;
        }
        self.close(']');
        Ok(())
    }

    fn other(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let text = self.other.call1((value, &self.line))?;
        self.text.push_str(text.cast::<PyString>()?.to_str()?);
        Ok(())
    }

    fn is_deep(&self) -> bool {
        self.line.len() > INDENT.len() * DEEPEST
    }

    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.line.push_str(INDENT);
    }

    fn begin(&mut self, item: usize) {
        if item > 0 {
            self.text.push(',');
        }
        self.text.push_str(&self.line);
    }

    fn leave(&mut self) {
        self.line.truncate(self.line.len() - INDENT.len());
    }

    fn close(&mut self, bracket: char) {
        self.leave();
        self.text.push_str(&self.line);
        self.text.push(bracket);
    }
}

/// Appends a text in quotation marks.
fn push_text(into: &mut String, text: &str) {
    into.push('"');
    let mut start = 0;
    for (piece, bytes) in text.as_bytes().chunks(TOGETHER).enumerate() {
        if !bytes.iter().fold(false, |found, &byte| found | is_escaped(byte)) {
            continue;
        }
        for (at, &byte) in bytes.iter().enumerate().filter(|&(_, &byte)| is_escaped(byte)) {
            let at = piece * TOGETHER + at;
            into.push_str(&text[start..at]);
            push_escape(into, byte);
            start = at + 1;
        }
    }
    into.push_str(&text[start..]);
    into.push('"');
}

fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn push_escape(into: &mut String, byte: u8) {
    let short = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0c => "\\f",
        _ => {
            let _ = write!(into, "\\u{byte:04x}");
            return;
        }
    };
    into.push_str(short);
}
