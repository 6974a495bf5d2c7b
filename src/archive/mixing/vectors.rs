//! Dispatch of network code to the widest vectors of the machine.

use crate::simd::{InstructionSet, Kernel};

/// Work that is compiled for each padded number of hidden units and each set of instructions. All
/// versions give the same result.
pub(super) trait Work {
    type Output;

    /// Runs the work with hidden units in arrays of this length. Everything within is inlined, so
    /// that it is compiled for the instructions of the caller.
    fn run<const HIDDEN: usize>(self) -> Self::Output;
}

/// Number of hidden units, rounded up to the next number for which code is compiled.
pub(super) const fn padded(hidden: usize) -> usize {
    match hidden {
        0 => 0,
        1..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}

/// Runs work for a network of `hidden` hidden units with the fastest instructions.
pub(super) fn run<W: Work>(hidden: usize, work: W) -> W::Output {
    run_with(InstructionSet::fastest(), hidden, work)
}

/// Does the same as [`run`] with these instructions.
pub(super) fn run_with<W: Work>(instructions: InstructionSet, hidden: usize, work: W) -> W::Output {
    match padded(hidden) {
        0 => instructions.run(Padded::<W, 0>(work)),
        16 => instructions.run(Padded::<W, 16>(work)),
        32 => instructions.run(Padded::<W, 32>(work)),
        _ => instructions.run(Padded::<W, 64>(work)),
    }
}

/// Work for hidden units in arrays of this length.
struct Padded<W, const HIDDEN: usize>(W);

impl<W: Work, const HIDDEN: usize> Kernel for Padded<W, HIDDEN> {
    type Output = W::Output;

    #[inline(always)]
    fn run(self) -> W::Output {
        self.0.run::<HIDDEN>()
    }
}

/// Adds the products of eight pairs of numbers to four sums. Which product goes to which sum is
/// unspecified.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn add_products(sums: [i32; 4], first: &[i16; 8], second: &[i16; 8]) -> [i32; 4] {
    use std::arch::x86_64::{_mm_add_epi32, _mm_loadu_si128, _mm_madd_epi16, _mm_storeu_si128};

    let mut added = [0; 4];
    // SAFETY: each of the four arrays has the 16 bytes that are loaded or stored, at any alignment.
    unsafe {
        let first = _mm_loadu_si128(first.as_ptr().cast());
        let second = _mm_loadu_si128(second.as_ptr().cast());
        let sums = _mm_loadu_si128(sums.as_ptr().cast());
        let sum = _mm_add_epi32(sums, _mm_madd_epi16(first, second));
        _mm_storeu_si128(added.as_mut_ptr().cast(), sum);
    }
    added
}

/// Portable version of [`add_products`].
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn add_products_one_by_one(mut sums: [i32; 4], first: &[i16; 8], second: &[i16; 8]) -> [i32; 4] {
    for nth in 0..8 {
        sums[nth / 2] += i32::from(first[nth]) * i32::from(second[nth]);
    }
    sums
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn add_products(sums: [i32; 4], first: &[i16; 8], second: &[i16; 8]) -> [i32; 4] {
    add_products_one_by_one(sums, first, second)
}

/// The dot product, in eight sums, so that the order of additions is the same on every machine. The
/// length is a multiple of eight.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn dot<const N: usize>(first: &[f32; N], second: &[f32; N]) -> f32 {
    use std::arch::x86_64::{
        _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_ps, _mm_movehl_ps, _mm_mul_ps,
        _mm_setzero_ps, _mm_shuffle_ps,
    };

    let (first, second) = (first.as_chunks::<8>().0, second.as_chunks::<8>().0);
    // SAFETY: each load reads four of the eight numbers of a chunk, at any alignment.
    unsafe {
        let (mut low, mut high) = (_mm_setzero_ps(), _mm_setzero_ps());
        for (first, second) in first.iter().zip(second) {
            let (first, second) = (first.as_ptr(), second.as_ptr());
            let product =
                |place| _mm_mul_ps(_mm_loadu_ps(first.add(place)), _mm_loadu_ps(second.add(place)));
            low = _mm_add_ps(low, product(0));
            high = _mm_add_ps(high, product(4));
        }
        let four = _mm_add_ps(low, high);
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// Portable version of [`dot`].
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) fn dot_one_by_one<const N: usize>(first: &[f32; N], second: &[f32; N]) -> f32 {
    let mut sums = [0.0f32; 8];
    for (first, second) in first.as_chunks::<8>().0.iter().zip(second.as_chunks::<8>().0) {
        for nth in 0..8 {
            sums[nth] += first[nth] * second[nth];
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use dot_one_by_one as dot;

/// Number of values that are processed at once. Each such group begins at a multiple of this
/// number.
const LANES: usize = 16;

/// Applies `change` to each number of the first slice and its counterpart of the second.
#[inline(always)]
pub(super) fn each<T: Copy, U: Copy>(first: &mut [T], second: &[U], change: impl Fn(T, U) -> T) {
    for (first, &second) in first.iter_mut().zip(second) {
        *first = change(*first, second);
    }
}

/// Does the same as [`each`], for arrays whose length is a multiple of [`LANES`].
#[inline(always)]
pub(super) fn each_in_arrays<T: Copy, U: Copy, const N: usize>(
    first: &mut [T; N],
    second: &[U; N],
    change: impl Fn(T, U) -> T,
) {
    let (first, second) = (first.as_chunks_mut::<LANES>().0, second.as_chunks::<LANES>().0);
    for (first, second) in first.iter_mut().zip(second) {
        // All numbers are read before any is written, so that the compiler can use one vector.
        let (mut changed, second) = (*first, *second);
        for nth in 0..LANES {
            changed[nth] = change(changed[nth], second[nth]);
        }
        *first = changed;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn products_are_added_alike(
            sums in any::<[i16; 4]>(),
            first in any::<[i16; 8]>(),
            second in -128..=128i16,
        ) {
            let sums = sums.map(i32::from);
            let second = std::array::from_fn(|nth| second.wrapping_add(nth as i16));
            let fast: i32 = add_products(sums, &first, &second).iter().sum();
            let slow: i32 = add_products_one_by_one(sums, &first, &second).iter().sum();
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn products_of_floats_are_added_in_the_same_order(
            first in any::<[f32; 24]>(),
            second in any::<[f32; 24]>(),
        ) {
            let (fast, slow) = (dot(&first, &second), dot_one_by_one(&first, &second));
            prop_assert!(fast == slow || fast.is_nan() && slow.is_nan(), "{fast} and {slow}");
        }
    }
}
