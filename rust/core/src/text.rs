//! Code points as dense symbols: small integers in code-point order, so that tables stay small and suffixes
//! sort as the text does.

/// One element of an indexed text.
pub type Symbol = i32;

/// Ends every answer; no pattern contains it.
pub const SEPARATOR: Symbol = 0;
/// Stands before an answer's first character if there are markers.
pub const BEGIN: Symbol = 1;
/// Stands after an answer's last character if there are markers.
pub const END: Symbol = 2;
/// A character that no reference answer contains; equal to no symbol of an index.
pub const UNKNOWN: Symbol = -1;

pub(crate) const FIRST_CHARACTER: Symbol = 3;
const PAGE_BITS: u32 = 8;
const PAGE: usize = 1 << PAGE_BITS;

/// Bytes that are counted side by side; their number fits in a byte.
const BLOCK: usize = 64;

/// The characters of a text. The same as `text.chars().count()`, in a form that becomes the instructions of the caller.
#[inline(always)]
pub(crate) fn count_characters(text: &str) -> usize {
    // Every character has one byte that continues none.
    let begins = |&byte: &u8| u8::from(byte & 0b1100_0000 != 0b1000_0000);
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    let of_block = |block: &[u8; BLOCK]| usize::from(block.iter().map(begins).sum::<u8>());
    blocks.iter().map(of_block).sum::<usize>() + rest.iter().map(|byte| usize::from(begins(byte))).sum::<usize>()
}

/// The characters of a set of answers and their symbols.
///
/// A lookup is two array reads: code points share pages of 256 symbols, and pages without a known character are one.
#[derive(Debug, Clone)]
pub struct Alphabet {
    characters: Vec<char>,
    page_of: Vec<u16>,
    pages: Vec<Symbol>,
}

impl Alphabet {
    /// The alphabet of `texts`, in time linear in their length, and a pass over all characters that there are.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        // A bit for each character that there is.
        let mut occurs = vec![0u64; (char::MAX as usize >> 6) + 1];
        for code in texts.flat_map(str::chars).map(|character| character as usize) {
            occurs[code >> 6] |= 1 << (code & 63);
        }
        let some = (0..).zip(&occurs).filter(|(_, bits)| **bits != 0);
        let codes = some
            .flat_map(|(word, &bits)| (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word << 6 | bit));
        Self::from_characters(codes.filter_map(char::from_u32).collect())
    }

    /// The alphabet of these characters, each given once, in any order.
    pub fn from_characters(mut characters: Vec<char>) -> Self {
        characters.sort_unstable();
        let mut page_of = vec![0; (char::MAX as usize >> PAGE_BITS) + 1];
        let mut pages = vec![UNKNOWN; PAGE];
        for (rank, &character) in characters.iter().enumerate() {
            let code = character as usize;
            let page = &mut page_of[code >> PAGE_BITS];
            if *page == 0 {
                *page = (pages.len() / PAGE) as u16;
                pages.resize(pages.len() + PAGE, UNKNOWN);
            }
            pages[*page as usize * PAGE + code % PAGE] = FIRST_CHARACTER + rank as Symbol;
        }
        Self { characters, page_of, pages }
    }

    /// The alphabet whose [`characters`](Self::characters) these are; `None` if they are not in order, each once.
    pub(crate) fn stored(characters: Vec<char>) -> Option<Self> {
        characters.is_sorted_by(|a, b| a < b).then(|| Self::from_characters(characters))
    }

    /// The symbol of `character`, or [`UNKNOWN`].
    pub fn symbol(&self, character: char) -> Symbol {
        let code = character as usize;
        let page = self.page_of[code >> PAGE_BITS] as usize;
        self.pages[page * PAGE + code % PAGE]
    }

    /// The character of `symbol`; `None` for separators, markers and [`UNKNOWN`].
    pub fn character(&self, symbol: Symbol) -> Option<char> {
        let rank = usize::try_from(symbol - FIRST_CHARACTER).ok()?;
        self.characters.get(rank).copied()
    }

    /// The symbols of `text`, or `None` where it contains an unknown character (so it occurs nowhere).
    pub fn pattern(&self, text: &str) -> Option<Vec<Symbol>> {
        text.chars().map(|character| Some(self.symbol(character)).filter(|&symbol| symbol != UNKNOWN)).collect()
    }

    /// All characters in code-point order.
    pub fn characters(&self) -> &[char] {
        &self.characters
    }

    /// One more than the largest symbol.
    pub fn len(&self) -> usize {
        FIRST_CHARACTER as usize + self.characters.len()
    }

    /// Whether no character is known.
    pub fn is_empty(&self) -> bool {
        self.characters.is_empty()
    }
}

/// The first `limit` code points of `text`.
pub fn prefix(text: &str, limit: usize) -> &str {
    let Some(last) = limit.checked_sub(1) else { return "" };
    // Characters are skipped many at once.
    let mut rest = text.chars();
    rest.nth(last);
    &text[..text.len() - rest.as_str().len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn symbols_follow_code_point_order() {
        let alphabet = Alphabet::of(["𠮷野家", "\0あ^"].into_iter());
        let mut characters: Vec<char> = "𠮷野家\0あ^".chars().collect();
        characters.sort_unstable();
        for (rank, character) in characters.into_iter().enumerate() {
            let symbol = alphabet.symbol(character);
            assert_eq!(symbol, FIRST_CHARACTER + rank as Symbol);
            assert_eq!(alphabet.character(symbol), Some(character));
        }
        assert_eq!(alphabet.len(), FIRST_CHARACTER as usize + 6);
    }

    #[test]
    fn unknown_characters_have_no_symbol() {
        let alphabet = Alphabet::of(["あ"].into_iter());
        assert_eq!(alphabet.symbol('い'), UNKNOWN);
        assert_eq!(alphabet.symbol(char::MAX), UNKNOWN);
        assert_eq!(alphabet.pattern("あい"), None);
        assert_eq!(alphabet.character(SEPARATOR), None);
        assert_eq!(alphabet.character(UNKNOWN), None);
    }

    proptest! {
        #[test]
        fn characters_are_counted_as_by_the_iterator(text in "[a-zé猫𠮷]{0,200}", from in 0usize..50) {
            let text = text.get(from..).unwrap_or(&text);
            prop_assert_eq!(count_characters(text), text.chars().count());
        }
    }

    #[test]
    fn prefix_counts_code_points() {
        assert_eq!(prefix("𠮷野家", 2), "𠮷野");
        assert_eq!(prefix("𠮷", 0), "");
        assert_eq!(prefix("𠮷", 5), "𠮷");
    }
}
