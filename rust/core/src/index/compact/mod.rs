//! The scoring table in its compact layout: what the hot path reads, 16 bytes a state and 8 an edge.
//!
//! | array | element |
//! | --- | --- |
//! | states | what a state is worth, its suffix link, and where the edges of that are (see [`record`]) |
//! | edges | symbol, target and its base (see [`edge`]): the edge of a state with `base` by `symbol` is at `base ^ symbol` |
//! | unigrams | document frequencies of each symbol |
//! | pages | characters to symbols |
//!
//! There is room for three sources, 2^20 states, 4,094 characters, n-grams from 1 up to at most 15 characters, and document
//! frequencies up to 1,023 (three sources), 32,767 (two) or 2^30 (one), and of 7, 15 or 511 levels of a window's frequency;
//! everything else uses the wide layout.

mod edge;
mod placement;
mod record;
mod stored;
mod symbols;
mod table;

pub(crate) use record::{LEVELS_BITS, MOST_SOURCES, Packing, Record, TARGET_BITS};
pub(crate) use table::{CompactTable, CompactView, Match, Reading};
