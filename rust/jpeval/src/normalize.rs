//! Predictions in raw outputs, and NFKC.

use crate::code_points::{CodePoints, Unready, flags};
use std::borrow::Cow;
use std::ops::Range;

impl CodePoints {
    /// The part of a text that counts: `cut` before the first empty line, stripped where that is asked for.
    ///
    /// # Errors
    ///
    /// If a page is missing.
    pub fn part(&self, text: &[u32], cut: bool, strip: bool) -> Result<Range<usize>, Unready> {
        let text = if cut { before_empty_line(text) } else { text };
        if !strip {
            return Ok(0..text.len());
        }
        let start = text.len() - self.strip_start(text)?.len();
        let stripped = self.strip_end(&text[start..])?;
        Ok(start..start + stripped.len())
    }

    /// A text in NFKC.
    ///
    /// # Errors
    ///
    /// If a page is missing, or the result depends on neighbours.
    pub fn nfkc<'t>(&self, text: &'t [u32]) -> Result<Cow<'t, [u32]>, Unready> {
        let changed = self.flags_of_all(text)?;
        if changed & flags::NFKC_IN_CONTEXT != 0 {
            return Err(Unready::InContext);
        }
        if changed & flags::NFKC == 0 {
            return Ok(Cow::Borrowed(text));
        }
        let mut normal = Vec::with_capacity(text.len());
        for &c in text {
            if self.flags(c)? & flags::NFKC == 0 {
                normal.push(c);
            } else {
                normal.extend_from_slice(self.nfkc_of(c)?);
            }
        }
        Ok(Cow::Owned(normal))
    }

    /// A text without the spaces at its ends, as by Python's `str.strip`.
    pub(crate) fn strip<'t>(&self, text: &'t [u32]) -> Result<&'t [u32], Unready> {
        self.strip_end(self.strip_start(text)?)
    }

    fn strip_start<'t>(&self, mut text: &'t [u32]) -> Result<&'t [u32], Unready> {
        while let [c, rest @ ..] = text
            && self.flags(*c)? & flags::SPACE != 0
        {
            text = rest;
        }
        Ok(text)
    }

    fn strip_end<'t>(&self, mut text: &'t [u32]) -> Result<&'t [u32], Unready> {
        while let [rest @ .., c] = text
            && self.flags(*c)? & flags::SPACE != 0
        {
            text = rest;
        }
        Ok(text)
    }
}

fn before_empty_line(output: &[u32]) -> &[u32] {
    const NEWLINE: u32 = b'\n' as u32;
    let mut end = 0;
    while let Some(line) = output[end..].iter().position(|&c| c == NEWLINE) {
        end += line;
        if output.get(end + 1) == Some(&NEWLINE) {
            return &output[..end];
        }
        end += 1;
    }
    output
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
            let points: Vec<u32> = output.chars().map(u32::from).collect();
            assert_eq!(before_empty_line(&points).len(), first.len());
        }
    }
}
