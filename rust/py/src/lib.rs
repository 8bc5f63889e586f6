//! `pfgen_rs._native`: converts Python values, releases the GIL, calls the other crates.

// pyo3 hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

mod batch;
mod corrections;
mod errors;
mod expressions;
mod few;
mod index;
mod jpeval;
mod json;
mod leaks;
mod lines;
mod markup;
mod numeric;
mod parquet_file;
mod rules;
mod runs;
mod scorer;
mod selection;
mod settings;
mod singletons;
mod text_column;
mod text_rows;
mod threads;
mod token_column;
mod unclean;
mod units;
mod utf8;

use pyo3::prelude::*;

/// Native half of `pfgen_rs`; use the package's public names instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::{Batches, Codes, Numbers, Scored};
    #[pymodule_export]
    use super::corrections::Corrections;
    #[pymodule_export]
    use super::expressions::Expression;
    #[pymodule_export]
    use super::few::Few;
    #[pymodule_export]
    use super::index::Index;
    #[pymodule_export]
    use super::jpeval::CodePoints;
    #[pymodule_export]
    use super::json::indented;
    #[pymodule_export]
    use super::leaks::LeakFinder;
    #[pymodule_export]
    use super::lines::{Places, TextArray, decode_lines, digest};
    #[pymodule_export]
    use super::markup::Markup;
    #[pymodule_export]
    use super::numeric::round_half_even;
    #[pymodule_export]
    use super::parquet_file::ParquetFile;
    #[pymodule_export]
    use super::rules::Rules;
    #[pymodule_export]
    use super::runs::{RunSummary, sorted_rows, sum_again};
    #[pymodule_export]
    use super::scorer::{Scorer, Store, StoredScorer, explain};
    #[pymodule_export]
    use super::selection::Selector;
    #[pymodule_export]
    use super::settings::Settings;
    #[pymodule_export]
    use super::singletons::{Scan, SingletonFilter, text_digests};
    #[pymodule_export]
    use super::text_column::Texts;
    #[pymodule_export]
    use super::token_column::{code_tokens, token_ids};
    #[pymodule_export]
    use super::unclean::unclean_rows;
    #[pymodule_export]
    use super::units::{Vocabulary, word_ends, word_spans};

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use super::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("NOT_FOUND", pfgen_core::NOT_FOUND)?;
        module.add("UNKNOWN", u32::MAX)?;
        module.add("LARGEST_TOKEN", pfgen_core::units::LARGEST_TOKEN)?;
        module.add("INSTRUCTIONS", pfgen_core::InstructionSet::chosen().name())
    }
}
