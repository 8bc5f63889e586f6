//! What fuzzing found worth keeping, once more: every seed of `rust/fuzz/seeds` is checked as the fuzz targets do; and so
//! are some random bytes.

mod fuzzing;

use proptest::prelude::*;

fn replay(target: &str, check: fn(&[u8]) -> bool) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/").to_owned() + target;
    let seeds = std::fs::read_dir(&folder).expect("there are seeds");
    let seeds: Vec<_> = seeds.map(|seed| seed.expect("it is readable").path()).collect();
    let checked = seeds.iter().filter(|seed| check(&std::fs::read(seed).expect("it is readable"))).count();
    assert!(checked * 2 > seeds.len(), "only {checked} of {} seeds in {folder} are cases", seeds.len());
}

#[test]
fn the_index_passes_its_seeds() {
    replay("index", fuzzing::index::check);
}

#[test]
fn the_scorer_passes_its_seeds() {
    replay("scorer", fuzzing::scorer::check);
}

#[test]
fn the_store_passes_its_seeds() {
    replay("store", fuzzing::store::check);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn random_cases_pass(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        fuzzing::index::check(&bytes);
        fuzzing::scorer::check(&bytes);
        fuzzing::store::check(&bytes);
    }
}
