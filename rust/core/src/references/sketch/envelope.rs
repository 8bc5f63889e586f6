//! What is sent between machines: a format, what it was made with, contents and a checksum.

use crate::error::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// The format and its version.
const MAGIC: &[u8; 8] = b"PFGENNG1";
const NUMBER: usize = size_of::<u64>();
const HEADER: usize = MAGIC.len() + 4 * NUMBER;

/// What the contents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sketch = 1,
    Keys = 2,
    Counts = 3,
}

/// What stands before the contents: the length of n-grams and two numbers whose meaning depends on the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) n: u64,
    pub(super) numbers: [u64; 2],
}

impl Header {
    fn bytes(&self) -> Vec<u8> {
        let numbers = [self.kind as u64, self.n, self.numbers[0], self.numbers[1]];
        [&MAGIC[..], &numbers.map(u64::to_le_bytes).concat()].concat()
    }
}

/// Puts a header before what `write` writes, and a checksum behind.
pub(super) fn seal(header: &Header, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = header.bytes();
    write(&mut bytes);
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// The numbers and the contents of what was sealed as this kind, for n-grams of this length.
pub(super) fn open(bytes: &[u8], kind: Kind, n: usize) -> Result<([u64; 2], &[u8])> {
    let (body, checksum) = bytes.split_last_chunk::<NUMBER>().ok_or_else(|| damaged("it is cut short"))?;
    if body.len() < HEADER || !body.starts_with(MAGIC) {
        return Err(damaged("it is cut short, or of another version"));
    }
    if xxh3_64(body).to_le_bytes() != *checksum {
        return Err(damaged("its checksum is wrong"));
    }
    let (header, contents) = body.split_at(HEADER);
    let number = |at: usize| {
        let start = MAGIC.len() + at * NUMBER;
        u64::from_le_bytes(std::array::from_fn(|byte| header[start + byte]))
    };
    if number(0) != kind as u64 {
        return Err(damaged("it is of another kind"));
    }
    if number(1) != n as u64 {
        return Err(damaged(&format!("its n-grams have {} characters, not {n}", number(1))));
    }
    Ok(([number(2), number(3)], contents))
}

pub(super) fn damaged(reason: &str) -> Error {
    Error::DamagedSketch { reason: reason.to_owned() }
}
