//! Positions of literal keywords in responses: what Helpfulness rules ask for.

use crate::text::count_characters;
use memchr::memmem::Finder;

/// The position given to a keyword that a response does not contain.
pub const NOT_FOUND: u32 = 9999;

/// Bytes of the longest characters.
const MOST_BYTES: usize = 4;

/// A list of literal keywords, prepared for searching many responses.
#[derive(Debug)]
pub struct Literals {
    finders: Vec<Finder<'static>>,
}

impl Literals {
    /// Prepares `literals`; an empty one is found at the very start.
    pub fn new<'a>(literals: impl Iterator<Item = &'a str>) -> Self {
        Self { finders: literals.map(|literal| Finder::new(literal).into_owned()).collect() }
    }

    /// Number of keywords.
    pub fn len(&self) -> usize {
        self.finders.len()
    }

    /// Whether there are no keywords.
    pub fn is_empty(&self) -> bool {
        self.finders.is_empty()
    }

    /// For each keyword the end (in code points) of its first occurrence within the first `limit` characters of
    /// `response`, or [`NOT_FOUND`]. `O(keywords × length)`.
    ///
    /// # Panics
    /// If `ends` is shorter than the number of keywords.
    pub fn ends_into(&self, response: &str, limit: usize, ends: &mut [u32]) {
        // So many characters are not longer; to find where exactly they end would take as long as a search.
        let most = response.len().min(limit.saturating_mul(MOST_BYTES));
        let text = (0..=most).rev().find_map(|end| response.get(..end)).unwrap_or_default();
        let within = |end: &u32| *end as usize <= limit;
        for (found, end) in self.byte_ends(text).zip(ends) {
            let found = found.map(|found| count_characters(&text[..found]) as u32);
            *end = found.filter(within).unwrap_or(NOT_FOUND);
        }
    }

    /// For each keyword the byte at which its first occurrence in `text` ends.
    pub(crate) fn byte_ends<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Option<usize>> {
        self.finders.iter().map(|finder| Some(finder.find(text.as_bytes())? + finder.needle().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(literals: &[&str], response: &str, limit: usize) -> Vec<u32> {
        let literals = Literals::new(literals.iter().copied());
        let mut ends = vec![0; literals.len()];
        literals.ends_into(response, limit, &mut ends);
        ends
    }

    #[test]
    fn ends_are_code_points_of_the_first_occurrence() {
        assert_eq!(ends(&["野", "家𠮷", "無"], "𠮷野家𠮷野", 200), [2, 4, NOT_FOUND]);
    }

    #[test]
    fn a_keyword_must_end_within_the_limit() {
        assert_eq!(ends(&["かき", "き"], "あいうかき", 4), [NOT_FOUND, NOT_FOUND]);
        assert_eq!(ends(&["かき"], "あいうかき", 5), [5]);
    }

    #[test]
    fn the_empty_keyword_is_found_at_once() {
        assert_eq!(ends(&[""], "", 200), [0]);
    }
}
