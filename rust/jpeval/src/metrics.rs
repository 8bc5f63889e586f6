//! The values of single samples.

use crate::code_points::{CodePoints, Unready};
use crate::words::Words;
use rapidfuzz::distance::indel;

/// A metric that every sample has a value of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// 1 for equal texts.
    ExactMatch,
    /// Similarity of sorted tokens, rounded to hundredths.
    CharF1,
    /// F1 of lines.
    SetF1,
}

/// Room for what a value is computed from.
#[derive(Debug, Default)]
pub struct Scratch {
    prediction: Words,
    gold: Words,
}

impl Metric {
    /// A metric by its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "exact_match" => Some(Self::ExactMatch),
            "char_f1" => Some(Self::CharF1),
            "set_f1" => Some(Self::SetF1),
            _ => None,
        }
    }

    /// The value for a prediction, taken as it is, and a gold answer, which is normalised.
    ///
    /// # Errors
    ///
    /// If a page is missing, or the value depends on neighbours of characters.
    pub fn value(
        self,
        points: &CodePoints,
        prediction: &str,
        gold: &str,
        scratch: &mut Scratch,
    ) -> Result<f64, Unready> {
        match self {
            Self::ExactMatch => Ok(exact_match(prediction, &points.nfkc(gold)?)),
            Self::CharF1 => char_f1(points, (prediction, false), gold, scratch),
            Self::SetF1 => set_f1(points, prediction, &points.nfkc(gold)?),
        }
    }

    /// The value for the prediction in a raw output, which is stripped if asked for, and a gold answer.
    ///
    /// # Errors
    ///
    /// As for [`Self::value`].
    pub fn value_of_output(
        self,
        points: &CodePoints,
        output: &str,
        strip: bool,
        gold: &str,
        scratch: &mut Scratch,
    ) -> Result<f64, Unready> {
        match self {
            Self::CharF1 => char_f1(points, (points.first_part(output, strip)?, true), gold, scratch),
            _ => self.value(points, &points.prediction(output, strip)?, gold, scratch),
        }
    }
}

/// The text of the prediction, and whether it is still to be normalised.
fn char_f1(
    points: &CodePoints,
    (prediction, nfkc): (&str, bool),
    gold: &str,
    scratch: &mut Scratch,
) -> Result<f64, Unready> {
    let Scratch { prediction: words, gold: gold_words } = scratch;
    let one = words.sorted(points, prediction, nfkc)?;
    let other = gold_words.sorted(points, gold, true)?;
    Ok(f64::from(ratio(one, other)) / 100.0)
}

fn exact_match(prediction: &str, gold: &str) -> f64 {
    f64::from(u8::from(prediction.trim_end_matches('\0') == gold.trim_end_matches('\0')))
}

/// Similarity in percent, from the smallest number of insertions and deletions, with Python's rounding.
fn ratio(one: &[u32], other: &[u32]) -> u8 {
    if one == other {
        return 100;
    }
    if one.is_empty() || other.is_empty() {
        return 0;
    }
    let total = one.len() + other.len();
    let distance = indel::distance(one.iter().copied(), other.iter().copied());
    // In this order: with 80 characters and a distance of 34 it is just below 57.5.
    (100.0 * (1.0 - distance as f64 / total as f64)).round_ties_even() as u8
}

fn set_f1(points: &CodePoints, prediction: &str, gold: &str) -> Result<f64, Unready> {
    let lines = |text| str::split(text, '\n').map(|line| points.strip(line)).collect::<Result<Vec<_>, _>>();
    let (mut predicted, mut expected) = (lines(prediction)?, lines(gold)?);
    predicted.sort_unstable();
    predicted.dedup();
    expected.sort_unstable();
    let hits = predicted.iter().filter(|line| expected.binary_search(line).is_ok()).count();
    let (precision, recall) = (hits as f64 / predicted.len() as f64, hits as f64 / expected.len() as f64);
    Ok(if precision + recall == 0.0 { 0.0 } else { 2.0 * (precision * recall) / (precision + recall) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    #[test]
    fn ratios_are_rounded_as_doubles_in_the_order_of_the_reference() {
        let (one, other) = (points(&"a".repeat(40)), points(&format!("{}{}", "a".repeat(23), "b".repeat(17))));
        assert_eq!(ratio(&one, &other), 57);
    }

    fn common_by_table(one: &[u32], other: &[u32]) -> usize {
        let mut above = vec![0; other.len() + 1];
        for c in one {
            let mut row = vec![0];
            for (place, d) in other.iter().enumerate() {
                row.push(if c == d { above[place] + 1 } else { row[place].max(above[place + 1]) });
            }
            above = row;
        }
        above[other.len()]
    }

    fn texts() -> impl Strategy<Value = Vec<u32>> {
        let few = prop::sample::select(vec![97u32, 98, 0xe9, 0x3042, 0x2_0bb7, 0x3842]);
        let many = prop::sample::select((0x3041u32..0x3096).collect::<Vec<_>>());
        prop_oneof![prop::collection::vec(few, 0..300), prop::collection::vec(many, 0..300)]
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_table(one in texts(), other in texts()) {
            let distance = indel::distance(one.iter().copied(), other.iter().copied());
            prop_assert_eq!(distance, one.len() + other.len() - 2 * common_by_table(&one, &other));
        }
    }
}
