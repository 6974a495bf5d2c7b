//! Memory of which much is used: in huge pages, where the system has them, since to be given a page
//! takes longer than to fill it.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The size of a huge page on most systems. Less has no use for one.
pub(super) const HUGE_PAGE: usize = 2 << 20;

/// The size of other pages, at the least.
const PAGE: usize = 4 << 10;

/// Numbers that are zero to begin with. Those that nobody touches take no memory, huge pages aside.
#[derive(Debug)]
pub(super) enum Large<T> {
    Owned(Vec<T>),
    Mapped(MmapMut),
}

impl<T: Copy + FromBytes> Large<T> {
    /// So many zeros, and what more there is of a huge page.
    pub(super) fn zeros(len: usize) -> Large<T> {
        let bytes = len * size_of::<T>();
        let pages = bytes.next_multiple_of(HUGE_PAGE);
        let mapped = if bytes < HUGE_PAGE { None } else { MmapMut::map_anon(pages).ok() };
        match mapped {
            None => Large::Owned(vec![T::new_zeroed(); len]),
            Some(map) => {
                // Without them everything is as before.
                #[cfg(target_os = "linux")]
                map.advise(memmap2::Advice::HugePage).ok();
                Large::Mapped(map)
            }
        }
    }
}

impl<T: Copy + FromBytes + IntoBytes + Immutable> Large<T> {
    /// [`Large::zeros`] that are to be read before they are written: a page that is read first is given
    /// twice, and all processors have to hear of the second.
    pub(super) fn zeros_at_hand(len: usize) -> Large<T> {
        let mut numbers = Large::zeros(len);
        for first in numbers.iter_mut().step_by(PAGE / size_of::<T>()) {
            *black_box(first) = T::new_zeroed();
        }
        numbers
    }
}

impl<T: FromBytes + Immutable> Deref for Large<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Large::Owned(numbers) => numbers,
            // A map begins with a page and has the bytes of whole numbers.
            Large::Mapped(map) => <[T]>::ref_from_bytes(map).unwrap_or_default(),
        }
    }
}

impl<T: FromBytes + IntoBytes + Immutable> DerefMut for Large<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Large::Owned(numbers) => numbers,
            Large::Mapped(map) => <[T]>::mut_from_bytes(map).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_HUGE_PAGE: usize = HUGE_PAGE / size_of::<u64>();

    #[test]
    fn all_are_there_and_can_be_changed() {
        for (len, there) in [
            (0, 0),
            (1, 1),
            (1000, 1000),
            (IN_HUGE_PAGE, IN_HUGE_PAGE),
            (IN_HUGE_PAGE + 1, 2 * IN_HUGE_PAGE),
        ] {
            let mut numbers = Large::<u64>::zeros_at_hand(len);
            assert!(numbers.len() == there && numbers.iter().all(|number| *number == 0));
            if let Some(last) = numbers.last_mut() {
                *last = u64::MAX;
            }
            assert_eq!(
                numbers.iter().map(|number| number.count_ones()).sum::<u32>(),
                if len > 0 { 64 } else { 0 }
            );
        }
    }
}
