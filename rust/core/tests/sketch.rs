//! The filter in shards against the one that has all answers, and its parts against counting in a dictionary.

use pfgen_core::Error;
use pfgen_core::references::naive::occurrences;
use pfgen_core::references::{NgramKeys, NgramSketch, SketchShape};
use proptest::prelude::*;

/// Answers, and how often each counts.
type Shard<'a> = (Vec<&'a str>, Vec<u32>);

/// Deals the answers out to shards.
fn deal<'a>(texts: &'a [String], weights: &[u32], shards: usize) -> Vec<Shard<'a>> {
    let mut found = vec![(Vec::new(), Vec::new()); shards];
    for (row, (text, &weight)) in texts.iter().zip(weights).enumerate() {
        found[row * 7 % shards].0.push(text.as_str());
        found[row * 7 % shards].1.push(weight);
    }
    found
}

fn sketch(shape: SketchShape, (texts, weights): &Shard<'_>) -> NgramSketch {
    let mut sketch = NgramSketch::new(shape).unwrap();
    sketch.update(texts, Some(weights)).unwrap();
    sketch
}

/// All parts in one, by bytes, from the right to the left.
fn merged(shape: SketchShape, shards: &[Shard<'_>]) -> NgramSketch {
    let mut whole = NgramSketch::new(shape).unwrap();
    shards.iter().rev().for_each(|shard| whole.merge_bytes(&sketch(shape, shard).to_bytes()).unwrap());
    whole
}

/// The texts that the three passes leave, sorted, and how many of those with a seldom n-gram the sketch could not tell.
fn survivors(shape: SketchShape, threshold: u32, shards: &[Shard<'_>]) -> (Vec<String>, usize) {
    let whole = merged(shape, shards);
    let candidates: Vec<Shard<'_>> = shards
        .iter()
        .map(|(texts, weights)| {
            let mask = whole.mask(texts, Some(weights), threshold).unwrap();
            let kept = texts.iter().zip(weights).zip(mask).filter(|&(_, kept)| kept);
            kept.map(|((&text, &weight), _)| (text, weight)).unzip()
        })
        .collect();
    let of = |(texts, weights): &Shard<'_>| NgramKeys::of(texts, Some(weights), shape.n).unwrap();
    let none = NgramKeys::of(&[], None, shape.n).unwrap();
    let known = candidates.iter().map(of).fold(none, |known, more| known.merged(&more).unwrap());
    let doubtful = known.at_most(threshold).unwrap().to_bytes();
    let mut exact = NgramKeys::from_bytes(&doubtful, shape.n).unwrap();
    for (texts, weights) in shards {
        let mut own = NgramKeys::from_bytes(&doubtful, shape.n).unwrap();
        own.count(texts, Some(weights)).unwrap();
        exact.merge_counts(&own.counts_to_bytes()).unwrap();
    }
    let seldom = exact.at_most(threshold).unwrap();
    let (mut kept, mut found) = (Vec::new(), 0);
    for (texts, _) in &candidates {
        let has = seldom.in_texts(texts);
        found += has.iter().filter(|&&has| has).count();
        kept.extend(texts.iter().zip(has).filter(|&(_, has)| !has).map(|(&text, _)| text.to_owned()));
    }
    kept.sort();
    (kept, found)
}

fn expected(texts: &[String], weights: &[u32], n: usize, threshold: u32) -> Vec<String> {
    let counts = occurrences(texts, weights, n);
    let often = |text: &str| {
        let characters: Vec<char> = text.chars().collect();
        characters.windows(n).all(|ngram| counts[ngram] > u64::from(threshold))
    };
    let kept = texts.iter().zip(weights).filter(|&(text, &weight)| weight > 0 && often(text));
    let mut kept: Vec<String> = kept.map(|(text, _)| text.clone()).collect();
    kept.sort();
    kept
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof!["[ab]{0,20}", "[あい𠮷\u{0}]{0,12}", "\\PC{0,8}"];
    proptest::collection::vec(text, 0..30)
}

proptest! {
    #[test]
    fn survivors_are_those_of_counting_everything(
        texts in texts(),
        n in prop_oneof![1..7_usize, 7..12_usize],
        threshold in 0..3_u32,
        bits in prop_oneof![5..8_u32, 12..16_u32],
        shards in 1..9_usize,
        seed in any::<u64>(),
        weighted in any::<bool>(),
    ) {
        let weight = |row: usize| if weighted { (seed.rotate_left(row as u32) % 4) as u32 } else { 1 };
        let weights: Vec<u32> = (0..texts.len()).map(weight).collect();
        let shape = SketchShape::whole(n, bits, seed);
        let (kept, _) = survivors(shape, threshold, &deal(&texts, &weights, shards));
        prop_assert_eq!(kept, expected(&texts, &weights, n, threshold));
    }

    /// The first bits of a hash choose the part, so that all parts together are one sketch.
    #[test]
    fn parts_are_one_sketch(texts in texts(), n in 1..8_usize, bits in 5..9_u32, part_bits in 0..4_u32, threshold in 0..3_u32) {
        let weights = vec![1; texts.len()];
        let shards = deal(&texts, &weights, 3);
        let whole = merged(SketchShape::whole(n, bits + part_bits, 9), &shards);
        let mut kept = vec![true; shards[0].0.len()];
        let mut used = 0;
        for part in 0..1 << part_bits {
            let mut own = merged(SketchShape { part, part_bits, ..SketchShape::whole(n, bits, 9) }, &shards);
            let mask = own.mask(&shards[0].0, None, threshold).unwrap();
            used += own.used();
            own.keep_often(threshold).unwrap();
            prop_assert_eq!(&own.mask(&shards[0].0, None, threshold).unwrap(), &mask);
            kept.iter_mut().zip(mask).for_each(|(kept, own)| *kept &= own);
        }
        prop_assert_eq!(kept, whole.mask(&shards[0].0, None, threshold).unwrap());
        prop_assert_eq!(used, whole.used());
    }

    #[test]
    fn neither_shards_nor_order_change_a_sketch(
        texts in texts(), shards in 1..9_usize, bits in 5..14_u32, weight in 0..5_u32, part in 0..4_u32,
    ) {
        let shape = SketchShape { part, part_bits: 2, ..SketchShape::whole(3, bits, 5) };
        let weights = vec![weight; texts.len()];
        let whole = sketch(shape, &deal(&texts, &weights, 1)[0]);
        let parts = deal(&texts, &weights, shards);
        prop_assert_eq!(merged(shape, &parts).to_bytes(), whole.to_bytes());
        // As a tree, without bytes.
        let mut level: Vec<NgramSketch> = parts.iter().map(|shard| sketch(shape, shard)).collect();
        while level.len() > 1 {
            let last = level.pop().unwrap();
            let middle = level.len() / 2;
            level[middle].merge(&last).unwrap();
        }
        prop_assert_eq!(level[0].to_bytes(), whole.to_bytes());
        prop_assert_eq!(level[0].used(), whole.used());
    }

    #[test]
    fn exact_counts_are_those_of_a_dictionary(texts in texts(), n in 1..9_usize, shards in 1..5_usize) {
        let weights = vec![1; texts.len()];
        let counts = occurrences(&texts, &weights, n);
        let parts = deal(&texts, &weights, shards);
        let none = || NgramKeys::of(&[], None, n).unwrap();
        let of = |shard: &Shard<'_>| NgramKeys::of(&shard.0, None, n).unwrap();
        let found = parts.iter().map(of).fold(none(), |found, more| found.merged(&more).unwrap());
        prop_assert_eq!(found.len(), counts.len());
        for threshold in 0..3 {
            let seldom = counts.values().filter(|&&count| count <= u64::from(threshold)).count();
            prop_assert_eq!(found.at_most(threshold).unwrap().len(), seldom);
        }
        prop_assert_eq!(NgramKeys::from_bytes(&found.to_bytes(), n).unwrap().to_bytes(), found.to_bytes());
    }

    #[test]
    fn damaged_bytes_are_refused(texts in texts(), at in any::<prop::sample::Index>(), bit in 0..8_u32, cut in any::<bool>()) {
        let shape = SketchShape::whole(2, 6, 0);
        let weights = vec![1; texts.len()];
        let shard = &deal(&texts, &weights, 1)[0];
        let keys = NgramKeys::of(&shard.0, None, 2).unwrap();
        let damage = |mut bytes: Vec<u8>| {
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            bytes
        };
        let refused = |error: Option<Error>| matches!(error, Some(Error::DamagedSketch { .. }));
        prop_assert!(refused(NgramSketch::from_bytes(&damage(sketch(shape, shard).to_bytes()), shape).err()));
        prop_assert!(refused(NgramKeys::from_bytes(&damage(keys.to_bytes()), 2).err()));
        let mut counted = NgramKeys::of(&shard.0, None, 2).unwrap();
        prop_assert!(refused(counted.merge_counts(&damage(keys.counts_to_bytes())).err()));
    }
}

#[test]
fn a_small_sketch_cannot_tell_and_exact_counts_can() {
    let texts: Vec<String> = (0..200).map(|row| format!("{:04}{:04}", row % 50, row % 40 * 97)).collect();
    let weights = vec![1; texts.len()];
    let shards = deal(&texts, &weights, 4);
    let few = SketchShape::whole(4, 5, 0);
    let (kept, found) = survivors(few, 1, &shards);
    let (same, fewer) = survivors(SketchShape { bits: 20, ..few }, 1, &shards);
    assert_eq!(kept, same);
    assert!(found > 10 && fewer == 0 && !kept.is_empty(), "{found} {fewer}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let shape = SketchShape::whole(5, 8, 1);
    let message = |error: Error| error.to_string();
    for wrong in [SketchShape { n: 0, ..shape }, SketchShape { bits: 4, ..shape }, SketchShape { bits: 41, ..shape }] {
        assert!(message(NgramSketch::new(wrong).unwrap_err()).starts_with("a sketch needs n-grams of at least 1"));
    }
    for (part, part_bits) in [(1, 0), (4, 2), (0, 17)] {
        let wrong = SketchShape { part, part_bits, ..shape };
        assert!(message(NgramSketch::new(wrong).unwrap_err()).starts_with(&format!("there is no part {part} of")));
    }
    let mut sketch = NgramSketch::new(shape).unwrap();
    for other in [
        SketchShape { part: 1, part_bits: 1, ..shape },
        SketchShape { part_bits: 1, ..shape },
        SketchShape { n: 4, ..shape },
        SketchShape { bits: 9, ..shape },
        SketchShape { seed: 0, ..shape },
    ] {
        let other = NgramSketch::new(other).unwrap();
        assert!(matches!(sketch.merge(&other), Err(Error::DamagedSketch { .. })));
        assert!(matches!(sketch.merge_bytes(&other.to_bytes()), Err(Error::DamagedSketch { .. })));
    }
    assert!(matches!(sketch.update(&["a"], Some(&[])), Err(Error::UnequalLengths { .. })));
    assert!(matches!(sketch.mask(&["a"], Some(&[1, 2]), 1), Err(Error::UnequalLengths { .. })));
    let threshold = "counters of two bits need a threshold of at most 2, not 3";
    assert_eq!(message(sketch.mask(&["a"], None, 3).unwrap_err()), threshold);
    assert_eq!(message(sketch.keep_often(3).unwrap_err()), threshold);
    let mut keys = NgramKeys::of(&["abc"], None, 2).unwrap();
    assert_eq!(message(keys.at_most(3).unwrap_err()), threshold);
    assert!(NgramKeys::of(&["abc"], None, 0).is_err() && NgramKeys::of(&["abc"], Some(&[]), 2).is_err());
    let others = [NgramKeys::of(&["abd"], None, 2).unwrap(), NgramKeys::of(&["abc"], None, 1).unwrap()];
    assert!(others.iter().all(|other| keys.merge_counts(&other.counts_to_bytes()).is_err()));
    assert!(keys.merged(&others[0]).is_ok_and(|all| all.len() == 3) && keys.merged(&others[1]).is_err());
    assert!(NgramKeys::from_bytes(&keys.to_bytes(), 3).is_err());
    assert!(NgramKeys::from_bytes(&sketch.to_bytes(), 5).is_err());
    let message = message(sketch.merge_bytes(b"PFGENNG0 and more than forty bytes of something").unwrap_err());
    assert_eq!(message, "the counts of n-grams cannot be used: it is cut short, or of another version");
}

#[test]
fn bits_follow_the_ngrams_as_far_as_memory_goes() {
    let gigabyte = 1 << 30;
    assert_eq!(SketchShape::bits_for(0, gigabyte), 5);
    assert_eq!(SketchShape::bits_for(90_000_000, gigabyte), 28);
    assert_eq!(SketchShape::bits_for(1 << 27, gigabyte), 29);
    assert_eq!(SketchShape::bits_for((1 << 27) - 1, gigabyte), 28);
    assert_eq!(SketchShape::bits_for(90_000_000, 1 << 20), 22);
    assert_eq!(SketchShape::bits_for(u64::MAX, u64::MAX), 40);
    assert_eq!(SketchShape::bits_for(90_000_000, 0), 5);
}

#[test]
fn threads_change_nothing() {
    let texts: Vec<String> = (0..3_000).map(|row| format!("{}答え{}です", row % 71, row % 13)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let shape = SketchShape::whole(3, 10, 0);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sketch = NgramSketch::new(shape).unwrap();
            sketch.update(&texts, None).unwrap();
            let mut keys = NgramKeys::of(&texts[..900], None, 3).unwrap().at_most(2).unwrap();
            keys.count(&texts, None).unwrap();
            (sketch.to_bytes(), keys.to_bytes(), sketch.mask(&texts, None, 2).unwrap())
        })
    };
    assert_eq!(with(1), with(8));
}
