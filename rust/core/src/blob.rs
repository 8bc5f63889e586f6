//! Arrays of numbers one after the other in one run of 64-bit words: the form in which tables are used, whether they
//! were built here or read from a file.

use crate::error::{Error, Result};
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;

const WORD: usize = 8;

/// Arrays in the order in which they were added; read-only.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    words: Arc<Vec<u64>>,
    /// Bytes of each array.
    arrays: Vec<Range<usize>>,
}

/// Concatenates arrays. The first word is their number; then come the length of each in bytes and the arrays
/// themselves, each aligned to a word.
#[derive(Debug, Default)]
pub(crate) struct BlobBuilder {
    lengths: Vec<u64>,
    words: Vec<u64>,
}

impl BlobBuilder {
    /// Adds an array.
    pub(crate) fn array<T: Pod>(mut self, values: &[T]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.lengths.push(bytes.len() as u64);
        for word in bytes.chunks(WORD) {
            let mut whole = [0; WORD];
            whole[..word.len()].copy_from_slice(word);
            self.words.push(u64::from_ne_bytes(whole));
        }
        self
    }

    /// The finished run.
    pub(crate) fn finish(self) -> Blob {
        let mut words = vec![self.lengths.len() as u64];
        words.extend(&self.lengths);
        words.extend(self.words);
        let arrays = layout(&words).unwrap_or_default();
        Blob { words: Arc::new(words), arrays }
    }
}

impl Blob {
    /// The run that was stored as these words; [`Error::DamagedStore`] if they are not one.
    pub(crate) fn stored(words: Vec<u64>) -> Result<Self> {
        let arrays = layout(&words).ok_or(Error::DamagedStore { reason: "its tables reach past its end" })?;
        Ok(Self { words: Arc::new(words), arrays })
    }

    /// The run itself.
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }

    /// Array `number` of a run that may hold anything; `None` if there is no such array, or its values have another size.
    pub(crate) fn checked<T: Pod>(&self, number: usize) -> Option<&[T]> {
        bytemuck::try_cast_slice(self.bytes().get(self.arrays.get(number)?.clone())?).ok()
    }

    /// Array `number` as it was added.
    ///
    /// # Panics
    /// If there is no such array, or its values have another size.
    pub(crate) fn array<T: Pod>(&self, number: usize) -> &[T] {
        bytemuck::cast_slice(&self.bytes()[self.arrays[number].clone()])
    }

    pub(crate) fn arrays(&self) -> usize {
        self.arrays.len()
    }
}

fn layout(words: &[u64]) -> Option<Vec<Range<usize>>> {
    let count = usize::try_from(*words.first()?).ok()?;
    let lengths = words.get(1..)?.get(..count)?;
    let mut start = (1 + count) * WORD;
    let mut arrays = Vec::with_capacity(count);
    for &length in lengths {
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        arrays.push(start..end);
        start = end.checked_next_multiple_of(WORD)?;
    }
    (start == words.len() * WORD).then_some(arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back() {
        let blob = BlobBuilder::default().array(&[1u16, 2, 3]).array::<u32>(&[]).array(&[1.5f64]).finish();
        assert_eq!(blob.arrays(), 3);
        assert_eq!(blob.array::<u16>(0), [1, 2, 3]);
        assert_eq!(blob.array::<u32>(1), []);
        assert_eq!(blob.array::<f64>(2), [1.5]);
    }

    #[test]
    fn what_is_no_run_is_noticed() {
        assert!(layout(&[]).is_none());
        assert!(layout(&[2, 8]).is_none());
        assert!(layout(&[1, u64::MAX, 0]).is_none());
        assert!(layout(&[u64::MAX]).is_none());
        assert!(layout(&[1, 8]).is_none());
        assert!(layout(&[1, 8, 0, 0]).is_none());
        assert!(layout(&[1, 8, 0]).is_some());
    }
}
