//! From bytes to a case, and the case checked against the obvious implementations. Shared by the fuzz targets of
//! `rust/fuzz`, which make up bytes, and by the test that replays what they found.

pub(crate) mod case;
pub(crate) mod index;
pub(crate) mod scorer;
pub(crate) mod store;
