//! An input that is read ahead, so that one can know whether there is more without waiting for it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::error::caught;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;
/// How many chunks may wait.
const CHUNKS: usize = 256;

/// Reads an input on a thread of its own. What was read waits until it is asked for; when 16 MiB
/// wait, reading waits.
pub(super) struct ReadAhead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// Chunks, and the end, that are in the channel or about to be.
    waiting: Arc<AtomicUsize>,
    chunk: io::Cursor<Vec<u8>>,
    /// Whether the input has failed: there is no more, and no end.
    has_failed: bool,
}

impl ReadAhead {
    pub(super) fn new(input: impl Read + Send + 'static) -> ReadAhead {
        let (sender, chunks) = sync_channel(CHUNKS);
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        thread::spawn(move || read_all(input, &sender, &count));
        ReadAhead { chunks, waiting, chunk: io::Cursor::default(), has_failed: false }
    }

    /// What says whether reading gives something at once.
    pub(super) fn ready(&self) -> Ready {
        Ready(Arc::clone(&self.waiting))
    }
}

/// Says of an input that is read ahead whether there is more.
pub(super) struct Ready(Arc<AtomicUsize>);

impl Ready {
    /// Whether reading gives something, or the end, at once.
    pub(super) fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// Sends what an input gives; an empty chunk is the end.
fn read_all(mut input: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>, waiting: &AtomicUsize) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match caught(|| input.read(&mut chunk)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read,
        };
        let is_last = !matches!(read, Ok(1..));
        // Counted first: what is counted is sent at once, and nobody waits for what may not come.
        waiting.fetch_add(1, Ordering::Release);
        let sent = sender.send(read.map(|len| {
            chunk.truncate(len);
            chunk
        }));
        if is_last || sent.is_err() {
            return;
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.chunk.position() == self.chunk.get_ref().len() as u64 {
            if self.has_failed {
                return Err(io::Error::other("reading failed before"));
            }
            // Behind the end the channel is closed, and there is nothing more.
            let Ok(chunk) = self.chunks.recv() else { return Ok(0) };
            self.waiting.fetch_sub(1, Ordering::Acquire);
            self.has_failed = chunk.is_err();
            self.chunk = io::Cursor::new(chunk?);
        }
        self.chunk.read(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn everything_comes_through_in_order() {
        let text: Vec<u8> = (0..5_000_000u32).map(|place| (place % 251) as u8).collect();
        let mut out = Vec::new();
        let mut input = ReadAhead::new(io::Cursor::new(text.clone()));
        input.read_to_end(&mut out).unwrap();
        assert!(out == text);
        assert_eq!(input.read(&mut [0]).unwrap(), 0);
    }

    /// An input that panics, or fails, behind some bytes.
    struct Faulty {
        text: &'static [u8],
        panics: bool,
    }

    impl Read for Faulty {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.text.read(out)? {
                0 if self.panics => panic!("as a test wants it"),
                0 => Err(io::Error::other("the disk is gone")),
                len => Ok(len),
            }
        }
    }

    #[test]
    fn a_failure_never_becomes_an_end() {
        for panics in [true, false] {
            let mut input = ReadAhead::new(Faulty { text: b"some", panics });
            let mut out = [0; 9];
            assert_eq!(input.read(&mut out).unwrap(), 4);
            let error = input.read(&mut out).unwrap_err().to_string();
            let expected = if panics { "as a test wants it" } else { "the disk is gone" };
            assert!(error.ends_with(expected), "{error}");
            input.read(&mut out).unwrap_err();
        }
    }
}
