//! `Markup`: samples of a run in its `README.md`.

use crate::errors::bad_input;
use pfgen_core::decimals::push_fixed;
use pfgen_core::markup::Escapes;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

/// Escapes text by a table of ASCII characters and what stands for each of them.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Markup {
    escapes: Escapes,
}

#[pymethods]
impl Markup {
    #[new]
    fn new(replaced: Vec<(char, String)>) -> PyResult<Self> {
        match Escapes::new(replaced) {
            Some(escapes) => Ok(Self { escapes }),
            None => Err(bad_input("only ASCII characters can be escaped".to_owned())),
        }
    }

    /// A question's published samples with the marks of their characters, as in a `README.md`. `names` is called with the
    /// sources of a metric, and returns them in order, each with its escaped name.
    fn samples<'py>(
        &self,
        samples: &Bound<'py, PyList>,
        marks: Vec<PyBackedBytes>,
        names: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut text = String::new();
        for (sample, marks) in samples.iter().zip(marks) {
            let sample = sample.cast::<PyDict>()?;
            let scores = at(sample, "scores")?;
            let scores = scores.cast::<PyDict>()?;
            text.push_str("<dt>");
            push_fixed(&mut text, number(scores, "average")?, 3);
            text.push_str(" (=avg(f=(");
            push_shares(&mut text, &at(scores, "fluency")?, names)?;
            text.push_str("), t=(");
            push_shares(&mut text, &at(scores, "truthfulness")?, names)?;
            text.push_str("), h=");
            push_fixed(&mut text, number(scores, "helpfulness")?, 3);
            self.push_missed(&mut text, &at(scores, "helpfulness_results")?)?;
            text.push_str("))</dt>\n<dd>");
            let answer: PyBackedStr = at(sample, "answer")?.extract()?;
            self.escapes.push_marked(&mut text, &answer, &marks);
            text.push_str("</dd>\n");
        }
        Ok(PyBytes::new(samples.py(), text.as_bytes()))
    }
}

impl Markup {
    /// Appends the rules that a sample missed, if any, each with its weight unless that is zero.
    fn push_missed(&self, into: &mut String, missed: &Bound<'_, PyAny>) -> PyResult<()> {
        for (i, rule) in missed.cast::<PyList>()?.iter().enumerate() {
            into.push_str(if i == 0 { " [" } else { ", " });
            let (label, weight): (PyBackedStr, f64) = (rule.get_item(0)?.extract()?, rule.get_item(1)?.extract()?);
            self.escapes.push(into, &label);
            if weight != 0.0 {
                into.push('*');
                push_fixed(into, weight, 1);
            }
        }
        into.push_str(if missed.len()? == 0 { "" } else { "]" });
        Ok(())
    }
}

fn push_shares(into: &mut String, shares: &Bound<'_, PyAny>, names: &Bound<'_, PyAny>) -> PyResult<()> {
    let shares = shares.cast::<PyDict>()?;
    let named = names.call1((PyTuple::new(shares.py(), shares.keys())?,))?;
    for (i, named) in named.cast::<PyList>()?.iter().enumerate() {
        let (source, name): (Bound<'_, PyAny>, PyBackedStr) = named.extract()?;
        if i > 0 {
            into.push('+');
        }
        into.push_str(&name);
        into.push(':');
        push_fixed(into, shares.as_any().get_item(source)?.extract()?, 4);
    }
    Ok(())
}

fn number(object: &Bound<'_, PyDict>, key: &str) -> PyResult<f64> {
    at(object, key)?.extract()
}

fn at<'py>(object: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    object.as_any().get_item(key)
}
