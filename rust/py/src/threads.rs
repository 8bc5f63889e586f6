//! Thread pools by size: results never depend on the size, only the time does.

use crate::errors::to_python;
use pfgen_core::Error;
use pyo3::PyResult;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Runs `work` with `threads` threads, or with all cores where that is `None`. One thread is the calling one's pool of one.
pub(crate) fn with_threads<R: Send>(threads: Option<usize>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    match threads {
        None => Ok(work()),
        Some(count) => Ok(pool(count)?.install(work)),
    }
}

fn pool(count: usize) -> PyResult<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = OnceLock::new();
    if count == 0 {
        let reason = "threads must be at least 1 (or None for all cores)".to_owned();
        return Err(to_python(Error::InvalidSettings { reason }));
    }
    let mut pools = POOLS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&count) {
        return Ok(Arc::clone(pool));
    }
    let built = ThreadPoolBuilder::new().num_threads(count).build();
    let pool = Arc::new(built.map_err(|error| to_python(Error::Threads { reason: error.to_string() }))?);
    pools.insert(count, Arc::clone(&pool));
    Ok(pool)
}
