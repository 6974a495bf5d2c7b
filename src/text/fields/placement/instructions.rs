//! Which instructions placements are read and written with.

use std::sync::LazyLock;

/// Instructions of the processor that placements and keys are made with. All of them say the same
/// of every input; they differ in speed.
///
/// A value of this type is only made where the machine has the instructions: it is the proof that
/// code compiled for them may run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct InstructionSet(pub(crate) Set);

/// The sets; which there are depends on the architecture that the crate is compiled for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Set {
    /// Vectors of 64 bytes, tables looked up by gathers.
    #[cfg(target_arch = "x86_64")]
    Avx512Gathers,
    /// Vectors of 64 bytes, tables looked up by loads.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Vectors of 32 bytes, bits moved together and apart by instructions.
    #[cfg(target_arch = "x86_64")]
    Avx2Bits,
    /// Vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Vectors of 16 bytes, in pairs.
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    Neon,
    /// What every machine has.
    Portable,
}

static SUPPORTED: LazyLock<Vec<InstructionSet>> = LazyLock::new(|| {
    let mut sets = supported_vectors();
    sets.push(Set::Portable);
    sets.into_iter().map(InstructionSet).collect()
});

static FASTEST: LazyLock<InstructionSet> =
    LazyLock::new(|| SUPPORTED.first().copied().unwrap_or(InstructionSet::PORTABLE));

/// Work that looks for bits and counts them, which takes many steps without the instructions for it.
pub(crate) trait BitWork {
    /// What it makes.
    type Output;

    /// Does it. Only what is compiled into this function has the instructions: it and all that it
    /// calls should be inlined always.
    fn work(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn work<W: BitWork>(work: W) -> W::Output {
    work.work()
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
#[target_feature(enable = "neon")]
fn work<W: BitWork>(work: W) -> W::Output {
    work.work()
}

impl InstructionSet {
    /// Does work with these instructions.
    #[inline]
    pub(crate) fn run<W: BitWork>(self, bits: W) -> W::Output {
        with_instructions!(
            self.0,
            avx512(_GATHERS) => work(bits),
            lanes => work(bits),
            portable => bits.work(),
        )
    }

    /// What every machine has.
    pub const PORTABLE: InstructionSet = InstructionSet(Set::Portable);

    /// The fastest set of this machine, which is found once and then taken everywhere.
    #[inline]
    pub fn fastest() -> InstructionSet {
        *FASTEST
    }

    /// The sets of this machine, the fastest first.
    pub fn supported() -> &'static [InstructionSet] {
        &SUPPORTED
    }

    /// What the set is called.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Gathers => "AVX-512, gathers",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2Bits => "AVX2, BMI2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "AVX2",
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            Set::Neon => "NEON",
            Set::Portable => "portable",
        }
    }
}

/// Does a piece of work with the instructions of a set. What stands behind `avx512`, `bits` and
/// `lanes` calls functions compiled for them; the constant named there says whether to gather. Without
/// `bits` what stands behind `lanes` is taken.
macro_rules! with_instructions {
    (
        $set:expr,
        avx512($gathers:ident) => $avx512:expr,
        lanes => $lanes:expr,
        portable => $portable:expr $(,)?
    ) => {
        with_instructions!(
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
    ) => {{
        // SAFETY of all arms: an `InstructionSet` is only made where the machine has the
        // instructions of its set, and what an arm calls is compiled for no others.
        #[allow(unsafe_code)]
        let done = match $set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Gathers => unsafe {
                const $gathers: bool = true;
                $avx512
            },
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe {
                const $gathers: bool = false;
                $avx512
            },
            #[cfg(target_arch = "x86_64")]
            Set::Avx2Bits => unsafe { $bits },
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { $lanes },
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            Set::Neon => unsafe { $lanes },
            Set::Portable => $portable,
        };
        done
    }};
}

pub(crate) use with_instructions;

#[cfg(target_arch = "x86_64")]
fn supported_vectors() -> Vec<Set> {
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
    let mut sets = Vec::new();
    if has_avx512 {
        sets.extend([Set::Avx512, Set::Avx512Gathers]);
        if gathers_are_fast() {
            sets.reverse();
        }
    }
    if has_avx2 {
        sets.extend(match moves_bits_fast() {
            true => [Set::Avx2Bits, Set::Avx2],
            false => [Set::Avx2, Set::Avx2Bits],
        });
    }
    sets
}

/// Whether bits are moved together and apart in one step each: on AMD's processors before Zen 3 it
/// takes a step for each bit.
#[cfg(target_arch = "x86_64")]
fn moves_bits_fast() -> bool {
    let signature = std::arch::x86_64::__cpuid(1).eax;
    let family = (signature >> 8 & 15) + (signature >> 20 & 255);
    is_of_vendor(b"GenuineIntel") || is_of_vendor(b"AuthenticAMD") && family >= 0x19
}

#[cfg(target_arch = "x86_64")]
fn is_of_vendor(name: &[u8; 12]) -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened() == name
}

/// Whether a gather takes less time than the loads it stands for: on Intel's processors with
/// AVX-512 it does, on AMD's it is taken apart into many small steps.
#[cfg(target_arch = "x86_64")]
fn gathers_are_fast() -> bool {
    is_of_vendor(b"GenuineIntel")
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
fn supported_vectors() -> Vec<Set> {
    vec![Set::Neon]
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
)))]
fn supported_vectors() -> Vec<Set> {
    Vec::new()
}
