//! JSON lines of responses as Arrow columns.
//!
//! Only lines that every JSON reader reads in the same way are decoded here. All others (invalid text, values that are
//! not text, missing keys, deep nesting, numbers beyond floating point) are handed back untouched, so that a single
//! place, in Python, decides what they mean and words the errors.

mod record;

use arrow_array::StringViewArray;
use arrow_array::builder::BinaryViewBuilder;
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use record::Record;
use std::borrow::Cow;

pub use record::Fields;

/// A line that was not decoded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irregular {
    /// Number of the line, from 0.
    pub number: usize,
    /// Where it begins.
    pub start: usize,
    /// Where it ends, without its line end.
    pub end: usize,
}

/// Decoded lines.
#[derive(Debug)]
pub struct Lines {
    /// Questions; views into the decoded text wherever they occur there verbatim.
    pub questions: StringViewArray,
    /// Answers, likewise.
    pub answers: StringViewArray,
    /// Further texts, null where a line has none; as many columns as there are keys.
    pub more: Vec<StringViewArray>,
    /// Number of each decoded line, from 0.
    pub numbers: Vec<i64>,
    /// Where each decoded line begins.
    pub starts: Vec<i64>,
    /// Lines that were not decoded; blank ones are in neither list.
    pub irregular: Vec<Irregular>,
    /// Lines in all.
    pub count: usize,
}

/// Decodes lines that end at `\n`; what follows the last one is a line, too, unless it is empty.
///
/// # Errors
///
/// If the text is too long for Arrow's views (4 GiB).
pub fn decode(text: &Buffer, fields: Fields<'_>) -> Result<Lines, ArrowError> {
    let expected = text.len() / 400;
    let (mut questions, mut answers) = (Column::new(text, expected), Column::new(text, expected));
    let mut more: Vec<_> = fields.more.iter().map(|_| Column::new(text, expected)).collect();
    let (mut numbers, mut starts) = (Vec::with_capacity(expected), Vec::with_capacity(expected));
    let (mut irregular, mut count) = (Vec::new(), 0);
    for (number, (start, end)) in line_ranges(text).enumerate() {
        count = number + 1;
        let line = &text[start..end];
        if is_blank(line) {
            continue;
        }
        if let Some(record) = Record::parse(line, fields) {
            questions.push(&record.question)?;
            answers.push(&record.answer)?;
            for (column, value) in more.iter_mut().zip(&record.more) {
                column.push_optional(value.as_ref())?;
            }
            numbers.push(number as i64);
            starts.push(start as i64);
        } else {
            irregular.push(Irregular { number, start, end });
        }
    }
    let (questions, answers) = (questions.finish(), answers.finish());
    let more = more.into_iter().map(Column::finish).collect();
    Ok(Lines { questions, answers, more, numbers, starts, irregular, count })
}

fn line_ranges(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut ends = memchr::memchr_iter(b'\n', text);
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = ends.next().unwrap_or(text.len());
        let range = (start < text.len()).then_some((start, end));
        start = end + 1;
        range
    })
}

/// Whether there is nothing but what Python's `bytes.strip` removes.
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c))
}

/// A column of texts that are mostly in `text` already, and are added as text alone.
struct Column<'a> {
    text: &'a [u8],
    block: u32,
    builder: BinaryViewBuilder,
}

impl<'a> Column<'a> {
    fn new(text: &'a Buffer, expected: usize) -> Self {
        let mut builder = BinaryViewBuilder::with_capacity(expected);
        let block = builder.append_block(text.clone());
        Self { text, block, builder }
    }

    #[allow(clippy::ptr_arg)] // whether it is borrowed is what matters
    fn push(&mut self, value: &Cow<'_, str>) -> Result<(), ArrowError> {
        match value {
            Cow::Borrowed(value) => {
                let offset = value.as_ptr() as usize - self.text.as_ptr() as usize;
                let (offset, length) = (view_number(offset)?, view_number(value.len())?);
                self.builder.try_append_view(self.block, offset, length)
            }
            Cow::Owned(value) => self.builder.try_append_value(value),
        }
    }

    fn push_optional(&mut self, value: Option<&Cow<'_, str>>) -> Result<(), ArrowError> {
        let Some(value) = value else {
            self.builder.append_null();
            return Ok(());
        };
        self.push(value)
    }

    #[allow(unsafe_code)] // a builder of text would check each once more, for a third of the time that decoding takes
    fn finish(mut self) -> StringViewArray {
        // SAFETY: every value is a `str`: `push` takes nothing else, and adds a borrowed one where it lies in `text`.
        unsafe { self.builder.finish().to_string_view_unchecked() }
    }
}

fn view_number(number: usize) -> Result<u32, ArrowError> {
    u32::try_from(number)
        .map_err(|_| ArrowError::InvalidArgumentError("the text is too long: at most 4 GiB at once".to_owned()))
}
