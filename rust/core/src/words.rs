//! Words of texts: what lies between the default word boundaries of Unicode (UAX #29), white space left out.

use unicode_segmentation::UnicodeSegmentation;

/// The words of `text`, each with the byte at which it begins. Linear time.
///
/// Punctuation is a word of its own, as is each ideograph.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    pieces(text).filter(|(_, piece)| !piece.chars().all(char::is_whitespace))
}

/// Everything between boundaries. What follows one does not depend on what precedes it, so each piece is found on its
/// own: mostly the short way, otherwise by all the rules.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let end = match plain_piece(rest) {
            Some(end) => end,
            None => rest.split_word_bounds().next()?.len(),
        };
        start += end;
        Some((start - end, &rest[..end]))
    })
}

/// The end of the first piece where that is plain to see: of ASCII, ideographs and kana, with nothing near that joins.
fn plain_piece(text: &str) -> Option<usize> {
    let first = *text.as_bytes().first()?;
    if first.is_ascii() { plain_ascii(text.as_bytes(), first) } else { plain_japanese(text) }
}

fn plain_ascii(text: &[u8], first: u8) -> Option<usize> {
    let run = |belongs: fn(u8) -> bool| text.iter().position(|&byte| !belongs(byte)).unwrap_or(text.len());
    let end = match first {
        b' ' => run(|byte| byte == b' '),
        b'\r' => return None,
        _ if is_wordlike(first) => run(is_wordlike),
        _ => 1,
    };
    let is_plain = match (text.get(end), text.get(end + 1)) {
        (None, _) => true,
        // A mark that joins letters or digits on both sides (WB6, WB7, WB11, WB12).
        (Some(b'\'' | b'.' | b':' | b',' | b';'), Some(&after)) if is_wordlike(first) => {
            after.is_ascii() && !is_wordlike(after)
        }
        (Some(next), _) => next.is_ascii(),
    };
    is_plain.then_some(end)
}

/// Letters, digits and `_`, which nothing parts (WB5, WB8 to WB10, WB13a, WB13b).
fn is_wordlike(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn plain_japanese(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, first) = characters.next()?;
    let katakana = is_katakana(first);
    if !katakana && !is_alone(first) {
        return None;
    }
    let next = characters.find(|&(_, next)| !(katakana && is_katakana(next)));
    let (end, next) = next.unwrap_or((text.len(), ' '));
    let joins = katakana && next == '_';
    (!joins && (next.is_ascii() || is_katakana(next) || is_alone(next))).then_some(end)
}

fn is_katakana(character: char) -> bool {
    matches!(character, 'ァ'..='ヺ' | 'ー')
}

/// Hiragana, ideographs and their punctuation, as far as no rule but WB4 is about them.
fn is_alone(character: char) -> bool {
    matches!(character, 'ぁ'..='ゖ' | '一'..='\u{9fff}' | '、'..='〃' | '〈'..='】' | '〔'..='〟')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn white_space_is_no_word() {
        let found: Vec<_> = words(" It's 3.5 km,\r\n山へ　go ").map(|(_, word)| word).collect();
        assert_eq!(found, ["It's", "3.5", "km", ",", "山", "へ", "go"]);
        assert_eq!(words(" \t\u{85}\u{2028}").count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_short_way_leads_to_the_same_pieces(
            text in prop_oneof![
                "[a-c1 _'.:,;\"\r\n\taé猫のカー。「々・\u{301}\u{200d}\u{ad}\u{3099}א🇯🇵👩💻ｶﾞ１]{0,16}",
                any::<String>(),
            ]
        ) {
            let expected: Vec<_> = text.split_word_bound_indices().collect();
            prop_assert_eq!(pieces(&text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_is_plain_is_so_beside_any_character() {
        for character in '\0'..=char::MAX {
            for other in ["a", "1", "_", "猫", "カ", "、", " ", ".", "\n", ""] {
                for text in [format!("{character}{other}"), format!("{other}{character}")] {
                    if let Some(end) = plain_piece(&text) {
                        assert_eq!(text.split_word_bounds().next(), Some(&text[..end]));
                    }
                }
            }
        }
    }
}
