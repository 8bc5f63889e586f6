//! Characters as symbols of the table.

use crate::index::corpus::Corpus;

pub(super) const MOST_SYMBOLS: usize = 4094;
/// A character that no answer contains.
pub(super) const UNKNOWN: u16 = 0;
/// The same, where Truthfulness skips it.
pub(super) const UNKNOWN_SKIPPED: u16 = 1;
pub(super) const FIRST_KNOWN: u16 = 2;

pub(super) const PAGE_BITS: u32 = 8;
pub(super) const PAGE: usize = 1 << PAGE_BITS;

/// Characters as symbols of the compact table: unknown ones, skipped ones, the others.
pub(super) struct Symbols {
    /// The symbol of each dense symbol of the corpus.
    pub(super) of_dense: Vec<u16>,
    pub(super) skipped_end: u16,
    pub(super) page_of: Vec<u16>,
    pub(super) pages: Vec<u16>,
}

impl Symbols {
    pub(super) fn new(corpus: &Corpus, skipped: &[char]) -> Self {
        let known = || corpus.alphabet.characters().iter().copied().zip(crate::text::FIRST_CHARACTER as usize..);
        let mut symbols = Self {
            of_dense: vec![UNKNOWN; corpus.alphabet.len()],
            skipped_end: FIRST_KNOWN,
            page_of: vec![0; (char::MAX as usize >> PAGE_BITS) + 1],
            pages: vec![UNKNOWN; PAGE],
        };
        for &character in skipped {
            symbols.set(character, UNKNOWN_SKIPPED);
        }
        let mut next = FIRST_KNOWN;
        for wanted in [true, false] {
            for (character, dense) in known().filter(|(character, _)| skipped.contains(character) == wanted) {
                symbols.set(character, next);
                symbols.of_dense[dense] = next;
                next += 1;
            }
            if wanted {
                symbols.skipped_end = next;
            }
        }
        symbols
    }

    fn set(&mut self, character: char, symbol: u16) {
        let code = character as usize;
        let page = &mut self.page_of[code >> PAGE_BITS];
        if *page == 0 {
            *page = (self.pages.len() / PAGE) as u16;
            self.pages.resize(self.pages.len() + PAGE, UNKNOWN);
        }
        self.pages[*page as usize * PAGE + code % PAGE] = symbol;
    }
}
