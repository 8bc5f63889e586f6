//! `score_lines`: a file of responses that has nothing out of the ordinary, scored in one call and without numpy.

use crate::batch::{Numbers, UNKNOWN};
use crate::errors::{bad_input, to_python};
use crate::rules::Rules;
use crate::scorer::Store;
use crate::settings::Settings;
use crate::threads::pool_of;
use crate::unclean::Marks;
use arrow_array::StringViewArray;
use arrow_buffer::Buffer;
use bytes::Bytes;
use pfgen_core::{Batch, Group, score_groups};
use pfgen_lines::{Fields, decode};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use rayon::prelude::*;

/// A question as Python gives it: numbers of the reference answers of each source, and rules.
type Asked = (Vec<usize>, Py<Rules>);
/// The responses to a question: its number, their rows, lengths, and columns of scores as of `Batches.score`.
type Scored = (usize, Vec<u32>, Vec<u32>, Vec<Vec<f64>>);

/// Scores of all lines by question, and the answers that may not be clean; `None` where anything is for the general way.
///
/// Answers that may not be clean are those with white space around them and those with one of `marks`.
#[pyfunction]
#[pyo3(signature = (text, fields, numbers, store, settings, questions, marks, threads=None))]
#[allow(clippy::too_many_arguments)] // all that a run's scores depend on
pub(crate) fn score_lines(
    py: Python<'_>,
    text: PyBackedBytes,
    fields: (PyBackedStr, PyBackedStr),
    numbers: &Numbers,
    store: &Store,
    settings: &Settings,
    questions: Vec<Asked>,
    marks: Vec<PyBackedStr>,
    threads: Option<i64>,
) -> PyResult<Option<(Vec<Scored>, Vec<String>)>> {
    let text = Buffer::from(Bytes::from_owner(text));
    py.detach(|| {
        let fields = Fields { question: &fields.0, answer: &fields.1, more: &[] };
        let lines = decode(&text, fields).map_err(|error| bad_input(error.to_string()))?;
        let is_plain = lines.irregular.is_empty();
        let Some(asked) = is_plain.then(|| rows_by_question(&lines.questions, numbers, questions)).flatten() else {
            return Ok(None);
        };
        let marks = Marks::new(&marks);
        let scored = scored(asked, &lines.answers, store, settings, threads)?;
        let texts = lines.answers.iter().flatten();
        Ok(Some((scored, texts.filter(|text| marks.may_be_unclean(text)).map(str::to_owned).collect())))
    })
}

/// The rows of each question that is asked; `None` if one is unknown, or has patterns that Python matches.
fn rows_by_question(
    texts: &StringViewArray,
    numbers: &Numbers,
    questions: Vec<Asked>,
) -> Option<Vec<(usize, Vec<u32>, Asked)>> {
    let mut rows = vec![Vec::new(); questions.len()];
    for (row, text) in (0..).zip(texts) {
        let number = numbers.number(text?);
        rows.get_mut(number as usize).filter(|_| number != UNKNOWN)?.push(row);
    }
    let asked: Vec<_> = questions
        .into_iter()
        .zip(rows)
        .enumerate()
        .filter(|(_, (_, rows))| !rows.is_empty())
        .map(|(number, (question, rows))| (number, rows, question))
        .collect();
    asked.iter().all(|(_, _, (_, rules))| rules.get().core.others() == 0).then_some(asked)
}

/// Scores one question after the other in each thread: what its table took serves the next one, still in the cache.
fn scored(
    asked: Vec<(usize, Vec<u32>, Asked)>,
    answers: &StringViewArray,
    store: &Store,
    settings: &Settings,
    threads: Option<i64>,
) -> PyResult<Vec<Scored>> {
    let one = |(number, rows, (counts, rules)): (usize, Vec<u32>, Asked)| {
        let scorer = store.core.scorer(number, settings.core.clone(), &counts)?;
        let (columns, places): (Vec<usize>, Vec<u32>) =
            ((0..counts.len()).collect(), (0..).zip(&rows).map(|(place, _)| place).collect());
        let rules = &rules.get().core;
        let group = Group { scorer: &scorer, rules, columns: &columns, rows: &places, others: &[] };
        let batch = Batch { groups: &[group], sources: counts.len(), count: rows.len() };
        let found = score_groups(batch, |place| answers.value(rows[place] as usize));
        Ok((number, rows, found.lengths, found.scores))
    };
    pool_of(threads)?.install(|| asked.into_par_iter().map(one).collect::<Result<_, _>>()).map_err(to_python)
}
