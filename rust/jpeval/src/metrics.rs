//! The values of single samples.

use crate::code_points::{CodePoints, Unready};
use crate::distance::{Places, distance};
use crate::words::Words;
use std::borrow::Cow;

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

/// What a text is, and so what is to be done before it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A raw output, of which the prediction is taken and normalised.
    Output {
        /// Whether the prediction is stripped.
        strip: bool,
    },
    /// A gold answer, which is normalised.
    Gold,
    /// A prediction, taken as it is.
    Prediction,
    /// All is done, and tokens are sorted where the metric compares tokens.
    Made,
}

/// Room for what a value is computed from.
#[derive(Debug, Default)]
pub struct Scratch {
    words: [Words; 2],
    places: Places,
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

    /// The value for two texts, the second of which has the gold answer.
    ///
    /// # Errors
    ///
    /// If a page is missing, or the value depends on neighbours of characters.
    pub fn value(
        self,
        points: &CodePoints,
        [one, other]: [(&[u32], Form); 2],
        scratch: &mut Scratch,
    ) -> Result<f64, Unready> {
        match self {
            Self::ExactMatch => Ok(exact_match(&compared(points, one)?, &compared(points, other)?)),
            Self::SetF1 => set_f1(points, &compared(points, one)?, &compared(points, other)?),
            Self::CharF1 => {
                let Scratch { words: [words, gold_words], places } = scratch;
                let percent = ratio(tokens(points, one, words)?, tokens(points, other, gold_words)?, places);
                Ok(f64::from(percent) / 100.0)
            }
        }
    }
}

fn compared<'t>(points: &CodePoints, (text, form): (&'t [u32], Form)) -> Result<Cow<'t, [u32]>, Unready> {
    match form {
        Form::Output { strip } => points.nfkc(&text[points.part(text, true, strip)?]),
        Form::Gold => points.nfkc(text),
        Form::Prediction | Form::Made => Ok(Cow::Borrowed(text)),
    }
}

fn tokens<'t>(
    points: &CodePoints,
    (text, form): (&'t [u32], Form),
    words: &'t mut Words,
) -> Result<&'t [u32], Unready> {
    match form {
        Form::Output { strip } => words.sorted(points, &text[points.part(text, true, strip)?], true),
        Form::Gold => words.sorted(points, text, true),
        Form::Prediction => words.sorted(points, text, false),
        Form::Made => Ok(text),
    }
}

fn exact_match(prediction: &[u32], gold: &[u32]) -> f64 {
    let trimmed = |text: &[u32]| text.iter().rposition(|&c| c != 0).map_or(0, |last| last + 1);
    f64::from(u8::from(prediction[..trimmed(prediction)] == gold[..trimmed(gold)]))
}

/// Similarity in percent, from the smallest number of insertions and deletions, with Python's rounding.
fn ratio(one: &[u32], other: &[u32], places: &mut Places) -> u8 {
    if one == other {
        return 100;
    }
    if one.is_empty() || other.is_empty() {
        return 0;
    }
    let total = one.len() + other.len();
    // In this order: with 80 characters and a distance of 34 it is just below 57.5.
    (100.0 * (1.0 - distance(one, other, places) as f64 / total as f64)).round_ties_even() as u8
}

fn set_f1(points: &CodePoints, prediction: &[u32], gold: &[u32]) -> Result<f64, Unready> {
    const NEWLINE: u32 = b'\n' as u32;
    let of = |line| points.strip(line);
    let mut predicted = prediction.split(|&c| c == NEWLINE).map(of).collect::<Result<Vec<_>, _>>()?;
    let mut expected = gold.split(|&c| c == NEWLINE).map(of).collect::<Result<Vec<_>, _>>()?;
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

    #[test]
    fn ratios_are_rounded_as_doubles_in_the_order_of_the_reference() {
        let points = |text: String| text.chars().map(u32::from).collect::<Vec<_>>();
        let (one, other) = (points("a".repeat(40)), points(format!("{}{}", "a".repeat(23), "b".repeat(17))));
        assert_eq!(ratio(&one, &other, &mut Places::default()), 57);
    }
}
