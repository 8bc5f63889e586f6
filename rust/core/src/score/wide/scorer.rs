//! The scorer over the wide table.

use super::paper;
use super::scratch::Scratch;
use crate::blob::Blob;
use crate::error::Result;
use crate::index::corpus::Corpus;
use crate::index::tables::{Lengths, Match, NgramTable, NgramView};
use crate::score::repeats;
use crate::score::scale::{Cut, Scale};
use crate::score::settings::{Settings, Variant};
use crate::score::{fluency, truthfulness};
use crate::text::{Alphabet, BEGIN, END};
use rustc_hash::FxHashSet;

/// One question's wide table with everything else that reading a response needs; read-only.
#[derive(Debug)]
pub(crate) struct WideScorer {
    pub(crate) settings: Settings,
    pub(crate) scale: Scale,
    alphabet: Alphabet,
    table: NgramTable,
    skipped: FxHashSet<char>,
}

impl WideScorer {
    pub(crate) fn new(corpus: &Corpus, settings: Settings, scale: Scale) -> Result<Self> {
        let table = NgramTable::new(corpus, lengths(&settings))?;
        Ok(Self::over(table, corpus.alphabet.clone(), settings, scale))
    }

    /// The scorer whose table was stored.
    pub(crate) fn stored(table: Blob, alphabet: Alphabet, settings: Settings, scale: Scale) -> Result<Self> {
        let table = NgramTable::stored(table, &scale.answer_counts, alphabet.len(), lengths(&settings))?;
        Ok(Self::over(table, alphabet, settings, scale))
    }

    fn over(table: NgramTable, alphabet: Alphabet, settings: Settings, scale: Scale) -> Self {
        Self { skipped: settings.skipped.iter().copied().collect(), settings, scale, alphabet, table }
    }

    pub(crate) fn table(&self) -> &Blob {
        self.table.blob()
    }

    pub(crate) fn table_view(&self) -> NgramView<'_> {
        self.table.view()
    }

    pub(crate) fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    pub(crate) fn source_count(&self) -> usize {
        self.scale.sources()
    }

    /// Reads a response into `scratch` and returns its length.
    pub(crate) fn load(&self, response: &str, scratch: &mut Scratch) -> usize {
        match self.settings.variant {
            Variant::PfgenBench => self.read(response, scratch),
            Variant::Paper => self.read_marked(response, scratch),
        }
        response.chars().count()
    }

    /// Fluency of the response in `scratch`, of `length` characters, against one source.
    pub(crate) fn fluency(&self, scratch: &Scratch, source: usize, length: usize, baseline: f64) -> Cut {
        match self.settings.variant {
            Variant::PfgenBench => {
                // The first symbol is the added `^`.
                let gains = scratch.gains.iter().skip(source).step_by(self.source_count());
                let gains = gains.skip(1).take(self.counted(scratch)).copied();
                fluency::best_cut(gains, &self.scale.discounts, baseline)
            }
            Variant::Paper => {
                (paper::fluency(&self.settings, &self.scale, scratch, source, length) / baseline, length as u32)
            }
        }
    }

    /// Truthfulness likewise.
    pub(crate) fn truthfulness(&self, scratch: &Scratch, source: usize, length: usize) -> Cut {
        let Variant::PfgenBench = self.settings.variant else {
            return paper::truthfulness(&self.settings, &self.scale, scratch, source, length);
        };
        let worth = scratch.skipped.iter().enumerate().map(|(at, skipped)| {
            (!skipped).then(|| self.scale.worth[source][self.coverage(scratch, source, at) as usize])
        });
        truthfulness::best_cut(worth, &self.scale.discounts, self.settings.target_length, false)
    }

    /// What character `at` of the text is covered by: the largest document frequency of the windows over it.
    pub(crate) fn coverage(&self, scratch: &Scratch, source: usize, at: usize) -> u32 {
        let last = (at + self.settings.truthfulness_n).min(scratch.symbols.len());
        (at..last).map(|end| scratch.windows[end * self.source_count() + source]).max().unwrap_or(0)
    }

    /// Characters of the response that a cut may include; what was read has one more at each end unless it was cut.
    pub(crate) fn counted(&self, scratch: &Scratch) -> usize {
        (scratch.symbols.len() - 2).min(self.settings.max_length)
    }

    /// Fills `scratch` with the gains and windows of `^response$`, cut as the published scorer cuts it.
    pub(crate) fn read(&self, response: &str, scratch: &mut Scratch) {
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
        // Neither the added `^` nor what follows the longest cut is part of Fluency's n-grams.
        self.walk(scratch, |at, length, seen| match seen.get(at.wrapping_sub(1)) {
            Some(&seen) if at <= counted => (seen as usize, length.min(at)),
            _ => (0, 0),
        });
    }

    /// Fills `scratch` with gains and windows of the marked response.
    ///
    /// Past the zero length nothing counts but the length itself, so only the characters up to there, and those that their
    /// windows reach, are looked at.
    fn read_marked(&self, response: &str, scratch: &mut Scratch) {
        let read = self.settings.zero_length + self.settings.truthfulness_n + self.settings.max_n;
        scratch.characters.clear();
        scratch.characters.push('^');
        scratch.characters.extend(response.chars().take(read));
        scratch.symbols.clear();
        scratch.symbols.push(BEGIN);
        let symbols = scratch.characters[1..].iter().map(|&character| self.alphabet.symbol(character));
        scratch.symbols.extend(symbols);
        if response.chars().nth(read).is_none() {
            scratch.symbols.push(END);
            scratch.characters.push('$');
        }
        self.mark_skipped(scratch);
        self.walk(scratch, |_, length, _| (0, length));
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
        let table = self.table.view();
        let mut place = Match::START;
        let rows = gains.chunks_exact_mut(sources).zip(windows.chunks_exact_mut(sources));
        for ((at, &symbol), (gain, window)) in symbols.iter().enumerate().zip(rows) {
            place = table.step(place, symbol);
            let (above, up_to) = counted(at, place.length, &seen.lengths);
            table.add_frequencies(place, above, up_to, gain);
            if let Some(frequencies) = table.window(place) {
                window.copy_from_slice(frequencies);
            }
        }
    }

    fn mark_skipped(&self, scratch: &mut Scratch) {
        scratch.skipped.clear();
        scratch.skipped.extend(scratch.characters.iter().map(|character| self.skipped.contains(character)));
    }
}

fn lengths(settings: &Settings) -> Lengths {
    Lengths { summed: settings.min_n..=settings.max_n, window: settings.truthfulness_n }
}
