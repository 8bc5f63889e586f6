//! The reference answers of one question as one text of dense symbols.

use crate::error::{Error, Result};
use crate::text::{Alphabet, BEGIN, END, SEPARATOR, Symbol};

/// One source of reference answers.
#[derive(Debug, Clone)]
pub struct SourceText<'a> {
    /// Name of the source, e.g. `P`.
    pub name: &'a str,
    /// Its answers; their order is kept.
    pub answers: Vec<&'a str>,
}

/// Whether answers are indexed with markers at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markers {
    /// The answers' own characters only.
    None,
    /// A begin marker before and an end marker after every answer; both differ from every character.
    BeginEnd,
}

/// All answers of all sources, one after the other, a separator after each.
#[derive(Debug, Clone)]
pub(crate) struct Corpus {
    pub(crate) alphabet: Alphabet,
    pub(crate) names: Vec<String>,
    /// First answer of each source, and the number of answers.
    pub(crate) source_starts: Vec<u32>,
    /// First symbol of each answer, and the number of symbols.
    pub(crate) answer_starts: Vec<u32>,
    pub(crate) text: Vec<Symbol>,
    markers: Markers,
}

impl Corpus {
    /// Fails without sources, and beyond 2^31 − 1 symbols.
    pub(crate) fn new(sources: &[SourceText<'_>], markers: Markers) -> Result<Self> {
        if sources.is_empty() {
            return Err(Error::NoSources);
        }
        let answers = || sources.iter().flat_map(|source| source.answers.iter().copied());
        let alphabet = Alphabet::of(answers());
        let (text, answer_starts) = concatenate(&alphabet, answers(), markers);
        if i32::try_from(text.len()).is_err() {
            return Err(Error::TextTooLong { symbols: text.len() });
        }
        let mut source_starts = vec![0];
        for source in sources {
            source_starts.push(source_starts[source_starts.len() - 1] + source.answers.len() as u32);
        }
        let names = sources.iter().map(|source| source.name.to_owned()).collect();
        Ok(Self { alphabet, names, source_starts, answer_starts, text, markers })
    }

    /// Answers of all sources together.
    pub(crate) fn answers(&self) -> usize {
        self.answer_starts.len() - 1
    }

    pub(crate) fn answer_count(&self, source: usize) -> usize {
        (self.source_starts[source + 1] - self.source_starts[source]) as usize
    }

    pub(crate) fn character_count(&self) -> usize {
        self.text.len() - (1 + 2 * self.markers_at_each_end()) * self.answers()
    }

    /// Symbols between an answer's begin and its first character, and as many between its last and its end.
    pub(crate) fn markers_at_each_end(&self) -> usize {
        match self.markers {
            Markers::None => 0,
            Markers::BeginEnd => 1,
        }
    }

    pub(crate) fn symbols_of(&self, answer: usize) -> &[Symbol] {
        let (start, end) = (self.answer_starts[answer], self.answer_starts[answer + 1]);
        &self.text[start as usize..end as usize - 1]
    }

    /// The same without markers.
    pub(crate) fn characters_of(&self, answer: usize) -> &[Symbol] {
        let symbols = self.symbols_of(answer);
        &symbols[self.markers_at_each_end()..symbols.len() - self.markers_at_each_end()]
    }

    /// Answer `answer` (counted over all sources) as text, without markers.
    pub(crate) fn answer(&self, answer: usize) -> String {
        self.characters_of(answer).iter().filter_map(|&symbol| self.alphabet.character(symbol)).collect()
    }

    pub(crate) fn source_of(&self, answer: u32) -> usize {
        self.source_starts.partition_point(|&start| start <= answer) - 1
    }

    pub(crate) fn answer_at(&self, position: u32) -> u32 {
        self.answer_starts.partition_point(|&start| start <= position) as u32 - 1
    }

    /// Symbols from `position` to the end of its answer.
    pub(crate) fn remaining(&self, position: u32) -> u32 {
        self.answer_starts[self.answer_at(position) as usize + 1] - 1 - position
    }

    /// The answer of every position, separators included.
    pub(crate) fn answer_of_positions(&self) -> Vec<u32> {
        let mut answers = Vec::with_capacity(self.text.len());
        for (answer, &end) in (0..).zip(&self.answer_starts[1..]) {
            answers.resize(end as usize, answer);
        }
        answers
    }

    /// Every answer backwards, followed by a separator: answers begin where they do in the text.
    pub(crate) fn backwards<S>(&self, as_symbol: impl Fn(Symbol) -> S) -> Vec<S> {
        let mut text = Vec::with_capacity(self.text.len());
        for answer in 0..self.answers() {
            text.extend(self.symbols_of(answer).iter().rev().map(|&symbol| as_symbol(symbol)));
            text.push(as_symbol(SEPARATOR));
        }
        text
    }
}

fn concatenate<'a>(
    alphabet: &Alphabet,
    answers: impl Iterator<Item = &'a str>,
    markers: Markers,
) -> (Vec<Symbol>, Vec<u32>) {
    let (mut text, mut starts) = (Vec::new(), vec![0]);
    for answer in answers {
        if markers == Markers::BeginEnd {
            text.push(BEGIN);
        }
        text.extend(answer.chars().map(|character| alphabet.symbol(character)));
        if markers == Markers::BeginEnd {
            text.push(END);
        }
        text.push(SEPARATOR);
        starts.push(text.len() as u32);
    }
    (text, starts)
}
