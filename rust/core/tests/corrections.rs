//! Corrections against applying each rule by itself, on rules that feed, undo and outgrow each other.

use pfgen_core::Error;
use pfgen_core::references::{Action, CorrectionRule, Corrections};
use proptest::prelude::*;
use regex::Regex;

fn rule(pattern: &str, action: Action) -> CorrectionRule {
    CorrectionRule { name: "r".to_owned(), pattern: pattern.to_owned(), action }
}

fn correct(pattern: &str, by: &str) -> CorrectionRule {
    rule(pattern, Action::Correct(by.to_owned()))
}

/// Eight rounds of the rules that are found at the beginning of each: text, the rejecting rule, corrections that changed it.
fn naive(rules: &[CorrectionRule], text: &str) -> (String, Option<usize>, Vec<usize>) {
    let (mut now, mut changed) = (text.to_owned(), vec![false; rules.len()]);
    for _ in 0..8 {
        let found: Vec<bool> = rules.iter().map(|rule| finds(rule, &now)).collect();
        let (mut next, mut acted) = (now.clone(), Vec::new());
        for number in (0..rules.len()).filter(|&number| found[number]) {
            let corrected = corrected(&rules[number], &next);
            if corrected != next {
                acted.push(number);
            }
            next = corrected;
        }
        if next == now {
            let rejecting = (0..rules.len()).find(|&number| rejects(&rules[number], found[number], &now));
            return (now, rejecting, (0..rules.len()).filter(|&number| changed[number]).collect());
        }
        if next.len() > 4 * text.len() + 1024 {
            break;
        }
        for number in acted {
            changed[number] = true;
        }
        now = next;
    }
    (text.to_owned(), Some(rules.len()), Vec::new())
}

fn finds(rule: &CorrectionRule, text: &str) -> bool {
    match rule.action {
        Action::Translate(_) => rule.pattern.chars().any(|c| text.contains(c)),
        Action::Repeats => text.contains(&rule.pattern),
        _ => Regex::new(&rule.pattern).unwrap().is_match(text),
    }
}

fn corrected(rule: &CorrectionRule, text: &str) -> String {
    match &rule.action {
        Action::Correct(by) => Regex::new(&rule.pattern).unwrap().replace_all(text, by).into_owned(),
        Action::Translate(by) => text
            .chars()
            .map(|c| rule.pattern.chars().position(|from| from == c).map_or(c, |at| by.chars().nth(at).unwrap()))
            .collect(),
        _ => text.to_owned(),
    }
}

fn rejects(rule: &CorrectionRule, found: bool, text: &str) -> bool {
    match rule.action {
        Action::Correct(_) | Action::Translate(_) => false,
        Action::Reject => found,
        Action::Require => !found,
        Action::Repeats => {
            let sentences: Vec<&str> = text.split_inclusive(&rule.pattern).collect();
            (1..sentences.len()).any(|at| sentences[..at].contains(&sentences[at]))
        }
    }
}

fn any_rule() -> impl Strategy<Value = CorrectionRule> {
    let pattern = prop::sample::select(vec!["a", "b+", "^か", "c$", "[ab]か", "(a)(b)", "か|", "cc"]);
    let by = prop::sample::select(vec!["", "a", "b", "bか", "${0}c", "aa", "$$"]);
    prop_oneof![
        4 => (pattern.clone(), by).prop_map(|(pattern, by)| correct(pattern, by)),
        1 => Just(rule("abか", Action::Translate("bcか".to_owned()))),
        1 => pattern.clone().prop_map(|pattern| rule(pattern, Action::Reject)),
        1 => pattern.prop_map(|pattern| rule(pattern, Action::Require)),
        1 => Just(rule("c", Action::Repeats)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn each_rule_by_itself_gives_the_same(
        rules in prop::collection::vec(any_rule(), 0..5),
        text in "[abcか]{0,12}",
    ) {
        let corrections = Corrections::new(&rules).unwrap();
        let got = corrections.apply(&text);
        prop_assert_eq!((got.text.clone().into_owned(), got.rejected_by, got.changed.clone()), naive(&rules, &text));

        let again = corrections.apply(&got.text);
        prop_assert_eq!(&again.text, &got.text);
        prop_assert_eq!(again.rejected_by, got.rejected_by);
        prop_assert!(again.changed.is_empty());
        if got.rejected_by != Some(rules.len()) {
            prop_assert_eq!(corrections.judge(&got.text), got.rejected_by);
        }
    }
}

#[test]
fn what_never_settles_is_unstable() {
    let swap = Corrections::new(&[correct("^(.)(.+)$", "${2}${1}")]).unwrap();
    let got = swap.apply("abcdefghijkl");
    assert_eq!((&*got.text, got.rejected_by), ("abcdefghijkl", Some(1)));
    let long = "x".repeat(50_000);
    let grow = Corrections::new(&[correct("a", "aaaaaaaaaaaaaaaa")]).unwrap();
    assert_eq!(grow.apply(&("a".to_owned() + &long)).rejected_by, Some(1));
}

#[test]
fn unusable_rules_are_errors() {
    let reason = |rule: CorrectionRule| match Corrections::new(&[rule]) {
        Err(Error::InvalidRule { rule, reason }) => {
            assert_eq!(rule, "r");
            reason
        }
        other => panic!("{other:?}"),
    };
    for (pattern, by, part) in [
        ("(", "", "unclosed group"),
        (r"\w{900}{900}", "", "too large"),
        ("(a)", "${2}", "${2} is not a group"),
        ("(?P<x>a)", "${y}", "${y} is not a group"),
        ("(a)", "$1", "a lone $"),
        ("(a)", "a$", "a lone $"),
    ] {
        let reason = reason(correct(pattern, by));
        assert!(reason.contains(part), "{reason}");
    }
    assert!(reason(rule("aba", Action::Translate("xyz".to_owned()))).contains("3 characters (2 distinct)"));
    assert!(reason(rule("ab", Action::Translate("x".to_owned()))).contains("to 1:"));
    assert!(reason(rule("", Action::Translate(String::new()))).contains("0 characters"));
    assert!(reason(rule("", Action::Repeats)).contains("empty"));
}

#[test]
fn groups_are_known_by_number_and_name() {
    let rules = [correct("(?P<year>[0-9]+)/([0-9]+)", "${year}年${2}月$$")];
    assert_eq!(Corrections::new(&rules).unwrap().apply("1998/4").text, "1998年4月$");
}

#[test]
fn any_thread_may_use_them() {
    fn shared<T: Send + Sync>() {}
    shared::<Corrections>();
}
