//! The scorer in both layouts, with every instruction set and in batches, against the obvious one.

use super::case::{self, Texts};
use arbitrary::{Result, Unstructured};
use pfgen_core::score::naive;
use pfgen_core::{
    Batch, Columns, Cut, Error, Group, InstructionSet, Literals, NOT_FOUND, Rule, RuleStep, Rules, Scorer, Scratch,
    Settings, Source, SourceScore, SourceText, TOTALS, score_groups, score_groups_parallel,
};

/// Scores of one response against each source, with their cuts.
type Cuts = Vec<(Cut, Cut)>;

struct Helpfulness {
    literals: Vec<String>,
    others: usize,
    rules: Vec<Rule>,
    /// Per response, the ends of the patterns that are no literals.
    ends: Vec<u32>,
}

/// Checks the case that the bytes stand for; whether there was one whose answers can be scored.
pub(crate) fn check(bytes: &[u8]) -> bool {
    decoded(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn decoded(input: &mut Unstructured<'_>) -> Result<bool> {
    let mut texts = Texts::new(input)?;
    let settings = case::settings(input, &texts)?;
    let answers = case::answers(input, &mut texts, 4)?;
    texts.with_unknown();
    // Mostly few, and now and then more than are read side by side.
    let most = if input.ratio(1, 8)? { 40 } else { 5 };
    let responses = texts.texts(input, most)?;
    let helpfulness = helpfulness(input, &mut texts, responses.len())?;
    let sources = case::borrowed(&answers);
    Ok(compare(&sources, &settings, &responses, &helpfulness))
}

/// Compares everything; `false` where a source cannot be measured against, which both must say.
fn compare(sources: &[SourceText<'_>], settings: &Settings, responses: &[String], rules: &Helpfulness) -> bool {
    assert_eq!(settings.validate(), Ok(()));
    let scorers = [Scorer::new(sources, settings.clone()), Scorer::new_wide(sources, settings.clone())];
    let naive: Vec<_> = sources.iter().map(|source| naive::Source::new(&source.answers, settings)).collect();
    if let Some(expected) = refusal(sources, &naive) {
        assert!(scorers.iter().all(|scorer| scorer.as_ref().err() == Some(&expected)), "{expected}");
        return false;
    }
    let naive: Vec<_> = naive.into_iter().flatten().collect();
    let responses: Vec<&str> = responses.iter().map(String::as_str).collect();
    let expected: Vec<Cuts> = responses.iter().map(|response| cuts(&naive, response)).collect();
    for scorer in scorers {
        let scorer = scorer.expect("the obvious way measures every source");
        let baselines: Vec<f64> = naive.iter().map(naive::Source::baseline).collect();
        assert_eq!(scorer.baselines(), baselines);
        check_scores(&scorer, &responses, &expected);
        check_groups(&scorer, &responses, &expected, rules);
    }
    true
}

/// The error that the answers must lead to.
fn refusal(sources: &[SourceText<'_>], naive: &[Option<naive::Source<'_>>]) -> Option<Error> {
    let name = |source: &SourceText<'_>| source.name.to_owned();
    let empty = sources.iter().find(|source| source.answers.is_empty());
    let worthless = sources.iter().zip(naive).find(|(_, naive)| naive.is_none());
    let empty = empty.map(|source| Error::NoAnswers { source: name(source) });
    empty.or(worthless.map(|(source, _)| Error::ZeroBaseline { source: name(source) }))
}

fn cuts(naive: &[naive::Source<'_>], response: &str) -> Cuts {
    naive.iter().map(|source| (source.fluency(response), source.truthfulness(response))).collect()
}

/// Values by every instruction set, cuts and lengths; the buffers are used again.
fn check_scores(scorer: &Scorer, responses: &[&str], expected: &[Cuts]) {
    let mut scratch = Scratch::default();
    let value = |&((fluency, _), (truthfulness, _)): &(Cut, Cut)| SourceScore { fluency, truthfulness };
    let values: Vec<_> = expected.iter().flatten().map(value).collect();
    let counts: Vec<_> = responses.iter().map(|response| response.chars().count() as u32).collect();
    for set in InstructionSet::available() {
        let mut scores = vec![SourceScore::default(); values.len()];
        let mut lengths = vec![0; responses.len()];
        scorer.score_with(set, responses, &mut scratch, &mut scores, &mut lengths);
        assert_eq!(scores, values, "{}", set.name());
        assert_eq!(lengths, counts, "{}", set.name());
    }
    for (response, expected) in responses.iter().zip(expected) {
        assert_eq!(&scorer.cuts(response, &mut scratch), expected, "{response:?}");
    }
}

/// The scores of a batch: even responses in one group, odd ones in another whose sources stand in other columns.
fn check_groups(scorer: &Scorer, responses: &[&str], expected: &[Cuts], helpfulness: &Helpfulness) {
    let sources = scorer.source_count();
    let literals = Literals::new(helpfulness.literals.iter().map(String::as_str));
    let rules = Rules::new(literals, helpfulness.others, helpfulness.rules.clone()).expect("rules are in order");
    let rows = [0, 1].map(|first| (first..responses.len() as u32).step_by(2).collect::<Vec<_>>());
    let others = rows.each_ref().map(|rows| ends(helpfulness, rows));
    let columns = [(0..sources).collect::<Vec<_>>(), (1..=sources).rev().collect()];
    let groups = [0, 1].map(|at| Group {
        scorer: Source::Made(scorer),
        rules: &rules,
        columns: &columns[at],
        rows: &rows[at],
        others: &others[at],
    });
    let batch = Batch { groups: &groups, sources: sources + 1, count: responses.len() };
    let one = score_groups(batch, |row| responses[row]).expect("the scorer is in memory");
    let other = score_groups_parallel(batch, |row| responses[row]).expect("the scorer is in memory");
    assert!(same(&one, &other));
    for (row, (response, expected)) in responses.iter().zip(expected).enumerate() {
        let scores = expected_scores(scorer.settings(), response, expected, helpfulness, row);
        check_row(&one, row, &scores, &columns[row % 2]);
    }
}

fn ends(helpfulness: &Helpfulness, rows: &[u32]) -> Vec<u32> {
    let of_row = |&row: &u32| &helpfulness.ends[row as usize * helpfulness.others..][..helpfulness.others];
    rows.iter().flat_map(of_row).copied().collect()
}

fn expected_scores(
    settings: &Settings,
    response: &str,
    cuts: &Cuts,
    helpfulness: &Helpfulness,
    row: usize,
) -> Vec<f64> {
    let literals: Vec<&str> = helpfulness.literals.iter().map(String::as_str).collect();
    let ends = ends(helpfulness, &[row as u32]);
    let helpful = naive::helpfulness(settings, &literals, &ends, &helpfulness.rules, response);
    let fluency: Vec<f64> = cuts.iter().map(|cuts| cuts.0.0).collect();
    let truthfulness: Vec<f64> = cuts.iter().map(|cuts| cuts.1.0).collect();
    naive::totals_and_shares(settings, &fluency, &truthfulness, helpful)
}

/// Holds a row of the batch to `expected`, whose sources stand in `columns`; the column left over has no number.
fn check_row(batch: &Columns, row: usize, expected: &[f64], columns: &[usize]) {
    let (totals, shares) = expected.split_at(TOTALS);
    let width = columns.len() + 1;
    let mut expected = vec![f64::NAN; 2 * width];
    for (shares, expected) in shares.chunks(columns.len()).zip(expected.chunks_mut(width)) {
        for (&column, &share) in columns.iter().zip(shares) {
            expected[column] = share;
        }
    }
    let found: Vec<f64> = batch.scores.iter().map(|column| column[row]).collect();
    let expected = [totals, &expected].concat();
    let equal = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    assert!(found.iter().zip(&expected).all(equal), "row {row}: {found:?} instead of {expected:?}");
}

/// Bit for bit.
fn same(a: &Columns, b: &Columns) -> bool {
    let bits = |columns: &Columns| columns.scores.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
    a.lengths == b.lengths && bits(a) == bits(b)
}

fn helpfulness(input: &mut Unstructured<'_>, texts: &mut Texts, responses: usize) -> Result<Helpfulness> {
    let literals = texts.texts(input, 3)?.into_iter().map(|text| text.chars().take(3).collect()).collect::<Vec<_>>();
    let others = input.int_in_range(0..=1)?;
    let patterns = literals.len() + others;
    let rules = if patterns == 0 { 0 } else { input.int_in_range(0..=4)? };
    let rules = (0..rules).map(|_| rule(input, patterns)).collect::<Result<_>>()?;
    let end = |_| Ok(if input.ratio(1, 3)? { NOT_FOUND } else { input.int_in_range(0..=90)? });
    let ends = (0..responses * others).map(end).collect::<Result<_>>()?;
    Ok(Helpfulness { literals, others, rules, ends })
}

fn rule(input: &mut Unstructured<'_>, patterns: usize) -> Result<Rule> {
    let (mut steps, mut depth) = (Vec::new(), 0);
    for _ in 0..input.int_in_range(1..=3)? {
        steps.push(RuleStep::Pattern(input.int_in_range(0..=patterns - 1)?));
        depth += 1;
        if input.ratio(1, 4)? {
            let count = input.int_in_range(1..=depth)?;
            steps.push(RuleStep::Or(count));
            depth -= count - 1;
        }
    }
    steps.push(RuleStep::And(depth));
    Ok(Rule { steps, importance: *input.choose(&[1.0, 0.0, 0.5, 0.1, 0.25, 1.0 / 3.0, 0.999])? })
}
