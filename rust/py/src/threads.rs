//! Thread pools by size: results never depend on the size, only the time does.

use crate::errors::to_python;
use pfgen_core::Error;
use pyo3::PyResult;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// More would only burden the machine: starting a hundred thousand stalls it.
const MOST_THREADS: i64 = 1024;

/// Runs `work` with `threads` threads, or with all cores where that is `None`.
pub(crate) fn with_threads<R: Send>(threads: Option<i64>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    match threads {
        None => Ok(work()),
        Some(count) => Ok(pool(count)?.install(work)),
    }
}

fn pool(count: i64) -> PyResult<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<HashMap<i64, Arc<ThreadPool>>>> = OnceLock::new();
    if !(1..=MOST_THREADS).contains(&count) {
        let reason = format!("threads must lie in 1…{MOST_THREADS} (or be None for all cores), not {count}");
        return Err(to_python(Error::InvalidSettings { reason }));
    }
    let mut pools = POOLS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&count) {
        return Ok(Arc::clone(pool));
    }
    let built = ThreadPoolBuilder::new().num_threads(count as usize).build();
    let pool = Arc::new(built.map_err(|error| to_python(Error::Threads { reason: error.to_string() }))?);
    pools.insert(count, Arc::clone(&pool));
    Ok(pool)
}
