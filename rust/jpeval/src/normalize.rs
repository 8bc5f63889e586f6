//! Predictions in raw outputs, and NFKC.

use crate::code_points::{CodePoints, Unready, flags};
use memchr::memchr_iter;
use std::borrow::Cow;

impl CodePoints {
    /// The prediction in a raw output: what precedes the first empty line, stripped if asked for, in NFKC.
    ///
    /// # Errors
    ///
    /// If a page is missing, or what NFKC gives depends on neighbours.
    pub fn prediction<'t>(&self, output: &'t str, strip: bool) -> Result<Cow<'t, str>, Unready> {
        self.nfkc(self.first_part(output, strip)?)
    }

    /// The prediction in a raw output, not yet normalised.
    pub(crate) fn first_part<'t>(&self, output: &'t str, strip: bool) -> Result<&'t str, Unready> {
        let first = before_empty_line(output);
        if strip { self.strip(first) } else { Ok(first) }
    }

    /// A text in NFKC.
    ///
    /// # Errors
    ///
    /// If a page is missing, or the result depends on neighbours.
    pub fn nfkc<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Unready> {
        let changed = text.chars().try_fold(0, |all, c| self.flags(c).map(|flags| all | flags))?;
        if changed & flags::NFKC_IN_CONTEXT != 0 {
            return Err(Unready::InContext);
        }
        if changed & flags::NFKC == 0 {
            return Ok(Cow::Borrowed(text));
        }
        let mut normal = String::with_capacity(text.len());
        for c in text.chars() {
            if self.flags(c)? & flags::NFKC == 0 {
                normal.push(c);
            } else {
                normal.push_str(self.nfkc_of(c)?);
            }
        }
        Ok(Cow::Owned(normal))
    }

    /// A text without the spaces at its ends, as by Python's `str.strip`.
    pub(crate) fn strip<'t>(&self, mut text: &'t str) -> Result<&'t str, Unready> {
        while let Some(c) = text.chars().next() {
            if self.flags(c)? & flags::SPACE == 0 {
                break;
            }
            text = &text[c.len_utf8()..];
        }
        while let Some(c) = text.chars().next_back() {
            if self.flags(c)? & flags::SPACE == 0 {
                break;
            }
            text = &text[..text.len() - c.len_utf8()];
        }
        Ok(text)
    }
}

fn before_empty_line(output: &str) -> &str {
    let bytes = output.as_bytes();
    let end = memchr_iter(b'\n', bytes).find(|&at| bytes.get(at + 1) == Some(&b'\n'));
    &output[..end.unwrap_or(output.len())]
}

#[cfg(test)]
mod tests {
    use super::before_empty_line;

    #[test]
    fn outputs_end_at_the_first_empty_line() {
        for (output, first) in [
            ("", ""),
            ("\n", "\n"),
            ("\n\n", ""),
            ("a\n\nb\n\n", "a"),
            ("a\r\n\r\nb", "a\r\n\r\nb"),
            ("a\n \nb\n", "a\n \nb\n"),
            ("a\n\n\n", "a"),
        ] {
            assert_eq!(before_empty_line(output), first);
        }
    }
}
