//! Texts as sorted tokens.

use crate::code_points::{CodePoints, Unready, flags};

const SPACE: u32 = 0x20;
const LATIN_1: std::ops::RangeInclusive<char> = '\u{80}'..='\u{ff}';
const UNUSUAL: u8 = flags::LOWER | flags::LOWER_IN_CONTEXT;

/// Room for the tokens of a text.
#[derive(Debug, Default)]
pub(crate) struct Words {
    characters: Vec<u32>,
    ends: Vec<usize>,
    sorted: Vec<u32>,
}

impl Words {
    /// The tokens of a text in lower case, sorted by code points and joined by spaces. `nfkc`: of the text in NFKC.
    pub(crate) fn sorted(&mut self, points: &CodePoints, text: &str, nfkc: bool) -> Result<&[u32], Unready> {
        self.characters.clear();
        self.ends.clear();
        let unusual = if nfkc { UNUSUAL | flags::NFKC | flags::NFKC_IN_CONTEXT } else { UNUSUAL };
        for c in text.chars() {
            let flags = points.flags(c)?;
            if flags & unusual == 0 && !LATIN_1.contains(&c) {
                if flags & flags::WORD == 0 {
                    self.end_token();
                } else {
                    self.characters.push(u32::from(c));
                }
            } else if nfkc && flags & (flags::NFKC | flags::NFKC_IN_CONTEXT) != 0 {
                if flags & flags::NFKC_IN_CONTEXT != 0 {
                    return Err(Unready::InContext);
                }
                for normal in points.nfkc_of(c)?.chars() {
                    self.push(points, normal, points.flags(normal)?)?;
                }
            } else {
                self.push(points, c, flags)?;
            }
        }
        self.end_token();
        Ok(self.joined())
    }

    #[cold]
    fn push(&mut self, points: &CodePoints, c: char, flags: u8) -> Result<(), Unready> {
        if LATIN_1.contains(&c) {
            return Ok(());
        }
        if flags & flags::WORD == 0 {
            self.end_token();
        } else if flags & (flags::LOWER | flags::LOWER_IN_CONTEXT) == 0 {
            self.characters.push(u32::from(c));
        } else if flags & flags::LOWER_IN_CONTEXT != 0 {
            return Err(Unready::InContext);
        } else {
            self.characters.extend(points.lower_of(c)?.chars().map(u32::from));
        }
        Ok(())
    }

    fn end_token(&mut self) {
        if self.characters.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.characters.len());
        }
    }

    fn joined(&mut self) -> &[u32] {
        if self.ends.len() < 2 {
            return &self.characters;
        }
        let starts = std::iter::once(&0).chain(&self.ends);
        let mut tokens: Vec<_> = starts.zip(&self.ends).map(|(&start, &end)| &self.characters[start..end]).collect();
        tokens.sort_unstable();
        self.sorted.clear();
        for token in tokens {
            if !self.sorted.is_empty() {
                self.sorted.push(SPACE);
            }
            self.sorted.extend_from_slice(token);
        }
        &self.sorted
    }
}
