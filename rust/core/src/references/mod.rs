//! Building a reference set from many candidates; their pool may be larger than memory.

mod classes;
mod climb;
mod corrections;
mod digests;
#[doc(hidden)]
pub mod naive;
mod overlaps;
mod pool;
mod random;
mod search;
mod selection;
mod shares;
pub mod singletons;

pub use corrections::{Action, Corrected, CorrectionRule, Corrections};
pub use digests::text_digests;
pub use search::{Candidates, Ratio, Search};
pub use selection::Selector;
pub use singletons::{Scan, SingletonFilter, SingletonSettings};
