//! Choosing texts whose n-grams are distributed as those of a whole pool.

use super::climb::Climb;
use super::pool::Pool;
use super::random::Random;
use super::search::{Candidates, Ratio, Search};
use crate::error::Result;
use rayon::prelude::*;

/// The random stream of the first random choice; further ones have the numbers below. Those of the restarts are numbered
/// from 0.
const RANDOM_CHOICE: u64 = u64::MAX;
/// Bytes of overlaps that all restarts keep together; the others are recomputed, which only takes time.
const KEPT_BYTES: usize = 256 << 20;

/// A choice of texts that improves as long as it runs.
///
/// Minimises the mean squared error between the n-gram distributions of the choice and of the pool (Imajo et al. 2025,
/// section 3.2.4), as document frequencies, which is what Fluency uses. Everything is counted in integers, and the
/// same seed gives the same choice on every platform, with any number of threads and in rounds of any size.
///
/// Strata get their shares of the choice by the sums of their weights (largest remainder, then the stratum of the
/// smaller number), and texts are only exchanged within them.
#[derive(Debug)]
pub struct Selector {
    search: Search,
    pool: Pool,
    /// The greedy choice; once that is complete, one for each restart.
    climbs: Vec<Climb>,
    complete: bool,
}

impl Selector {
    /// Counts the n-grams of the pool: `O(N × max_n)` for `N` characters.
    ///
    /// # Errors
    /// [`Error::EmptyPool`](crate::Error::EmptyPool), [`Error::UnequalLengths`](crate::Error::UnequalLengths),
    /// [`Error::ZeroWeight`](crate::Error::ZeroWeight), [`Error::InvalidSettings`](crate::Error::InvalidSettings) for
    /// an invalid number in `search`, and [`Error::TextTooRich`](crate::Error::TextTooRich),
    /// [`Error::PoolTooLarge`](crate::Error::PoolTooLarge) or [`Error::TextTooLong`](crate::Error::TextTooLong) beyond
    /// what can be counted.
    pub fn new(candidates: &Candidates<'_>, search: &Search) -> Result<Self> {
        let pool = Pool::new(candidates, search)?;
        let kept_rows = KEPT_BYTES / search.restarts / (2 * pool.texts());
        let climbs = vec![Climb::new(&pool, kept_rows)];
        Ok(Self { search: *search, pool, climbs, complete: false })
    }

    /// Adds up to `texts` texts to the greedy choice that the search begins with; returns whether that is complete.
    pub fn grow(&mut self, texts: usize) -> bool {
        if !self.complete {
            let greedy = &mut self.climbs[0];
            for _ in 0..texts.min(greedy.missing(&self.pool)) {
                greedy.grow(&self.pool);
            }
            self.complete = greedy.missing(&self.pool) == 0;
            if self.complete {
                let start = |stream| self.climbs[0].start(&self.pool, self.search.seed, stream as u64);
                self.climbs = (0..self.search.restarts).map(start).collect();
            }
        }
        self.complete
    }

    /// Continues as long as another step of a restart stays within `proposals` since its start. Does nothing before the
    /// greedy choice is complete.
    pub fn run(&mut self, proposals: u64) {
        if self.complete {
            self.climbs.iter_mut().for_each(|climb| climb.run(&self.pool, proposals));
        }
    }

    /// The same on the threads of the current rayon pool, one restart each; the result does not depend on their number.
    pub fn run_parallel(&mut self, proposals: u64) {
        if self.complete {
            self.climbs.par_iter_mut().for_each(|climb| climb.run(&self.pool, proposals));
        }
    }

    /// Exchanges that each restart evaluated: the largest number, which leads to the same choice again.
    pub fn proposals(&self) -> u64 {
        self.climbs.iter().map(|climb| climb.proposals).max().unwrap_or(0)
    }

    /// Choices that differ from one in a single text: what a pass over the chosen texts evaluates.
    pub fn neighbours(&self) -> u64 {
        self.pool.strata.iter().map(|stratum| (stratum.share * stratum.alternatives()) as u64).sum()
    }

    /// The most proposals of a step, which is not divided between rounds.
    pub fn largest_step(&self) -> u64 {
        self.pool.strata.iter().map(|stratum| stratum.alternatives() as u64).max().unwrap_or(0)
    }

    /// The best choice so far, as ascending rows; none before the greedy choice is complete.
    pub fn rows(&self) -> Vec<u32> {
        self.best().map_or_else(Vec::new, |(_, chosen)| self.pool.rows(chosen))
    }

    /// Error of the best choice so far; `None` before the greedy choice is complete.
    pub fn error(&self) -> Option<Ratio> {
        self.best().map(|&(cost, _)| self.ratio(cost))
    }

    /// Error of the greedy choice; `None` before it is complete.
    pub fn greedy_error(&self) -> Option<Ratio> {
        self.complete.then(|| self.ratio(self.climbs[0].start_cost))
    }

    /// Error of a random choice that keeps the shares of the strata; each `draw` is another choice.
    pub fn random_error(&self, draw: u32) -> Ratio {
        let stream = RANDOM_CHOICE - u64::from(draw);
        let chosen = self.pool.random(&mut Random::new(self.search.seed, stream));
        self.ratio(self.pool.cost(&chosen))
    }

    fn best(&self) -> Option<&(i128, Vec<u32>)> {
        let found = self.complete.then(|| self.climbs.iter().map(|climb| &climb.best));
        found?.min_by_key(|(cost, _)| *cost)
    }

    fn ratio(&self, cost: i128) -> Ratio {
        Ratio { numerator: self.pool.squares(cost), denominator: self.pool.scale() }
    }
}
