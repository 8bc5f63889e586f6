//! Digests of texts, by which equal ones are found and ties are broken.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The XXH3 digest (128 bits) of each text's UTF-8 bytes: its upper and its lower half.
///
/// A digest depends on the text and the seed alone. Runs on the threads of the current rayon pool.
pub fn text_digests(texts: &[&str], seed: u64) -> Vec<[u64; 2]> {
    texts.par_iter().with_min_len(1 << 8).map(|text| halves(digest(text, seed))).collect()
}

/// The digest of a single text.
pub(crate) fn digest(text: &str, seed: u64) -> u128 {
    xxh3_128_with_seed(text.as_bytes(), seed)
}

fn halves(digest: u128) -> [u64; 2] {
    [(digest >> u64::BITS) as u64, digest as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_depend_on_text_and_seed() {
        let digests = text_digests(&["猫", "犬", "猫", ""], 0);
        assert_eq!(digests[0], digests[2]);
        assert_ne!(digests[0], digests[1]);
        assert_ne!(digests, text_digests(&["猫", "犬", "猫", ""], 1));
        // The published value for no bytes and seed 0.
        assert_eq!(digests[3], [0x99aa_06d3_0147_98d8, 0x6001_c324_468d_497f]);
    }
}
