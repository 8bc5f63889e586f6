//! Text within Markdown: escaped, and with marked stretches in elements.

/// Elements around the characters of each mark.
const ELEMENTS: [(&str, &str); 3] = [("", ""), ("<b>", "</b>"), ("<s>", "</s>")];
/// Mark of what more than so many reference answers contain.
const COMMON: u8 = 1;
/// Mark of what fewer contain.
const RARE: u8 = 2;

/// What stands for characters that would be markup; only ASCII characters can be.
pub struct Escapes {
    of: [Option<Box<str>>; 128],
}

impl Escapes {
    /// `None` if one of the characters is not ASCII.
    pub fn new(replaced: impl IntoIterator<Item = (char, String)>) -> Option<Self> {
        let mut of = [const { None }; 128];
        for (character, text) in replaced {
            *of.get_mut(character as usize)? = Some(text.into());
        }
        Some(Self { of })
    }

    /// Appends escaped text.
    pub fn push(&self, into: &mut String, text: &str) {
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            if let Some(Some(replacement)) = self.of.get(usize::from(byte)) {
                into.push_str(&text[start..at]);
                into.push_str(replacement);
                start = at + 1;
            }
        }
        into.push_str(&text[start..]);
    }

    /// Appends escaped text whose characters have these marks, see [`marks`]; each stretch of equal ones is an element.
    pub fn push_marked(&self, into: &mut String, text: &str, marks: &[u8]) {
        let mut rest = text;
        for alike in marks.chunk_by(|a, b| a == b) {
            let end = rest.char_indices().nth(alike.len()).map_or(rest.len(), |(end, _)| end);
            let (opening, closing) = ELEMENTS.get(usize::from(alike[0])).unwrap_or(&ELEMENTS[0]);
            into.push_str(opening);
            self.push(into, &rest[..end]);
            into.push_str(closing);
            rest = &rest[end..];
        }
    }
}

/// The mark of each character: 1 if more than `above` answers contain one of the windows that cover it, 2 if all of them are
/// in fewer than `below`, or else 0.
///
/// `counts`: for each window of three characters, the one around each character, answers that contain it, by source.
pub fn marks(counts: &[u32], sources: usize, above: u32, below: u32) -> Vec<u8> {
    let totals: Vec<u32> = counts.chunks_exact(sources).map(|row| row.iter().sum()).collect();
    let mark = |at: usize| {
        let around = &totals[at.saturating_sub(1)..(at + 2).min(totals.len())];
        match around.iter().copied().max().unwrap_or_default() {
            most if most > above => COMMON,
            most if most < below => RARE,
            _ => 0,
        }
    };
    (0..totals.len()).map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escapes() -> Escapes {
        Escapes::new([('<', "&lt;".to_owned()), ('*', "&#42;".to_owned())]).unwrap()
    }

    #[test]
    fn only_ascii_is_escaped() {
        let mut text = String::new();
        escapes().push(&mut text, "光<合*成");
        assert_eq!(text, "光&lt;合&#42;成");
        assert!(Escapes::new([('光', String::new())]).is_none());
    }

    #[test]
    fn stretches_of_equal_marks_are_elements() {
        let mut text = String::new();
        escapes().push_marked(&mut text, "光<合成*x", &[1, 1, 0, 2, 2, 0]);
        assert_eq!(text, "<b>光&lt;</b>合<s>成&#42;</s>x");
    }

    #[test]
    fn marks_are_those_of_the_most_common_window_around() {
        let counts = [5, 5, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(marks(&counts, 2, 9, 1), [1, 1, 0, 0, 0]);
        assert_eq!(marks(&counts, 2, 10, 2), [0, 0, 2, 2, 2]);
        assert_eq!(marks(&counts, 1, 9, 1), [0, 0, 0, 2, 2, 2, 0, 0, 0, 2]);
        assert!(marks(&[], 3, 0, 1).is_empty());
    }
}
