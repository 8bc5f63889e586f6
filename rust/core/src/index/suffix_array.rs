//! Suffix array and LCP array of a text of dense symbols.
//!
//! Suffixes are sorted by induced sorting (Nong, Zhang and Chan, "Linear Suffix Array Construction by Almost Pure
//! Induced-Sorting", 2009) in the `libsais` implementation; LCP values follow Kasai et al., "Linear-Time
//! Longest-Common-Prefix Computation in Suffix Arrays and Its Applications", 2001.

use crate::error::{Error, Result};
use crate::fetch::fetch;
use crate::text::{SEPARATOR, Symbol};
use libsais::suffix_array::SuffixArrayWithText;
use libsais::{LibsaisError, SuffixArrayConstruction};

/// How many suffixes ahead of those being compared are prefetched: they lie all over the text.
const AHEAD: usize = 16;

/// Start positions of all suffixes of `text` in lexicographic order. Linear time; the text is unchanged afterwards.
pub(crate) fn suffix_array(text: &mut [Symbol]) -> Result<Vec<u32>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if i32::try_from(text.len()).is_err() {
        return Err(Error::TextTooLong { symbols: text.len() });
    }
    if cfg!(miri) {
        return Ok(sorted_obviously(text));
    }
    let sorted = SuffixArrayConstruction::for_text_mut(text).in_owned_buffer32().single_threaded().run();
    positions(sorted.map(SuffixArrayWithText::into_vec))
}

/// The same for symbols of 16 bits: faster for long texts, slower for short ones, since it counts all 65,536.
pub(crate) fn suffix_array_of_words(text: &[u16]) -> Result<Vec<u32>> {
    if cfg!(miri) {
        return Ok(sorted_obviously(text));
    }
    let sorted = SuffixArrayConstruction::for_text(text).in_owned_buffer32().single_threaded().run();
    positions(sorted.map(SuffixArrayWithText::into_vec))
}

/// The same by comparing suffixes, for Miri, which cannot run C.
fn sorted_obviously<S: Ord>(text: &[S]) -> Vec<u32> {
    let mut suffixes: Vec<u32> = (0..text.len() as u32).collect();
    suffixes.sort_unstable_by_key(|&position| &text[position as usize..]);
    suffixes
}

fn positions(sorted: std::result::Result<Vec<i32>, LibsaisError>) -> Result<Vec<u32>> {
    let sorted = sorted.map_err(|error| Error::SuffixArray { reason: format!("{error:?}") })?;
    Ok(sorted.into_iter().map(|position| position as u32).collect())
}

/// The rank of the suffix at each position.
pub(crate) fn ranks(suffixes: &[u32]) -> Vec<u32> {
    let mut rank_of = vec![0; suffixes.len()];
    for (rank, &position) in suffixes.iter().enumerate() {
        rank_of[position as usize] = rank as u32;
    }
    rank_of
}

/// For each rank `k ≥ 1` how many symbols the suffixes of rank `k − 1` and `k` share before the first separator;
/// 0 for rank 0. Linear time.
pub(crate) fn lcp_array(text: &[Symbol], suffixes: &[u32]) -> Vec<u32> {
    let rank_of = ranks(suffixes);
    let mut lcp = vec![0; text.len()];
    let mut shared = 0;
    for position in 0..text.len() {
        let rank = rank_of[position] as usize;
        if rank == 0 {
            shared = 0;
            continue;
        }
        let previous = suffixes[rank - 1] as usize;
        shared += common_prefix(&text[previous + shared..], &text[position + shared..]);
        lcp[rank] = shared as u32;
        shared = shared.saturating_sub(1);
    }
    lcp
}

/// As [`lcp_array`], capped at `limit`, by comparing neighbours: `O(N × limit)`, and faster than it for a small limit.
pub(crate) fn bounded_lcp_array(text: &[Symbol], suffixes: &[u32], limit: usize) -> Vec<u16> {
    let suffix = |position: u32| {
        let rest = &text[position as usize..];
        &rest[..limit.min(rest.len())]
    };
    let shared = |(rank, pair): (usize, &[u32])| {
        if let Some(&position) = suffixes.get(rank + AHEAD) {
            fetch(text, position as usize);
        }
        common_prefix(suffix(pair[0]), suffix(pair[1])) as u16
    };
    std::iter::once(0).chain(suffixes.windows(2).enumerate().map(shared)).take(suffixes.len()).collect()
}

fn common_prefix(a: &[Symbol], b: &[Symbol]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y && **x != SEPARATOR).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn suffixes_are_sorted_and_prefixes_measured(mut text in prop::collection::vec(0i32..4, 0..80)) {
            text.push(SEPARATOR);
            let before = text.clone();
            let suffixes = suffix_array(&mut text).unwrap();
            prop_assert_eq!(&text, &before);
            let lcp = lcp_array(&text, &suffixes);
            let bounded = bounded_lcp_array(&text, &suffixes, 2);
            for rank in 1..suffixes.len() {
                let (a, b) = (&text[suffixes[rank - 1] as usize..], &text[suffixes[rank] as usize..]);
                prop_assert!(a < b);
                prop_assert_eq!(lcp[rank] as usize, common_prefix(a, b));
                prop_assert_eq!(u32::from(bounded[rank]), lcp[rank].min(2));
            }
        }
    }
}
