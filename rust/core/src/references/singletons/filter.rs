//! The filter: passes over the texts, from which threads stage what tables then count.

use super::keys::{Hashed, Key, Rolling, Scheme, Span};
use super::pool::{Pool, Scan};
use super::table::{BLOCK, Occurrence, Recent, Staging, Table};
use crate::error::{Error, Result};
use crate::text::{SEPARATOR, Symbol, UNKNOWN};
use rayon::prelude::*;

const LEAST_MEMORY: usize = 1 << 16;
const MOST_BUCKETS: usize = 1 << 11;
const MOST_RECENT: usize = 1 << 16;
/// N-grams of a bucket below which more buckets do not pay off.
const FEW: u64 = 1 << 8;
/// Buckets that a thread takes at a time, at least.
const TOGETHER: usize = 1 << 4;

/// How answers are filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingletonSettings {
    /// An n-gram that occurs at most this often is seldom.
    pub threshold: u32,
    /// Bytes for counting, besides a few bytes per answer. At least 64 KiB are used.
    pub memory: usize,
    /// Parts into which texts are divided, ideally as many as the rayon pool has threads.
    pub threads: usize,
}

/// Drops the answers that contain a seldom n-gram.
///
/// Answers come in rounds of passes: every answer is given to [`add`](Self::add) in each pass, until
/// [`finish_pass`](Self::finish_pass) says that no pass is left; [`finish_round`](Self::finish_round) then drops what
/// was found. The next round counts among what is left.
///
/// Time: linear in the characters, for each pass. Space: 17 to 26 bytes a distinct n-gram of a pass (29 to 43 where the
/// alphabet is so large that keys take 128 bits); n-grams that are seldom take that much an occurrence, so that time
/// grows with the threshold, too.
pub struct SingletonFilter {
    pool: Pool,
    counter: Box<dyn Count>,
}

impl SingletonFilter {
    /// A filter of the answers that `scan` has seen. Each stands for as many answers as its weight says (one where
    /// there are no weights); an answer of weight 0 is ignored.
    ///
    /// # Errors
    /// There are too many answers to number them, or not as many weights as answers.
    pub fn new(scan: &Scan, weights: Option<Vec<u32>>, settings: SingletonSettings) -> Result<Self> {
        let pool = Pool::new(scan, weights, settings.threshold)?;
        let (radix, n) = (pool.alphabet.len(), scan.n());
        let counter: Box<dyn Count> = if let Some(scheme) = Rolling::<u64>::new(radix, n) {
            Box::new(Counter::new(scheme, Plan::new::<u64>(scan.ngrams(), settings)))
        } else if let Some(scheme) = Rolling::<u128>::new(radix, n) {
            Box::new(Counter::new(scheme, Plan::new::<u128>(scan.ngrams(), settings)))
        } else {
            Box::new(Counter::new(Hashed { n }, Plan::new::<u128>(scan.ngrams(), settings)))
        };
        Ok(Self { pool, counter })
    }

    /// Counts the answers that stand in the rows from `first_row` on.
    ///
    /// # Errors
    /// They are not what was scanned: a row or a character is new.
    pub fn add(&mut self, texts: &[&str], first_row: usize) -> Result<()> {
        if first_row.checked_add(texts.len()).is_none_or(|end| end > self.pool.rows()) {
            return Err(Error::ChangedAnswers { row: self.pool.rows() });
        }
        self.counter.add(&self.pool, texts, first_row)
    }

    /// Ends a pass over all answers and returns whether the round needs another.
    pub fn finish_pass(&mut self) -> bool {
        self.counter.finish_pass(&self.pool)
    }

    /// Ends a round: drops what its passes found and returns the number of rows dropped.
    pub fn finish_round(&mut self) -> usize {
        self.pool.drop_marked()
    }

    /// Whether each row is there: not dropped, and of a positive weight.
    pub fn kept(&self) -> Vec<bool> {
        self.pool.kept()
    }
}

/// What counting does for one kind of keys.
trait Count: Send + Sync {
    /// Counts the texts of the rows from `first_row` on.
    fn add(&mut self, pool: &Pool, texts: &[&str], first_row: usize) -> Result<()>;

    /// Marks the rows that this pass found and returns whether another is needed.
    fn finish_pass(&mut self, pool: &Pool) -> bool;
}

/// How memory is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
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
    fn new<K: Key>(ngrams: u64, settings: SingletonSettings) -> Self {
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
struct Counter<S: Scheme> {
    scheme: S,
    plan: Plan,
    span: Span,
    scatters: Vec<Scatter<S>>,
    tables: Vec<Table<S::Key>>,
}

impl<S: Scheme> Counter<S> {
    fn new(scheme: S, plan: Plan) -> Self {
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

/// Texts of consecutive rows, and how far they are read.
struct Part<'a> {
    texts: &'a [&'a str],
    row: usize,
    /// N-grams of the first text that are already staged.
    ngrams: usize,
}

impl<'a> Part<'a> {
    fn new(texts: &'a [&'a str], first_row: usize) -> Self {
        Self { texts, row: first_row, ngrams: 0 }
    }
}

/// What a thread keeps between texts.
struct Scatter<S: Scheme> {
    staging: Staging<S::Key>,
    recent: Recent<S::Key>,
    symbols: Vec<Symbol>,
}

impl<S: Scheme> Scatter<S> {
    fn new(staging: Staging<S::Key>, recent: Recent<S::Key>) -> Self {
        Self { staging, recent, symbols: Vec::new() }
    }

    /// Stages n-grams until the part is read or nothing more can be staged; returns whether it is read.
    fn read(&mut self, part: &mut Part<'_>, scheme: &S, span: &Span, pool: &Pool) -> Result<bool> {
        while let Some((text, others)) = part.texts.split_first() {
            if pool.has(part.row) {
                self.symbols.clear();
                self.symbols.push(SEPARATOR);
                self.symbols.extend(text.chars().map(|character| pool.alphabet.symbol(character)));
                if self.symbols.contains(&UNKNOWN) {
                    return Err(Error::ChangedAnswers { row: part.row });
                }
                if !self.stage(part, scheme, span, pool) {
                    return Ok(false);
                }
            }
            *part = Part { texts: others, row: part.row + 1, ngrams: 0 };
        }
        Ok(true)
    }

    /// Stages what is left of the n-grams of the symbols; returns whether all found room.
    fn stage(&mut self, part: &mut Part<'_>, scheme: &S, span: &Span, pool: &Pool) -> bool {
        let Self { staging, recent, symbols } = self;
        let (row, weight) = (part.row as u32, pool.weight(part.row as u32));
        for (staged, key) in scheme.keys(&symbols[part.ngrams..]).enumerate() {
            let bucket = span.bucket(key);
            if bucket >= span.buckets() {
                continue;
            }
            if staging.is_full() {
                part.ngrams += staged;
                return false;
            }
            if !recent.enough(key, weight, pool.threshold, span) {
                staging.push(bucket, Occurrence::new(key, row));
            }
        }
        true
    }
}
