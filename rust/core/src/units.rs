//! Words and tokens as units: each becomes one code point of a *coded* text, so that whatever counts characters counts
//! them, too.

use crate::error::{Error, Result};
use crate::score::{Literals, NOT_FOUND};
use crate::words::words;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// First of the code points that stand for words and tokens; no surrogate follows.
const FIRST_CODE: u32 = 0xe000;
/// The largest token that has a code point.
pub const LARGEST_TOKEN: u32 = char::MAX as u32 - FIRST_CODE;
const CODES: RangeInclusive<u32> = FIRST_CODE..=char::MAX as u32;
/// Texts whose words a thread counts at a time.
const BLOCK: usize = 256;

type Counts<'a> = FxHashMap<&'a str, u64>;

/// The code point of a token; `None` beyond [`LARGEST_TOKEN`].
pub fn token_code(token: u32) -> Option<char> {
    char::from_u32(token.checked_add(FIRST_CODE)?)
}

/// The token of a code point; `None` for one that stands for none.
pub fn token_of(code: char) -> Option<u32> {
    (code as u32).checked_sub(FIRST_CODE)
}

/// The words of some texts and their code points.
///
/// A word of one character stays that character, so that what is said about characters (which Truthfulness skips) holds
/// for it. Longer ones have code points of their own, by descending frequency, then by text. All other words share one
/// code point, which occurs in none of the coded texts that the vocabulary was made of.
///
/// Memory: the words, and about 50 bytes for each. Looking one up takes constant time.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    code_of: FxHashMap<Arc<str>, char>,
    words: Vec<Arc<str>>,
    /// In ascending order; the first stands for unknown words, the others for `words`.
    codes: Vec<char>,
}

impl Vocabulary {
    /// The vocabulary of `texts`; the `reserved` characters stay themselves whether they occur or not.
    ///
    /// Time linear in the texts, plus `w log w` for `w` distinct words.
    ///
    /// # Errors
    /// [`Error::TooManyWords`] beyond about a million.
    pub fn new(texts: &[&str], reserved: &str) -> Result<Self> {
        Self::of(&counts(texts), reserved, CODES)
    }

    /// The same on the threads of the current rayon pool.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_parallel(texts: &[&str], reserved: &str) -> Result<Self> {
        Self::of(&texts.par_chunks(BLOCK).map(counts).reduce(Counts::default, merged), reserved, CODES)
    }

    fn of(counts: &Counts<'_>, reserved: &str, codes: RangeInclusive<u32>) -> Result<Self> {
        let kept: FxHashSet<char> = counts.keys().filter_map(|word| single(word)).chain(reserved.chars()).collect();
        let mut ranked: Vec<_> = counts.iter().filter(|(word, _)| single(word).is_none()).collect();
        ranked.sort_unstable_by(|(word, count), (other, others)| others.cmp(count).then(word.cmp(other)));
        let free = codes.filter_map(char::from_u32).filter(|code| !kept.contains(code));
        let codes: Vec<char> = free.take(1 + ranked.len()).collect();
        let words: Vec<Arc<str>> = ranked.into_iter().map(|(&word, _)| word.into()).collect();
        if codes.len() <= words.len() {
            return Err(Error::TooManyWords { words: words.len(), room: codes.len().saturating_sub(1) });
        }
        let code_of = words.iter().cloned().zip(codes[1..].iter().copied()).collect();
        Ok(Self { code_of, words, codes })
    }

    /// Words of more than one character.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no such words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The code point that stands for every word that the vocabulary lacks.
    pub fn unknown(&self) -> char {
        self.codes[0]
    }

    /// Appends the words of `text`, a code point each.
    pub fn encode(&self, text: &str, into: &mut String) {
        into.extend(words(text).map(|(_, word)| self.code(word)));
    }

    /// The code point of a word.
    pub fn code(&self, word: &str) -> char {
        match single(word) {
            // A character that stands for something else here is in none of the texts: one unknown word more.
            Some(character) if self.codes.binary_search(&character).is_ok() => self.unknown(),
            Some(character) => character,
            None => self.code_of.get(word).copied().unwrap_or_else(|| self.unknown()),
        }
    }

    /// The word that `code` stands for, unless that is itself; U+FFFD for the unknown one.
    pub fn word(&self, code: char) -> Option<&str> {
        match self.codes.binary_search(&code).ok()? {
            0 => Some("\u{fffd}"),
            place => Some(&self.words[place - 1]),
        }
    }
}

fn counts<'a>(texts: &[&'a str]) -> Counts<'a> {
    let mut counts = Counts::default();
    for (_, word) in texts.iter().flat_map(|text| words(text)) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn merged<'a>(some: Counts<'a>, others: Counts<'a>) -> Counts<'a> {
    let (mut into, from) = if some.len() < others.len() { (others, some) } else { (some, others) };
    for (word, count) in from {
        *into.entry(word).or_default() += count;
    }
    into
}

/// The only character of a word.
fn single(word: &str) -> Option<char> {
    let mut characters = word.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// Where keywords end, in words: for each the number of words that a cut of `text` needs in order to hold the keyword's first
/// occurrence within the first `limit` words, or [`NOT_FOUND`].
///
/// A word that a keyword ends within is needed as a whole. White space after the last word is searched, too, unless
/// more words follow it than are read.
///
/// # Panics
/// If `ends` is shorter than the number of keywords.
pub fn word_ends_into(literals: &Literals, text: &str, limit: usize, ends: &mut [u32]) {
    let read: Vec<_> = words(text).take(limit.saturating_add(1)).collect();
    let end = if read.len() > limit { limit.checked_sub(1).map_or(0, |last| end_of(read[last])) } else { text.len() };
    for (found, end) in literals.byte_ends(&text[..end]).zip(ends) {
        *end = found.map_or(NOT_FOUND, |found| read.partition_point(|&(start, _)| start < found) as u32);
    }
}

fn end_of((start, word): (usize, &str)) -> usize {
    start + word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: [&str; 3] = ["The cat sat on the mat.", "猫は、the mat", "a\u{e000} on\u{2028}a"];

    fn vocabulary() -> Vocabulary {
        Vocabulary::new(&SET, "「\u{e002}").expect("few words")
    }

    fn coded(text: &str) -> String {
        let mut into = String::new();
        vocabulary().encode(text, &mut into);
        into
    }

    #[test]
    fn frequent_words_come_first_and_characters_stay() {
        // U+E000 and U+E002 are taken; U+E001 is the unknown word.
        let ranked = ["mat", "on", "the", "The", "cat", "sat"];
        for (rank, word) in ranked.into_iter().enumerate() {
            assert_eq!(u32::from(vocabulary().code(word)), 0xe003 + rank as u32);
        }
        assert_eq!(vocabulary().len(), ranked.len());
        assert_eq!(coded("a 「猫\u{e000}."), "a「猫\u{e000}.");
    }

    #[test]
    fn words_that_are_lacking_are_one() {
        let unknown = vocabulary().unknown();
        assert_eq!(coded("Dog \u{e003} the"), format!("{unknown}{unknown}{}", vocabulary().code("the")));
        assert!(SET.iter().all(|text| !coded(text).contains(unknown)));
        assert_eq!(vocabulary().word(unknown), Some("\u{fffd}"));
    }

    #[test]
    fn codes_lead_back_to_words() {
        for text in SET {
            let vocabulary = vocabulary();
            let back: Vec<_> = coded(text)
                .chars()
                .map(|code| vocabulary.word(code).map_or_else(|| code.to_string(), str::to_owned))
                .collect();
            assert_eq!(back, words(text).map(|(_, word)| word).collect::<Vec<_>>());
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let texts: Vec<String> = (0..2000).map(|i| format!("w{} w{} x", i % 37, i % 91)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (one, many) = (Vocabulary::new(&texts, ""), Vocabulary::new_parallel(&texts, ""));
        assert_eq!(one.expect("few words").words, many.expect("few words").words);
    }

    #[test]
    fn there_may_be_too_many_words() {
        let of = |texts: &[&str], reserved| Vocabulary::of(&counts(texts), reserved, 0xe000..=0xe002);
        assert!(of(&["one two a b c"], "").is_ok());
        let error = Error::TooManyWords { words: 3, room: 2 };
        assert_eq!(of(&["one two six a"], "").err(), Some(error.clone()));
        assert!(error.to_string().contains("3 distinct words, but only 2"));
        for (text, reserved) in [("one two \u{e001}", ""), ("one two", "\u{e001}")] {
            assert_eq!(of(&[text], reserved).err(), Some(Error::TooManyWords { words: 2, room: 1 }));
        }
    }

    #[test]
    fn tokens_are_code_points_without_surrogates() {
        for token in [0, 1, 0x1fff, LARGEST_TOKEN] {
            assert_eq!(token_code(token).and_then(token_of), Some(token));
        }
        assert_eq!(token_code(LARGEST_TOKEN + 1), None);
        assert_eq!(token_code(u32::MAX), None);
        assert_eq!(token_of('a'), None);
    }

    #[test]
    fn keywords_end_in_words() {
        let found = |keywords: &[&str], text: &str, limit: usize| {
            let literals = Literals::new(keywords.iter().copied());
            let mut ends = vec![0; literals.len()];
            word_ends_into(&literals, text, limit, &mut ends);
            ends
        };
        let text = "The cat sat. ";
        assert_eq!(found(&["cat", "ca", "cat ", "t s", "", ". ", "dog"], text, 9), [2, 2, 2, 3, 0, 4, NOT_FOUND]);
        assert_eq!(found(&["sat", "sat.", "at"], text, 3), [3, NOT_FOUND, 2]);
        assert_eq!(found(&[". "], text, 4), [4]);
        assert_eq!(found(&["T", ""], text, 0), [NOT_FOUND, 0]);
    }
}
