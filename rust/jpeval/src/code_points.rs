//! Properties of code points, in pages of 256 that are added when a text needs them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bits that describe a code point.
pub mod flags {
    /// A letter, a digit or an underscore.
    pub const WORD: u8 = 1;
    /// What Python's `str.strip` removes.
    pub const SPACE: u8 = 2;
    /// NFKC replaces it by the page's text, whatever surrounds it.
    pub const NFKC: u8 = 4;
    /// What NFKC makes of it depends on what precedes it.
    pub const NFKC_IN_CONTEXT: u8 = 8;
    /// Its lower case is the page's text, whatever surrounds it.
    pub const LOWER: u8 = 16;
    /// Its lower case depends on what surrounds it.
    pub const LOWER_IN_CONTEXT: u8 = 32;
    /// The page is there; it sets this bit itself.
    pub(crate) const KNOWN: u8 = 64;
    /// Part of a word as it stands; the page sets this bit itself.
    pub(crate) const PLAIN: u8 = 128;
}

/// Code points on a page.
const SIZE: usize = 256;
const PAGES: usize = 0x11_0000 / SIZE;

/// Deleted from tokens.
pub(crate) const LATIN_1: std::ops::RangeInclusive<u32> = 0x80..=0xff;

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unready {
    /// A page must be added first: [`Requests`] has it.
    Missing,
    /// Whoever has the whole text must decide.
    InContext,
}

/// A page that is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageError;

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected flags of 256 code points, and a text for each that is replaced")
    }
}

impl std::error::Error for PageError {}

/// Texts that replace code points of a page: `numbers[place]` counts from 1.
#[derive(Debug)]
struct Replacements {
    numbers: [u16; SIZE],
    texts: Vec<Box<[u32]>>,
}

/// What is known of 256 code points in a row.
#[derive(Debug)]
pub struct Page {
    flags: [u8; SIZE],
    nfkc: Replacements,
    lower: Replacements,
}

impl Replacements {
    fn new(all: Vec<(u8, String)>, flags: &[u8; SIZE], flag: u8) -> Result<Self, PageError> {
        let mut numbers = [0; SIZE];
        let mut texts = Vec::with_capacity(all.len());
        for (place, text) in all {
            texts.push(text.chars().map(u32::from).collect());
            numbers[usize::from(place)] = u16::try_from(texts.len()).map_err(|_| PageError)?;
        }
        let fits = flags.iter().zip(&numbers).all(|(flags, &number)| (flags & flag != 0) == (number != 0));
        if fits { Ok(Self { numbers, texts }) } else { Err(PageError) }
    }

    /// The text for a place that has one; every place whose flag is set does.
    fn of(&self, place: usize) -> &[u32] {
        let number = usize::from(self.numbers[place]);
        self.texts.get(number.wrapping_sub(1)).map_or(&[], |text| text)
    }
}

impl Page {
    /// A page from the flags of its code points and the texts that replace some of them.
    ///
    /// # Errors
    ///
    /// If there are other than 256 flags, or flags and texts do not fit each other.
    pub fn new(flags: &[u8], nfkc: Vec<(u8, String)>, lower: Vec<(u8, String)>) -> Result<Self, PageError> {
        let flags = flags.try_into().map_err(|_| PageError)?;
        let nfkc = Replacements::new(nfkc, &flags, flags::NFKC)?;
        let lower = Replacements::new(lower, &flags, flags::LOWER)?;
        Ok(Self { flags, nfkc, lower })
    }
}

/// All that is known of code points so far, surrogates included; any thread may read and add.
pub struct CodePoints {
    /// Of every code point, 0 where its page is missing: one read a character.
    flags: Box<[AtomicU8]>,
    pages: Box<[OnceLock<Page>]>,
}

impl Default for CodePoints {
    fn default() -> Self {
        Self {
            flags: (0..PAGES * SIZE).map(|_| AtomicU8::new(0)).collect(),
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl fmt::Debug for CodePoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.pages.iter().filter(|page| page.get().is_some()).count();
        f.debug_struct("CodePoints").field("pages", &known).finish_non_exhaustive()
    }
}

impl CodePoints {
    /// Adds page `number`, which has the code points from `256 * number` on, unless it is there.
    ///
    /// # Errors
    ///
    /// If Unicode has no such page.
    pub fn add(&self, number: usize, page: Page) -> Result<(), PageError> {
        let added = self.pages.get(number).ok_or(PageError)?.get_or_init(|| page);
        for (c, of_page) in (number * SIZE..).zip(&added.flags) {
            let is_plain = of_page & !flags::SPACE == flags::WORD && !LATIN_1.contains(&(c as u32));
            let plain = if is_plain { flags::PLAIN } else { 0 };
            self.flags[c].store(of_page | flags::KNOWN | plain, Ordering::Release);
        }
        Ok(())
    }

    /// Requests the pages that a text, or what NFKC makes of it, needs and that are not there.
    pub fn request(&self, text: &[u32], requests: &Requests) {
        for &c in text {
            match self.flags(c) {
                Ok(flags) if flags & flags::NFKC != 0 => {
                    if let Ok(text) = self.nfkc_of(c) {
                        self.request(text, requests);
                    }
                }
                Ok(_) => {}
                Err(_) => requests.add(c as usize / SIZE),
            }
        }
    }

    #[inline]
    pub(crate) fn flags(&self, c: u32) -> Result<u8, Unready> {
        let flags = self.flags[c as usize].load(Ordering::Acquire);
        if flags == 0 { Err(Unready::Missing) } else { Ok(flags) }
    }

    /// All flags that code points of a text have.
    pub(crate) fn flags_of_all(&self, text: &[u32]) -> Result<u8, Unready> {
        let flags = text.iter().map(|&c| self.flags[c as usize].load(Ordering::Acquire));
        let (some, every) = flags.fold((0, u8::MAX), |(some, every), flags| (some | flags, every & flags));
        if every & flags::KNOWN == 0 { Err(Unready::Missing) } else { Ok(some) }
    }

    /// Whether a code point is part of a word as it stands, whatever is to be done with the text.
    #[inline]
    pub(crate) fn is_plain(&self, c: u32) -> bool {
        self.flags[c as usize].load(Ordering::Acquire) & flags::PLAIN != 0
    }

    /// What NFKC makes of a code point with that flag.
    pub(crate) fn nfkc_of(&self, c: u32) -> Result<&[u32], Unready> {
        self.page_of(c).map(|page| page.nfkc.of(c as usize % SIZE))
    }

    /// Lower case of a code point with that flag.
    pub(crate) fn lower_of(&self, c: u32) -> Result<&[u32], Unready> {
        self.page_of(c).map(|page| page.lower.of(c as usize % SIZE))
    }

    fn page_of(&self, c: u32) -> Result<&Page, Unready> {
        self.pages[c as usize / SIZE].get().ok_or(Unready::Missing)
    }
}

/// Numbers of pages that are needed.
#[derive(Debug, Default)]
pub struct Requests {
    pages: Mutex<BTreeSet<usize>>,
}

impl Requests {
    fn add(&self, number: usize) {
        self.locked().insert(number);
    }

    /// Takes one of the numbers, if there are any.
    pub fn take(&self) -> Option<usize> {
        self.locked().pop_first()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeSet<usize>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_must_fit() {
        assert!(Page::new(&[0; 255], vec![], vec![]).is_err());
        assert!(Page::new(&[flags::NFKC; 256], vec![(0, "a".to_owned())], vec![]).is_err());
        assert!(Page::new(&[0; 256], vec![], vec![(7, "a".to_owned())]).is_err());
        let page = Page::new(&[0; 256], vec![], vec![]).unwrap();
        assert!(CodePoints::default().add(PAGES, page).is_err());
    }

    #[test]
    fn what_nfkc_leads_to_is_requested() {
        let (points, requests) = (CodePoints::default(), Requests::default());
        let mut flags = [0; 256];
        flags[3] = flags::NFKC;
        let page = Page::new(&flags, vec![(3, "aが".to_owned())], vec![]).unwrap();
        points.add(0x1, page).unwrap();
        points.request(&[0x103, u32::from('ć'), 0x2003], &requests);
        assert_eq!([requests.take(), requests.take(), requests.take()], [Some(0), Some(0x20), Some(0x30)]);
        assert_eq!(requests.take(), None);
    }

    #[test]
    fn all_code_points_of_a_page_may_be_replaced() {
        let all = (0..=255).map(|place| (place, place.to_string())).collect();
        let page = Page::new(&[flags::NFKC; 256], all, vec![]).unwrap();
        let points = CodePoints::default();
        points.add(0xf9, page).unwrap();
        assert_eq!(points.nfkc(&[0xf900, 0xf9ff]).as_deref(), Ok(&[0x30, 0x32, 0x35, 0x35][..]));
    }
}
