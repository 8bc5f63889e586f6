//! The settings in the form in which the passes use them.

use crate::index::compact::{CompactTable, LEVELS_BITS, MOST_SOURCES, Match, Packing};
use crate::score::scale::Scale;
use crate::score::settings::Settings;

/// Indices that are read at once: the arrays of a block reach as far behind the last.
pub(super) const CHUNK: usize = 32;

/// Combinations of the levels of all sources.
const LEVELS: usize = 1 << LEVELS_BITS;

/// A value for each source, and one to fill the vector.
pub(super) type PerSource = [f64; MOST_SOURCES + 1];

/// What the passes ask for at every character.
#[derive(Debug)]
pub(super) struct Plan {
    /// Longest n-gram; a match does not grow beyond it.
    pub(super) longest: u32,
    pub(super) window: usize,
    pub(super) target: usize,
    pub(super) zero: usize,
    pub(super) max_length: usize,
    /// Characters that are read, with the added `$`: what lies behind reaches no score.
    pub(super) positions: usize,
    /// Room for the same in `^response$`, and for the windows that go on after them.
    pub(super) indices: usize,
    /// Symbol of the added `$`.
    pub(super) end_symbol: u16,
    /// The match after the added `^`.
    pub(super) begin: Match,
    /// Level of the window that ends with it.
    pub(super) begin_level: u16,
    /// Whether it counts for Truthfulness.
    pub(super) keeps_begin: u16,
    /// `d(k)` for every cut.
    pub(super) discounts: Vec<f64>,
    /// Those of cuts beyond the target length, then zeros.
    pub(super) discounts_beyond: Vec<[f64; CHUNK]>,
    /// What a character is worth to Truthfulness, by the levels of what covers it in each source.
    pub(super) worth: Box<[PerSource; LEVELS]>,
}

impl Plan {
    pub(super) fn new(table: &CompactTable, settings: &Settings, scale: &Scale) -> Self {
        let view = table.view();
        let begin_symbol = view.symbol('^');
        let begin = view.begin(begin_symbol);
        let ends_window = begin.length as usize >= settings.truthfulness_n;
        Self {
            longest: settings.max_n as u32,
            window: settings.truthfulness_n,
            target: settings.target_length,
            zero: settings.zero_length,
            max_length: settings.max_length,
            positions: positions(settings),
            indices: (positions(settings) + 1 + settings.truthfulness_n).next_multiple_of(CHUNK),
            end_symbol: view.symbol('$'),
            begin,
            begin_level: if ends_window { view.record(begin.state).levels() } else { 0 },
            keeps_begin: u16::from(!table.skips(begin_symbol)),
            discounts: scale.discounts.clone(),
            discounts_beyond: in_chunks(&scale.discounts[settings.target_length + 1..]),
            worth: worth_by_levels(&scale.worth, view.packing),
        }
    }
}

/// Characters, with the added `$`, that can reach a score: those before the zero length, and what their windows cover.
pub(crate) fn positions(settings: &Settings) -> usize {
    (settings.zero_length + settings.truthfulness_n).saturating_sub(2).clamp(1, settings.max_length + 1)
}

fn in_chunks(values: &[f64]) -> Vec<[f64; CHUNK]> {
    let chunk = |values: &[f64]| std::array::from_fn(|at| values.get(at).copied().unwrap_or(0.0));
    values.chunks(CHUNK).map(chunk).collect()
}

/// What the levels of all sources together, as a state's record has them, are worth.
fn worth_by_levels(worth: &[Vec<f64>], packing: Packing) -> Box<[PerSource; LEVELS]> {
    let of = |levels, source: usize| {
        worth.get(source).map_or(0.0, |worth| worth[packing.level(levels, source).min(worth.len() - 1)])
    };
    Box::new(std::array::from_fn(|levels| std::array::from_fn(|source| of(levels, source))))
}
