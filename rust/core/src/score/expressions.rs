//! Regular expressions of Helpfulness rules, matched in time linear in the text.

use crate::text::prefix;
use regex::{Regex, RegexBuilder};

/// Size of a compiled expression in bytes: it bounds the time for a character.
const SIZE_LIMIT: usize = 2 << 20;

/// An expression in the syntax of the crate `regex`.
///
/// A group that captures stands for "the end, if not already reached, is here": a match through it ends where it begins.
/// So `a$` of other engines, which matches before a last newline, too, is `a(?:\z|(\n\z))`.
#[derive(Debug, Clone)]
pub struct Expression {
    regex: Regex,
}

impl Expression {
    /// Compiles `pattern`; `None` if it is invalid, or larger than 2 MiB when compiled.
    pub fn new(pattern: &str) -> Option<Self> {
        let regex = RegexBuilder::new(pattern).size_limit(SIZE_LIMIT).build().ok()?;
        Some(Self { regex })
    }

    /// End (in code points) of the first match within the first `limit` characters of `text`.
    pub fn end(&self, text: &str, limit: usize) -> Option<u32> {
        let text = prefix(text, limit);
        self.byte_end(text).map(|end| text[..end].chars().count() as u32)
    }

    fn byte_end(&self, text: &str) -> Option<usize> {
        if self.regex.captures_len() == 1 {
            return Some(self.regex.find(text)?.end());
        }
        let found = self.regex.captures(text)?;
        let stop = found.iter().skip(1).flatten().next();
        Some(stop.map_or(found.get_match().end(), |group| group.start()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(pattern: &str, text: &str) -> Option<u32> {
        Expression::new(pattern).unwrap().end(text, 10)
    }

    #[test]
    fn counts_code_points_to_the_end_of_the_first_match() {
        assert_eq!(end("い+", "ああいいうい"), Some(4));
        assert_eq!(end("い+?", "ああいいうい"), Some(3));
        assert_eq!(end("え", "ああいいうい"), None);
        assert_eq!(end("", "ああ"), Some(0));
    }

    #[test]
    fn reads_the_limit_and_no_further() {
        assert_eq!(end("い", "ああああああああああい"), None);
        assert_eq!(end(r"あ+\z", "ああああああああああい"), Some(10));
    }

    #[test]
    fn ends_where_a_group_that_took_part_begins() {
        let pattern = r"a+(?:\z|(\n\z))|b(?:\z|(\n\z))";
        assert_eq!(
            ["xaa", "xaa\n", "b\n", "xaa\n\n"].map(|text| end(pattern, text)),
            [Some(3), Some(3), Some(1), None]
        );
    }

    #[test]
    fn what_is_invalid_or_too_large_is_none() {
        assert!(Expression::new("(").is_none());
        assert!(Expression::new(r"(?:a{1000}){1000}").is_none());
    }

    #[test]
    fn nested_repetitions_take_linear_time() {
        let text = "a".repeat(100_000) + "b";
        assert_eq!(Expression::new(r"(?:a+)+(?:\z|(\n\z))").unwrap().end(&text, usize::MAX), None);
    }
}
