//! Lists in memory that continue in a temporary file.
//!
//! A list stays in memory as a whole while the memory suffices. A longer list is cut into pages.
//! All lists share one temporary file. Pages that have not been used for a long time go there.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use epdb_base::new_file::ScratchFile;

/// Size of a page in bytes.
const PAGE: usize = 4 << 10;
/// Memory of a page with its entries in the lists of frames, in bytes.
const FRAME: usize = PAGE + size_of::<Frame>() + 2 * size_of::<u32>();
/// Minimum number of pages in memory.
const MIN_FRAMES: usize = 4;
/// Stands for no frame, or for no slot in the file.
const NONE: u32 = u32::MAX;

/// The memory of several lists, and their temporary file.
#[derive(Debug)]
pub(super) struct Pages {
    directory: PathBuf,
    memory_bytes: usize,
    /// Memory of the lists that have no pages.
    whole_bytes: usize,
    /// The pages of each list.
    tables: Vec<Vec<Place>>,
    /// Number of pages of all lists.
    pages: usize,
    frames: Vec<Frame>,
    free_frames: Vec<u32>,
    /// The frame that is examined next when a frame is needed.
    hand: usize,
    file: Option<ScratchFile>,
    slots: u32,
    free_slots: Vec<u32>,
}

/// The place of a page: in memory, in the file, or both.
#[derive(Copy, Clone, Debug)]
struct Place {
    frame: u32,
    slot: u32,
}

/// A page in memory.
#[derive(Debug)]
struct Frame {
    /// The bytes of the page, as numbers so that they are aligned.
    bytes: Box<[u64; PAGE / size_of::<u64>()]>,
    /// The list and the page that the frame holds; `None` for a free frame.
    owner: Option<(u32, u32)>,
    is_used: bool,
    is_changed: bool,
}

/// Values that can be stored in a page.
pub(super) trait Value: Copy + FromBytes + IntoBytes + Immutable {}

impl<T: Copy + FromBytes + IntoBytes + Immutable> Value for T {}

impl Pages {
    /// Memory for lists, about `memory_bytes` in all. The temporary file lies in `directory`.
    pub(super) fn new(directory: PathBuf, memory_bytes: usize) -> Pages {
        Pages {
            directory,
            memory_bytes,
            whole_bytes: 0,
            tables: Vec::new(),
            pages: 0,
            frames: Vec::new(),
            free_frames: Vec::new(),
            hand: 0,
            file: None,
            slots: 0,
            free_slots: Vec::new(),
        }
    }

    /// Directory of the temporary file.
    pub(super) fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    pub(super) const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Sets the memory of all lists. Lists that are in memory as a whole stay there.
    pub(super) fn set_memory(&mut self, memory_bytes: usize) -> io::Result<()> {
        self.memory_bytes = memory_bytes;
        self.shrink()
    }

    fn memory_used(&self) -> usize {
        self.whole_bytes + self.pages * size_of::<Place>() + self.frames.len() * FRAME
    }

    /// Reserves memory for a list that has no pages; returns false if too little is left.
    fn reserve(&mut self, access: Access, bytes: usize) -> io::Result<bool> {
        let maximum = match access {
            Access::InOrder => self.memory_bytes / 2,
            Access::Random => self.memory_bytes / 4 * 3,
        };
        if self.whole_bytes.saturating_add(bytes) > maximum {
            return Ok(false);
        }
        self.whole_bytes += bytes;
        self.shrink()?;
        Ok(true)
    }

    /// Drops frames that exceed the memory.
    fn shrink(&mut self) -> io::Result<()> {
        while self.frames.len() > MIN_FRAMES && self.memory_used() > self.memory_bytes {
            let last = self.frames.len() - 1;
            self.evict(last)?;
            self.frames.pop();
        }
        let frames = self.frames.len();
        self.free_frames.retain(|&frame| (frame as usize) < frames);
        Ok(())
    }

    /// The values of a page, which is loaded if necessary, and the flag that marks the page as
    /// changed.
    fn page<T: Value>(&mut self, table: usize, page: usize) -> io::Result<(&mut [T], &mut bool)> {
        let frame = match self.tables[table][page].frame {
            NONE => self.load(table, page)?,
            frame => frame as usize,
        };
        let Frame { bytes, is_used, is_changed, .. } = &mut self.frames[frame];
        *is_used = true;
        // This cannot fail: the bytes are aligned, and the size of a value divides the size of a
        // page.
        let values = <[T]>::mut_from_bytes(bytes.as_mut_bytes()).unwrap_or_default();
        Ok((values, is_changed))
    }

    #[cold]
    fn load(&mut self, table: usize, page: usize) -> io::Result<usize> {
        let at = self.take_frame()?;
        let frame = &mut self.frames[at];
        match (self.tables[table][page].slot, &mut self.file) {
            (NONE, _) | (_, None) => frame.bytes.fill(0),
            (slot, Some(file)) => {
                file.seek(SeekFrom::Start(offset_of(slot)))?;
                file.read_exact(frame.bytes.as_mut_bytes())?;
            }
        }
        frame.owner = Some((table as u32, page as u32));
        self.tables[table][page].frame = at as u32;
        Ok(at)
    }

    /// A frame without an owner.
    fn take_frame(&mut self) -> io::Result<usize> {
        if let Some(free) = self.free_frames.pop() {
            return Ok(free as usize);
        }
        let fits = self.memory_used().saturating_add(FRAME) <= self.memory_bytes;
        if self.frames.len() < MIN_FRAMES || fits {
            let bytes = Box::new([0; PAGE / size_of::<u64>()]);
            self.frames.push(Frame { bytes, owner: None, is_used: true, is_changed: false });
            return Ok(self.frames.len() - 1);
        }
        loop {
            self.hand = (self.hand + 1) % self.frames.len();
            if !std::mem::take(&mut self.frames[self.hand].is_used) {
                self.evict(self.hand)?;
                return Ok(self.hand);
            }
        }
    }

    /// Takes a frame from its owner. A changed page is written to the file.
    fn evict(&mut self, at: usize) -> io::Result<()> {
        let frame = &mut self.frames[at];
        let Some((table, page)) = frame.owner.take() else { return Ok(()) };
        let place = &mut self.tables[table as usize][page as usize];
        place.frame = NONE;
        if !std::mem::take(&mut frame.is_changed) {
            return Ok(());
        }
        if place.slot == NONE {
            place.slot = self.free_slots.pop().unwrap_or(self.slots);
            self.slots = self.slots.max(place.slot + 1);
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(ScratchFile::create(&self.directory)?),
        };
        file.seek(SeekFrom::Start(offset_of(place.slot)))?;
        file.write_all(frame.bytes.as_bytes())
    }
}

const fn offset_of(slot: u32) -> u64 {
    slot as u64 * PAGE as u64
}

/// The usual access to a list. Lists that are read at random may use more of the memory.
#[derive(Copy, Clone, Debug)]
pub(super) enum Access {
    InOrder,
    Random,
}

#[derive(Debug)]
pub(super) struct List<T> {
    access: Access,
    kept: Kept<T>,
}

#[derive(Debug)]
enum Kept<T> {
    Whole(Vec<T>),
    Paged { table: usize, len: usize },
}

impl<T: Value> List<T> {
    const IN_PAGE: usize = {
        assert!(PAGE.is_multiple_of(size_of::<T>()));
        PAGE / size_of::<T>()
    };

    pub(super) const fn new(access: Access) -> List<T> {
        List { access, kept: Kept::Whole(Vec::new()) }
    }

    pub(super) const fn len(&self) -> usize {
        match &self.kept {
            Kept::Whole(values) => values.len(),
            Kept::Paged { len, .. } => *len,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, pages: &mut Pages, value: T) -> io::Result<()> {
        self.extend(pages, &[value])
    }

    #[inline]
    pub(super) fn extend(&mut self, pages: &mut Pages, values: &[T]) -> io::Result<()> {
        match &mut self.kept {
            Kept::Whole(whole) if whole.capacity() - whole.len() >= values.len() => {
                whole.extend_from_slice(values);
                Ok(())
            }
            _ => self.extend_further(pages, values),
        }
    }

    #[cold]
    fn extend_further(&mut self, pages: &mut Pages, values: &[T]) -> io::Result<()> {
        if let Kept::Whole(whole) = &mut self.kept {
            let more = values.len().max(whole.capacity() / 2);
            if pages.reserve(self.access, more * size_of::<T>())? {
                let capacity = whole.capacity() + more;
                whole.reserve_exact(capacity - whole.len());
                whole.extend_from_slice(values);
                return Ok(());
            }
            let moved = std::mem::take(whole);
            self.kept = Kept::Paged { table: pages.tables.len(), len: 0 };
            pages.tables.push(Vec::new());
            self.append(pages, &moved)?;
            pages.whole_bytes -= moved.capacity() * size_of::<T>();
        }
        self.append(pages, values)
    }

    fn append(&mut self, pages: &mut Pages, mut values: &[T]) -> io::Result<()> {
        let Kept::Paged { table, len } = &mut self.kept else { return Ok(()) };
        while !values.is_empty() {
            let page = *len / List::<T>::IN_PAGE;
            let at = *len % List::<T>::IN_PAGE;
            if page == pages.tables[*table].len() {
                pages.tables[*table].push(Place { frame: NONE, slot: NONE });
                pages.pages += 1;
                if pages.memory_used() > pages.memory_bytes {
                    pages.shrink()?;
                }
            }
            let (now, later) = values.split_at(values.len().min(List::<T>::IN_PAGE - at));
            let (there, is_changed) = pages.page(*table, page)?;
            there[at..at + now.len()].copy_from_slice(now);
            *is_changed = true;
            *len += now.len();
            values = later;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn get(&self, pages: &mut Pages, index: usize) -> io::Result<T> {
        match &self.kept {
            Kept::Whole(values) => Ok(values[index]),
            Kept::Paged { table, .. } => {
                let (values, _) = pages.page::<T>(*table, index / List::<T>::IN_PAGE)?;
                Ok(values[index % List::<T>::IN_PAGE])
            }
        }
    }

    /// The value at an index, to change it.
    #[inline]
    pub(super) fn get_mut<'a>(
        &'a mut self,
        pages: &'a mut Pages,
        index: usize,
    ) -> io::Result<&'a mut T> {
        match &mut self.kept {
            Kept::Whole(values) => Ok(&mut values[index]),
            Kept::Paged { table, .. } => {
                let (values, is_changed) = pages.page(*table, index / List::<T>::IN_PAGE)?;
                *is_changed = true;
                Ok(&mut values[index % List::<T>::IN_PAGE])
            }
        }
    }

    /// Replaces `out` by a range of values.
    #[inline]
    pub(super) fn read(
        &self,
        pages: &mut Pages,
        mut range: Range<usize>,
        out: &mut Vec<T>,
    ) -> io::Result<()> {
        out.clear();
        match &self.kept {
            Kept::Whole(values) => out.extend_from_slice(&values[range]),
            Kept::Paged { table, .. } => {
                while !range.is_empty() {
                    let at = range.start % List::<T>::IN_PAGE;
                    let count = range.len().min(List::<T>::IN_PAGE - at);
                    let (values, _) = pages.page(*table, range.start / List::<T>::IN_PAGE)?;
                    out.extend_from_slice(&values[at..at + count]);
                    range.start += count;
                }
            }
        }
        Ok(())
    }

    pub(super) fn free(self, pages: &mut Pages) {
        match self.kept {
            Kept::Whole(values) => pages.whole_bytes -= values.capacity() * size_of::<T>(),
            Kept::Paged { table, .. } => {
                for Place { frame, slot } in std::mem::take(&mut pages.tables[table]) {
                    pages.pages -= 1;
                    if frame != NONE {
                        let free = &mut pages.frames[frame as usize];
                        free.owner = None;
                        free.is_changed = false;
                        pages.free_frames.push(frame);
                    }
                    if slot != NONE {
                        pages.free_slots.push(slot);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Extend(bool, Vec<u32>),
        Set(bool, usize, u32),
        SetMemory(usize),
        FreeSecond,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (any::<bool>(), prop::collection::vec(any::<u32>(), 0..5000))
                .prop_map(|(second, values)| Step::Extend(second, values)),
            8 => (any::<bool>(), any::<usize>(), any::<u32>())
                .prop_map(|(second, place, value)| Step::Set(second, place, value)),
            1 => (0..200_000_usize).prop_map(Step::SetMemory),
            1 => Just(Step::FreeSecond),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lists_in_any_memory_are_lists(
            steps in prop::collection::vec(any_step(), 0..60),
            memory_bytes in 0..200_000_usize,
        ) {
            let mut pages = Pages::new(std::env::temp_dir(), memory_bytes);
            let mut lists = [List::new(Access::Random), List::new(Access::InOrder)];
            let mut expected = [Vec::new(), Vec::new()];
            for step in steps {
                match step {
                    Step::Extend(second, values) => {
                        lists[usize::from(second)].extend(&mut pages, &values).unwrap();
                        expected[usize::from(second)].extend_from_slice(&values);
                    }
                    Step::Set(second, place, value) => {
                        let expected = &mut expected[usize::from(second)];
                        if let Some(place) = place.checked_rem(expected.len()) {
                            let list = &mut lists[usize::from(second)];
                            *list.get_mut(&mut pages, place).unwrap() = value;
                            expected[place] = value;
                            prop_assert_eq!(list.get(&mut pages, place).unwrap(), value);
                        }
                    }
                    Step::SetMemory(memory_bytes) => pages.set_memory(memory_bytes).unwrap(),
                    Step::FreeSecond => {
                        let second = std::mem::replace(&mut lists[1], List::new(Access::InOrder));
                        second.free(&mut pages);
                        expected[1].clear();
                    }
                }
            }
            let mut all = Vec::new();
            for (list, expected) in lists.iter().zip(&expected) {
                prop_assert_eq!(list.len(), expected.len());
                list.read(&mut pages, 0..list.len(), &mut all).unwrap();
                prop_assert_eq!(&all, expected);
            }
        }
    }

    #[test]
    fn the_memory_is_kept_to() {
        let memory_bytes = 1 << 20;
        let mut pages = Pages::new(std::env::temp_dir(), memory_bytes);
        let mut lists = [List::new(Access::Random), List::new(Access::InOrder)];
        for number in 0..400_000_u32 {
            for list in &mut lists {
                list.push(&mut pages, number).unwrap();
            }
            assert!(pages.memory_used() <= memory_bytes, "{}", pages.memory_used());
        }
        assert!(pages.file.is_some());
        for list in &lists {
            assert_eq!(list.get(&mut pages, 123_456).unwrap(), 123_456);
        }
        for list in lists {
            list.free(&mut pages);
        }
        assert_eq!((pages.whole_bytes, pages.pages), (0, 0));
    }

    #[test]
    fn lists_that_fit_make_no_file() {
        let mut pages = Pages::new("/no such directory".into(), 1 << 20);
        let mut list = List::new(Access::Random);
        list.extend(&mut pages, &[7_u64; 100_000]).unwrap();
        assert_eq!(list.get(&mut pages, 99_999).unwrap(), 7);
        let error = list.extend(&mut pages, &[7; 100_000]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
