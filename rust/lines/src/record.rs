//! One line: an object whose question and answer are text.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// The keys that hold question and answer, and further texts.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// Key of the question.
    pub question: &'a str,
    /// Key of the answer.
    pub answer: &'a str,
    /// Keys of further texts, which a line may lack; all different, and neither of the two above.
    pub more: &'a [&'a str],
}

/// Question, answer and further texts of a line; borrowed unless they contain escapes.
pub(crate) struct Record<'a> {
    pub(crate) question: Cow<'a, str>,
    pub(crate) answer: Cow<'a, str>,
    pub(crate) more: Vec<Option<Cow<'a, str>>>,
}

impl<'a> Record<'a> {
    /// `None` for anything that is not plainly an object with both texts.
    pub(crate) fn parse(line: &'a [u8], fields: Fields<'_>) -> Option<Self> {
        let line = simdutf8::basic::from_utf8(line).ok()?;
        let mut reader = serde_json::Deserializer::from_str(line);
        let record = reader.deserialize_map(RecordVisitor(fields)).ok()?;
        reader.end().ok()?;
        Some(record)
    }
}

struct RecordVisitor<'f>(Fields<'f>);

impl<'de> Visitor<'de> for RecordVisitor<'_> {
    type Value = Record<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with a question and an answer")
    }

    /// As in Python, the last of several equal keys counts.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self(fields) = self;
        let (mut question, mut answer) = (None, None);
        let mut more = vec![None; fields.more.len()];
        while let Some(key) = map.next_key_seed(Text)? {
            if key == fields.question {
                question = Some(map.next_value_seed(Text)?);
            } else if key == fields.answer {
                answer = Some(map.next_value_seed(Text)?);
            } else if let Some(place) = fields.more.iter().position(|&field| key == field) {
                more[place] = map.next_value_seed(OptionalText)?;
            } else {
                map.next_value::<Skipped>()?;
            }
        }
        if fields.question == fields.answer {
            answer.clone_from(&question);
        }
        match (question, answer) {
            (Some(question), Some(answer)) => Ok(Record { question, answer, more }),
            _ => Err(A::Error::custom("a key is missing")),
        }
    }
}

/// Text, borrowed if possible.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Text, or null.
struct OptionalText;

impl<'de> DeserializeSeed<'de> for OptionalText {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for OptionalText {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("text or null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        Text.deserialize(reader).map(Some)
    }
}

/// Any value, checked and discarded.
///
/// Unlike serde's own way of skipping, it refuses lone surrogates, numbers that no float can hold and nesting beyond
/// serde_json's limit: Python has its own way with those, too.
struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = Self;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while values.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_key_seed(Text)?.is_some() {
            entries.next_value::<Self>()?;
        }
        Ok(self)
    }
}
