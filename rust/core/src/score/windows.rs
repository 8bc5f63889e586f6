//! Document frequencies of all windows of a text: what pages shade characters by.

use super::compact::scorer::CompactScorer;
use super::wide::scorer::WideScorer;
use crate::index::compact::CompactView;
use crate::index::tables::Match;

impl CompactScorer {
    /// Appends, for every window of `text`, its document frequency in each source.
    ///
    /// Each window is read by itself: unlike the steps of one walk over the text, windows do not wait for each other.
    pub(super) fn windows(&self, text: &str, into: &mut Vec<u32>) {
        let view = self.table().view();
        let symbols: Vec<u16> = text.chars().map(|character| view.symbol(character)).collect();
        into.reserve(symbols.len() * view.packing.sources());
        for window in symbols.windows(self.window()) {
            view.frequencies(state_of(&view, window), into);
        }
    }
}

/// The state of an n-gram, unless no answer contains it.
#[inline]
fn state_of(view: &CompactView<'_>, ngram: &[u16]) -> Option<u32> {
    let found = ngram.iter().try_fold(view.root(), |found, &symbol| {
        let (found, taken) = view.step(found, view.record(found.state), symbol);
        taken.then_some(found)
    });
    found.map(|found| found.state)
}

impl WideScorer {
    /// Likewise.
    pub(super) fn windows(&self, text: &str, into: &mut Vec<u32>) {
        let (table, sources) = (self.table_view(), self.source_count());
        let mut place = Match::START;
        for (read, character) in (1..).zip(text.chars()) {
            place = table.step(place, self.alphabet().symbol(character));
            if read < self.settings.truthfulness_n {
                continue;
            }
            match table.window(place) {
                Some(frequencies) => into.extend_from_slice(frequencies),
                None => into.extend((0..sources).map(|_| 0)),
            }
        }
    }
}
