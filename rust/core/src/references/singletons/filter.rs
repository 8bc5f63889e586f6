//! Passes over the texts, for one kind of keys.

use super::SingletonSettings;
use super::keys::{Key, Scheme};
use super::pool::Pool;
use super::recent::Recent;
use super::scatter::{Part, Scatter};
use super::span::Span;
use super::staging::{BLOCK, Staging};
use super::table::{Occurrence, Table};
use crate::error::Result;
use rayon::prelude::*;

const LEAST_MEMORY: usize = 1 << 16;
const MOST_BUCKETS: usize = 1 << 11;
const MOST_RECENT: usize = 1 << 16;
/// N-grams of a bucket below which more buckets do not pay.
const FEW: u64 = 1 << 8;
/// Buckets that a thread takes at a time, at least.
const TOGETHER: usize = 1 << 4;

/// What counting does for one kind of keys.
pub(super) trait Count: Send + Sync {
    /// Counts the texts of the rows from `first_row` on.
    fn add(&mut self, pool: &Pool, texts: &[&str], first_row: usize) -> Result<()>;

    /// Marks the rows that this pass found, and says whether another is needed.
    fn finish_pass(&mut self, pool: &Pool) -> bool;
}

/// How memory is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Threads that read texts.
    scatters: usize,
    buckets: usize,
    /// Blocks that each of them stages.
    blocks: usize,
    /// N-grams that each of them remembers.
    recent: usize,
    /// Bytes that tables may have before a pass gives up half of its keys.
    tables: usize,
}

impl Plan {
    pub(super) fn new<K: Key>(ngrams: u64, settings: SingletonSettings) -> Self {
        let (memory, scatters) = (settings.memory.max(LEAST_MEMORY), settings.threads.max(1));
        let block = BLOCK * size_of::<Occurrence<K>>();
        // With an eighth of the memory staged, tables that are just within bounds may grow by two eighths and a bit.
        let staged = (memory / 8 / scatters).min(ngrams as usize * 2 * size_of::<Occurrence<K>>());
        let buckets = (staged / block / 4).min((ngrams / FEW) as usize).clamp(2, MOST_BUCKETS);
        let buckets = 1 << buckets.ilog2();
        let recent = (memory / 64 / scatters / Recent::<K>::SLOT).clamp(2, MOST_RECENT);
        Self {
            scatters,
            buckets,
            blocks: (staged / block).max(4),
            recent: 1 << recent.ilog2(),
            tables: memory / 2 + memory / 16,
        }
    }
}

/// Counts n-grams whose keys are those of `S`.
pub(super) struct Counter<S: Scheme> {
    scheme: S,
    plan: Plan,
    span: Span,
    scatters: Vec<Scatter<S>>,
    tables: Vec<Table<S::Key>>,
}

impl<S: Scheme> Counter<S> {
    pub(super) fn new(scheme: S, plan: Plan) -> Self {
        let scatter = || Scatter::new(Staging::new(plan.buckets, plan.blocks), Recent::new(plan.recent));
        let scatters = std::iter::repeat_with(scatter).take(plan.scatters).collect();
        let mut counter = Self { scheme, plan, span: Span::whole(plan.buckets), scatters, tables: Vec::new() };
        counter.begin_pass(Span::whole(plan.buckets));
        counter
    }

    fn begin_pass(&mut self, span: Span) {
        self.span = span;
        self.scatters.iter_mut().for_each(|scatter| scatter.recent.clear());
        self.tables = std::iter::repeat_with(Table::new).take(span.buckets()).collect();
    }

    /// Counts what is staged, and gives up keys where that took too much memory.
    fn flush(&mut self, pool: &Pool) {
        let (scatters, span) = (&self.scatters, &self.span);
        self.tables.par_iter_mut().enumerate().with_min_len(TOGETHER).for_each(|(bucket, table)| {
            let staged = || scatters.iter().flat_map(|scatter| scatter.staging.bucket(bucket));
            table.expect(staged().map(<[_]>::len).sum());
            for &occurrence in staged().flatten() {
                table.add(occurrence, span, pool);
            }
        });
        self.scatters.iter_mut().for_each(|scatter| scatter.staging.clear());
        while self.tables.len() > 1 && self.tables.iter().map(Table::bytes).sum::<usize>() > self.plan.tables {
            self.span.halve();
            self.tables.truncate(self.span.buckets());
        }
    }
}

impl<S: Scheme> Count for Counter<S> {
    fn add(&mut self, pool: &Pool, texts: &[&str], first_row: usize) -> Result<()> {
        let size = texts.len().div_ceil(self.scatters.len()).max(1);
        let rows = (first_row..).step_by(size);
        let mut parts: Vec<_> = texts.chunks(size).zip(rows).map(|(texts, row)| Part::new(texts, row)).collect();
        loop {
            let (scheme, span) = (&self.scheme, &self.span);
            let works = self.scatters.par_iter_mut().zip(&mut parts);
            let read = works.map(|(scatter, part)| scatter.read(part, scheme, span, pool));
            if read.try_reduce(|| true, |one, other| Ok(one && other))? {
                return Ok(());
            }
            self.flush(pool);
        }
    }

    fn finish_pass(&mut self, pool: &Pool) -> bool {
        self.flush(pool);
        self.tables.par_iter().with_min_len(TOGETHER).for_each(|table| table.rows().for_each(|row| pool.mark(row)));
        let next = self.span.next(self.plan.buckets);
        self.begin_pass(next.unwrap_or(Span::whole(self.plan.buckets)));
        next.is_some()
    }
}
