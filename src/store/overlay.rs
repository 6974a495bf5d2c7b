//! A file to which redb may write without changing it, because written pages stay in memory.
//! [`verify`](super::verify()) needs such a file, because redb's integrity check also repairs, and
//! [`verify`](super::verify()) must not change the store.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PAGE: usize = 4096;

#[derive(Debug)]
pub(super) struct Overlay(Mutex<OverlayPages>);

#[derive(Debug)]
struct OverlayPages {
    file: File,
    file_len: u64,
    len: u64,
    written: HashMap<u64, Box<[u8; PAGE]>>,
}

impl Overlay {
    pub(super) fn new(file: File) -> io::Result<Overlay> {
        let len = file.metadata()?.len();
        Ok(Overlay(Mutex::new(OverlayPages { file, file_len: len, len, written: HashMap::new() })))
    }

    fn pages(&self) -> MutexGuard<'_, OverlayPages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OverlayPages {
    /// Reads from the file alone; bytes past its end are zeros.
    fn read_file(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = self.file_len.saturating_sub(offset).min(out.len() as u64) as usize;
        let (from_file, behind) = out.split_at_mut(there);
        behind.fill(0);
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(from_file)
    }

    fn page(&mut self, number: u64) -> io::Result<&mut [u8; PAGE]> {
        if !self.written.contains_key(&number) {
            let mut page = Box::new([0; PAGE]);
            self.read_file(number * PAGE as u64, &mut page[..])?;
            self.written.insert(number, page);
        }
        self.written.get_mut(&number).map(Box::as_mut).ok_or(io::ErrorKind::NotFound.into())
    }
}

/// Splits a range of the file into pages: the number of each, and the range within it.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = offset + len as u64;
    let mut next = offset;
    std::iter::from_fn(move || {
        let number = next / PAGE as u64;
        let start = (next % PAGE as u64) as usize;
        let stop = PAGE.min(start + (end - next) as usize);
        next += (stop - start) as u64;
        (start < stop).then_some((number, start..stop))
    })
}

impl redb::StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.pages().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut pages = self.pages();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > pages.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        pages.read_file(offset, out)?;
        let mut done = 0;
        for (number, range) in parts(offset, out.len()) {
            let part = &mut out[done..done + range.len()];
            done += range.len();
            if let Some(page) = pages.written.get(&number) {
                part.copy_from_slice(&page[range]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut pages = self.pages();
        if len < pages.len {
            pages.written.retain(|&number, _| number * (PAGE as u64) < len);
            pages.file_len = pages.file_len.min(len);
            if !len.is_multiple_of(PAGE as u64) && pages.written.contains_key(&(len / PAGE as u64))
            {
                let end = (len % PAGE as u64) as usize;
                pages.page(len / PAGE as u64)?[end..].fill(0);
            }
        }
        pages.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut pages = self.pages();
        let mut done = 0;
        for (number, range) in parts(offset, data.len()) {
            let part = &data[done..done + range.len()];
            done += range.len();
            pages.page(number)?[range].copy_from_slice(part);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use redb::StorageBackend;

    use super::*;

    fn overlay(bytes: &[u8]) -> Overlay {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, bytes).unwrap();
        Overlay::new(file).unwrap()
    }

    fn read(overlay: &Overlay, offset: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0xff; len];
        overlay.read(offset, &mut out).unwrap();
        out
    }

    #[test]
    fn written_bytes_are_read_back_and_the_file_is_unchanged() {
        let overlay = overlay(&[1; 3 * PAGE]);
        overlay.write(PAGE as u64 - 2, &[2; 4]).unwrap();
        let around = read(&overlay, PAGE as u64 - 4, 8);
        assert_eq!(around, [1, 1, 2, 2, 2, 2, 1, 1]);
        let mut file = [0; 3 * PAGE];
        let mut pages = overlay.pages();
        pages.read_file(0, &mut file).unwrap();
        assert_eq!(file, [1; 3 * PAGE]);
    }

    /// If a file becomes shorter and then longer again, the bytes that were cut off read as zeros. This holds
    /// for bytes of the file and for bytes that were written over it.
    #[test]
    fn bytes_that_are_cut_off_are_gone() {
        let overlay = overlay(&[1; 3 * PAGE]);
        let end = 3 * PAGE as u64;
        overlay.write(PAGE as u64, &[2; 2 * PAGE]).unwrap();
        overlay.set_len(PAGE as u64 + 3).unwrap();
        let behind = overlay.read(PAGE as u64 + 2, &mut [0; 2]).unwrap_err();
        assert_eq!(behind.kind(), io::ErrorKind::UnexpectedEof);
        overlay.set_len(end).unwrap();
        let mut expected = vec![1; PAGE];
        expected.extend([2; 3]);
        expected.resize(3 * PAGE, 0);
        assert_eq!(read(&overlay, 0, 3 * PAGE), expected);
    }
}
