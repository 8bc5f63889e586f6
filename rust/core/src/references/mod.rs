//! Building a reference set from many candidates; their pool may be larger than memory.

mod classes;
mod corrections;
mod digests;
#[doc(hidden)]
pub mod naive;
mod selection;
mod shares;
pub mod singletons;

pub use corrections::{Action, Corrected, CorrectionRule, Corrections};
pub use digests::text_digests;
pub use selection::{Candidates, Selector};
pub use singletons::{Scan, SingletonFilter, SingletonSettings};
