//! A table that was stored, and whether it can be read: whatever the response, every walk ends, and inside the arrays.
//!
//! A table that was built is sound. A file may hold anything, and a checksum is no secret.

use super::edge::Edge;
use super::record::{MOST_STATES, Packing, Record};
use super::symbols::{FIRST_KNOWN, MOST_SYMBOLS, PAGE, PAGE_BITS};
use super::table::{CompactTable, CompactView};
use crate::blob::Blob;
use crate::error::{Error, Result};
use crate::index::states::ROOT;

const ARRAYS: usize = 6;

impl CompactTable {
    /// The table that was stored as `blob`, for sources of so many `answers`, for which there [is room](Self::has_room).
    pub(crate) fn stored(blob: Blob, answers: &[usize]) -> Result<Self> {
        let damaged = |reason| Error::DamagedStore { reason };
        if !has_arrays(&blob) {
            return Err(damaged("a compact table has unexpected arrays"));
        }
        let &[sources, skipped_end] = blob.array::<u32>(0) else {
            return Err(damaged("a compact table has no sources"));
        };
        if sources as usize != answers.len() || !(FIRST_KNOWN.into()..=MOST_SYMBOLS as u32).contains(&skipped_end) {
            return Err(damaged("a compact table is of other sources"));
        }
        let table = Self { packing: Packing::new(answers.len()), skipped_end: skipped_end as u16, blob };
        if is_sound(&table.view()) { Ok(table) } else { Err(damaged("a compact table leads nowhere")) }
    }
}

fn has_arrays(blob: &Blob) -> bool {
    blob.arrays() == ARRAYS
        && blob.checked::<u32>(0).is_some()
        && blob.checked::<Record>(1).is_some()
        && blob.checked::<Edge>(2).is_some()
        && blob.checked::<u64>(3).is_some()
        && blob.checked::<u16>(4).is_some()
        && blob.checked::<u16>(5).is_some()
}

/// Whether the arrays are sound, in one pass over each.
fn is_sound(view: &CompactView<'_>) -> bool {
    let (states, symbols) = (view.states.len(), view.unigrams.len());
    (2..=MOST_STATES + 1).contains(&states)
        && (2..=MOST_SYMBOLS).contains(&symbols)
        && !view.edges.is_empty()
        && view.edges.len().is_multiple_of(symbols.next_power_of_two())
        && are_states_sound(view.states, view.edges.len())
        && are_edges_sound(view.edges, states)
        && are_pages_sound(view)
}

/// Bases of suffix links lie among the edges, and the links lead to states of shorter n-grams, so that following them ends
/// at the root.
/// Without branches that depend on the records: this is most of the time of reading a table.
fn are_states_sound(states: &[Record], edges: usize) -> bool {
    let is_sound = |record: &Record| {
        let Some(link) = states.get(record.link() as usize) else { return false };
        let at_root = record.link() == ROOT;
        let ends = (at_root & (record.above() == 0)) | (!at_root & (link.above() < record.above()));
        ends & ((record.link_base() as usize) < edges)
    };
    states[ROOT as usize].link() == ROOT && states.iter().fold(true, |sound, record| sound & is_sound(record))
}

/// Edges lead to states, whose edges lie among the edges.
fn are_edges_sound(edges: &[Edge], states: usize) -> bool {
    let is_sound = |edge: Edge| ((edge.target() as usize) < states) & ((edge.base() as usize) < edges.len());
    edges.iter().fold(true, |sound, &edge| sound & (edge.is_free() | is_sound(edge)))
}

/// Every character has a symbol, and the root an edge for it, so that a walk that is back at the root goes on.
fn are_pages_sound(view: &CompactView<'_>) -> bool {
    let root = view.root();
    let leads_on = |symbol: u32| view.edges[root.slot(symbol as u16) as usize].is_by(symbol as u16);
    let symbols = view.unigrams.len() as u32;
    let known: Vec<bool> = (0..symbols).map(leads_on).collect();
    view.page_of.len() == (char::MAX as usize >> PAGE_BITS) + 1
        && view.page_of.iter().all(|&page| (usize::from(page) + 1) * PAGE <= view.pages.len())
        && view.pages.iter().all(|&symbol| known.get(usize::from(symbol)) == Some(&true))
}
