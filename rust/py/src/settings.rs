//! `Settings`: checked scoring settings.

use crate::errors::to_python;
use pfgen_core::Variant;
use pyo3::prelude::*;

/// What a score depends on besides the reference answers; rejects settings that make no sense.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Settings {
    pub(crate) core: pfgen_core::Settings,
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (*, paper, min_n, max_n, truthfulness_n, threshold, target_length, zero_length, max_length, skipped, helpfulness))]
    #[allow(clippy::too_many_arguments)] // one keyword a setting, as Python has them
    fn new(
        paper: bool,
        min_n: usize,
        max_n: usize,
        truthfulness_n: usize,
        threshold: f64,
        target_length: usize,
        zero_length: usize,
        max_length: usize,
        skipped: &str,
        helpfulness: bool,
    ) -> PyResult<Self> {
        let core = pfgen_core::Settings {
            variant: if paper { Variant::Paper } else { Variant::PfgenBench },
            min_n,
            max_n,
            truthfulness_n,
            threshold,
            target_length,
            zero_length,
            max_length,
            skipped: skipped.chars().collect(),
            helpfulness,
        };
        core.validate().map_err(to_python)?;
        Ok(Self { core })
    }
}
