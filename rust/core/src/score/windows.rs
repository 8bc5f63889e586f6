//! Document frequencies of all windows of a text: what pages shade characters by.

use super::lanes::LaneScorer;
use super::reader::Reader;
use crate::index::compact::CompactView;
use crate::index::states::ROOT;
use crate::index::tables::Match;

impl LaneScorer {
    /// Appends, for every window of `text`, its document frequency in each source.
    pub(super) fn windows(&self, text: &str, into: &mut Vec<u32>) {
        let (view, window) = (self.table().view(), self.window() as u32);
        let (mut state, mut length) = (ROOT, 0);
        for (read, character) in (1..).zip(text.chars()) {
            // Short matches suffice, and their states, few and much visited, stay in the cache.
            (state, length) = shortened(&view, state, length, window - 1);
            (state, length) = after(&view, state, length, view.symbol(character));
            if read >= window {
                view.frequencies(state, length, window, into);
            }
        }
    }
}

/// The match with no more than its last `most` characters.
#[inline]
fn shortened(view: &CompactView<'_>, mut state: u32, length: u32, most: u32) -> (u32, u32) {
    if length <= most {
        return (state, length);
    }
    while state != ROOT && view.record(state).above() >= most {
        state = view.record(state).parent();
    }
    (state, most)
}

/// The match after one more symbol.
#[inline]
fn after(view: &CompactView<'_>, mut state: u32, mut length: u32, symbol: u16) -> (u32, u32) {
    loop {
        let step = view.step(state, length, symbol, view.slot(state, symbol));
        (state, length) = (step.state, step.length);
        if step.taken {
            return (state, length);
        }
    }
}

impl Reader {
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
