//! Files of stored scorers: whole ones come back, others are refused or read, without a panic and with an end, even if their
//! checksums are valid.

use super::case::{self, Texts};
use arbitrary::{Result, Unstructured};
use pfgen_core::{KEY_BYTES, Scorer, Scratch, Settings, SourceScore, Store, internals, store_header};

const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

/// Checks the case that the bytes stand for; whether there was one whose answers can be scored.
pub(crate) fn check(bytes: &[u8]) -> bool {
    decoded(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn decoded(input: &mut Unstructured<'_>) -> Result<bool> {
    if input.ratio(1, 8)? {
        open(input.peek_bytes(input.len()).unwrap_or_default(), &Settings::default(), &[]);
        return Ok(false);
    }
    let mut texts = Texts::new(input)?;
    let settings = case::settings(input, &texts)?;
    let answers = case::answers(input, &mut texts, 4)?;
    let Ok(scorer) = Scorer::new(&case::borrowed(&answers), settings.clone()) else { return Ok(false) };
    let mut content = store_header(&KEY, &[&scorer]);
    content.extend(scorer.stored_bytes());
    let counts: Vec<usize> = answers.iter().map(Vec::len).collect();
    let stored = open(&content, &settings, &counts).expect("it was just written");
    assert_eq!(stored.baselines(), scorer.baselines());
    assert_eq!(stored.is_compact(), scorer.is_compact());
    let response = texts.text(input)?;
    assert_eq!(scores(&stored, &response), scores(&scorer, &response));
    let changed = change(input, content.clone())?;
    assert!(changed == content || open(&changed, &settings, &counts).is_none(), "a change was not noticed");
    if let Some(crafted) = open(&internals::with_checksums(changed), &settings, &counts) {
        scores(&crafted, &response);
        crafted.cuts(&response, &mut Scratch::default());
        crafted.windows(&response, &mut Vec::new());
    }
    Ok(true)
}

/// Other bytes here and there, mostly near the begin, or another length.
fn change(input: &mut Unstructured<'_>, mut content: Vec<u8>) -> Result<Vec<u8>> {
    for _ in 0..input.int_in_range(1..=3)? {
        let last = if input.ratio(1, 2)? { content.len().min(200) } else { content.len() } - 1;
        content[input.int_in_range(0..=last)?] ^= input.int_in_range(0..=u8::MAX)?;
    }
    if input.ratio(1, 4)? {
        let length = input.int_in_range(1..=content.len() + 20)?;
        content.resize(length, 0);
    }
    Ok(content)
}

fn scores(scorer: &Scorer, response: &str) -> Vec<SourceScore> {
    let mut scores = vec![SourceScore::default(); scorer.source_count()];
    scorer.score(&[response], &mut Scratch::default(), &mut scores, &mut [0]);
    scores
}

/// The scorer in a file of that content. The file is another one for every process and thread.
fn open(content: &[u8], settings: &Settings, answers: &[usize]) -> Option<Scorer> {
    let name = format!("pfgen-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, content).expect("the folder for temporary files can be written");
    let scorer = Store::open(&path, &KEY).and_then(|store| store.scorer(0, settings.clone(), answers)).ok();
    std::fs::remove_file(&path).expect("the file was just written");
    scorer
}
