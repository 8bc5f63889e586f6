//! Reading a response: what both metrics and both variants draw on.

use super::repeats::{self, Seen};
use super::settings::{Settings, Variant};
use crate::error::{Error, Result};
use crate::index::tables::{Lengths, NgramTable};
use crate::index::{Markers, NgramIndex};
use crate::text::{Alphabet, BEGIN, END, Symbol};
use rustc_hash::FxHashSet;

/// One question's table with everything else that reading a response takes; read-only.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) settings: Settings,
    pub(super) answer_counts: Vec<usize>,
    /// `d(k)` for every cut.
    pub(super) discounts: Vec<f64>,
    /// Per source, what a character covered by a document frequency is worth to Truthfulness.
    pub(super) worth: Vec<Vec<f64>>,
    alphabet: Alphabet,
    table: NgramTable,
    skipped: FxHashSet<char>,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The response with what stands at its ends, as characters and as symbols.
    pub(super) characters: Vec<char>,
    pub(super) symbols: Vec<Symbol>,
    /// The counted symbols once more, where they fit.
    narrow: Vec<i16>,
    /// Per counted character, how long the longest n-gram ending there is that also ended earlier.
    pub(super) seen: Seen,
    /// Per symbol and source, what Fluency gains when the cut includes it.
    pub(super) gains: Vec<u64>,
    /// Per symbol and source, the document frequency of the Truthfulness window that ends there.
    pub(super) windows: Vec<u32>,
    /// Per symbol, whether Truthfulness skips it.
    pub(super) skipped: Vec<bool>,
}

impl Reader {
    pub(super) fn new(index: &NgramIndex, settings: Settings) -> Result<Self> {
        settings.validate()?;
        let answer_counts =
            (0..index.source_names().len()).map(|source| index.answer_count(source)).collect::<Vec<_>>();
        if let Some(source) = answer_counts.iter().position(|&count| count == 0) {
            return Err(Error::NoAnswers { source: index.source_names()[source].clone() });
        }
        // The table sums frequencies as 32-bit numbers.
        if answer_counts.iter().any(|&count| u32::try_from(count * settings.max_n).is_err()) {
            let reason = "max_n times the answers of a source must stay below 2^32".to_owned();
            return Err(Error::InvalidSettings { reason });
        }
        Ok(Self {
            table: table(index, &settings)?,
            alphabet: index.alphabet().clone(),
            discounts: (0..=settings.max_length + 1).map(|length| settings.discount(length)).collect(),
            worth: answer_counts.iter().map(|&count| worth(count, settings.threshold)).collect(),
            skipped: settings.skipped.iter().copied().collect(),
            answer_counts,
            settings,
        })
    }

    pub(super) fn source_count(&self) -> usize {
        self.answer_counts.len()
    }

    /// Characters of the response that a cut may include; what was read has one more at each end unless it was cut.
    pub(super) fn counted(&self, scratch: &Scratch) -> usize {
        (scratch.symbols.len() - 2).min(self.settings.max_length)
    }

    /// Fills `scratch` with the gains and windows of `^response$`, cut as the published scorer cuts it.
    pub(super) fn read(&self, response: &str, scratch: &mut Scratch) {
        let whole = std::iter::once('^').chain(response.chars()).chain(std::iter::once('$'));
        scratch.characters.clear();
        scratch.characters.extend(whole.take(self.settings.max_length + 2));
        scratch.symbols.clear();
        scratch.symbols.extend(scratch.characters.iter().map(|&character| self.alphabet.symbol(character)));
        self.mark_skipped(scratch);
        let counted = self.counted(scratch);
        let Scratch { symbols, narrow, seen, .. } = scratch;
        if i16::try_from(self.alphabet.len()).is_ok() {
            narrow.clear();
            narrow.extend(symbols[1..=counted].iter().map(|&symbol| symbol as i16));
            repeats::seen_before(narrow, self.settings.max_n, seen);
        } else {
            repeats::seen_before(&symbols[1..=counted], self.settings.max_n, seen);
        }
        // The added `^` is no part of Fluency's n-grams, nor is what follows the longest cut.
        self.walk(scratch, |at, length, seen| match seen.get(at.wrapping_sub(1)) {
            Some(&seen) if at <= counted => (seen as usize, length.min(at)),
            _ => (0, 0),
        });
    }

    /// Fills `scratch` with gains and windows of the marked response and returns the response's length.
    ///
    /// Past the zero length nothing counts but the length itself, so only the characters up to there, and those that their
    /// windows reach, are looked at.
    pub(super) fn read_marked(&self, response: &str, scratch: &mut Scratch) -> usize {
        let length = response.chars().count();
        let read = self.settings.zero_length + self.settings.truthfulness_n + self.settings.max_n;
        scratch.characters.clear();
        scratch.characters.push('^');
        scratch.characters.extend(response.chars().take(read));
        scratch.symbols.clear();
        scratch.symbols.push(BEGIN);
        let symbols = scratch.characters[1..].iter().map(|&character| self.alphabet.symbol(character));
        scratch.symbols.extend(symbols);
        if length <= read {
            scratch.symbols.push(END);
            scratch.characters.push('$');
        }
        self.mark_skipped(scratch);
        self.walk(scratch, |_, length, _| (0, length));
        length
    }

    /// Reads the symbols and collects windows and gains: `counted(at, length, seen)` says which n-grams that end at `at`,
    /// where the longest known one has `length` symbols, count: those longer than the first number up to the second.
    fn walk(&self, scratch: &mut Scratch, counted: impl Fn(usize, usize, &[i16]) -> (usize, usize)) {
        let sources = self.source_count();
        let Scratch { symbols, seen, gains, windows, .. } = scratch;
        gains.clear();
        gains.resize(symbols.len() * sources, 0);
        windows.clear();
        windows.resize(symbols.len() * sources, 0);
        let mut place = NgramTable::start();
        let rows = gains.chunks_exact_mut(sources).zip(windows.chunks_exact_mut(sources));
        for ((at, &symbol), (gain, window)) in symbols.iter().enumerate().zip(rows) {
            place = self.table.step(place, symbol);
            let (above, up_to) = counted(at, place.length, &seen.lengths);
            self.table.add_frequencies(place, above, up_to, gain);
            if let Some(frequencies) = self.table.window(place) {
                window.copy_from_slice(frequencies);
            }
        }
    }

    fn mark_skipped(&self, scratch: &mut Scratch) {
        scratch.skipped.clear();
        scratch.skipped.extend(scratch.characters.iter().map(|character| self.skipped.contains(character)));
    }
}

fn table(index: &NgramIndex, settings: &Settings) -> Result<NgramTable> {
    let lengths = Lengths { summed: settings.min_n..=settings.max_n, window: settings.truthfulness_n };
    let markers = match settings.variant {
        Variant::PfgenBench => Markers::None,
        Variant::Paper => Markers::BeginEnd,
    };
    if markers == index.markers() {
        NgramTable::derive(index, lengths)
    } else {
        NgramTable::derive(&index.with_markers(markers)?, lengths)
    }
}

/// What a character is worth, by the document frequency that it is covered by.
fn worth(answers: usize, threshold: f64) -> Vec<f64> {
    let scale = 1.0 / threshold;
    (0..=answers).map(|frequency| (frequency as f64 / answers as f64 * scale).min(1.0)).collect()
}
