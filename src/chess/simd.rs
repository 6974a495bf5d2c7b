//! Instruction sets of the processor. Only this module detects them, once for each process.
//!
//! Some instructions exist only on some processors, so code may use them only after they were
//! detected. A value of [`InstructionSet`] or [`Sse42`] proves that, because only this module makes
//! such values. [`with_instructions!`] chooses between implementations; each arm of the macro call
//! contains its `unsafe` call, next to the comment that says why it is safe.

use std::sync::LazyLock;

/// A set of processor instructions. Implementations for different sets give equal results and
/// differ only in speed.
///
/// A value exists only if the processor has the instructions. So the value proves that code
/// compiled for these instructions may run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct InstructionSet(Level);

/// The kind of an [`InstructionSet`]. A level by itself does not prove that the processor has the
/// instructions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Level {
    /// Vectors of 64 bytes; table lookups by gather instructions.
    #[cfg(target_arch = "x86_64")]
    Avx512Gathers,
    /// Vectors of 64 bytes; table lookups by single loads.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Vectors of 32 bytes; bits are gathered and scattered by `pext` and `pdep`.
    #[cfg(target_arch = "x86_64")]
    Avx2Bits,
    /// Vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Pairs of vectors of 16 bytes.
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    Neon,
    /// The instructions that every processor of the architecture has.
    Portable,
}

static SUPPORTED: LazyLock<Vec<InstructionSet>> = LazyLock::new(|| {
    let mut levels = vector_levels();
    levels.push(Level::Portable);
    levels.into_iter().map(InstructionSet).collect()
});

static FASTEST: LazyLock<InstructionSet> =
    LazyLock::new(|| SUPPORTED.first().copied().unwrap_or(InstructionSet::PORTABLE));

/// Safe code that the compiler translates once for each instruction set. Bit counting and loops
/// over arrays gain most.
pub trait Kernel {
    /// The result.
    type Output;

    /// Computes the result. This function and all functions that it calls must be
    /// `#[inline(always)]`. Otherwise they are compiled only for the instructions that every
    /// processor has.
    fn run(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_vectorized<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
#[target_feature(enable = "neon")]
fn run_vectorized<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

impl InstructionSet {
    /// The set that every processor of the architecture has.
    pub(crate) const PORTABLE: InstructionSet = InstructionSet(Level::Portable);

    /// The fastest set of this processor, chosen once for each process.
    #[inline]
    pub fn fastest() -> InstructionSet {
        *FASTEST
    }

    /// The sets that this processor has, fastest first.
    pub fn supported() -> &'static [InstructionSet] {
        &SUPPORTED
    }

    /// The kind of the set.
    #[inline(always)]
    pub const fn level(self) -> Level {
        self.0
    }

    /// Runs a kernel that is compiled for these instructions.
    #[inline]
    #[allow(unsafe_code)]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        with_instructions!(
            self,
            // SAFETY: a set of this level is made only where its instructions are detected;
            // processors of both AVX-512 levels also have AVX2 and BMI2.
            avx512(_GATHERS) => unsafe { run_vectorized(kernel) },
            // SAFETY: a set of this level is made only where its instructions are detected.
            lanes => unsafe { run_vectorized(kernel) },
            portable => kernel.run(),
        )
    }

    /// The name of the set.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Gathers => "AVX-512, gathers",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2Bits => "AVX2, BMI2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            Level::Neon => "NEON",
            Level::Portable => "portable",
        }
    }
}

/// Chooses an implementation by the level of an [`InstructionSet`].
///
/// The arm `avx512` covers both levels of AVX-512; its constant is true for the level with gathers.
/// The arm `bits` is for AVX2 with fast `pext` and `pdep`; if it is missing, `lanes` is used there.
/// Arms for other architectures are not compiled. An arm needs `unsafe` to call a function with
/// target features.
#[doc(hidden)]
#[macro_export]
macro_rules! with_instructions {
    (
        $set:expr,
        avx512($gathers:ident) => $avx512:expr,
        lanes => $lanes:expr,
        portable => $portable:expr $(,)?
    ) => {
        $crate::simd::with_instructions!(
            $set,
            avx512($gathers) => $avx512,
            bits => $lanes,
            lanes => $lanes,
            portable => $portable,
        )
    };
    (
        $set:expr,
        avx512($gathers:ident) => $avx512:expr,
        bits => $bits:expr,
        lanes => $lanes:expr,
        portable => $portable:expr $(,)?
    ) => {
        match $crate::simd::InstructionSet::level($set) {
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx512Gathers => {
                const $gathers: bool = true;
                $avx512
            }
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx512 => {
                const $gathers: bool = false;
                $avx512
            }
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx2Bits => $bits,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx2 => $lanes,
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            $crate::simd::Level::Neon => $lanes,
            $crate::simd::Level::Portable => $portable,
        }
    };
}

pub use crate::with_instructions;

/// A value that proves that the processor has SSE4.2, whose instructions compute CRC32C.
#[cfg(target_arch = "x86_64")]
#[derive(Copy, Clone, Debug)]
pub struct Sse42(());

#[cfg(target_arch = "x86_64")]
impl Sse42 {
    /// Returns a value that proves that the processor has SSE4.2; `None` if the processor lacks it.
    #[inline(always)]
    pub fn detect() -> Option<Sse42> {
        is_x86_feature_detected!("sse4.2").then_some(Sse42(()))
    }
}

#[cfg(target_arch = "x86_64")]
fn vector_levels() -> Vec<Level> {
    let has_avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let has_avx512 = has_avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2");
    let mut levels = Vec::new();
    if has_avx512 {
        levels.extend([Level::Avx512, Level::Avx512Gathers]);
        if has_fast_gathers() {
            levels.reverse();
        }
    }
    if has_avx2 {
        levels.extend(if has_fast_pext() {
            [Level::Avx2Bits, Level::Avx2]
        } else {
            [Level::Avx2, Level::Avx2Bits]
        });
    }
    levels
}

/// True if `pext` and `pdep` take one step. On AMD processors before Zen 3 they take one step for
/// each bit.
#[cfg(target_arch = "x86_64")]
fn has_fast_pext() -> bool {
    let signature = std::arch::x86_64::__cpuid(1).eax;
    let family = (signature >> 8 & 15) + (signature >> 20 & 255);
    is_of_vendor(b"GenuineIntel") || is_of_vendor(b"AuthenticAMD") && family >= 0x19
}

#[cfg(target_arch = "x86_64")]
fn is_of_vendor(name: &[u8; 12]) -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened() == name
}

/// True if a gather takes less time than single loads, as on Intel processors with AVX-512. AMD
/// processors split a gather into many small steps.
#[cfg(target_arch = "x86_64")]
fn has_fast_gathers() -> bool {
    is_of_vendor(b"GenuineIntel")
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
fn vector_levels() -> Vec<Level> {
    vec![Level::Neon]
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
)))]
fn vector_levels() -> Vec<Level> {
    Vec::new()
}

/// Prefetches the cache line in which a value begins.
// `unsafe`, because a plain read would wait for the memory and make batched lookups a third slower.
#[inline]
#[allow(unsafe_code)]
pub fn prefetch<T>(value: &T) {
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

/// Prefetches the cache lines of the first 1024 bytes of a byte string.
#[inline]
pub fn prefetch_bytes(bytes: &[u8]) {
    const LINE: usize = 64;
    let bytes = bytes.get(..16 * LINE).unwrap_or(bytes);
    bytes.iter().step_by(LINE).chain(bytes.last()).for_each(prefetch);
}

/// Compares sixteen bytes with `byte`, without a branch. Returns one bit for each byte, the first
/// in the lowest bit; 1 means equal.
// `unsafe`, because compilers do not find these instructions: without them, a batch of lookups that
// find nothing takes a sixth longer.
#[inline]
#[allow(unsafe_code)]
pub fn byte_eq_mask(bytes: u128, byte: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
        // SAFETY: every x86-64 processor has the instructions, and they touch no memory.
        unsafe {
            let bytes = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) as u32
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        byte_eq_mask_portable(bytes, byte)
    }
}

/// Does the same as [`byte_eq_mask`], without vectors.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn byte_eq_mask_portable(bytes: u128, byte: u8) -> u32 {
    const LOW_BITS: u128 = u128::MAX / 255 * 0x7f;
    /// Moves the highest bits of eight bytes into one byte.
    const HIGH_BITS_TO_TOP: u64 = 0x0002_0408_1020_4081;
    let differ = bytes ^ (u128::MAX / 255 * u128::from(byte));
    let equal = !(((differ & LOW_BITS) + LOW_BITS) | differ | LOW_BITS);
    let together = |word: u64| (word >> 7).wrapping_mul(HIGH_BITS_TO_TOP << 7) >> 56;
    (together(equal as u64) | together((equal >> 64) as u64) << 8) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found() {
        let bytes = [0, 1, 0x80, 0x7f, 0x81, 0, 255, 1, 0, 254, 0, 1, 0x80, 0, 255, 0x7f];
        for byte in 0..=255 {
            let expected =
                (0..).zip(bytes).map(|(nth, own)| u32::from(own == byte) << nth).sum::<u32>();
            assert_eq!(byte_eq_mask(u128::from_le_bytes(bytes), byte), expected, "{byte}");
            assert_eq!(byte_eq_mask_portable(u128::from_le_bytes(bytes), byte), expected, "{byte}");
        }
    }

    #[test]
    fn each_byte_has_its_bit() {
        for set in 0..1 << 16 {
            let bytes: [u8; 16] = std::array::from_fn(|nth| 6 + (set >> nth & 1) as u8);
            assert_eq!(byte_eq_mask(u128::from_le_bytes(bytes), 7), set);
            assert_eq!(byte_eq_mask_portable(u128::from_le_bytes(bytes), 7), set);
        }
    }
}
