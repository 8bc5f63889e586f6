//! What is asked of a selection, and how its error is told.

/// Texts to choose from.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    /// The texts, a row each.
    pub texts: &'a [&'a str],
    /// How often each occurs in the pool: at least once. Once if this is `None`.
    pub weights: Option<&'a [u64]>,
    /// The number of each text's stratum. One stratum if this is `None`.
    pub strata: Option<&'a [u32]>,
}

/// What to search for, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Texts to choose; all if there are fewer.
    pub count: usize,
    /// Shortest n-gram.
    pub min_n: usize,
    /// Longest n-gram.
    pub max_n: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Searches from the same start, each with its own random numbers; the best wins, the first of equal ones.
    pub restarts: usize,
}

/// An exact error: the mean over the pool's n-grams of the squared difference between the share of chosen texts that
/// contain it and that of the pool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// A sum of squares of integers.
    pub numerator: u128,
    /// N-grams times the squared product of both numbers of texts; 0 where there is no n-gram.
    pub denominator: u128,
}
