//! Many responses at once, in parallel, each result at its response's place.

use crate::score::{Literals, Scorer, Scratch, SourceScore};
use rayon::prelude::*;

/// Responses that fewer than this are scored on the calling thread: starting others would take longer.
const SMALL: usize = 16;

/// Scores `count` responses, response `i` being `response(i)`; entry `i × sources + s` is response `i` against source
/// `s`. The result does not depend on the number of threads of the pool it runs in.
pub fn score_batch<'a>(scorer: &Scorer, count: usize, response: impl Fn(usize) -> &'a str + Sync) -> Vec<SourceScore> {
    let sources = scorer.source_count();
    let mut scores = vec![SourceScore::default(); count * sources];
    if count < SMALL {
        let mut scratch = Scratch::default();
        for (i, row) in scores.chunks_mut(sources).enumerate() {
            scorer.score_into(response(i), &mut scratch, row);
        }
    } else {
        scores
            .par_chunks_mut(sources)
            .enumerate()
            .for_each_init(Scratch::default, |scratch, (i, row)| scorer.score_into(response(i), scratch, row));
    }
    scores
}

/// Ends of the keywords in `count` responses; entry `i × keywords + k` is keyword `k` in response `i`.
pub fn literal_ends<'a>(
    literals: &Literals,
    limit: usize,
    count: usize,
    response: impl Fn(usize) -> &'a str + Sync,
) -> Vec<u32> {
    let mut ends = vec![0; count * literals.len()];
    if literals.is_empty() {
        return ends;
    }
    ends.par_chunks_mut(literals.len())
        .enumerate()
        .with_min_len(SMALL)
        .for_each(|(i, row)| literals.ends_into(response(i), limit, row));
    ends
}
