//! What is decoded, what is handed back, and that the columns say what the lines say.

use arrow_array::{Array, StringViewArray};
use arrow_buffer::Buffer;
use pfgen_lines::{Fields, Lines, decode};
use proptest::prelude::*;

const FIELDS: Fields<'_> = Fields { question: "question", answer: "answer", more: &[] };

fn decoded(text: &str) -> Lines {
    decode(&Buffer::from(text.as_bytes()), FIELDS).expect("short enough")
}

fn rows(lines: &Lines) -> Vec<(i64, &str, &str)> {
    let row = |i: usize| (lines.numbers[i], lines.questions.value(i), lines.answers.value(i));
    (0..lines.answers.len()).map(row).collect()
}

#[test]
fn lines_become_rows() {
    let text = "{\"question\": \"q\", \"answer\": \"a\\n\\u732b\"}\r\n \x0b\n{\"x\": [1, {\"y\": null}], \"answer\": \
                \"a longer answer \u{2028} than a view holds\", \"question\": \"\"}";
    let lines = decoded(text);
    let long = "a longer answer \u{2028} than a view holds";
    assert_eq!(rows(&lines), [(0, "q", "a\n猫"), (2, "", long)]);
    assert_eq!((lines.count, lines.irregular.len()), (3, 0));
    assert!(text[lines.starts[1] as usize..].starts_with("{\"x\""));
}

#[test]
fn the_last_of_equal_keys_counts() {
    let lines = decoded(r#"{"answer": "1", "question": "q", "answer": "2", "\u0061nswer": "3"}"#);
    assert_eq!(rows(&lines), [(0, "q", "3")]);
}

#[test]
fn one_key_may_be_both() {
    let text = Buffer::from(&br#"{"a": "x"}"#[..]);
    let lines = decode(&text, Fields { question: "a", answer: "a", more: &[] }).expect("short enough");
    assert_eq!(rows(&lines), [(0, "x", "x")]);
}

#[test]
fn further_texts_may_be_missing() {
    let text = concat!(
        "{\"question\": \"q\", \"answer\": \"a\", \"model\": \"m\"}\n",
        "{\"question\": \"q\", \"answer\": \"b\", \"model\": null, \"source\": \"\\u732b\"}\n",
        "{\"question\": \"q\", \"answer\": \"c\", \"source\": 3}\n"
    );
    let fields = Fields { more: &["source", "model"], ..FIELDS };
    let lines = decode(&Buffer::from(text.as_bytes()), fields).expect("short enough");
    let column = |i: usize| lines.more[i].iter().collect::<Vec<_>>();
    assert_eq!(column(0), [None, Some("猫")]);
    assert_eq!(column(1), [Some("m"), None]);
    assert_eq!(lines.irregular.len(), 1);
}

#[test]
fn what_is_not_plain_is_handed_back() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let digits = "9".repeat(5000);
    let values = ["NaN", "-Infinity", r#""\ud800""#, &deep, &digits, "1e999", "01", "\"\t\""];
    let mut irregular: Vec<String> =
        values.iter().map(|value| format!(r#"{{"question": "q", "answer": "a", "x": {value}}}"#)).collect();
    let others = [
        "{",
        "[]",
        "3",
        "{}",
        "nonsense",
        r#"{"question": "q"}"#,
        r#"{"question": "q", "answer": null}"#,
        r#"{"question": "q", "answer": 3}"#,
        r#"{"question": "q", "answer": "a"} x"#,
        "\u{feff}{}",
        r#"{"question": "q", "answer": 3, "answer": "a"}"#,
    ];
    irregular.extend(others.map(str::to_owned));
    for line in irregular {
        let text = format!("\n{line}\n");
        let lines = decoded(&text);
        assert_eq!(rows(&lines), [], "{line}");
        let [found] = lines.irregular[..] else { panic!("{line}") };
        assert_eq!((found.number, &text[found.start..found.end]), (1, &*line));
    }
}

#[test]
fn invalid_utf8_spoils_its_line_alone() {
    let text = b"{\"question\": \"q\", \"answer\": \"\xff\"}\n{\"question\": \"q\", \"answer\": \"a\"}\n";
    let lines = decode(&Buffer::from(&text[..]), FIELDS).expect("short enough");
    assert_eq!(rows(&lines), [(1, "q", "a")]);
    assert_eq!(lines.irregular.len(), 1);
}

proptest! {
    #[test]
    fn any_text_comes_back(records in prop::collection::vec((any::<String>(), any::<String>()), 0..20)) {
        let line = |(question, answer): &(String, String)| {
            serde_json::json!({"question": question, "more": [0.5, true], "answer": answer}).to_string() + "\n"
        };
        let lines = decoded(&records.iter().map(line).collect::<String>());
        let expected: Vec<_> =
            records.iter().enumerate().map(|(i, (question, answer))| (i as i64, &**question, &**answer)).collect();
        prop_assert_eq!(rows(&lines), expected);
    }

    /// Columns are built without another look at their text.
    #[test]
    fn columns_of_damaged_lines_are_text(
        records in prop::collection::vec(("[a-cあ-う\n]{0,20}", "[あ-う]{0,20}|[a-c😀]{0,9}"), 1..9),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let line = |(question, answer): &(String, String)| {
            serde_json::json!({"question": question, "answer": answer, "id": question}).to_string() + "\n"
        };
        let mut text = records.iter().map(line).collect::<String>().into_bytes();
        for (place, byte) in damages {
            let place = place.index(text.len());
            text[place] = byte;
        }
        // A damaged byte may end a line where it begins.
        let is_white = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
        let filled = text.split(|&byte| byte == b'\n').filter(|line| !line.iter().all(is_white)).count();
        let lines = decode(&Buffer::from(text), Fields { more: &["id"], ..FIELDS }).expect("short enough");
        for column in [&lines.questions, &lines.answers].into_iter().chain(&lines.more) {
            let (views, buffers) = (column.views().clone(), column.data_buffers().to_vec());
            prop_assert!(StringViewArray::try_new(views, buffers, column.nulls().cloned()).is_ok());
        }
        prop_assert_eq!(lines.answers.len() + lines.irregular.len(), filled);
    }

    #[test]
    fn nothing_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let lines = decode(&Buffer::from(text), FIELDS).expect("short enough");
        prop_assert!(lines.irregular.iter().all(|line| line.start <= line.end));
    }
}
