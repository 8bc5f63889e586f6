//! Stored scorers: the same as those that were built, or refused.

use pfgen_core::{
    Batch, Error, Group, KEY_BYTES, Literals, Rules, Scorer, Scratch, Settings, Source, SourceScore, SourceText, Store,
    StoredScorer, Variant, internals, score_groups, score_groups_parallel, store_header,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];
const RESPONSES: [&str; 3] = ["光合成は植物が光を使う働きです。", "", "知りません。"];
/// Answers of the sources of [`build`].
const ANSWERS: [usize; 2] = [2, 1];

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
    Store::open(path, &KEY)?.scorer(0, Settings::default(), &ANSWERS)
}

#[test]
fn scorers_come_back() {
    let built: Vec<_> = layouts().into_iter().map(build).collect();
    let path = file("back", &content(&built.iter().collect::<Vec<_>>()));
    let store = Store::open(&path, &KEY).unwrap();
    assert_eq!(store.len(), built.len());
    for (number, (settings, built)) in layouts().into_iter().zip(&built).enumerate() {
        let stored = store.scorer(number, settings, &ANSWERS).unwrap();
        assert_eq!(stored.baselines(), built.baselines());
        assert_eq!(stored.is_compact(), built.is_compact());
        assert_eq!(scores(&stored), scores(built));
    }
    assert!(store.scorer(built.len(), Settings::default(), &ANSWERS).is_err());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_batch_reads_the_scorers_that_are_in_a_file() {
    let built = build(Settings::default());
    let path = file("batch", &content(&[&built]));
    let store = Arc::new(Store::open(&path, &KEY).unwrap());
    let stored = |number| StoredScorer {
        store: Arc::clone(&store),
        number,
        settings: Settings::default(),
        answers: ANSWERS.to_vec(),
    };
    let rules = Rules::new(Literals::new(std::iter::empty()), 0, Vec::new()).unwrap();
    let score = |scorer| {
        let groups = [Group { scorer, rules: &rules, columns: &[0, 1], rows: &[0, 1, 2], others: &[] }];
        let batch = Batch { groups: &groups, sources: 2, count: RESPONSES.len() };
        let one = score_groups(batch, |row| RESPONSES[row]);
        assert_eq!(one, score_groups_parallel(batch, |row| RESPONSES[row]));
        one
    };
    let expected = score(Source::Made(&built)).unwrap();
    let [there, beyond] = [stored(0), stored(1)];
    assert_eq!(score(Source::Stored(&there)), Ok(expected));
    assert!(matches!(score(Source::Stored(&beyond)), Err(Error::DamagedStore { .. })));
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

#[test]
fn other_answers_are_refused() {
    let path = file("answers", &content(&[&build(Settings::default())]));
    for answers in [&[][..], &[2], &[1, 2], &[2, 1, 1]] {
        let store = Store::open(&path, &KEY).unwrap();
        assert!(matches!(store.scorer(0, Settings::default(), answers), Err(Error::DamagedStore { .. })));
    }
    std::fs::remove_file(path).unwrap();
}

/// Pseudorandom numbers (SplitMix64).
fn random(seed: &mut u64) -> usize {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) as usize
}

/// Overwrites some of the bytes from `from` on: single bits, whole words with 0 or all ones, words with other words, ranges.
fn change(content: &mut [u8], from: usize, seed: &mut u64) {
    for _ in 0..=random(seed) % 4 {
        let mut word = || from + random(seed) % ((content.len() - from) / 8) * 8;
        let (at, other) = (word(), word());
        match random(seed) % 6 {
            0 => content[at + random(seed) % 8] ^= 1 << (random(seed) % 8),
            1 => content[at..at + 8].fill(0),
            2 => content[at..at + 8].fill(0xff),
            3 => content.copy_within(other..other + 8, at),
            4 => {
                let end = (at + 8 * (random(seed) % 200)).min(content.len());
                content[at..end].fill([0, 0xff][random(seed) % 2]);
            }
            _ => content[at + random(seed) % 8] = random(seed) as u8,
        }
    }
}

/// Whoever can compute a checksum can store anything; reading it must end all the same, and stay inside.
#[test]
fn changes_with_valid_checksums_are_refused_or_read() {
    let mut seed = 1;
    let (mut refused, mut read) = (0, 0);
    for settings in layouts() {
        let whole = content(&[&build(settings.clone())]);
        let first = 64 + 40;
        for round in 0..150 {
            let mut changed = whole.clone();
            // Now and then in the directory, too.
            change(&mut changed, if round % 10 == 0 { 56 } else { first }, &mut seed);
            let path = file("crafted", &internals::with_checksums(changed));
            let stored = Store::open(&path, &KEY).and_then(|store| store.scorer(0, settings.clone(), &ANSWERS));
            match stored {
                Ok(stored) => {
                    let scores = scores(&stored);
                    assert!(scores.iter().all(|score| score.fluency.is_finite() && score.truthfulness.is_finite()));
                    stored.cuts(RESPONSES[0], &mut Scratch::default());
                    stored.windows(RESPONSES[0], &mut Vec::new());
                    read += 1;
                }
                Err(Error::DamagedStore { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(refused > 100 && read > 30, "{refused} refused, {read} read");
    std::fs::remove_file(file("crafted", b"")).unwrap();
}

/// A scorer in use is not touched by what is done to its file, nor is one that is read afterwards used.
#[test]
fn a_file_that_is_changed_in_place_changes_no_scorer() {
    for settings in layouts() {
        let built = build(settings.clone());
        let whole = content(&[&built, &built]);
        let path = file("in-place", &whole);
        let (kept, other) = (Store::open(&path, &KEY).unwrap(), Store::open(&path, &KEY).unwrap());
        let first = kept.scorer(0, settings.clone(), &ANSWERS).unwrap();
        for byte in [0, 0xff] {
            // In place: the same file, of the same length, and then none.
            std::fs::write(&path, vec![byte; whole.len()]).unwrap();
            assert_eq!(scores(&first), scores(&built));
            assert!(matches!(other.scorer(1, settings.clone(), &ANSWERS), Err(Error::DamagedStore { .. })));
        }
        std::fs::write(&path, b"").unwrap();
        assert_eq!(scores(&first), scores(&built));
        assert!(matches!(kept.scorer(1, settings, &ANSWERS), Err(Error::DamagedStore { .. })));
        std::fs::remove_file(path).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_opened() {
    let socket = std::env::temp_dir().join(format!("pfgen-store-{}.socket", std::process::id()));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [&*std::env::temp_dir(), Path::new("/dev/zero"), &socket] {
        let error = Store::open(path, &KEY).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
    std::fs::remove_file(socket).unwrap();
}
