//! Texts as they are compared: letters and digits, without differences of width, case, spaces and punctuation.

use std::sync::LazyLock;
use unicode_normalization::char::decompose_compatible;

const DROPPED: u32 = 0;
/// What is added to the index of a character's replacement where that is not one character.
const SEVERAL: u32 = 1 << 31;

static FOLDS: LazyLock<Folds> = LazyLock::new(Folds::new);

/// The replacement of every code point.
struct Folds {
    by_code: Vec<u32>,
    several: Vec<Vec<u32>>,
}

impl Folds {
    fn new() -> Self {
        let mut folds = Self { by_code: vec![DROPPED; char::MAX as usize + 1], several: Vec::new() };
        for character in '\0'..=char::MAX {
            let mut replacement = Vec::new();
            decompose_compatible(character, |part| {
                replacement.extend(part.to_lowercase().filter(|c| c.is_alphanumeric()).map(u32::from));
            });
            folds.by_code[character as usize] = match replacement[..] {
                [] => DROPPED,
                [one] => one,
                _ => {
                    folds.several.push(replacement);
                    SEVERAL + (folds.several.len() - 1) as u32
                }
            };
        }
        folds
    }
}

/// Calls `see` with each character of the folded `text`, and the code point of `text` that it comes from.
///
/// Folded are the letters and digits of the compatibility decomposition (NFKD), in lower case. All else is left out,
/// marks such as the voicing of kana among it, since half-width kana have it in a character of its own.
#[inline]
pub(super) fn fold(text: &str, mut see: impl FnMut(u32, usize)) {
    let folds = &*FOLDS;
    for (place, character) in text.chars().enumerate() {
        match folds.by_code[character as usize] {
            DROPPED => {}
            one if one < SEVERAL => see(one, place),
            index => folds.several[(index - SEVERAL) as usize].iter().for_each(|&part| see(part, place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fold;

    fn folded(text: &str) -> (String, Vec<usize>) {
        let (mut characters, mut places) = (String::new(), Vec::new());
        fold(text, |character, place| {
            characters.extend(char::from_u32(character));
            places.push(place);
        });
        (characters, places)
    }

    #[test]
    fn width_case_spaces_punctuation_and_marks_make_no_difference() {
        for (text, expected) in [
            ("ＡＢＣ　ａｂｃ", "abcabc"),
            ("「光合成」とは、\n何ですか？", "光合成とは何てすか"),
            ("がく ｶﾞｸ", "かくカク"),
            ("㌔ ½ é İ", "キロ12ei"),
            ("\0 \u{10ffff}。", ""),
        ] {
            assert_eq!(folded(text).0, expected, "{text:?}");
        }
    }

    #[test]
    fn places_count_code_points_of_the_text() {
        assert_eq!(folded("𠮷、㌔!A"), ("𠮷キロa".to_owned(), vec![0, 2, 2, 4]));
    }
}
