//! Scorers of many questions in one file, each read when it is asked for.
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
//! not checked is not used. A scorer is read into memory of its own, and its checksum and its tables are checked there. So
//! nothing that is done to the file afterwards, cutting it short included, changes a scorer in use; a mapping of the file
//! would change with it.

use crate::blob::Blob;
use crate::error::{Error, Result};
use crate::score::{Scorer, Settings};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
const MAGIC: &[u8; 8] = b"pfgenidx";
const BYTE_ORDER: u32 = 0x0102_0304;
/// To be raised with every change to a table or to this format.
const VERSION: u32 = 2;
const FIXED: usize = 8 + 4 + 4 + KEY_BYTES + 8;
const ENTRY: usize = 5;
const WORD: usize = 8;

/// A file of scorers.
#[derive(Debug)]
pub struct Store {
    file: File,
    directory: Vec<[u64; ENTRY]>,
}

impl Store {
    /// Opens a file that was written with the same key.
    ///
    /// # Errors
    /// [`Error::UnreadableStore`] if the file cannot be read or is no regular one (a pipe would never end),
    /// [`Error::DamagedStore`] if it is of another kind, version or byte order, cut short or changed.
    pub fn open(path: &Path, key: &[u8; KEY_BYTES]) -> Result<Self> {
        // Opening a pipe waits for its other end, so what it is is asked first.
        let file = std::fs::metadata(path)
            .and_then(regular)
            .and_then(|_| File::open(path))
            .map_err(|error| unreadable(&error))?;
        let length = file.metadata().and_then(regular).map_err(|error| unreadable(&error))?.len();
        let directory = directory(&file, length, key)?;
        Ok(Self { file, directory })
    }

    /// Number of scorers.
    pub fn len(&self) -> usize {
        self.directory.len()
    }

    /// Whether there are no scorers.
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// Reads and checks scorer `number`, which was built with `settings` for sources of so many `answers`.
    ///
    /// Whatever the file holds, reading a response with the scorer ends and stays inside its tables; that their values are
    /// those of the answers follows from the checksum alone.
    ///
    /// # Errors
    /// [`Error::DamagedStore`]; [`Error::UnreadableStore`] if the system cannot read it.
    pub fn scorer(&self, number: usize, settings: Settings, answers: &[usize]) -> Result<Scorer> {
        let &[head, head_length, table, table_length, sum] =
            self.directory.get(number).ok_or(damaged("it has fewer questions"))?;
        let (head, table) = (self.words(head, head_length)?, self.words(table, table_length)?);
        if checksum(bytemuck::cast_slice(&head), bytemuck::cast_slice(&table)) != sum {
            return Err(damaged("its content was changed (the checksum differs)"));
        }
        Scorer::stored(settings, answers, [Blob::stored(head)?, Blob::stored(table)?])
    }

    fn words(&self, start: u64, length: u64) -> Result<Vec<u64>> {
        let invalid = damaged("its directory is invalid");
        let count = usize::try_from(length).map_err(|_| invalid.clone())? / WORD;
        if !length.is_multiple_of(WORD as u64) || !start.is_multiple_of(WORD as u64) {
            return Err(invalid);
        }
        // Memory that is asked for zeroed is aligned, and not written twice; only this way of asking can fail.
        Vec::<u64>::new().try_reserve_exact(count).map_err(|_| damaged("it does not fit in memory"))?;
        let mut words = vec![0; count];
        read_at(&self.file, bytemuck::cast_slice_mut(&mut words), start)?;
        Ok(words)
    }
}

/// A scorer in a file, read whenever it is used.
#[derive(Debug)]
pub struct StoredScorer {
    /// The file.
    pub store: Arc<Store>,
    /// Its number there.
    pub number: usize,
    /// What it was built with.
    pub settings: Settings,
    /// How many answers each of its sources has.
    pub answers: Vec<usize>,
}

impl StoredScorer {
    /// Reads and checks the scorer.
    ///
    /// # Errors
    /// As [`Store::scorer`].
    pub fn read(&self) -> Result<Scorer> {
        self.store.scorer(self.number, self.settings.clone(), &self.answers)
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

/// Writes a file of these scorers, in place of what it has.
///
/// # Errors
/// The system's.
pub fn write_store(path: &Path, key: &[u8; KEY_BYTES], scorers: &[&Scorer]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&store_header(key, scorers))?;
    for part in scorers.iter().flat_map(|scorer| scorer.parts()) {
        file.write_all(part.bytes())?;
    }
    Ok(())
}

impl Scorer {
    /// The scorer's parts as they are in a file.
    pub fn stored_bytes(&self) -> Vec<u8> {
        self.parts().each_ref().map(Blob::bytes).concat()
    }
}

fn damaged(reason: &'static str) -> Error {
    Error::DamagedStore { reason }
}

fn unreadable(error: &io::Error) -> Error {
    Error::UnreadableStore { reason: error.to_string() }
}

fn regular(found: Metadata) -> io::Result<Metadata> {
    if found.is_file() { Ok(found) } else { Err(io::Error::other("not a regular file")) }
}

/// Fills `into` with the bytes from `start` on.
fn read_at(file: &File, into: &mut [u8], start: u64) -> Result<()> {
    read_exact_at(file, into, start).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it is cut short"),
        _ => unreadable(&error),
    })
}

#[cfg(unix)]
fn read_exact_at(file: &File, into: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut into: &mut [u8], mut start: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (into, start) = (&mut into[read..], start + read as u64),
        }
    }
    Ok(())
}

fn directory(file: &File, file_length: u64, key: &[u8; KEY_BYTES]) -> Result<Vec<[u64; ENTRY]>> {
    let cut_short = || damaged("it is cut short");
    let mut fixed = [0; FIXED + WORD];
    read_at(file, &mut fixed, 0)?;
    let (fixed, sum) = fixed.split_at(FIXED);
    let (magic, rest) = fixed.split_at(MAGIC.len());
    let (order, rest) = rest.split_at(4);
    let (version, rest) = rest.split_at(4);
    let (its_key, count) = rest.split_at(KEY_BYTES);
    if magic != MAGIC {
        return Err(damaged("it is another kind of file"));
    }
    if order != BYTE_ORDER.to_ne_bytes() {
        return Err(damaged("it was written on a machine with another byte order"));
    }
    if version != VERSION.to_ne_bytes() {
        return Err(damaged("it was written by another version"));
    }
    if its_key != key {
        return Err(damaged("it belongs to other questions or settings"));
    }
    let count = words(count).next().unwrap_or(0);
    let size = count.checked_mul((ENTRY * WORD) as u64).ok_or_else(cut_short)?;
    let end = size.checked_add((FIXED + WORD) as u64).filter(|&end| end <= file_length).ok_or_else(cut_short)?;
    let mut entries = vec![0; usize::try_from(size).map_err(|_| cut_short())?];
    read_at(file, &mut entries, (FIXED + WORD) as u64)?;
    if words(sum).next() != Some(checksum(fixed, &entries)) {
        return Err(damaged("its directory was changed (the checksum differs)"));
    }
    let mut values = words(&entries);
    let directory: Vec<_> = (0..count).map(|_| std::array::from_fn(|_| values.next().unwrap_or(0))).collect();
    let inside = |start: u64, length| start.checked_add(length).is_some_and(|end| end <= file_length);
    if !directory
        .iter()
        .all(|&[head, head_length, table, table_length, _]| inside(head, head_length) && inside(table, table_length))
    {
        return Err(cut_short());
    }
    let length = directory.last().map_or(end, |&[_, _, table, length, _]| table + length);
    if length == file_length { Ok(directory) } else { Err(cut_short()) }
}

/// The file `content` with the checksums that belong to it, as far as its directory leads to parts of it.
#[cfg(feature = "internals")]
pub(crate) fn with_checksums(mut content: Vec<u8>) -> Vec<u8> {
    let count = content.get(FIXED - WORD..FIXED).and_then(|count| words(count).next()).unwrap_or(0);
    let room = content.len().saturating_sub(FIXED + WORD) / (ENTRY * WORD);
    let entries =
        (0..room.min(usize::try_from(count).unwrap_or(room))).map(|entry| FIXED + WORD + entry * ENTRY * WORD);
    let part = |content: &[u8], start: u64, length: u64| {
        let range = usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?;
        content.get(range).map(<[u8]>::to_vec)
    };
    let mut end = FIXED + WORD;
    for entry in entries {
        end = entry + ENTRY * WORD;
        let values: Vec<u64> = words(&content[entry..end]).collect();
        let parts = (part(&content, values[0], values[1]), part(&content, values[2], values[3]));
        if let (Some(head), Some(table)) = parts {
            content[end - WORD..end].copy_from_slice(&checksum(&head, &table).to_ne_bytes());
        }
    }
    if end <= content.len() {
        let sum = checksum(&content[..FIXED], &content[FIXED + WORD..end]);
        content[FIXED..FIXED + WORD].copy_from_slice(&sum.to_ne_bytes());
    }
    content
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(WORD).map(|word| u64::from_ne_bytes(std::array::from_fn(|at| word[at])))
}

fn checksum(first: &[u8], second: &[u8]) -> u64 {
    xxh3_64(first).rotate_left(1) ^ xxh3_64(second)
}
