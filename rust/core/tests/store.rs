//! Stored scorers: the same as those that were built, or refused.

use pfgen_core::{Error, KEY_BYTES, Scorer, Scratch, Settings, SourceScore, SourceText, Store, Variant, store_header};
use std::path::{Path, PathBuf};

const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];
const RESPONSES: [&str; 3] = ["光合成は植物が光を使う働きです。", "", "知りません。"];

fn build(settings: Settings) -> Scorer {
    let sources = [
        SourceText {
            name: "P", answers: vec!["光合成は植物の働きです。", "植物が光を使います。"]
        },
        SourceText { name: "S", answers: vec!["光を使う働き。"] },
    ];
    Scorer::new(&sources, settings).unwrap()
}

fn layouts() -> Vec<Settings> {
    let paper = Settings { variant: Variant::Paper, ..Settings::default() };
    vec![Settings::default(), Settings { min_n: 2, ..Settings::default() }, paper]
}

fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("pfgen-store-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

fn content(scorers: &[&Scorer]) -> Vec<u8> {
    let mut content = store_header(&KEY, scorers);
    content.extend(scorers.iter().flat_map(|scorer| scorer.stored_bytes()));
    content
}

fn scores(scorer: &Scorer) -> Vec<SourceScore> {
    let mut scores = vec![SourceScore::default(); RESPONSES.len() * scorer.source_count()];
    scorer.score(&RESPONSES, &mut Scratch::default(), &mut scores, &mut [0; RESPONSES.len()]);
    scores
}

fn open(path: &Path) -> Result<Scorer, Error> {
    Store::open(path, &KEY)?.scorer(0, Settings::default())
}

#[test]
fn scorers_come_back() {
    let built: Vec<_> = layouts().into_iter().map(build).collect();
    let path = file("back", &content(&built.iter().collect::<Vec<_>>()));
    let store = Store::open(&path, &KEY).unwrap();
    assert_eq!(store.len(), built.len());
    for (number, (settings, built)) in layouts().into_iter().zip(&built).enumerate() {
        let stored = store.scorer(number, settings).unwrap();
        assert_eq!(stored.baselines(), built.baselines());
        assert_eq!(stored.is_compact(), built.is_compact());
        assert_eq!(scores(&stored), scores(built));
    }
    assert!(store.scorer(built.len(), Settings::default()).is_err());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn every_change_is_noticed() {
    let whole = content(&[&build(Settings::default())]);
    for at in (0..200).chain((200..whole.len()).step_by(97)).chain([whole.len() - 1]) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        let path = file("changed", &changed);
        assert!(matches!(open(&path), Err(Error::DamagedStore { .. })), "byte {at}");
    }
    std::fs::remove_file(file("changed", b"")).unwrap();
}

#[test]
fn every_cut_is_noticed() {
    let whole = content(&[&build(Settings::default())]);
    for length in (0..200).chain((200..whole.len()).step_by(97)).chain([whole.len() - 1]) {
        assert!(open(&file("cut", &whole[..length])).is_err(), "{length} bytes");
    }
    let mut longer = whole;
    longer.push(0);
    assert!(matches!(open(&file("cut", &longer)), Err(Error::DamagedStore { .. })));
    std::fs::remove_file(file("cut", b"")).unwrap();
}

#[test]
fn reasons_are_told() {
    let whole = content(&[&build(Settings::default())]);
    let path = file("reasons", &whole);
    let reason = |result: Result<Store, Error>| result.unwrap_err().to_string();
    assert!(reason(Store::open(&path, &[8; KEY_BYTES])).contains("other questions or settings"));
    let swapped: Vec<u8> = whole[8..12].iter().rev().chain(&whole[12..]).copied().collect();
    let path = file("reasons", &[&whole[..8], &swapped].concat());
    assert!(reason(Store::open(&path, &KEY)).contains("byte order"));
    let path = file("reasons", &[&whole[..12], &[99, 0, 0, 0], &whole[16..]].concat());
    assert!(reason(Store::open(&path, &KEY)).contains("another version"));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Store::open(&path, &KEY), Err(Error::UnreadableStore { .. })));
}
