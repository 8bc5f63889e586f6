//! The compact layout against the wide one, which a character-by-character reading defines, and both against the obvious
//! scorer: every value, every cut, every instruction set.

use pfgen_core::score::naive;
use pfgen_core::{InstructionSet, Scorer, Scratch, Settings, SourceScore, SourceText};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,30}", "[あいう、^$]{0,24}", "[a-f^]{0,12}", "[あ𠮷x\u{0}\n]{0,20}"]
}

fn sources(texts: &[Vec<String>]) -> Vec<SourceText<'_>> {
    fn source<'a>((answers, name): (&'a Vec<String>, &'a str)) -> SourceText<'a> {
        SourceText { name, answers: answers.iter().map(String::as_str).collect() }
    }
    texts.iter().zip(["P", "S", "T"]).map(source).collect()
}

fn settings() -> impl Strategy<Value = Settings> {
    (1usize..=12, 1usize..=4, 1usize..20, 1usize..12, 0usize..30, prop_oneof![Just(0.005), Just(0.3), Just(1.0)])
        .prop_map(|(max_n, window, target, more, beyond, threshold)| Settings {
            max_n,
            truthfulness_n: window.min(max_n),
            target_length: target,
            zero_length: target + more,
            max_length: (target + more + beyond).max(max_n),
            threshold,
            skipped: "^$、b".chars().collect(),
            ..Settings::default()
        })
}

fn score(
    scorer: &Scorer,
    set: InstructionSet,
    responses: &[&str],
    scratch: &mut Scratch,
) -> (Vec<SourceScore>, Vec<u32>) {
    let mut scores = vec![SourceScore::default(); responses.len() * scorer.source_count()];
    let mut lengths = vec![0; responses.len()];
    scorer.score_with(set, responses, scratch, &mut scores, &mut lengths);
    (scores, lengths)
}

/// Answers of each source that contain each window.
fn windows(sources: &[SourceText<'_>], n: usize, text: &str) -> Vec<u32> {
    let text: Vec<char> = text.chars().collect();
    let of = |window: &[char]| {
        let window: String = window.iter().collect();
        sources.iter().map(move |source| source.answers.iter().filter(|answer| answer.contains(&window)).count() as u32)
    };
    text.windows(n).flat_map(of).collect()
}

fn check(texts: &[Vec<String>], settings: &Settings, responses: &[String]) -> bool {
    let sources = sources(texts);
    let (Ok(compact), Ok(wide)) =
        (Scorer::new(&sources, settings.clone()), Scorer::new_wide(&sources, settings.clone()))
    else {
        return false;
    };
    assert_eq!(compact.baselines(), wide.baselines());
    let naive = sources.iter().map(|source| naive::Source::new(&source.answers, settings));
    let naive: Vec<_> = naive.map(|source| source.expect("it was scored")).collect();
    let responses: Vec<&str> = responses.iter().map(String::as_str).collect();
    let mut scratch = Scratch::default();
    let expected = score(&wide, InstructionSet::chosen(), &responses, &mut scratch);
    for set in InstructionSet::available() {
        assert_eq!(score(&compact, set, &responses, &mut scratch), expected, "{}", set.name());
    }
    for response in responses {
        let cuts = compact.cuts(response, &mut scratch);
        assert_eq!(cuts, wide.cuts(response, &mut scratch), "{response:?}");
        let obvious = naive.iter().map(|source| (source.fluency(response), source.truthfulness(response)));
        assert_eq!(cuts, obvious.collect::<Vec<_>>(), "{response:?}");
        let expected = windows(&sources, settings.truthfulness_n, response);
        for scorer in [&compact, &wide] {
            let mut found = Vec::new();
            scorer.windows(response, &mut found);
            assert_eq!(found, expected, "{response:?}");
        }
    }
    compact.is_compact()
}

proptest! {
    #[test]
    fn the_layouts_agree(
        texts in prop::collection::vec(prop::collection::vec(text(), 1..5), 1..4),
        settings in settings(),
        responses in prop::collection::vec(text(), 1..40),
    ) {
        check(&texts, &settings, &responses);
    }

    /// Answers as responses: long matches, many repeats.
    #[test]
    fn the_layouts_agree_on_answers(
        texts in prop::collection::vec(prop::collection::vec("[ab、]{1,40}", 1..5), 1..4),
        settings in settings(),
    ) {
        let responses: Vec<String> = texts.iter().flatten().map(|answer| answer.repeat(2)).collect();
        check(&texts, &settings, &responses);
    }

    /// Responses that get better or worse about the target length, where the best cut may be any of those that follow.
    #[test]
    fn the_layouts_agree_on_late_cuts(
        answers in prop::collection::vec("[ab]{20,40}", 2..5),
        parts in prop::collection::vec(("[abx、]{0,30}", "[x]{0,30}", "[ab、]{0,40}"), 1..40),
        (target, more) in (5usize..60, 1usize..60),
    ) {
        let (zero_length, max_length) = (target + more, target + more + 20);
        let settings = Settings { target_length: target, zero_length, max_length, ..Settings::default() };
        let responses: Vec<String> = parts.iter().map(|(first, middle, last)| format!("{first}{middle}{last}")).collect();
        check(&[answers], &settings, &responses);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Few responses at a time, each of which is read from several places at once.
    #[test]
    fn few_responses_score_as_many_do(
        answers in prop::collection::vec("[a-d]{1,60}", 2..8),
        responses in prop::collection::vec("[a-e]{0,220}", 20),
        max_n in 2usize..=12,
    ) {
        let settings = Settings { max_n, truthfulness_n: 2, ..Settings::default() };
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let scorer = Scorer::new(&[SourceText { name: "P", answers }], settings).unwrap();
        let responses: Vec<&str> = responses.iter().map(String::as_str).collect();
        let mut scratch = Scratch::default();
        let (scores, lengths) = score(&scorer, InstructionSet::chosen(), &responses, &mut scratch);
        for count in [1, 3, 8, 16] {
            let of_few = responses.chunks(count).map(|few| score(&scorer, InstructionSet::chosen(), few, &mut scratch));
            let (few, few_lengths): (Vec<_>, Vec<_>) = of_few.unzip();
            prop_assert_eq!(few.concat(), &*scores, "{} at a time", count);
            prop_assert_eq!(few_lengths.concat(), &*lengths);
        }
    }
}

#[test]
fn published_settings_have_the_compact_layout() {
    let texts = [vec!["光合成は植物の働きです。".to_owned(), "^です".to_owned()], vec!["光です".to_owned()]];
    let responses = ["", "光", "です。光合成", "^です^です", "$", &"光です。".repeat(80)].map(str::to_owned);
    assert!(check(&texts, &Settings::default(), &responses));
}

#[test]
fn what_has_no_room_is_wide() {
    let one = [vec!["あ".repeat(20)]];
    let four: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| SourceText { name, answers: vec!["あいう"] }).collect();
    let wide = |sources: &[SourceText<'_>], settings| !Scorer::new(sources, settings).unwrap().is_compact();
    assert!(wide(&four, Settings::default()));
    assert!(wide(&sources(&one), Settings { max_n: 16, ..Settings::default() }));
    assert!(wide(&sources(&one), Settings { min_n: 2, ..Settings::default() }));
    assert!(wide(&sources(&one), Settings { truthfulness_n: 11, ..Settings::default() }));
    assert!(!wide(&sources(&one), Settings::default()));
    let characters: String = ('\u{4e00}'..).take(5000).collect();
    assert!(wide(&sources(&[vec![characters]]), Settings::default()));
    // A frequency of 1,024 does not fit ten bits, but fifteen.
    let many = vec!["あいう".to_owned(); 1024];
    assert!(wide(&sources(&[many.clone(), many.clone(), many.clone()]), Settings::default()));
    assert!(!wide(&sources(&[many.clone(), many]), Settings::default()));
}
