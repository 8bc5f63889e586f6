//! `CodePoints`: predictions and metrics of llm-jp-eval over lists and columns of text.

use crate::errors::bad_input;
use crate::lines::TextArray;
use crate::text_column::Texts;
use crate::text_rows::{Rows, TextRows, string_of};
use crate::threads::pool_for;
use arrow_array::builder::LargeStringBuilder;
use numpy::PyArray1;
use pfgen_jpeval::{Form, Metric, Page, Requests, Scratch, Unready};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
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

/// What a text becomes.
#[derive(Clone)]
enum Normal {
    /// The same.
    Whole,
    /// A part of it.
    Part(Range<usize>),
    /// Another text.
    Other(Vec<u32>),
}

/// How texts are normalised, beside NFKC: `cut` before the first empty line, stripped.
#[derive(Clone, Copy)]
struct Reading {
    cut: bool,
    strip: bool,
}

#[pymethods]
impl CodePoints {
    /// `load` is called with the number of a page of 256 code points.
    #[new]
    fn new(load: Py<PyAny>) -> Self {
        Self { core: pfgen_jpeval::CodePoints::default(), load }
    }

    /// The texts of a column in NFKC; `cut` before the first empty line and stripped where that is asked for.
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
        let rows = Rows::Column { texts, rows: 0..texts.len() };
        let found = self.read(py, &rows, Reading { cut, strip }, threads)?;
        let mut column = LargeStringBuilder::with_capacity(rows.len(), texts.iter().map(str::len).sum());
        let mut room = Vec::new();
        for (row, normal) in found.into_iter().enumerate() {
            let made = match normal {
                Ok(Normal::Whole) => {
                    column.append_value(texts.get(row));
                    continue;
                }
                Ok(Normal::Part(part)) => string_of(&rows.get(row, &mut room)[part]),
                Ok(Normal::Other(normal)) => string_of(&normal),
                Err(_) => None,
            };
            column.append_value(match made {
                Some(made) => made,
                None => in_context.call1((texts.get(row),))?.extract()?,
            });
        }
        Ok(TextArray(Arc::new(column.finish())))
    }

    /// The same of a list of texts, lone surrogates included, as a list.
    #[pyo3(signature = (texts, in_context, *, cut, strip, threads=None))]
    fn normalized_list<'py>(
        &self,
        py: Python<'py>,
        texts: Bound<'py, PyAny>,
        in_context: Bound<'py, PyAny>,
        cut: bool,
        strip: bool,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (texts, made) = (TextRows::new(&texts, "")?, PyList::empty(py));
        let mut some = [Rows::default()];
        while made.len() < texts.len() {
            let start = made.len();
            TextRows::take(py, [&texts], start, &mut some)?;
            let found = self.read(py, &some[0], Reading { cut, strip }, threads)?;
            for (row, normal) in (start..).zip(found) {
                let text = texts.object(py, row)?;
                let other = match normal {
                    Ok(Normal::Whole) => Some(text.clone().into_any()),
                    Ok(Normal::Part(part)) => {
                        Some(text.get_item(PySlice::new(py, part.start as isize, part.end as isize, 1))?)
                    }
                    Ok(Normal::Other(normal)) => string_of(&normal).map(|made| PyString::new(py, &made).into_any()),
                    Err(_) => None,
                };
                made.append(match other {
                    Some(other) => other,
                    None => in_context.call1((text,))?,
                })?;
            }
        }
        Ok(made)
    }

    /// A metric's value for each prediction, taken as it is, and gold answer, which is normalised; lists or columns. With
    /// `strip` given, the predictions are raw outputs, and it says whether they are stripped.
    ///
    /// `in_context` gives both texts as they are compared, of char_f1 sorted tokens, where that depends on neighbours of
    /// characters.
    #[pyo3(signature = (name, predictions, golds, in_context, threads=None, *, strip=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's are keywords")]
    fn values<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        predictions: Bound<'py, PyAny>,
        golds: Bound<'py, PyAny>,
        in_context: Bound<'py, PyAny>,
        threads: Option<i64>,
        strip: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let metric = Metric::named(name).ok_or_else(|| bad_input(format!("unknown metric {name:?}")))?;
        let texts = TextRows::new(&predictions, "invalid predictions: ")?;
        let golds = TextRows::new(&golds, "invalid golds: ")?;
        if texts.len() != golds.len() {
            return Err(bad_input(format!("{} predictions but {} golds", texts.len(), golds.len())));
        }
        let forms = [strip.map_or(Form::Prediction, |strip| Form::Output { strip }), Form::Gold];
        let mut values = Vec::with_capacity(golds.len());
        let (mut some, mut made) = ([Rows::default(), Rows::default()], [Rows::default(), Rows::default()]);
        while values.len() < golds.len() {
            let start = values.len();
            TextRows::take(py, [&texts, &golds], start, &mut some)?;
            let found = self.values_of(py, metric, &some, forms, threads)?;
            made.iter_mut().for_each(Rows::clear);
            for row in (start..).zip(&found).filter_map(|(row, value)| value.is_err().then_some(row)) {
                let pair = in_context.call1((texts.object(py, row)?, golds.object(py, row)?))?;
                let (one, other): (Bound<'_, PyString>, Bound<'_, PyString>) = pair.extract()?;
                made[0].push(&one)?;
                made[1].push(&other)?;
            }
            let mut rest = self.values_of(py, metric, &made, [Form::Made; 2], threads)?.into_iter();
            for value in found {
                let value = value.ok().or_else(|| rest.next()?.ok());
                values.push(value.ok_or_else(|| bad_input("a text is in context without its context".to_owned()))?);
            }
        }
        Ok(PyArray1::from_vec(py, values))
    }
}

impl CodePoints {
    fn read(
        &self,
        py: Python<'_>,
        rows: &Rows<'_>,
        Reading { cut, strip }: Reading,
        threads: Option<i64>,
    ) -> PyResult<Vec<Result<Normal, Unready>>> {
        self.each(py, [rows], threads, |_, [text]| {
            let part = self.core.part(text, cut, strip)?;
            Ok(match self.core.nfkc(&text[part.clone()])? {
                Cow::Owned(other) => Normal::Other(other),
                Cow::Borrowed(_) if part.len() == text.len() => Normal::Whole,
                Cow::Borrowed(_) => Normal::Part(part),
            })
        })
    }

    fn values_of(
        &self,
        py: Python<'_>,
        metric: Metric,
        sides: &[Rows<'_>; 2],
        [form, gold_form]: [Form; 2],
        threads: Option<i64>,
    ) -> PyResult<Vec<Result<f64, Unready>>> {
        let of = |scratch: &mut Scratch, [text, gold]: [&[u32]; 2]| {
            metric.value(&self.core, [(text, form), (gold, gold_form)], scratch)
        };
        self.each(py, sides.each_ref(), threads, of)
    }

    /// Computes rows until no page is missing; what is left depends on neighbours of characters.
    fn each<T: Clone + Send + Sync, const N: usize>(
        &self,
        py: Python<'_>,
        sides: [&Rows<'_>; N],
        threads: Option<i64>,
        of: impl Fn(&mut Scratch, [&[u32]; N]) -> Result<T, Unready> + Send + Sync,
    ) -> PyResult<Vec<Result<T, Unready>>> {
        let mut found = vec![Err(Unready::Missing); sides[0].len()];
        let pool = pool_for(threads, found.len())?;
        loop {
            let requests = Requests::default();
            let block = |(block, rows): (usize, &mut [Result<T, Unready>])| {
                let mut scratch = Scratch::default();
                let mut rooms = [const { Vec::new() }; N];
                for (row, slot) in (block * BLOCK..).zip(rows) {
                    if !matches!(slot, Err(Unready::Missing)) {
                        continue;
                    }
                    let mut rooms = rooms.iter_mut();
                    let texts = sides.map(|side| rooms.next().map_or(&[][..], |room| side.get(row, room)));
                    *slot = of(&mut scratch, texts);
                    if matches!(slot, Err(Unready::Missing)) {
                        for text in texts {
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
                return Ok(found);
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
