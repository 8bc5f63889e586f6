//! The answers of a shard whose lengths are nearest to a target.

use super::super::digests::text_digests;
use rayon::prelude::*;

/// An answer, in the order in which the filter of lengths takes them: nearer ones first, then by digest, then by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near {
    /// Characters by which its length differs from the target.
    pub distance: u64,
    /// Its digest, upper half first.
    pub digest: [u64; 2],
    /// Its row.
    pub row: usize,
}

/// The first `most` of `rows`, in order; runs on the threads of the current rayon pool.
///
/// The first ones of several shards are among the first ones of each.
///
/// # Panics
/// A row is not one of the texts.
pub fn nearest(texts: &[&str], rows: &[usize], target: u64, seed: u64, most: usize) -> Vec<Near> {
    let distance = |&row: &usize| (texts[row].chars().count() as u64).abs_diff(target);
    let distances: Vec<u64> = rows.par_iter().with_min_len(1 << 8).map(distance).collect();
    let Some(last) = most.min(rows.len()).checked_sub(1) else { return Vec::new() };
    let furthest = *distances.clone().select_nth_unstable(last).1;
    let near = distances.iter().zip(rows).filter(|&(&distance, _)| distance <= furthest);
    let (distances, rows): (Vec<u64>, Vec<usize>) = near.unzip();
    let digests = text_digests(&rows.iter().map(|&row| texts[row]).collect::<Vec<_>>(), seed);
    let parts = distances.into_iter().zip(digests).zip(rows);
    let mut found: Vec<Near> = parts.map(|((distance, digest), row)| Near { distance, digest, row }).collect();
    found.par_sort_unstable();
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearer_ones_come_first_and_ties_go_by_digest_and_row() {
        let texts = ["あああ", "い", "うう", "いい", "ええええええ", "うう", ""];
        let all: Vec<usize> = (0..texts.len()).collect();
        let rows = |found: &[Near]| found.iter().map(|near| near.row).collect::<Vec<_>>();
        let whole = nearest(&texts, &all, 2, 0, 9);
        assert!(whole.is_sorted() && whole.len() == texts.len());
        assert_eq!(whole.iter().map(|near| near.distance).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 2, 4]);
        assert_eq!(rows(&whole)[5..], [6, 4]);
        let equal = rows(&whole);
        assert_eq!(equal.iter().position(|&row| row == 5), equal.iter().position(|&row| row == 2).map(|at| at + 1));
        for most in 0..texts.len() {
            assert_eq!(nearest(&texts, &all, 2, 0, most), whole[..most]);
        }
        assert_eq!(rows(&nearest(&texts, &[6, 4], 2, 0, 1)), [6]);
        assert_ne!(nearest(&texts, &all, 2, 1, 3)[0].digest, whole[0].digest);
        assert!(nearest(&[], &[], 2, 0, 3).is_empty());
    }
}
