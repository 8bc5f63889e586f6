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
pub(crate) struct BlobBuilder<'a> {
    arrays: Vec<Part<'a>>,
}

/// An array, or the bytes of one that is written later.
#[derive(Debug)]
enum Part<'a> {
    Known(&'a [u8]),
    Later(usize),
}

impl Part<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Known(array) => array.len(),
            Self::Later(length) => *length,
        }
    }
}

impl<'a> BlobBuilder<'a> {
    /// Adds an array.
    pub(crate) fn array<T: Pod>(mut self, values: &'a [T]) -> Self {
        self.arrays.push(Part::Known(bytemuck::cast_slice(values)));
        self
    }

    /// Adds an array of so many zeros, to be [written](Blob::array_mut) where it is.
    pub(crate) fn zeros<T: Pod>(mut self, count: usize) -> Self {
        self.arrays.push(Part::Later(count * size_of::<T>()));
        self
    }

    /// The finished run.
    pub(crate) fn finish(self) -> Blob {
        let head = 1 + self.arrays.len();
        let length = head + self.arrays.iter().map(|array| array.len().div_ceil(WORD)).sum::<usize>();
        let mut words = vec![0; length];
        words[0] = self.arrays.len() as u64;
        for (word, array) in words[1..].iter_mut().zip(&self.arrays) {
            *word = array.len() as u64;
        }
        let arrays = layout(&words).unwrap_or_default();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for (range, array) in arrays.iter().zip(&self.arrays) {
            if let Part::Known(array) = array {
                bytes[range.clone()].copy_from_slice(array);
            }
        }
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

    /// The same, to be written; other clones of the run do not change.
    ///
    /// # Panics
    /// As [`array`](Self::array).
    pub(crate) fn array_mut<T: Pod>(&mut self, number: usize) -> &mut [T] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(Arc::make_mut(&mut self.words).as_mut_slice());
        bytemuck::cast_slice_mut(&mut bytes[self.arrays[number].clone()])
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
    fn arrays_are_written_where_they_are() {
        let mut blob = BlobBuilder::default().array(&[1u16]).zeros::<u32>(3).array(&[2u8]).finish();
        let before = blob.clone();
        blob.array_mut::<u32>(1)[2] = 7;
        assert_eq!(before.array::<u32>(1), [0, 0, 0]);
        assert_eq!(
            blob.bytes(),
            BlobBuilder::default().array(&[1u16]).array(&[0u32, 0, 7]).array(&[2u8]).finish().bytes()
        );
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
