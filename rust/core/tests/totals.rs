//! Small calls: responses to several questions that are read side by side score as each does by itself.

use pfgen_core::{Asked, Literals, Rule, RuleStep, Rules, Scorer, Settings, SourceText, TOTALS, score_totals};
use proptest::prelude::*;

/// A question: the answers of its sources, and what Helpfulness looks for.
type Made = (Vec<Vec<String>>, String);

fn question() -> impl Strategy<Value = Made> {
    let answers = prop_oneof!["[a-c]{1,40}", "[c-f、]{1,40}", "[あ-お]{1,40}"];
    (prop::collection::vec(prop::collection::vec(answers, 1..6), 1..=3), "[a-eあ]")
}

fn scorer(sources: &[Vec<String>], settings: &Settings) -> Scorer {
    let named = sources.iter().zip(["P", "S", "T"]);
    let borrowed =
        named.map(|(answers, name)| SourceText { name, answers: answers.iter().map(String::as_str).collect() });
    Scorer::new(&borrowed.collect::<Vec<_>>(), settings.clone()).expect("the answers can be scored")
}

fn rules(keyword: &str) -> Rules {
    let rule = Rule { steps: vec![RuleStep::Pattern(0)], importance: 0.5 };
    Rules::new(Literals::new([keyword].into_iter()), 0, vec![rule]).expect("the rule can be evaluated")
}

fn totals(asked: &[Asked<'_>], total: usize) -> Vec<f64> {
    let mut scores = vec![f64::NAN; asked.len()];
    score_totals(asked, total, &mut scores);
    scores
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The last question has other settings, so that its table may be wide or read to another length.
    #[test]
    fn responses_to_several_questions_score_as_each_does(
        questions in prop::collection::vec(question(), 1..6),
        responses in prop::collection::vec((0usize..6, prop_oneof!["[a-f]{0,60}", "[あ-か、a]{0,330}"]), 1..90),
        max_n in prop_oneof![Just(10), Just(8), Just(16)],
    ) {
        let last = questions.len() - 1;
        let changed = |at: usize| Settings { max_n: if at == last { max_n } else { 10 }, ..Settings::default() };
        let scorers: Vec<_> = (0..).zip(&questions).map(|(at, (sources, _))| scorer(sources, &changed(at))).collect();
        let rules: Vec<_> = questions.iter().map(|(_, keyword)| rules(keyword)).collect();
        let asked: Vec<_> = responses
            .iter()
            .map(|(at, response)| (at % questions.len(), response))
            .map(|(at, response)| Asked { scorer: &scorers[at], rules: &rules[at], response })
            .collect();
        for total in 0..TOTALS {
            let alone: Vec<_> = asked.iter().flat_map(|asked| totals(&[*asked], total)).collect();
            prop_assert_eq!(&totals(&asked, total), &alone, "total {}", total);
            let few: Vec<_> = asked.chunks(7).flat_map(|few| totals(few, total)).collect();
            prop_assert_eq!(&few, &alone, "seven at a time, total {}", total);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Long responses among short ones are read in parts, and those that repeat reference answers match over the cuts.
    #[test]
    fn long_responses_score_as_they_do_alone(
        questions in prop::collection::vec(question(), 2..4),
        lengths in prop::collection::vec((0usize..4, prop_oneof![24 => 1usize..4, 1 => 120usize..160]), 20..90),
        shift in 0usize..40,
    ) {
        let settings = Settings::default();
        let scorers: Vec<_> = questions.iter().map(|(sources, _)| scorer(sources, &settings)).collect();
        let rules: Vec<_> = questions.iter().map(|(_, keyword)| rules(keyword)).collect();
        let texts: Vec<(usize, String)> = (0..)
            .zip(&lengths)
            .map(|(row, &(at, length))| {
                let at = at % questions.len();
                let known = questions[at].0.iter().flatten().flat_map(|answer| answer.chars()).collect::<Vec<_>>();
                (at, known.into_iter().cycle().skip(shift + row).take(length).collect())
            })
            .collect();
        let asked: Vec<_> =
            texts.iter().map(|(at, response)| Asked { scorer: &scorers[*at], rules: &rules[*at], response }).collect();
        for total in 0..TOTALS {
            let alone: Vec<_> = asked.iter().flat_map(|asked| totals(&[*asked], total)).collect();
            prop_assert_eq!(totals(&asked, total), alone, "total {}", total);
        }
    }
}
