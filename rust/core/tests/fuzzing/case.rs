//! Texts and settings from bytes. Every run of bytes is a case; short ones are small cases.

use arbitrary::{Result, Unstructured};
use pfgen_core::{Settings, SourceText, Variant};

/// Characters that texts are made of; a text takes few different ones, so that n-grams come again.
const ALPHABETS: [&str; 6] =
    ["ab", "^$ab", "あいう、^$", "あ𠮷x\0\n", "abcdef^", "光合成は植物の働き。「」です^$𠮷野家🦀\u{2028}"];
/// Characters that no answer has.
const UNKNOWN: &str = "鯨？z\u{10ffff}";
const MOST_CHARACTERS: usize = 260;
const NAMES: [&str; 4] = ["P", "S", "T", "U"];

/// Texts made of one alphabet, of each other and of repeats.
pub(crate) struct Texts {
    alphabet: Vec<char>,
    known: Vec<char>,
}

impl Texts {
    pub(crate) fn new(input: &mut Unstructured<'_>) -> Result<Self> {
        Ok(Self { alphabet: input.choose(&ALPHABETS)?.chars().collect(), known: Vec::new() })
    }

    /// The alphabet as far as it was chosen, with characters that answers do not have from now on.
    pub(crate) fn with_unknown(&mut self) {
        self.alphabet.extend(UNKNOWN.chars());
    }

    pub(crate) fn text(&mut self, input: &mut Unstructured<'_>) -> Result<String> {
        let mut text: Vec<char> = Vec::new();
        for _ in 0..input.int_in_range(0..=4)? {
            self.add_part(input, &mut text)?;
        }
        text.truncate(MOST_CHARACTERS);
        self.known.extend(&text);
        Ok(text.into_iter().collect())
    }

    pub(crate) fn texts(&mut self, input: &mut Unstructured<'_>, most: usize) -> Result<Vec<String>> {
        (0..input.int_in_range(0..=most)?).map(|_| self.text(input)).collect()
    }

    fn add_part(&self, input: &mut Unstructured<'_>, text: &mut Vec<char>) -> Result<()> {
        match input.int_in_range(0..=3)? {
            // Single characters.
            0 | 1 => {
                for _ in 0..input.int_in_range(1..=8)? {
                    text.push(*input.choose(&self.alphabet)?);
                }
            }
            // A part of an earlier text.
            2 if !self.known.is_empty() => {
                let from = input.int_in_range(0..=self.known.len() - 1)?;
                text.extend(self.known[from..].iter().take(input.int_in_range(1..=60)?));
            }
            // The end of this one again and again.
            _ => {
                let end = text.len().min(input.int_in_range(1..=16)?);
                let end = text[text.len() - end..].to_vec();
                for _ in 0..input.int_in_range(1..=40)? {
                    text.extend(&end);
                }
            }
        }
        Ok(())
    }
}

/// Answers by source: up to `most` sources, each with up to six answers and now and then with very many.
pub(crate) fn answers(input: &mut Unstructured<'_>, texts: &mut Texts, most: usize) -> Result<Vec<Vec<String>>> {
    let mut sources = Vec::new();
    for _ in 0..input.int_in_range(1..=most)? {
        let mut answers = texts.texts(input, 6)?;
        if let (1, Some(first)) = (input.int_in_range(0..=15)?, answers.first()) {
            // Bounded, since the obvious way takes its time.
            let copies = input.int_in_range(0..=1100)? / (1 + first.chars().count());
            answers.extend(vec![first.clone(); copies]);
        }
        sources.push(answers);
    }
    Ok(sources)
}

/// The answers as the crate takes them.
pub(crate) fn borrowed(answers: &[Vec<String>]) -> Vec<SourceText<'_>> {
    let strs = |answers| <&Vec<String>>::into_iter(answers).map(String::as_str).collect();
    answers.iter().zip(NAMES).map(|(answers, name)| SourceText { name, answers: strs(answers) }).collect()
}

/// Settings that are in order: the published ones, or any small numbers.
pub(crate) fn settings(input: &mut Unstructured<'_>, alphabet: &Texts) -> Result<Settings> {
    let variant = if input.ratio(1, 4)? { Variant::Paper } else { Variant::PfgenBench };
    if input.ratio(1, 3)? {
        return Ok(Settings { variant, ..Settings::default() });
    }
    let min_n = if input.ratio(1, 8)? { input.int_in_range(2..=4)? } else { 1 };
    let max_n = min_n + input.int_in_range(0..=16)?;
    let widest = if input.ratio(1, 8)? { 20 } else { max_n };
    let truthfulness_n = input.int_in_range(1..=widest)?;
    let target_length = input.int_in_range(0..=60)?;
    let zero_length = target_length + input.int_in_range(1..=60)?;
    let shortest = zero_length.max(max_n).max(truthfulness_n);
    Ok(Settings {
        variant,
        min_n,
        max_n,
        truthfulness_n,
        threshold: *input.choose(&[0.005, 1.0, 0.5, 1.0 / 3.0, 0.7, 1e-9, 0.049_999])?,
        target_length,
        zero_length,
        max_length: shortest + input.int_in_range(0..=40)?,
        skipped: skipped(input, alphabet)?,
        helpfulness: input.ratio(3, 4)?,
    })
}

fn skipped(input: &mut Unstructured<'_>, texts: &Texts) -> Result<Vec<char>> {
    let mut skipped: Vec<char> = UNKNOWN.chars().take(input.int_in_range(0..=2)?).collect();
    for _ in 0..input.int_in_range(0..=3)? {
        skipped.push(*input.choose(&texts.alphabet)?);
    }
    skipped.extend(if input.ratio(1, 2)? { "^$、" } else { "" }.chars());
    Ok(skipped)
}
