//! Helpfulness against trying every cut, where keywords, target length and end lie close together.

use pfgen_core::score::naive;
use pfgen_core::{Literals, Rule, RuleScratch, RuleStep, Rules, Settings, Variant};
use proptest::prelude::*;

fn rule() -> impl Strategy<Value = Rule> {
    let merge = prop_oneof![Just(RuleStep::And(2)), Just(RuleStep::Or(2))];
    (0usize..4, 0usize..4, merge, prop_oneof![Just(0.05), Just(0.25), Just(1.0)]).prop_map(
        |(first, second, merge, importance)| Rule {
            steps: vec![RuleStep::Pattern(first), RuleStep::Pattern(second), merge],
            importance,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_best_cut_is_found(
        (target_length, more, beyond) in (0usize..8, 1usize..40, 0usize..3),
        literals in prop::array::uniform3("[abc]{0,3}"),
        other in 0u32..30,
        rules in prop::collection::vec(rule(), 0..4),
        response in "[abc]{0,30}",
    ) {
        let zero_length = target_length + more;
        let max_length = zero_length + 10 + beyond;
        for variant in [Variant::PfgenBench, Variant::Paper] {
            let settings = Settings { variant, target_length, zero_length, max_length, ..Settings::default() };
            let literals = literals.each_ref().map(String::as_str);
            let native = Rules::new(Literals::new(literals.into_iter()), 1, rules.clone()).unwrap();
            let found = native.score(&settings, &response, response.len(), &[other], &mut RuleScratch::default());
            prop_assert_eq!(found.value, naive::helpfulness(&settings, &literals, &[other], &rules, &response));
        }
    }
}
