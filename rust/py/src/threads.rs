//! Thread pools by size: results never depend on the size, only the time does.

use crate::errors::to_python;
use pfgen_core::Error;
use pyo3::PyResult;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// More would only burden the machine: starting a hundred thousand stalls it.
const MOST_THREADS: i64 = 1024;

/// Pools by process and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// Responses below this number are scored on the calling thread: waking others would take longer.
const FEW: usize = 256;

/// The pool for `responses` responses with `threads` threads, or with all cores where that is `None`; none where the
/// calling thread is enough.
///
/// A pool belongs to the process that made it: a process that was forked makes its own, since threads are not copied.
pub(crate) fn pool_for(threads: Option<i64>, responses: usize) -> PyResult<Option<Arc<ThreadPool>>> {
    if threads.is_none() && responses < FEW {
        return Ok(None); // counting cores reads files
    }
    let count = count_of(threads)?;
    if count == 1 || responses < FEW { Ok(None) } else { pool(count).map(Some) }
}

/// The pool with `threads` threads, or with all cores where that is `None`: work that is never too little for it.
pub(crate) fn pool_of(threads: Option<i64>) -> PyResult<Arc<ThreadPool>> {
    pool(count_of(threads)?)
}

fn count_of(threads: Option<i64>) -> PyResult<usize> {
    match threads {
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Some(count) => checked(count),
    }
}

fn checked(count: i64) -> PyResult<usize> {
    if (1..=MOST_THREADS).contains(&count) {
        return Ok(count as usize);
    }
    let reason = format!("threads must be between 1 and {MOST_THREADS} (or None for all cores), not {count}");
    Err(to_python(Error::InvalidSettings { reason }))
}

fn pool(count: usize) -> PyResult<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<Pools>> = OnceLock::new();
    let key = (std::process::id(), count);
    let mut pools = POOLS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&key) {
        return Ok(Arc::clone(pool));
    }
    let built = ThreadPoolBuilder::new().num_threads(count).build();
    let pool = Arc::new(built.map_err(|error| to_python(Error::Threads { reason: error.to_string() }))?);
    pools.insert(key, Arc::clone(&pool));
    Ok(pool)
}
