//! Lines of any bytes, decoded and compared with what serde_json makes of each line. Shared by the fuzz target of
//! `rust/fuzz`, which makes up bytes, and by the test that replays what it found.

use arrow_array::{Array, StringViewArray};
use arrow_buffer::Buffer;
use pfgen_lines::{Fields, Lines, decode};
use serde_json::Value;

const FIELDS: [Fields<'_>; 3] = [
    Fields { question: "question", answer: "answer", more: &[] },
    Fields { question: "question", answer: "answer", more: &["model", "x"] },
    Fields { question: "a", answer: "a", more: &["b"] },
];

/// Checks lines of these bytes, the first of which chooses the keys; whether a line was decoded.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Some((choice, text)) = bytes.split_first() else { return false };
    let fields = FIELDS[*choice as usize % FIELDS.len()];
    let lines = decode(&Buffer::from(text), fields).expect("short enough");
    check_places(text, &lines);
    for row in 0..lines.numbers.len() {
        let start = lines.starts[row] as usize;
        let line = text[start..].split(|&byte| byte == b'\n').next().expect("there is one");
        let value: Value = serde_json::from_slice(line).expect("it was decoded");
        assert_eq!(value[fields.question], lines.questions.value(row));
        assert_eq!(value[fields.answer], lines.answers.value(row));
        for (key, column) in fields.more.iter().zip(&lines.more) {
            assert_eq!(value.get(key).and_then(Value::as_str), optional(column, row));
        }
    }
    for line in &lines.irregular {
        check_irregular(&text[line.start..line.end], fields);
    }
    !lines.numbers.is_empty()
}

/// Every line that is not blank is in one of the lists, where it begins.
fn check_places(text: &[u8], lines: &Lines) {
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    let mut start = 0;
    let mut expected = Vec::new();
    for (number, line) in whole.split(|&byte| byte == b'\n').enumerate() {
        if !line.iter().all(|byte| b" \t\n\r\x0b\x0c".contains(byte)) {
            expected.push((number, start));
        }
        start += line.len() + 1;
    }
    let decoded = lines.numbers.iter().zip(&lines.starts).map(|(number, start)| (*number as usize, *start as usize));
    let mut found: Vec<_> = decoded.chain(lines.irregular.iter().map(|line| (line.number, line.start))).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(lines.count, if text.is_empty() { 0 } else { whole.split(|&byte| byte == b'\n').count() });
}

/// A line that was handed back is not plain: written anew, without equal keys, it is one, or it lacks a text.
fn check_irregular(line: &[u8], fields: Fields<'_>) {
    let Ok(Value::Object(record)) = serde_json::from_slice(line) else { return };
    let texts = [fields.question, fields.answer].iter().all(|key| record.get(*key).is_some_and(Value::is_string));
    let more = fields.more.iter().all(|key| record.get(*key).is_none_or(|value| value.is_string() || value.is_null()));
    let again = serde_json::to_vec(&record).expect("it was read");
    let lines = decode(&Buffer::from(&*again), fields).expect("short enough");
    assert_eq!(!lines.numbers.is_empty(), texts && more, "{}", String::from_utf8_lossy(line));
}

fn optional(column: &StringViewArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}
