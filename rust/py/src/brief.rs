//! `score_lines`: a file of responses that has nothing out of the ordinary, scored in one call and without numpy.

use crate::batch::{Batches, Numbers, Question, UNKNOWN};
use crate::errors::{bad_input, to_python};
use crate::rules::Rules;
use crate::scorer::Store;
use crate::settings::Settings;
use crate::text_column::Texts;
use crate::threads::pool_of;
use arrow_buffer::Buffer;
use bytes::Bytes;
use pfgen_lines::{Fields, decode};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A question as Python gives it: reference answers of each source, rules, places of its sources.
type Asked = (Vec<usize>, Py<Rules>, Vec<usize>);
/// Numbers of questions, lengths, columns of scores as of `Batches.score`, and answers that may not be clean.
type Scored = (Vec<u32>, Vec<u32>, Vec<Vec<f64>>, Vec<String>);

/// Scores of all lines, in their order; `None` where anything about them is for the general way.
///
/// Only scorers that are asked for are read. Answers that may not be clean are those with white space around them and those
/// with one of `marks`.
#[pyfunction]
#[pyo3(signature = (text, fields, numbers, store, settings, questions, sources, marks, threads=None))]
#[allow(clippy::too_many_arguments)] // all that a run's scores depend on
pub(crate) fn score_lines(
    py: Python<'_>,
    text: PyBackedBytes,
    fields: (PyBackedStr, PyBackedStr),
    numbers: &Numbers,
    store: &Store,
    settings: &Settings,
    questions: Vec<Asked>,
    sources: usize,
    marks: Vec<PyBackedStr>,
    threads: Option<i64>,
) -> PyResult<Option<Scored>> {
    let text = Buffer::from(Bytes::from_owner(text));
    py.detach(|| {
        let Some((found, answers)) = plain_lines(&text, (&fields.0, &fields.1), numbers)? else { return Ok(None) };
        let Some(questions) = ready(&found, store, settings, questions, threads)? else { return Ok(None) };
        let batches = Batches { questions, sources };
        let columns = batches.columns(&found, &answers, 0, &FxHashMap::default(), threads)?;
        let unclean = answers.iter().filter(|answer| may_be_unclean(answer, &marks)).map(str::to_owned).collect();
        Ok(Some((found, columns.lengths, columns.scores, unclean)))
    })
}

/// The numbers of the questions and the answers, if every line is a plain record of a known question.
fn plain_lines(text: &Buffer, fields: (&str, &str), numbers: &Numbers) -> PyResult<Option<(Vec<u32>, Texts)>> {
    let fields = Fields { question: fields.0, answer: fields.1, more: &[] };
    let lines = decode(text, fields).map_err(|error| bad_input(error.to_string()))?;
    let number = |question: Option<&str>| question.map_or(UNKNOWN, |question| numbers.number(question));
    let found: Vec<u32> = lines.questions.iter().map(number).collect();
    let is_plain = lines.irregular.is_empty() && !found.contains(&UNKNOWN);
    Ok(is_plain.then(|| (found, Texts::of_views(lines.answers))))
}

/// The questions with the scorers of those that are asked; `None` if Python has to match patterns of one of these.
fn ready(
    found: &[u32],
    store: &Store,
    settings: &Settings,
    questions: Vec<Asked>,
    threads: Option<i64>,
) -> PyResult<Option<Vec<Option<Question>>>> {
    let mut asked = vec![false; questions.len()];
    for &number in found {
        *asked.get_mut(number as usize).ok_or_else(|| bad_input(format!("there is no question {number}")))? = true;
    }
    if questions.iter().zip(&asked).any(|((_, rules, _), &asked)| asked && rules.get().core.others() > 0) {
        return Ok(None);
    }
    let one = |number: usize, (answers, rules, columns): Asked| {
        let scorer = store.core.scorer(number, settings.core.clone(), &answers)?;
        Ok(Question { scorer: Arc::new(scorer), rules: Arc::clone(&rules.get().core), columns })
    };
    let entries = questions.into_par_iter().zip(asked).enumerate();
    let read = entries.map(|(number, (question, asked))| asked.then(|| one(number, question)).transpose());
    pool_of(threads)?.install(|| read.collect::<Result<_, _>>()).map(Some).map_err(to_python)
}

/// Whether the answer is none that Python would find clean; a few that it does may be among them.
fn may_be_unclean(answer: &str, marks: &[PyBackedStr]) -> bool {
    // Python's white space has four separators that Unicode's has not.
    let is_white = |character: char| character.is_whitespace() || ('\x1c'..='\x1f').contains(&character);
    answer.starts_with(is_white) || answer.ends_with(is_white) || marks.iter().any(|mark| answer.contains(&**mark))
}
