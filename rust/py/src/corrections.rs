//! `Corrections`: a style's rules over columns of text.

use crate::errors::{bad_input, to_python};
use crate::lines::TextArray;
use crate::text_column::Texts;
use crate::threads::pool_for;
use arrow_array::LargeStringArray;
use numpy::PyArray1;
use pfgen_core::references::{Action, Corrected, CorrectionRule};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;

type Column<'py, T> = Bound<'py, PyArray1<T>>;
/// Texts, the rejecting rule of each, and how many texts each rule changed.
type Normalised<'py> = (TextArray, Column<'py, i32>, Column<'py, i64>);

/// In place of a rule's index: no rule rejects the text.
const KEPT: i32 = -1;

/// Rules as (name, kind, pattern, replacement), ready for use.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Corrections {
    core: pfgen_core::references::Corrections,
    rules: usize,
}

#[pymethods]
impl Corrections {
    #[new]
    fn new(py: Python<'_>, rules: Vec<(String, String, String, String)>) -> PyResult<Self> {
        let rules: Vec<_> = rules.into_iter().map(rule).collect::<PyResult<_>>()?;
        let core = py.detach(|| pfgen_core::references::Corrections::new(&rules)).map_err(to_python)?;
        Ok(Self { core, rules: rules.len() })
    }

    /// Each text corrected, the rule that rejects it (-1: none, the number of rules: unstable), and how many texts each rule
    /// changed.
    #[pyo3(signature = (texts, threads=None))]
    fn correct<'py>(&self, py: Python<'py>, texts: &Texts, threads: Option<i64>) -> PyResult<Normalised<'py>> {
        let (text, reasons, changed) = py.detach(|| {
            let all = each(texts, threads, |text| self.core.apply(text))?;
            let text = LargeStringArray::from_iter_values(all.iter().map(|corrected| &corrected.text));
            let reasons = all.iter().map(|corrected| code(corrected.rejected_by)).collect();
            Ok::<_, PyErr>((text, reasons, self.changes(&all)))
        })?;
        Ok((TextArray(Arc::new(text)), PyArray1::from_vec(py, reasons), PyArray1::from_vec(py, changed)))
    }

    /// The rule that rejects each text as it is (-1: none).
    #[pyo3(signature = (texts, threads=None))]
    fn judge<'py>(&self, py: Python<'py>, texts: &Texts, threads: Option<i64>) -> PyResult<Column<'py, i32>> {
        let reasons = py.detach(|| each(texts, threads, |text| code(self.core.judge(text))))?;
        Ok(PyArray1::from_vec(py, reasons))
    }
}

impl Corrections {
    fn changes(&self, all: &[Corrected<'_>]) -> Vec<i64> {
        let mut counts = vec![0; self.rules];
        for &rule in all.iter().flat_map(|corrected| &corrected.changed) {
            counts[rule] += 1;
        }
        counts
    }
}

fn each<'a, T: Send>(
    texts: &'a Texts,
    threads: Option<i64>,
    of: impl Fn(&'a str) -> T + Send + Sync,
) -> PyResult<Vec<T>> {
    let of_row = |row| of(texts.get(row));
    Ok(match pool_for(threads, texts.len())? {
        None => (0..texts.len()).map(of_row).collect(),
        Some(pool) => pool.install(|| (0..texts.len()).into_par_iter().map(of_row).collect()),
    })
}

fn rule((name, kind, pattern, by): (String, String, String, String)) -> PyResult<CorrectionRule> {
    let action = match &*kind {
        "correct" => Action::Correct(by),
        "translate" => Action::Translate(by),
        "reject" => Action::Reject,
        "require" => Action::Require,
        "repeats" => Action::Repeats,
        _ => {
            let known = r#""correct", "translate", "reject", "require", "repeats""#;
            return Err(bad_input(format!("unknown kind of rule {kind:?}; expected one of {known}")));
        }
    };
    Ok(CorrectionRule { name, pattern, action })
}

fn code(rule: Option<usize>) -> i32 {
    rule.map_or(KEPT, |rule| rule as i32)
}
