//! Scorers of many questions in one file, used in place: mapped into memory and shared between processes.
//!
//! All numbers are in the byte order of the machine that wrote them.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `pfgenidx` |
//! | 4 | byte-order mark `0x01020304` |
//! | 4 | version of the format |
//! | 32 | key: a digest of everything that the scorers depend on |
//! | 8 | number of scorers |
//! | 8 | checksum (XXH3) of the bytes before it and of the directory |
//! | 40 a scorer | directory: start and length of its two parts, checksum of both |
//! | rest | the parts, each from a multiple of 8 |
//!
//! The directory is checked when the file is opened, a scorer when it is asked for: opening takes no time, and what was
//! not checked is not used. Truncating a mapped file would crash the process; files are therefore replaced, never
//! changed.

use crate::blob::Blob;
use crate::error::{Error, Result};
use crate::score::{Scorer, Settings};
use memmap2::Mmap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
const MAGIC: &[u8; 8] = b"pfgenidx";
const BYTE_ORDER: u32 = 0x0102_0304;
/// To be raised with every change to a table or to this format.
const VERSION: u32 = 1;
const FIXED: usize = 8 + 4 + 4 + KEY_BYTES + 8;
const ENTRY: usize = 5;
const WORD: usize = 8;

/// A file of scorers.
#[derive(Debug)]
pub struct Store {
    map: Arc<Mmap>,
    directory: Vec<[u64; ENTRY]>,
}

impl Store {
    /// Opens a file that was written with the same key.
    ///
    /// # Errors
    /// [`Error::UnreadableStore`] if the file cannot be read, [`Error::DamagedStore`] if it is of another kind, version
    /// or byte order, cut short or changed.
    pub fn open(path: &Path, key: &[u8; KEY_BYTES]) -> Result<Self> {
        let unreadable = |error: std::io::Error| Error::UnreadableStore { reason: error.to_string() };
        let map = Arc::new(map(&File::open(path).map_err(unreadable)?).map_err(unreadable)?);
        let directory = directory(&map, key).map_err(|reason| Error::DamagedStore { reason })?;
        Ok(Self { map, directory })
    }

    /// Number of scorers.
    pub fn len(&self) -> usize {
        self.directory.len()
    }

    /// Whether there are no scorers.
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// Scorer `number`, which was built with `settings`; its parts are checked.
    ///
    /// # Errors
    /// [`Error::DamagedStore`].
    pub fn scorer(&self, number: usize, settings: Settings) -> Result<Scorer> {
        let damaged = |reason| Error::DamagedStore { reason };
        let &[head, head_length, table, table_length, sum] =
            self.directory.get(number).ok_or(damaged("it has fewer questions"))?;
        let head = range(head, head_length).ok_or(damaged("its directory is invalid"))?;
        let table = range(table, table_length).ok_or(damaged("its directory is invalid"))?;
        let (Some(head_bytes), Some(table_bytes)) = (self.map.get(head.clone()), self.map.get(table.clone())) else {
            return Err(damaged("it is cut short"));
        };
        if checksum(head_bytes, table_bytes) != sum {
            return Err(damaged("its content was changed (the checksum differs)"));
        }
        Scorer::stored(settings, [Blob::mapped(&self.map, head)?, Blob::mapped(&self.map, table)?])
    }
}

/// The header of a file of these scorers; the parts of each follow, as [`Scorer::stored_bytes`] returns them.
pub fn store_header(key: &[u8; KEY_BYTES], scorers: &[&Scorer]) -> Vec<u8> {
    let mut header = Vec::with_capacity(FIXED + WORD);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&BYTE_ORDER.to_ne_bytes());
    header.extend_from_slice(&VERSION.to_ne_bytes());
    header.extend_from_slice(key);
    header.extend_from_slice(&(scorers.len() as u64).to_ne_bytes());
    let mut start = (FIXED + WORD + scorers.len() * ENTRY * WORD) as u64;
    let mut directory = Vec::new();
    for scorer in scorers {
        let parts = scorer.parts();
        let [head, table] = [parts[0].bytes(), parts[1].bytes()];
        let table_start = start + head.len() as u64;
        let entry = [start, head.len() as u64, table_start, table.len() as u64, checksum(head, table)];
        directory.extend(entry.iter().flat_map(|value| value.to_ne_bytes()));
        start = table_start + table.len() as u64;
    }
    let sum = checksum(&header, &directory);
    header.extend_from_slice(&sum.to_ne_bytes());
    header.extend(directory);
    header
}

impl Scorer {
    /// The scorer's parts as they are in a file.
    pub fn stored_bytes(&self) -> Vec<u8> {
        self.parts().iter().flat_map(|part| part.bytes().iter().copied()).collect()
    }
}

#[allow(unsafe_code)] // a mapping changes when the file does
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: files are written under another name and renamed, so nobody changes one that can be opened; what a
    // checksum covers is read before it is used.
    unsafe { Mmap::map(file) }
}

fn directory(file: &[u8], key: &[u8; KEY_BYTES]) -> std::result::Result<Vec<[u64; ENTRY]>, &'static str> {
    let fixed = file.get(..FIXED).ok_or("it is cut short")?;
    let (magic, rest) = fixed.split_at(MAGIC.len());
    let (order, rest) = rest.split_at(4);
    let (version, rest) = rest.split_at(4);
    let (its_key, count) = rest.split_at(KEY_BYTES);
    if magic != MAGIC {
        return Err("it is another kind of file");
    }
    if order != BYTE_ORDER.to_ne_bytes() {
        return Err("it was written on a machine with another byte order");
    }
    if version != VERSION.to_ne_bytes() {
        return Err("it was written by another version");
    }
    if its_key != key {
        return Err("it belongs to other questions or settings");
    }
    let count = words(count).next().and_then(|count| usize::try_from(count).ok()).ok_or("it is cut short")?;
    let end =
        count.checked_mul(ENTRY * WORD).and_then(|size| size.checked_add(FIXED + WORD)).ok_or("it is cut short")?;
    let entries = file.get(FIXED + WORD..end).ok_or("it is cut short")?;
    if words(&file[FIXED..FIXED + WORD]).next() != Some(checksum(fixed, entries)) {
        return Err("its directory was changed (the checksum differs)");
    }
    let mut values = words(entries);
    let directory: Vec<_> = (0..count).map(|_| std::array::from_fn(|_| values.next().unwrap_or(0))).collect();
    let length = directory.last().map_or(Some(end as u64), |&[_, _, table, length, _]| table.checked_add(length));
    if length == Some(file.len() as u64) { Ok(directory) } else { Err("it is cut short") }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(WORD).map(|word| u64::from_ne_bytes(std::array::from_fn(|at| word[at])))
}

fn range(start: u64, length: u64) -> Option<Range<usize>> {
    let start = usize::try_from(start).ok()?;
    Some(start..start.checked_add(usize::try_from(length).ok()?)?)
}

fn checksum(first: &[u8], second: &[u8]) -> u64 {
    xxh3_64(first).rotate_left(1) ^ xxh3_64(second)
}
