//! Hill climbing from one choice to better ones, with threshold accepting.
//!
//! A step removes one chosen text and compares *all* texts of its stratum in its place: with the overlaps of the
//! removed text at hand, that is one subtraction each. The best of them is taken if it makes the choice less than a
//! threshold worse (Dueck and Scheuer, "Threshold Accepting: A General Purpose Optimization Algorithm Appearing
//! Superior to Simulated Annealing", 1990). The threshold falls to nothing and begins anew, each time over twice as
//! many steps, so that the search need not know its budget; the best choice is remembered.

use super::overlaps::Adder;
use super::pool::Pool;
use super::random::Random;
use std::ops::Range;
use std::sync::Arc;

/// Makes a chosen text worse than any other, so that it is not chosen twice; scores stay below half of it.
const CHOSEN: i64 = 1 << 62;
/// Passes over the chosen texts in which the threshold falls for the first time.
const FIRST_CYCLE: u32 = 4;
/// The first threshold is a text's share of the error of the greedy start, divided by this.
const THRESHOLD: i128 = 4;
/// Scores that are compared at a time.
const BLOCK: usize = 64;

/// Overlaps of a chosen text.
type Row = Arc<[u16]>;

/// A choice being improved.
///
/// A step takes `O(K)` time for `K` texts, and the time of a row of overlaps where it changes the choice. Memory:
/// 8 bytes a text, and 2 for each chosen text where rows are kept.
#[derive(Debug, Clone)]
pub(crate) struct Climb {
    random: Random,
    adder: Adder,
    /// What each text would add to the choice, divided by the pool's mass. For a chosen one: what it would add as a
    /// second copy, plus [`CHOSEN`].
    scores: Vec<i64>,
    chosen: Vec<u32>,
    /// How many of each stratum.
    taken: Vec<usize>,
    /// Overlaps of the first chosen texts; those of the others are recomputed when they are needed.
    rows: Vec<Row>,
    kept_rows: usize,
    cost: i128,
    pub(crate) start_cost: i128,
    /// The best choice so far, and its cost.
    pub(crate) best: (i128, Vec<u32>),
    pub(crate) proposals: u64,
    /// Chosen texts that are still to be removed in this pass.
    order: Vec<u32>,
    pass: u32,
    /// Passes of this cycle, and the threshold at its beginning.
    cycle: u32,
    threshold: i128,
}

impl Climb {
    /// An empty choice.
    pub(crate) fn new(pool: &Pool, kept_rows: usize) -> Self {
        Self {
            random: Random::new(0, 0),
            adder: Adder::default(),
            scores: pool.ngrams.iter().map(|&ngrams| times(ngrams, pool.mass)).collect(),
            chosen: Vec::with_capacity(pool.count),
            taken: vec![0; pool.strata.len()],
            rows: Vec::new(),
            kept_rows,
            cost: 0,
            start_cost: 0,
            best: (0, Vec::new()),
            proposals: 0,
            order: Vec::new(),
            pass: 0,
            cycle: FIRST_CYCLE,
            threshold: 0,
        }
    }

    /// Texts that the choice still lacks.
    pub(crate) fn missing(&self, pool: &Pool) -> usize {
        pool.count - self.chosen.len()
    }

    /// Adds the text that makes the choice, as far as it is, most like the pool.
    ///
    /// The `k`-th text is judged as the last of `k`, not of all: then the beginnings of the choice are typical, too, and
    /// the whole is far better than one whose first texts only have what is common.
    pub(crate) fn grow(&mut self, pool: &Pool) {
        for (score, &sum) in self.scores.iter_mut().zip(&pool.sums) {
            *score -= 2 * sum;
        }
        let open = (0..).zip(&pool.strata).filter(|&(number, stratum)| self.taken[number] < stratum.share);
        let places = open.map(|(number, stratum)| (least(&self.scores, None, 0, stratum.places.clone()), number));
        if let Some(((_, place), number)) = places.min() {
            let row = Row::from(pool.overlaps(place, &mut self.adder));
            for (score, &shared) in self.scores.iter_mut().zip(&*row) {
                *score += times(shared, 2 * pool.mass);
            }
            self.scores[place as usize] += CHOSEN;
            self.taken[number] += 1;
            self.chosen.push(place);
            self.keep(self.chosen.len() - 1, row);
        }
    }

    /// The same choice at the start of a climb, with a random stream of its own.
    pub(crate) fn start(&self, pool: &Pool, seed: u64, stream: u64) -> Self {
        let cost = pool.cost(&self.chosen);
        let part = pool.squares(cost) / u128::from(pool.mass) / pool.count as u128;
        Self {
            random: Random::new(seed, stream),
            cost,
            start_cost: cost,
            best: (cost, self.chosen.clone()),
            threshold: part as i128 / THRESHOLD,
            ..self.clone()
        }
    }

    /// Continues as long as another step stays within `limit` proposals since the start.
    pub(crate) fn run(&mut self, pool: &Pool, limit: u64) {
        while let Some(slot) = self.next_slot(pool) {
            let stratum = pool.stratum(self.chosen[slot]);
            let proposals = self.proposals + stratum.alternatives() as u64;
            if proposals > limit {
                return;
            }
            self.order.pop();
            self.proposals = proposals;
            self.step(pool, slot, stratum.places.clone());
        }
    }

    /// The chosen text to remove next; `None` if none can be replaced.
    fn next_slot(&mut self, pool: &Pool) -> Option<usize> {
        if self.order.is_empty() {
            let replaceable = |&slot: &u32| pool.stratum(self.chosen[slot as usize]).alternatives() > 0;
            self.order = (0..self.chosen.len() as u32).filter(replaceable).collect();
            let count = self.order.len();
            self.random.draw(&mut self.order, count);
            self.pass += 1;
            if self.pass > self.cycle {
                (self.pass, self.cycle) = (1, self.cycle.saturating_mul(2));
            }
        }
        self.order.last().map(|&slot| slot as usize)
    }

    fn step(&mut self, pool: &Pool, slot: usize, places: Range<usize>) {
        let out = self.chosen[slot] as usize;
        let row = self.row(pool, slot);
        let back = self.scores[out] - CHOSEN - times(row[out], 2 * pool.mass);
        let (value, place) = least(&self.scores, Some(&row), 2 * pool.mass, places);
        let change = i128::from(value - back);
        // As if passes were counted from 0: the first has the whole threshold, the last almost none.
        let left = i128::from(self.cycle - self.pass + 1);
        if change < 0 || change < self.threshold * left / i128::from(self.cycle) {
            self.swap(pool, slot, place, &row);
            self.cost += change;
        }
        if self.cost < self.best.0 {
            self.best.0 = self.cost;
            self.best.1.clone_from(&self.chosen);
        }
    }

    fn swap(&mut self, pool: &Pool, slot: usize, place: u32, old: &[u16]) {
        let new = Row::from(pool.overlaps(place, &mut self.adder));
        for ((score, &new), &old) in self.scores.iter_mut().zip(&*new).zip(old) {
            *score += times(new, 2 * pool.mass) - times(old, 2 * pool.mass);
        }
        self.scores[self.chosen[slot] as usize] -= CHOSEN;
        self.scores[place as usize] += CHOSEN;
        self.chosen[slot] = place;
        self.keep(slot, new);
    }

    fn row(&mut self, pool: &Pool, slot: usize) -> Row {
        match self.rows.get(slot) {
            Some(row) => Arc::clone(row),
            None => pool.overlaps(self.chosen[slot], &mut self.adder).into(),
        }
    }

    fn keep(&mut self, slot: usize, row: Row) {
        if slot < self.rows.len() {
            self.rows[slot] = row;
        } else if slot < self.kept_rows {
            self.rows.push(row);
        }
    }
}

fn times(ngrams: u16, by: u32) -> i64 {
    // Unsigned 32-bit factors have a vector instruction everywhere.
    (u64::from(ngrams) * u64::from(by)) as i64
}

/// The least of the scores of `places` without their overlaps in `row`, `by` each; the first of equal ones.
fn least(scores: &[i64], row: Option<&[u16]>, by: u32, places: Range<usize>) -> (i64, u32) {
    let mut best = (i64::MAX, 0);
    for start in places.clone().step_by(BLOCK) {
        let block = start..(start + BLOCK).min(places.end);
        let overlaps = row.map_or(&[0; BLOCK][..block.len()], |row| &row[block.clone()]);
        let values = || scores[block.clone()].iter().zip(overlaps).map(|(score, &shared)| score - times(shared, by));
        let low = values().min().unwrap_or(i64::MAX);
        if low < best.0 {
            let at = values().position(|value| value == low).unwrap_or(0);
            best = (low, (start + at) as u32);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::search::{Candidates, Search};

    #[test]
    fn rows_that_are_not_kept_change_nothing() {
        let mut random = Random::new(5, 0);
        let mut text = |_| (0..20).map(|_| ['あ', 'い', 'う', 'え'][random.below(4)]).collect();
        let texts: Vec<String> = (0..80).map(&mut text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let candidates = Candidates { texts: &texts, weights: None, strata: None };
        let search = Search { count: 20, min_n: 1, max_n: 10, seed: 0, restarts: 1 };
        let pool = Pool::new(&candidates, &search).unwrap();
        let run = |kept_rows| {
            let mut climb = Climb::new(&pool, kept_rows);
            (0..20).for_each(|_| climb.grow(&pool));
            let mut climb = climb.start(&pool, 1, 2);
            climb.run(&pool, 20_000);
            assert_eq!(climb.cost, pool.cost(&climb.chosen));
            assert_eq!(climb.best.0, pool.cost(&climb.best.1));
            climb
        };
        let all = run(20);
        for kept_rows in [0, 7] {
            let some = run(kept_rows);
            assert_eq!(some.rows.len(), kept_rows);
            assert_eq!((&some.chosen, &some.best), (&all.chosen, &all.best));
        }
        assert!(all.best.0 < all.start_cost);
    }
}
