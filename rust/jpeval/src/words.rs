//! Texts as sorted tokens.

use crate::code_points::{CodePoints, LATIN_1, Unready, flags};
use std::ops::Range;

const SPACE: u32 = 0x20;

/// Room for the tokens of a text.
#[derive(Debug, Default)]
pub(crate) struct Words {
    characters: Vec<u32>,
    tokens: Vec<Range<usize>>,
    sorted: Vec<u32>,
}

impl Words {
    /// The tokens of a text in lower case, sorted by code points and joined by spaces. `nfkc`: of the text in NFKC.
    pub(crate) fn sorted(&mut self, points: &CodePoints, mut text: &[u32], nfkc: bool) -> Result<&[u32], Unready> {
        self.characters.clear();
        self.tokens.clear();
        loop {
            let run = text.iter().position(|&c| !points.is_plain(c)).unwrap_or(text.len());
            self.characters.extend_from_slice(&text[..run]);
            let Some((&c, rest)) = text[run..].split_first() else { break };
            text = rest;
            let flags = points.flags(c)?;
            if nfkc && flags & flags::NFKC_IN_CONTEXT != 0 {
                return Err(Unready::InContext);
            }
            if nfkc && flags & flags::NFKC != 0 {
                for &normal in points.nfkc_of(c)? {
                    self.push(points, normal, points.flags(normal)?)?;
                }
            } else {
                self.push(points, c, flags)?;
            }
        }
        self.end_token();
        Ok(self.joined())
    }

    fn push(&mut self, points: &CodePoints, c: u32, flags: u8) -> Result<(), Unready> {
        if LATIN_1.contains(&c) {
            return Ok(());
        }
        if flags & flags::WORD == 0 {
            self.end_token();
        } else if flags & flags::LOWER_IN_CONTEXT != 0 {
            return Err(Unready::InContext);
        } else if flags & flags::LOWER != 0 {
            self.characters.extend_from_slice(points.lower_of(c)?);
        } else {
            self.characters.push(c);
        }
        Ok(())
    }

    fn end_token(&mut self) {
        let start = self.tokens.last().map_or(0, |last| last.end);
        if self.characters.len() > start {
            self.tokens.push(start..self.characters.len());
        }
    }

    fn joined(&mut self) -> &[u32] {
        let Self { characters, tokens, sorted } = self;
        if tokens.len() < 2 {
            return characters;
        }
        tokens.sort_unstable_by(|one, other| characters[one.clone()].cmp(&characters[other.clone()]));
        sorted.clear();
        for token in tokens {
            if !sorted.is_empty() {
                sorted.push(SPACE);
            }
            sorted.extend_from_slice(&characters[token.clone()]);
        }
        sorted
    }
}
