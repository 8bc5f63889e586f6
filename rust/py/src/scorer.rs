//! `Scorer`: Fluency and Truthfulness against the reference answers of one question; `Store`: scorers in a file.

use crate::errors::{bad_input, to_python};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::text_column::{Text, Texts};
use crate::threads::pool_for;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pfgen_core::markup::marks;
use pfgen_core::{KEY_BYTES, SourceText, write_store};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

type Matrix<'py, T> = Bound<'py, PyArray2<T>>;
type Explained<'py> = (Matrix<'py, u32>, Matrix<'py, u32>, Matrix<'py, u64>, Bound<'py, PyArray1<bool>>);
type Windows<'py> = (Matrix<'py, u32>, Bound<'py, PyArray1<i64>>);
type Cuts = (f64, u32, f64, u32);
type Lone = (Vec<f64>, Vec<Cuts>, f64, u32);
type Sources = Vec<(String, Py<Texts>)>;

/// Fluency and Truthfulness against the reference answers of one question.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Scorer {
    pub(crate) core: Arc<pfgen_core::Scorer>,
}

#[pymethods]
impl Scorer {
    #[new]
    fn new(py: Python<'_>, sources: Sources, settings: &Settings) -> PyResult<Self> {
        let settings = settings.core.clone();
        let core = with_sources(py, &sources, |sources| pfgen_core::Scorer::new(sources, settings))?;
        Ok(Self { core: Arc::new(core) })
    }

    #[getter]
    fn baselines(&self) -> Vec<f64> {
        self.core.baselines().to_vec()
    }

    #[getter]
    fn compact(&self) -> bool {
        self.core.is_compact()
    }

    #[getter]
    fn size(&self) -> usize {
        self.core.table_size()
    }

    /// One response: its totals, then its sources' shares; of each source unrounded Fluency and its cut, Truthfulness and its
    /// cut; unrounded Helpfulness and its cut. `others`: the ends of the patterns that `rules` do not search for.
    fn lone(&self, rules: &Rules, text: Text, others: Vec<u32>, compensated: bool) -> PyResult<Lone> {
        rules.check(&others)?;
        let asked = pfgen_core::Asked { scorer: &self.core, rules: &rules.core, response: &text.0 };
        let found = pfgen_core::score_lone(asked, &others, compensated);
        let cuts = found
            .cuts
            .into_iter()
            .map(|(fluency, truthfulness)| (fluency.0, fluency.1, truthfulness.0, truthfulness.1));
        Ok((found.row, cuts.collect(), found.helpful.value, found.helpful.cut))
    }

    /// Document frequencies of all windows of all texts, a row of sources a window; and where each text's begin.
    #[pyo3(signature = (texts, threads=None))]
    fn windows<'py>(&self, py: Python<'py>, texts: &Texts, threads: Option<i64>) -> PyResult<Windows<'py>> {
        let pool = pool_for(threads, texts.len())?;
        let (rows, starts) = py.detach(|| windows_of(&self.core, texts, pool.as_deref()));
        let rows =
            PyArray1::from_vec(py, rows).reshape([starts[starts.len() - 1] as usize, self.core.source_count()])?;
        Ok((rows, PyArray1::from_vec(py, starts)))
    }

    /// The marks of each text's characters, by the windows of three characters of `^text$`.
    #[pyo3(signature = (texts, above, below, threads=None))]
    fn marks<'py>(
        &self,
        py: Python<'py>,
        texts: &Texts,
        above: u32,
        below: u32,
        threads: Option<i64>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let pool = pool_for(threads, texts.len())?;
        let of = |text: &str| {
            let mut counts = Vec::new();
            self.core.windows(&format!("^{text}$"), &mut counts);
            marks(&counts, self.core.source_count(), above, below)
        };
        let found: Vec<Vec<u8>> = py.detach(|| match pool.as_deref() {
            Some(pool) => pool.install(|| (0..texts.len()).into_par_iter().map(|row| of(texts.get(row))).collect()),
            None => texts.iter().map(of).collect(),
        });
        Ok(found.iter().map(|marks| PyBytes::new(py, marks)).collect())
    }
}

/// Per character and source of a response: windows, coverage, gains; per character: whether it is skipped.
#[pyfunction]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    sources: Sources,
    settings: &Settings,
    text: Text,
) -> PyResult<Explained<'py>> {
    let explained =
        with_sources(py, &sources, |sources| pfgen_core::Scorer::explain(sources, &settings.core, &text.0))?;
    let shape = [explained.skipped.len(), sources.len()];
    Ok((
        PyArray1::from_vec(py, explained.windows).reshape(shape)?,
        PyArray1::from_vec(py, explained.coverage).reshape(shape)?,
        PyArray1::from_vec(py, explained.gains).reshape(shape)?,
        PyArray1::from_vec(py, explained.skipped),
    ))
}

/// Scorers in a file, each read when it is asked for.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Store {
    pub(crate) core: Arc<pfgen_core::Store>,
}

/// A scorer of a store, read for each batch that asks for it.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct StoredScorer {
    pub(crate) core: pfgen_core::StoredScorer,
}

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, key: &[u8]) -> PyResult<Self> {
        let key = checked_key(key)?;
        let core = py.detach(|| pfgen_core::Store::open(&path, &key)).map_err(to_python)?;
        Ok(Self { core: Arc::new(core) })
    }

    fn __len__(&self) -> usize {
        self.core.len()
    }

    /// `answers`: how many there are of each source.
    fn scorer(&self, py: Python<'_>, number: usize, settings: &Settings, answers: Vec<usize>) -> PyResult<Scorer> {
        let settings = settings.core.clone();
        let core = py.detach(|| self.core.scorer(number, settings, &answers)).map_err(to_python)?;
        Ok(Scorer { core: Arc::new(core) })
    }

    /// The same, read when a batch is scored and freed after that.
    fn stored(&self, number: usize, settings: &Settings, answers: Vec<usize>) -> StoredScorer {
        let (store, settings) = (Arc::clone(&self.core), settings.core.clone());
        StoredScorer { core: pfgen_core::StoredScorer { store, number, settings, answers } }
    }

    /// Writes a file of scorers, which must not exist.
    #[staticmethod]
    fn write(py: Python<'_>, path: PathBuf, key: &[u8], scorers: Vec<Py<Scorer>>) -> PyResult<()> {
        let key = checked_key(key)?;
        let scorers: Vec<_> = scorers.iter().map(|scorer| &*scorer.get().core).collect();
        Ok(py.detach(|| write_store(&path, &key, &scorers))?)
    }
}

fn windows_of(scorer: &pfgen_core::Scorer, texts: &Texts, pool: Option<&ThreadPool>) -> (Vec<u32>, Vec<i64>) {
    let of = |text| {
        let mut rows = Vec::new();
        scorer.windows(text, &mut rows);
        rows
    };
    let parts: Vec<Vec<u32>> = match pool {
        Some(pool) => pool.install(|| (0..texts.len()).into_par_iter().map(|row| of(texts.get(row))).collect()),
        None => texts.iter().map(of).collect(),
    };
    let ends = parts.iter().scan(0, |end, rows| {
        *end += (rows.len() / scorer.source_count()) as i64;
        Some(*end)
    });
    let starts = std::iter::once(0).chain(ends).collect();
    (parts.concat(), starts)
}

fn checked_key(key: &[u8]) -> PyResult<[u8; KEY_BYTES]> {
    key.try_into().map_err(|_| bad_input(format!("a key must have {KEY_BYTES} bytes, not {}", key.len())))
}

fn with_sources<R: Send>(
    py: Python<'_>,
    sources: &Sources,
    work: impl FnOnce(&[SourceText<'_>]) -> pfgen_core::Result<R> + Send,
) -> PyResult<R> {
    let sources: Vec<_> = sources.iter().map(|(name, answers)| (&**name, answers.get())).collect();
    let run = || {
        let texts = sources.iter().map(|&(name, answers)| SourceText { name, answers: answers.iter().collect() });
        work(&texts.collect::<Vec<_>>())
    };
    py.detach(run).map_err(to_python)
}
