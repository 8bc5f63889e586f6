//! Where a response's scores come from, character by character.

use super::scorer::WideScorer;
use super::scratch::Scratch;

/// Per character of the response (as far as it is read) and source: rows of `sources` values, one row a character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Document frequency of the window that starts at the character (0 where it is unknown or leaves the text).
    pub windows: Vec<u32>,
    /// Largest document frequency of the windows that cover the character: what Truthfulness looks at.
    pub coverage: Vec<u32>,
    /// What the character adds to Fluency's raw sum when the cut includes it.
    pub gains: Vec<u64>,
    /// Whether Truthfulness skips the character (one value a character).
    pub skipped: Vec<bool>,
}

impl WideScorer {
    /// Explains the published variant's Fluency and Truthfulness of `response`, in the time of scoring it.
    pub(crate) fn explain(&self, response: &str) -> Explanation {
        let mut scratch = Scratch::default();
        self.read(response, &mut scratch);
        let sources = self.source_count();
        let read = response.chars().take(self.settings.max_length).count();
        let characters = 1..=read;
        let row = sources..(read + 1) * sources;
        Explanation {
            windows: self.windows_by_start(&scratch, read),
            coverage: characters
                .clone()
                .flat_map(|at| (0..sources).map(move |source| (at, source)))
                .map(|(at, source)| self.coverage(&scratch, source, at))
                .collect(),
            gains: scratch.gains[row].to_vec(),
            skipped: scratch.skipped[characters].to_vec(),
        }
    }

    fn windows_by_start(&self, scratch: &Scratch, read: usize) -> Vec<u32> {
        let sources = self.source_count();
        let shift = self.settings.truthfulness_n * sources;
        let mut windows = scratch.windows.get(shift..).unwrap_or_default().to_vec();
        windows.resize(read * sources, 0);
        windows
    }
}
