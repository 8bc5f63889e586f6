//! `CodePoints`: predictions and metrics of llm-jp-eval over columns of text.

use crate::errors::bad_input;
use crate::lines::TextArray;
use crate::text_column::Texts;
use crate::threads::pool_for;
use arrow_array::LargeStringArray;
use arrow_array::builder::LargeStringBuilder;
use numpy::PyArray1;
use pfgen_jpeval::{Metric, Page, Requests, Scratch, Unready};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// Flags of a page, and what NFKC and lower case make of its code points, by their places.
type Loaded = (Vec<u8>, Vec<(u8, String)>, Vec<(u8, String)>);

/// Rows that one thread takes at a time.
const BLOCK: usize = 256;

/// What the running Python says of code points, asked for as texts need it.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct CodePoints {
    core: pfgen_jpeval::CodePoints,
    load: Py<PyAny>,
}

#[pymethods]
impl CodePoints {
    /// `load` is called with the number of a page of 256 code points.
    #[new]
    fn new(load: Py<PyAny>) -> Self {
        Self { core: pfgen_jpeval::CodePoints::default(), load }
    }

    /// The texts in NFKC; `cut` before the first empty line and stripped where that is asked for.
    ///
    /// `in_context` does all of that for texts whose result depends on neighbours of characters.
    #[pyo3(signature = (texts, in_context, *, cut, strip, threads=None))]
    fn normalized(
        &self,
        py: Python<'_>,
        texts: &Texts,
        in_context: Bound<'_, PyAny>,
        cut: bool,
        strip: bool,
        threads: Option<i64>,
    ) -> PyResult<TextArray> {
        let of = |text| if cut { self.core.prediction(text, strip) } else { self.core.nfkc(text) };
        let mut found: Vec<Result<Cow<'_, str>, Unready>> = vec![Err(Unready::Missing); texts.len()];
        self.fill(py, &mut found, threads, || (), |(), row| of(texts.get(row)), |row| [texts.get(row), ""])?;
        for (row, text) in found.iter_mut().enumerate() {
            if text.is_err() {
                *text = Ok(Cow::Owned(in_context.call1((texts.get(row),))?.extract()?));
            }
        }
        Ok(TextArray(Arc::new(py.detach(|| array_of(&found)))))
    }

    /// A metric's value for each prediction, taken as it is, and gold answer, which is normalised. With `strip` given, the
    /// predictions are raw outputs, and it says whether they are stripped.
    ///
    /// `in_context` gives the value for texts where it depends on neighbours of characters.
    #[pyo3(signature = (name, predictions, golds, in_context, threads=None, *, strip=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's are keywords")]
    fn values<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        predictions: &Texts,
        golds: &Texts,
        in_context: Bound<'py, PyAny>,
        threads: Option<i64>,
        strip: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let metric = Metric::named(name).ok_or_else(|| bad_input(format!("unknown metric {name:?}")))?;
        if predictions.len() != golds.len() {
            return Err(bad_input(format!("{} predictions but {} golds", predictions.len(), golds.len())));
        }
        let texts = |row| [predictions.get(row), golds.get(row)];
        let of = |scratch: &mut Scratch, row| {
            let [text, gold] = texts(row);
            match strip {
                None => metric.value(&self.core, text, gold, scratch),
                Some(strip) => metric.value_of_output(&self.core, text, strip, gold, scratch),
            }
        };
        let mut found = vec![Err(Unready::Missing); golds.len()];
        self.fill(py, &mut found, threads, Scratch::default, of, texts)?;
        let mut values = Vec::with_capacity(found.len());
        for (row, value) in found.into_iter().enumerate() {
            values.push(match value {
                Ok(value) => value,
                Err(_) => in_context.call1((predictions.get(row), golds.get(row)))?.extract()?,
            });
        }
        Ok(PyArray1::from_vec(py, values))
    }
}

impl CodePoints {
    /// Computes rows until no page is missing; what is left depends on neighbours of characters.
    fn fill<'a, T: Send + Sync, S>(
        &self,
        py: Python<'_>,
        found: &mut [Result<T, Unready>],
        threads: Option<i64>,
        scratch: impl Fn() -> S + Send + Sync,
        of: impl Fn(&mut S, usize) -> Result<T, Unready> + Send + Sync,
        texts: impl Fn(usize) -> [&'a str; 2] + Send + Sync,
    ) -> PyResult<()> {
        let pool = pool_for(threads, found.len())?;
        loop {
            let requests = Requests::default();
            let block = |(block, rows): (usize, &mut [Result<T, Unready>])| {
                let mut scratch = scratch();
                for (row, slot) in (block * BLOCK..).zip(rows) {
                    if !matches!(slot, Err(Unready::Missing)) {
                        continue;
                    }
                    *slot = of(&mut scratch, row);
                    if matches!(slot, Err(Unready::Missing)) {
                        for text in texts(row) {
                            self.core.request(text, &requests);
                        }
                    }
                }
            };
            py.detach(|| match &pool {
                None => found.chunks_mut(BLOCK).enumerate().for_each(block),
                Some(pool) => pool.install(|| found.par_chunks_mut(BLOCK).enumerate().for_each(block)),
            });
            if !found.iter().any(|slot| matches!(slot, Err(Unready::Missing))) {
                return Ok(());
            }
            self.load(py, &requests)?;
        }
    }

    fn load(&self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        while let Some(number) = requests.take() {
            let (flags, nfkc, lower): Loaded = self.load.call1(py, (number,))?.extract(py)?;
            let added = Page::new(&flags, nfkc, lower).and_then(|page| self.core.add(number, page));
            added.map_err(|error| bad_input(format!("page {number}: {error}")))?;
        }
        Ok(())
    }
}

/// A column of all texts there are.
fn array_of(found: &[Result<Cow<'_, str>, Unready>]) -> LargeStringArray {
    let texts = || found.iter().flatten();
    let mut column = LargeStringBuilder::with_capacity(found.len(), texts().map(|text| text.len()).sum());
    texts().for_each(|text| column.append_value(text));
    column.finish()
}
