//! The one place where core errors become Python exceptions.

use pfgen_core::Error;
use pyo3::prelude::*;

mod classes {
    #![allow(missing_docs)]
    pyo3::import_exception!(pfgen_rs.errors, BenchmarkError);
    pyo3::import_exception!(pfgen_rs.errors, InputError);
    pyo3::import_exception!(pfgen_rs.errors, StoreError);
    pyo3::import_exception!(pfgen_rs.errors, PfgenError);
    pyo3::import_exception!(pfgen_rs.errors, SettingsError);
}

/// The exception for a failure of the core.
pub(crate) fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::NoSources
        | Error::NoAnswers { .. }
        | Error::ZeroBaseline { .. }
        | Error::TextTooLong { .. }
        | Error::InvalidRule { .. }
        | Error::TooManyWords { .. } => classes::BenchmarkError::new_err(message),
        Error::EmptyPattern
        | Error::EmptyPool
        | Error::UnequalLengths { .. }
        | Error::ZeroWeight { .. }
        | Error::PoolTooLarge
        | Error::TooManyAnswers { .. }
        | Error::ChangedAnswers { .. }
        | Error::DamagedSketch { .. } => classes::InputError::new_err(message),
        Error::InvalidSettings { .. } => classes::SettingsError::new_err(message),
        Error::DamagedStore { .. } | Error::UnreadableStore { .. } => classes::StoreError::new_err(message),
        Error::SuffixArray { .. } | Error::Threads { .. } => classes::PfgenError::new_err(message),
    }
}

/// The exception for an argument that cannot be used.
pub(crate) fn bad_input(message: String) -> PyErr {
    classes::InputError::new_err(message)
}
