//! Vectors of eight 16-bit numbers.
//!
//! `unsafe` is used because compilers do not find these instructions by themselves. Without them,
//! coding a text takes 1.5 times as long.

use std::ops::{Add, BitAnd, BitOr, Sub};

#[cfg(not(target_arch = "x86_64"))]
use arrays as vectors;
#[cfg(target_arch = "x86_64")]
use sse2 as vectors;

/// Number of lanes of a vector, each with a number of 16 bits.
pub(super) const LANES: usize = 8;

/// Eight numbers, signed or unsigned depending on the operation; arithmetic wraps.
#[derive(Copy, Clone, Debug)]
pub(super) struct Lanes(vectors::Vector);

impl Lanes {
    #[inline(always)]
    pub(super) fn from_array(numbers: [u16; LANES]) -> Lanes {
        Lanes(vectors::from_array(numbers))
    }

    /// The same number eight times.
    #[inline(always)]
    pub(super) fn splat(number: u16) -> Lanes {
        Lanes::from_array([number; LANES])
    }

    #[inline(always)]
    pub(super) fn array(self) -> [u16; LANES] {
        vectors::array(self.0)
    }

    #[inline(always)]
    pub(super) fn shifted_left<const BY: i32>(self) -> Lanes {
        Lanes(vectors::shifted_left::<BY>(self.0))
    }

    #[inline(always)]
    pub(super) fn shifted_right<const BY: i32>(self) -> Lanes {
        Lanes(vectors::shifted_right::<BY>(self.0))
    }

    #[inline(always)]
    pub(super) fn shifted_right_signed<const BY: i32>(self) -> Lanes {
        Lanes(vectors::shifted_right_signed::<BY>(self.0))
    }

    /// Minimum of each pair of signed numbers.
    #[inline(always)]
    pub(super) fn min(self, other: Lanes) -> Lanes {
        Lanes(vectors::least(self.0, other.0))
    }

    /// Compares pairs of signed numbers: sets all bits of a number if the first is less, else none.
    #[inline(always)]
    pub(super) fn is_less(self, other: Lanes) -> Lanes {
        Lanes(vectors::is_less(self.0, other.0))
    }

    /// Integer quotients of numbers below 2^15.
    #[inline(always)]
    pub(super) fn quotient(self, divisor: Lanes) -> Lanes {
        Lanes(vectors::quotient(self.0, divisor.0))
    }

    /// Products of signed numbers and a factor in units of `2^BY`, rounded.
    #[inline(always)]
    pub(super) fn scaled<const BY: i32>(self, factor: i16) -> Lanes {
        Lanes(vectors::scaled::<BY>(self.0, factor))
    }

    /// Dot product of signed numbers.
    #[inline(always)]
    pub(super) fn dot(self, other: Lanes) -> i32 {
        vectors::dot(self.0, other.0)
    }
}

macro_rules! operators {
    ($($operator:ident $name:ident)*) => {
        $(
            impl $operator for Lanes {
                type Output = Lanes;

                #[inline(always)]
                fn $name(self, other: Lanes) -> Lanes {
                    Lanes(vectors::$name(self.0, other.0))
                }
            }
        )*
    };
}

operators!(Add add Sub sub BitAnd bitand BitOr bitor);

/// Implementation by SSE2, which every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod sse2 {
    use std::arch::x86_64::*;

    use super::LANES;

    pub(super) type Vector = __m128i;

    #[inline(always)]
    pub(super) fn from_array(numbers: [u16; LANES]) -> Vector {
        let [a, b, c, d, e, f, g, h] = numbers;
        let (a, b, c, d) = (a as i16, b as i16, c as i16, d as i16);
        let (e, f, g, h) = (e as i16, f as i16, g as i16, h as i16);
        // SAFETY: every x86-64 processor has SSE2, and the instructions touch no memory.
        unsafe { _mm_setr_epi16(a, b, c, d, e, f, g, h) }
    }

    #[inline(always)]
    pub(super) fn array(vector: Vector) -> [u16; LANES] {
        macro_rules! lanes {
            ($($nth:literal)*) => {
                // SAFETY: every x86-64 processor has SSE2, and the instructions touch no memory.
                [$(unsafe { _mm_extract_epi16::<$nth>(vector) as u16 }),*]
            };
        }
        lanes!(0 1 2 3 4 5 6 7)
    }

    macro_rules! of_two {
        ($($name:ident $instruction:ident)*) => {
            $(
                #[inline(always)]
                pub(super) fn $name(first: Vector, second: Vector) -> Vector {
                    // SAFETY: every x86-64 processor has SSE2, and the instructions touch no
                    // memory.
                    unsafe { $instruction(first, second) }
                }
            )*
        };
    }

    of_two! {
        add _mm_add_epi16
        sub _mm_sub_epi16
        bitand _mm_and_si128
        bitor _mm_or_si128
        least _mm_min_epi16
        is_less _mm_cmplt_epi16
    }

    macro_rules! shifts {
        ($($name:ident $instruction:ident)*) => {
            $(
                #[inline(always)]
                pub(super) fn $name<const BY: i32>(vector: Vector) -> Vector {
                    // SAFETY: every x86-64 processor has SSE2, and the instructions touch no
                    // memory.
                    unsafe { $instruction::<BY>(vector) }
                }
            )*
        };
    }

    shifts! {
        shifted_left _mm_slli_epi16
        shifted_right _mm_srli_epi16
        shifted_right_signed _mm_srai_epi16
    }

    /// Divides in floating point, which represents such numbers exactly and never rounds a quotient
    /// up to an integer.
    #[inline(always)]
    pub(super) fn quotient(first: Vector, second: Vector) -> Vector {
        // SAFETY: every x86-64 processor has SSE2, and the instructions touch no memory.
        unsafe {
            let zero = _mm_setzero_si128();
            let low = |vector| _mm_cvtepi32_ps(_mm_unpacklo_epi16(vector, zero));
            let high = |vector| _mm_cvtepi32_ps(_mm_unpackhi_epi16(vector, zero));
            _mm_packs_epi32(
                _mm_cvttps_epi32(_mm_div_ps(low(first), low(second))),
                _mm_cvttps_epi32(_mm_div_ps(high(first), high(second))),
            )
        }
    }

    #[inline(always)]
    pub(super) fn scaled<const BY: i32>(vector: Vector, factor: i16) -> Vector {
        // SAFETY: every x86-64 processor has SSE2, and the instructions touch no memory.
        unsafe {
            let ones = _mm_set1_epi16(1);
            // Half is added before the shift, so that it rounds: the instruction multiplies the pairs
            // (number, 1) and (factor, half), and adds the two products.
            let half = 1 << (BY - 1);
            let factors = _mm_set1_epi32((half << 16) | (i32::from(factor) & 0xffff));
            let low = _mm_unpacklo_epi16(vector, ones);
            let high = _mm_unpackhi_epi16(vector, ones);
            _mm_packs_epi32(
                _mm_srai_epi32::<BY>(_mm_madd_epi16(low, factors)),
                _mm_srai_epi32::<BY>(_mm_madd_epi16(high, factors)),
            )
        }
    }

    #[inline(always)]
    pub(super) fn dot(first: Vector, second: Vector) -> i32 {
        // SAFETY: every x86-64 processor has SSE2, and the instructions touch no memory.
        unsafe {
            let sums = _mm_madd_epi16(first, second);
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums));
            _mm_cvtsi128_si32(sums)
        }
    }
}

/// The portable version.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod arrays {
    use std::array::from_fn;

    use super::LANES;

    pub(super) type Vector = [u16; LANES];

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(super) fn from_array(numbers: [u16; LANES]) -> Vector {
        numbers
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(super) fn array(vector: Vector) -> [u16; LANES] {
        vector
    }

    macro_rules! of_two {
        ($($name:ident($first:ident, $second:ident) $made:expr;)*) => {
            $(
                #[inline(always)]
                pub(super) fn $name(first: Vector, second: Vector) -> Vector {
                    let make = |$first: u16, $second: u16| $made;
                    from_fn(|nth| make(first[nth], second[nth]))
                }
            )*
        };
    }

    of_two! {
        add(a, b) a.wrapping_add(b);
        sub(a, b) a.wrapping_sub(b);
        bitand(a, b) a & b;
        bitor(a, b) a | b;
        least(a, b) a.cast_signed().min(b.cast_signed()).cast_unsigned();
        is_less(a, b) if a.cast_signed() < b.cast_signed() { u16::MAX } else { 0 };
        quotient(a, b) a / b;
    }

    #[inline(always)]
    pub(super) fn shifted_left<const BY: i32>(vector: Vector) -> Vector {
        vector.map(|number| number << BY)
    }

    #[inline(always)]
    pub(super) fn shifted_right<const BY: i32>(vector: Vector) -> Vector {
        vector.map(|number| number >> BY)
    }

    #[inline(always)]
    pub(super) fn shifted_right_signed<const BY: i32>(vector: Vector) -> Vector {
        vector.map(|number| (number.cast_signed() >> BY).cast_unsigned())
    }

    #[inline(always)]
    pub(super) fn scaled<const BY: i32>(vector: Vector, factor: i16) -> Vector {
        vector.map(|number| {
            let product = i32::from(number.cast_signed()) * i32::from(factor);
            let units = (product + (1 << (BY - 1))) >> BY;
            units.clamp(i16::MIN.into(), i16::MAX.into()) as u16
        })
    }

    #[inline(always)]
    pub(super) fn dot(first: Vector, second: Vector) -> i32 {
        let signed = |number: u16| i32::from(number.cast_signed());
        first.iter().zip(second).map(|(&a, b)| signed(a) * signed(b)).fold(0, i32::wrapping_add)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use proptest::prelude::*;

    use super::{LANES, arrays, sse2};

    proptest! {
        #[test]
        fn instructions_make_what_arrays_make(
            first: [u16; LANES],
            second: [u16; LANES],
            factor: i16,
        ) {
            macro_rules! are_alike {
                ($($name:ident$(::<$by:literal>)?($($argument:ident),*))*) => {
                    $(
                        let made = sse2::$name$(::<$by>)?($(sse2::from_array($argument)),*);
                        let expected = arrays::$name$(::<$by>)?($($argument),*);
                        prop_assert_eq!(sse2::array(made), expected, "{}", stringify!($name));
                    )*
                };
            }
            are_alike! {
                add(first, second) sub(first, second)
                bitand(first, second) bitor(first, second)
                least(first, second) is_less(first, second)
                shifted_left::<3>(first) shifted_right::<3>(first) shifted_right_signed::<3>(first)
            }
            let vectors = [first, second].map(sse2::from_array);
            prop_assert_eq!(
                sse2::array(sse2::scaled::<13>(vectors[0], factor)),
                arrays::scaled::<13>(first, factor)
            );
            prop_assert_eq!(sse2::dot(vectors[0], vectors[1]), arrays::dot(first, second));
            let first = first.map(|it| it >> 1);
            let second = second.map(|it| (it >> 1).max(1));
            are_alike! { quotient(first, second) }
        }
    }
}
