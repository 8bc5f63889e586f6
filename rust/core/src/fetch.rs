//! Prefetching memory into the cache.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches `values[at]`; does nothing where there is no such instruction.
#[inline(always)]
#[allow(unsafe_code)] // an instruction that takes a bare pointer
pub(crate) fn fetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint reads nothing and changes nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Prefetches the first `most` bytes of a text that is read soon.
#[inline(always)]
pub fn fetch_text(text: &[u8], most: usize) {
    for at in (0..text.len().min(most)).step_by(LINE) {
        fetch(text, at);
    }
}
