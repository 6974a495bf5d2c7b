//! Bringing memory near before it is needed.
//!
//! `unsafe` stands here because looking at the bytes instead, as is done where there is no such
//! instruction, makes the processor wait for them: batched lookups then take a third longer.

#![allow(unsafe_code)]

/// Asks for the cache line that a value begins in, and does not wait for it.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching reads nothing and faults nowhere, whatever the address; every x86-64
        // processor has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::hint::black_box(value);
    }
}

/// Asks for all cache lines of some bytes, and of more only for the first sixteen.
#[cfg(feature = "store")]
#[inline]
pub(crate) fn prefetch_bytes(bytes: &[u8]) {
    const LINE: usize = 64;
    let bytes = bytes.get(..16 * LINE).unwrap_or(bytes);
    bytes.iter().step_by(LINE).chain(bytes.last()).for_each(prefetch);
}
