//! Answers with an n-gram that occurs seldom among all of them (Imajo et al. 2025, section 3.2.3), found exactly and in
//! bounded memory.
//!
//! ```text
//! texts ──► symbols ──► keys ──► recent: seen often just now? ──► staging, by bucket ──► tables: one a bucket
//! ```
//!
//! An n-gram is a number, its *key* ([`keys`]), scrambled so that its upper bits spread evenly. They name a bucket.
//! Occurrences are *staged* by bucket ([`staging`]) until there are many, so that each bucket's table ([`table`]) is
//! read from memory once for many occurrences. A table keeps, of every n-gram that is still seldom, the rows it stands
//! in; of every other one, that it is not. What is left at the end names the rows to drop.
//!
//! Where the tables outgrow the memory, a *pass* over the texts gives up the upper half of its range of keys, and a
//! later pass takes it ([`span`]). Memory therefore depends on distinct n-grams, not on the length of the texts, and
//! neither it nor the number of threads changes the result: marks are a set.

mod filter;
mod keys;
mod pool;
mod recent;
mod scan;
mod scatter;
mod span;
mod staging;
mod table;

use crate::error::{Error, Result};
use filter::{Count, Counter, Plan};
use keys::{Hashed, Rolling};
use pool::Pool;
pub use scan::Scan;

/// How answers are filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingletonSettings {
    /// An n-gram that occurs so often or less is seldom.
    pub threshold: u32,
    /// Bytes for counting; besides, each answer takes a few bytes. Less than 64 KiB counts as that.
    pub memory: usize,
    /// Parts into which texts are divided, best as many as the rayon pool has threads.
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
    /// there are no weights); an answer of weight 0 is not there at all.
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

    /// Ends a pass over all answers, and says whether the round needs another.
    pub fn finish_pass(&mut self) -> bool {
        self.counter.finish_pass(&self.pool)
    }

    /// Ends a round: drops what its passes found, and gives the number of rows dropped.
    pub fn finish_round(&mut self) -> usize {
        self.pool.drop_marked()
    }

    /// Whether each row is there: not dropped, and of a positive weight.
    pub fn kept(&self) -> Vec<bool> {
        self.pool.kept()
    }
}
