//! Predictions and metrics with a small table of code points, beside obvious ones.

use pfgen_jpeval::{CodePoints, Form, Metric, Page, Requests, Scratch, Unready, flags};
use std::borrow::Cow;

/// ASCII, the pages of Greek and kana, and full-width forms; the others are missing.
fn points() -> CodePoints {
    let points = CodePoints::default();
    for number in [0x00, 0x03, 0x30, 0xff] {
        points.add(number, page(number)).unwrap();
    }
    points
}

fn page(number: usize) -> Page {
    let mut all = vec![0; 256];
    let (mut nfkc, mut lower) = (Vec::new(), Vec::new());
    for (place, flags) in (0..=255u8).zip(&mut all) {
        let c = char::from_u32(number as u32 * 256 + u32::from(place)).unwrap();
        *flags |= if c.is_alphanumeric() || c == '_' { flags::WORD } else { 0 };
        *flags |= if c.is_whitespace() { flags::SPACE } else { 0 };
        if ('Ａ'..='Ｚ').contains(&c) {
            *flags |= flags::NFKC;
            nfkc.push((place, char::from(place - 0x21 + b'A').to_string()));
        }
        if c == '\u{3099}' {
            *flags |= flags::NFKC_IN_CONTEXT;
        }
        if c == 'Σ' {
            *flags |= flags::LOWER_IN_CONTEXT;
        } else if c.is_ascii_uppercase() {
            *flags |= flags::LOWER;
            lower.push((place, c.to_ascii_lowercase().to_string()));
        }
    }
    Page::new(&all, nfkc, lower).unwrap()
}

fn of(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

fn value_of(name: &str, texts: [(&str, Form); 2]) -> Result<f64, Unready> {
    let [one, other] = texts.map(|(text, _)| of(text));
    let both = [(&one[..], texts[0].1), (&other[..], texts[1].1)];
    Metric::named(name).unwrap().value(&points(), both, &mut Scratch::default())
}

fn value(name: &str, prediction: &str, gold: &str) -> Result<f64, Unready> {
    value_of(name, [(prediction, Form::Prediction), (gold, Form::Gold)])
}

#[test]
fn predictions() {
    let points = points();
    let made = |text, strip| {
        let text = of(text);
        points.nfkc(&text[points.part(&text, true, strip)?]).map(Cow::into_owned)
    };
    assert_eq!(made("Ａあ \n\n", false), Ok(of("Aあ ")));
    assert_eq!(made("\u{3000}ＸあＺ \n\n", true), Ok(of("XあZ")));
    assert_eq!(made(" \n ", true), Ok(vec![]));
    assert_eq!(made("か\u{3099}", false), Err(Unready::InContext));
    assert_eq!(made("漢", false), Err(Unready::Missing));
    assert_eq!(made("\u{2003}x", true), Err(Unready::Missing));
    let requests = Requests::default();
    points.request(&of("漢字x\u{2003}"), &requests);
    assert_eq!([0x20, 0x5b, 0x6f].map(Some), [requests.take(), requests.take(), requests.take()]);
}

#[test]
fn values() {
    assert_eq!(value("exact_match", "7\0", "7\0\0"), Ok(1.0));
    assert_eq!(value("exact_match", "A", "Ａ"), Ok(1.0));
    assert_eq!(value("exact_match", "Ａ", "Ａ"), Ok(0.0));
    assert_eq!(value("char_f1", "b, A\u{e9}", "a b"), Ok(1.0));
    assert_eq!(value("char_f1", "", "。"), Ok(1.0));
    assert_eq!(value("char_f1", "", "あ"), Ok(0.0));
    assert_eq!(value("char_f1", "AΣ", "a"), Err(Unready::InContext));
    assert_eq!(value("set_f1", "b\n a\nb", "a\na"), Ok(2.0 * (0.5 * 0.5) / (0.5 + 0.5)));
    assert_eq!(value("set_f1", "a", "b"), Ok(0.0));
    assert_eq!(value("set_f1", "", ""), Ok(1.0));
    assert_eq!(Metric::named("f1"), None);
    assert_eq!(value("char_f1", "い、あ_1A。Ａ", "a Ａ い　あ_1"), Ok(0.59));
}

#[test]
fn forms_of_texts() {
    let (output, made) = (Form::Output { strip: true }, Form::Made);
    for name in ["exact_match", "char_f1", "set_f1"] {
        assert_eq!(value_of(name, [(" Ａ \n\nx", output), ("Ａ", Form::Gold)]), Ok(1.0));
        assert_eq!(value_of(name, [("Σ か\u{3099}", made), ("Σ か\u{3099}", made)]), Ok(1.0));
    }
    assert_eq!(value_of("char_f1", [("b a", made), ("a b", Form::Prediction)]), Ok(0.33));
}
