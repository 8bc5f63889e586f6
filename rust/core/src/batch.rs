//! Many responses at once, in parallel, each result at its response's place.

use crate::error::Result;
use crate::score::{Cut, Helpful, LANES, RuleScratch, Rules, Scorer, Scratch, SourceScore, TOTALS, totals};
use crate::store::StoredScorer;
use rayon::prelude::*;
use std::cell::RefCell;

/// Responses that a thread takes at a time; among them those of similar length go together.
const BLOCK: usize = 256;

/// From so many responses to a question on, its table is prefetched.
const MANY: usize = 1024;
/// Bytes of the table, at most, that are prefetched for each of them: each reads several times as many.
const FETCHED: usize = 4096;

/// Where a scorer is.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// In memory.
    Made(&'a Scorer),
    /// In a file: read for one batch, so that the scorers of a batch need not be in memory together.
    Stored(&'a StoredScorer),
}

impl Source<'_> {
    fn with<R>(&self, work: impl FnOnce(&Scorer) -> R) -> Result<R> {
        match self {
            Self::Made(scorer) => Ok(work(scorer)),
            Self::Stored(stored) => stored.read().map(|scorer| work(&scorer)),
        }
    }
}

/// Responses to one question.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Fluency and Truthfulness of the question.
    pub scorer: Source<'a>,
    /// Its Helpfulness.
    pub rules: &'a Rules,
    /// The column of each of the scorer's sources.
    pub columns: &'a [usize],
    /// Which of the responses they are.
    pub rows: &'a [u32],
    /// Per row, the ends of the patterns that the rules do not search for themselves.
    pub others: &'a [u32],
}

/// Responses to several questions.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Every response is in exactly one group.
    pub groups: &'a [Group<'a>],
    /// Columns of sources.
    pub sources: usize,
    /// Responses of all groups together.
    pub count: usize,
}

/// A response to a question.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Fluency and Truthfulness of the question.
    pub scorer: &'a Scorer,
    /// Its Helpfulness.
    pub rules: &'a Rules,
    /// The response.
    pub response: &'a str,
}

impl Asked<'_> {
    /// The same for all responses to one question.
    fn question(&self) -> usize {
        std::ptr::from_ref(self.scorer).addr()
    }
}

/// Scores of all responses, in the order of the responses.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    /// Code points of each response.
    pub lengths: Vec<u32>,
    /// [`TOTALS`] columns, then each source's share of Fluency, then of Truthfulness; NaN where a question lacks the
    /// source.
    pub scores: Vec<Vec<f64>>,
}

/// All that scoring finds out about one response.
#[derive(Debug, Clone, PartialEq)]
pub struct Lone {
    /// [`TOTALS`], then each of the question's sources' share of Fluency, then of Truthfulness.
    pub row: Vec<f64>,
    /// Unrounded Fluency and Truthfulness of each source, with their cuts.
    pub cuts: Vec<(Cut, Cut)>,
    /// Unrounded Helpfulness with its cut.
    pub helpful: Helpful,
}

/// Scores of some responses to one question, a row each.
struct Part<'a> {
    group: Group<'a>,
    rows: Vec<u32>,
    lengths: Vec<u32>,
    scores: Vec<f64>,
}

#[derive(Default)]
struct Buffers {
    scorer: Scratch,
    rules: RuleScratch,
    scores: Vec<SourceScore>,
    lengths: Vec<u32>,
    row: Vec<f64>,
    order: Vec<(u32, u32)>,
}

thread_local! {
    /// Kept between calls, so that a call for one response costs little more than that.
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Scores every response, response `i` being `response(i)`, on the calling thread.
///
/// # Errors
/// If a scorer cannot be read.
pub fn score_groups<'a>(batch: Batch<'_>, response: impl Fn(usize) -> &'a str + Sync) -> Result<Columns> {
    let mut parts = Vec::new();
    for &group in batch.groups {
        let score = |scorer: &_| ranges(group).map(|range| score_part(group, scorer, range, &response)).collect();
        parts.extend::<Vec<_>>(group.scorer.with(score)?);
    }
    Ok(Columns {
        lengths: lengths(&parts, batch.count),
        scores: (0..TOTALS + 2 * batch.sources).map(|column| gathered(&parts, batch, column)).collect(),
    })
}

/// The same on the threads of the current rayon pool; the result does not depend on their number.
///
/// # Errors
/// If a scorer cannot be read.
pub fn score_groups_parallel<'a>(batch: Batch<'_>, response: impl Fn(usize) -> &'a str + Sync) -> Result<Columns> {
    let parts = batch.groups.par_iter().map(|&group| {
        group.scorer.with(|scorer| {
            let ranges: Vec<_> = ranges(group).collect();
            ranges.into_par_iter().map(|range| score_part(group, scorer, range, &response)).collect::<Vec<_>>()
        })
    });
    let parts: Vec<_> = parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let columns = (0..TOTALS + 2 * batch.sources).into_par_iter();
    let (lengths, scores) = rayon::join(
        || lengths(&parts, batch.count),
        || columns.map(|column| gathered(&parts, batch, column)).collect(),
    );
    Ok(Columns { lengths, scores })
}

/// One of the [`TOTALS`] of each of some responses, in their order, on the calling thread: for small calls, since little is
/// allocated once the buffers have grown. Responses to several questions are read side by side.
///
/// # Panics
/// If there are patterns that the rules do not search for themselves, or `into` is too short.
pub fn score_totals(asked: &[Asked<'_>], total: usize, into: &mut [f64]) {
    BUFFERS.with_borrow_mut(|buffers| {
        let mut order = std::mem::take(&mut buffers.order);
        order.clear();
        order.extend((0..).zip(asked).map(|(place, asked)| (asked.response.len() as u32, place)));
        order.sort_unstable_by_key(|&(length, place)| (asked[place as usize].question(), length));
        for block in order.chunks(LANES) {
            score_block(asked, block, total, buffers, into);
        }
        buffers.order = order;
    });
}

/// Scores one response, with cuts; `others` as in [`Group`]; `compensated`: see [`totals_again`](crate::totals_again).
pub fn score_lone(asked: Asked<'_>, others: &[u32], compensated: bool) -> Lone {
    let Asked { scorer, rules, response } = asked;
    let settings = scorer.settings();
    BUFFERS.with_borrow_mut(|buffers| {
        let cuts = scorer.cuts(response, &mut buffers.scorer);
        let scores: Vec<_> = cuts.iter().map(|(f, t)| SourceScore { fluency: f.0, truthfulness: t.0 }).collect();
        let helpful = rules.score(settings, response, response.chars().count(), others, &mut buffers.rules);
        let mut row = vec![0.0; TOTALS + 2 * scores.len()];
        totals::write(settings, &scores, helpful.value, &mut row);
        if compensated {
            let (fluency, truthfulness) = row[TOTALS..].split_at(scores.len());
            let both = [fluency, truthfulness].map(|shares| shares.iter().copied());
            let [fluency, truthfulness, average] = totals::again(settings, both, row[2], true);
            (row[0], row[1], row[3]) = (fluency, truthfulness, average);
        }
        Lone { row, cuts, helpful }
    })
}

/// Scores the responses at the places that `order` has, at most [`LANES`], those to one question beside each other.
fn score_block(asked: &[Asked<'_>], order: &[(u32, u32)], total: usize, buffers: &mut Buffers, into: &mut [f64]) {
    let mut block = [asked[order[0].1 as usize]; LANES];
    for (block, &(_, place)) in block.iter_mut().zip(order) {
        *block = asked[place as usize];
    }
    let block = &block[..order.len()];
    let Buffers { scorer: scratch, rules: rule_scratch, scores, lengths, row, .. } = buffers;
    scores.resize(block.iter().map(|asked| asked.scorer.source_count()).sum(), SourceScore::default());
    lengths.resize(LANES, 0);
    read_block(block, scratch, scores, lengths);
    let mut start = 0;
    for ((asked, &(_, place)), &length) in block.iter().zip(order).zip(&*lengths) {
        let (settings, sources) = (asked.scorer.settings(), asked.scorer.source_count());
        let helpful = asked.rules.score(settings, asked.response, length as usize, &[], rule_scratch);
        row.resize(TOTALS + 2 * sources, 0.0);
        totals::write(settings, &scores[start..][..sources], helpful.value, row);
        into[place as usize] = row[total];
        start += sources;
    }
}

/// Fluency and Truthfulness: of all together if their scorers allow that, otherwise question by question.
fn read_block(block: &[Asked<'_>], scratch: &mut Scratch, scores: &mut [SourceScore], lengths: &mut [u32]) {
    let (mut scorers, mut responses) = ([block[0].scorer; LANES], [""; LANES]);
    for ((asked, scorer), response) in block.iter().zip(&mut scorers).zip(&mut responses) {
        (*scorer, *response) = (asked.scorer, asked.response);
    }
    let (scorers, responses) = (&scorers[..block.len()], &responses[..block.len()]);
    let is_one = |scorer: &&Scorer| std::ptr::eq(*scorer, scorers[0]);
    if !scorers.iter().all(is_one) && scorers.iter().all(|scorer| scorer.goes_with(scorers[0])) {
        return Scorer::score_mixed(scorers, responses, scratch, scores, lengths);
    }
    let (mut start, mut row) = (0, 0);
    for part in scorers.chunk_by(|a, b| std::ptr::eq(*a, *b)) {
        part[0].score(&responses[row..][..part.len()], scratch, &mut scores[start..], &mut lengths[row..]);
        start += part.len() * part[0].source_count();
        row += part.len();
    }
}

fn ranges(group: Group<'_>) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = group.rows.len();
    (0..count).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(count))
}

fn score_part<'a, 'b>(
    group: Group<'b>,
    scorer: &Scorer,
    range: std::ops::Range<usize>,
    response: &(impl Fn(usize) -> &'a str + Sync),
) -> Part<'b> {
    BUFFERS.with_borrow_mut(|buffers| score_part_with(group, scorer, range, buffers, response))
}

fn score_part_with<'a, 'b>(
    group: Group<'b>,
    scorer: &Scorer,
    range: std::ops::Range<usize>,
    buffers: &mut Buffers,
    response: &(impl Fn(usize) -> &'a str + Sync),
) -> Part<'b> {
    let Buffers { scorer: scratch, rules: rule_scratch, scores, order, .. } = buffers;
    if range.start == 0 && group.rows.len() >= MANY {
        scorer.fetch_table(FETCHED * group.rows.len());
    }
    let of_row = |place: u32| response(group.rows[place as usize] as usize);
    order.clear();
    order.extend(range.map(|place| (of_row(place as u32).len() as u32, place as u32)));
    order.sort_unstable();
    let responses: Vec<&str> = order.iter().map(|&(_, place)| of_row(place)).collect();
    let sources = scorer.source_count();
    scores.clear();
    scores.resize(responses.len() * sources, SourceScore::default());
    let mut lengths = vec![0; responses.len()];
    scorer.score(&responses, scratch, scores, &mut lengths);

    let (settings, width) = (scorer.settings(), TOTALS + 2 * sources);
    let mut values = vec![0.0; responses.len() * width];
    let rows = order.iter().zip(&responses).zip(&lengths).zip(scores.chunks(sources));
    for ((((&(_, place), response), &length), scores), into) in rows.zip(values.chunks_mut(width)) {
        let others = &group.others[place as usize * group.rules.others()..][..group.rules.others()];
        let helpful = group.rules.score(settings, response, length as usize, others, rule_scratch);
        totals::write(settings, scores, helpful.value, into);
    }
    let rows = order.iter().map(|&(_, place)| group.rows[place as usize]).collect();
    Part { group, rows, lengths, scores: values }
}

fn lengths(parts: &[Part<'_>], count: usize) -> Vec<u32> {
    let mut lengths = vec![0; count];
    for part in parts {
        for (&row, &length) in part.rows.iter().zip(&part.lengths) {
            lengths[row as usize] = length;
        }
    }
    lengths
}

fn gathered(parts: &[Part<'_>], batch: Batch<'_>, column: usize) -> Vec<f64> {
    let mut values = vec![f64::NAN; batch.count];
    for part in parts {
        let sources = part.group.columns.len();
        let place = |column: usize| part.group.columns.iter().position(|&mine| mine == column);
        let place = match column.checked_sub(TOTALS) {
            None => Some(column),
            Some(of) if of < batch.sources => place(of).map(|source| TOTALS + source),
            Some(of) => place(of - batch.sources).map(|source| TOTALS + sources + source),
        };
        let Some(place) = place else { continue };
        for (&row, scores) in part.rows.iter().zip(part.scores.chunks(TOTALS + 2 * sources)) {
            values[row as usize] = scores[place];
        }
    }
    values
}
