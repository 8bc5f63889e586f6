//! What fuzzing found worth keeping, once more, and some random bytes.

mod fuzzing;

use proptest::prelude::*;

#[test]
fn lines_pass_their_seeds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/lines");
    let seeds = std::fs::read_dir(folder).expect("there are seeds");
    let seeds: Vec<_> = seeds.map(|seed| seed.expect("it is readable").path()).collect();
    let decoded = seeds.iter().filter(|seed| fuzzing::check(&std::fs::read(seed).expect("it is readable"))).count();
    assert!(decoded * 2 > seeds.len(), "only {decoded} of {} seeds have a line", seeds.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn random_lines_pass(text in "[\u{0}\u{1}\u{2}](\\{\"(question|answer|a|b|x)\":(\"[a\\\\u\"猫]{0,3}\"|[0-9]|null)(,|\\}|\n|\\]| ){0,3}){0,6}") {
        fuzzing::check(text.as_bytes());
    }
}
