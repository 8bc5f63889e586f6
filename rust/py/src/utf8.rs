//! Whether the rows of a column are UTF-8: whole buffers are checked where that is no more work than row by row.

use arrow_array::{Array, ArrayAccessor, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::Buffer;
use pfgen_core::fetch_text;
use rayon::ThreadPool;
use rayon::prelude::*;

/// How many rows ahead of the one being checked are prefetched, and how many bytes of them.
const AHEAD: usize = 4;
const FETCHED: usize = 1 << 10;
/// Bytes that a thread checks at a time.
const PIECE: usize = 1 << 20;
/// Bytes that a character can have after its first.
const MOST_CONTINUATIONS: usize = 3;
/// So many bytes of buffers are checked for one that is read: sooner than row by row.
const WORTH_IT: usize = 2;
/// A view of up to so many bytes holds its text itself.
const INLINE: usize = 12;

/// The first row that is not UTF-8.
pub(crate) fn first_invalid<'a, A: ArrayAccessor<Item = &'a [u8]> + Sync>(
    array: A,
    pool: Option<&ThreadPool>,
) -> Option<usize> {
    let last = array.len().saturating_sub(1);
    let invalid = |&row: &usize| {
        // Rows of a selection lie all over the memory.
        fetch_text(array.value(last.min(row + AHEAD)), FETCHED);
        !is_utf8(array.value(row))
    };
    match pool {
        None => (0..array.len()).find(invalid),
        Some(pool) => pool.install(|| (0..array.len()).into_par_iter().find_first(invalid)),
    }
}

/// Whether all rows together are UTF-8, and so is each by itself. Where not, single rows have to be looked at.
pub(crate) fn are_rows_valid<O: OffsetSizeTrait>(array: &GenericStringArray<O>, pool: Option<&ThreadPool>) -> bool {
    let offsets = array.value_offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    let Some(rows) = array.value_data().get(first..last) else { return false };
    let starts_a_character = |offset: &O| is_boundary(rows, offset.as_usize().wrapping_sub(first));
    is_valid(rows, pool) && offsets.iter().all(starts_a_character)
}

/// The same of views, whose rows may be anywhere in the buffers, and may be a small part of them.
pub(crate) fn are_views_valid(array: &StringViewArray, pool: Option<&ThreadPool>) -> bool {
    let buffers = array.data_buffers();
    let read: usize = array.views().iter().map(|&view| view as u32 as usize).sum();
    let there: usize = buffers.iter().map(Buffer::len).sum();
    let is_row_valid = |&view: &u128| {
        let (length, buffer, start) = (view as u32 as usize, (view >> 64) as u32, (view >> 96) as u32 as usize);
        if length <= INLINE {
            return is_utf8(&view.to_le_bytes()[4..4 + length]);
        }
        let Some(buffer) = buffers.get(buffer as usize) else { return false };
        is_boundary(buffer, start) && is_boundary(buffer, start + length)
    };
    there <= WORTH_IT * read
        && buffers.iter().all(|buffer| is_valid(buffer, pool))
        && match pool {
            None => array.views().iter().all(is_row_valid),
            // Each row's ends are somewhere else in memory.
            Some(pool) => pool.install(|| array.views().par_iter().all(is_row_valid)),
        }
}

/// The same as [`is_utf8`], in pieces that begin with a character.
fn is_valid(text: &[u8], pool: Option<&ThreadPool>) -> bool {
    let Some(pool) = pool.filter(|_| text.len() > PIECE) else { return is_utf8(text) };
    let boundary = |at: usize| {
        let rest = &text[at.min(text.len())..];
        at.min(text.len()) + rest.iter().take(MOST_CONTINUATIONS).take_while(|&&byte| is_continuation(byte)).count()
    };
    let is_piece_valid = |piece: usize| {
        let first = if piece == 0 { 0 } else { boundary(piece * PIECE) };
        is_utf8(&text[first..boundary((piece + 1) * PIECE)])
    };
    pool.install(|| (0..text.len().div_ceil(PIECE)).into_par_iter().all(is_piece_valid))
}

fn is_utf8(text: &[u8]) -> bool {
    simdutf8::basic::from_utf8(text).is_ok()
}

/// Whether no character of valid `text` lies on both sides of `at`.
fn is_boundary(text: &[u8], at: usize) -> bool {
    at == text.len() || text.get(at).is_some_and(|&byte| !is_continuation(byte))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}
