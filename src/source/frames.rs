//! Decompression, on several threads, of a file that consists of many frames. The decompressed
//! bytes stay in order.
//!
//! `pzstd` writes a skippable frame with the compressed size before each frame, and BGZF has the
//! compressed size in the header of each member. So the next frames are found without
//! decompressing. Consecutive frames of this kind form a [`Piece`]. Each piece is decompressed by a
//! separate thread.
//!
//! A size is a hint. If a piece does not decompress to its end, the file is read again in sequence
//! from the start of this piece. So the bytes and the error are those of the usual decoder. If a
//! frame announces no size, or a size over the limit, the rest of the file is also read in
//! sequence.
//!
//! The threads do not belong to the thread pool, because a thread of the pool may wait here.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::format::Compression;
use super::gzip::GzipMembers;
use super::notes::Notes;

/// Maximum number of threads that decompress. One thread decompresses faster than several threads
/// can parse.
const MAX_THREADS: usize = 8;

/// Binary logarithm of a limit in bytes. The limit applies to the compressed bytes of a piece, to
/// its decompressed bytes in memory, and to the window of the decoder. `pzstd -19` makes frames of
/// this size.
const LOG_PIECE_BYTES: u32 = 25;

/// Limit of the memory of the decoder of xz, in KiB. `xz -9` needs half of it.
const MAX_XZ_KIB: u32 = 1 << 17;

/// Number of decompressed bytes that are sent at a time.
const CHUNK: usize = 1 << 17;

/// Limits of the bytes in memory.
#[derive(Copy, Clone)]
pub(super) struct Limits {
    /// Number of threads that decompress. It is a function that is called when the file is read
    /// ahead, because the pool may be started after a file was opened.
    threads: fn() -> usize,
    /// Maximum number of compressed bytes of a piece.
    piece_bytes: usize,
    /// Frames are added to a piece until it has this number of compressed bytes.
    enough_bytes: usize,
    /// Number of decompressed bytes before the file is read ahead. A source that is opened reads
    /// fewer bytes, so that its file can still be rewound.
    bytes_before: u64,
}

impl Limits {
    /// Limits for as many threads as the pool has. A single thread reads in sequence.
    pub(super) const USUAL: Limits = Limits {
        threads: || rayon::current_num_threads().min(MAX_THREADS),
        piece_bytes: 1 << LOG_PIECE_BYTES,
        enough_bytes: 1 << 18,
        bytes_before: 1 << 20,
    };
    /// Limits for pieces of a single frame; only tiny frames are joined. A single thread also reads
    /// in such pieces.
    pub(super) const IN_PIECES: Limits = Limits {
        threads: || (Limits::USUAL.threads)().max(2),
        enough_bytes: 1 << 12,
        ..Limits::USUAL
    };
}

pub(super) fn decoder(
    input: Box<dyn Read + Send>,
    compression: Compression,
    notes: &Notes,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(Frames::new(input, compression, Limits::USUAL, notes)))
}

/// The usual decoder. It refuses a window whose binary logarithm is over `max_log_window`. If frames
/// were already read (`is_after_frames`), the input may also begin with padding.
fn in_sequence(
    input: Box<dyn Read + Send>,
    compression: Compression,
    max_log_window: Option<u32>,
    is_after_frames: bool,
    notes: &Notes,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Compression::None => input,
        Compression::Gzip => Box::new(GzipMembers::new(input, is_after_frames, notes.clone())),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(input)),
        Compression::Xz => {
            let input = io::BufReader::new(input);
            let allows_many_streams = true;
            Box::new(lzma_rust2::XzReader::new_mem_limit(input, allows_many_streams, MAX_XZ_KIB))
        }
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::new(input)?;
            if let Some(max_log_window) = max_log_window {
                decoder.window_log_max(max_log_window)?;
            }
            Box::new(decoder)
        }
    })
}

/// A compressed input, decompressed.
pub(super) struct Frames {
    compression: Compression,
    pieces: Pieces,
    bytes: Compressed,
    /// The decompressed chunks of the current piece. An empty chunk is its end.
    chunks: Receiver<Vec<u8>>,
    chunk: Cursor<Vec<u8>>,
    used: UsedChunks,
    /// Number of bytes of the current piece that were returned.
    returned: u64,
    /// Number of bytes that were returned before the current piece.
    before: u64,
    /// Number of compressed bytes before the current piece.
    offset: u64,
    /// The decoder of the rest, once the rest is read in sequence.
    rest: Option<Box<dyn Read + Send>>,
    limits: Limits,
    notes: Notes,
}

impl Frames {
    pub(super) fn new(
        input: Box<dyn Read + Send>,
        compression: Compression,
        limits: Limits,
        notes: &Notes,
    ) -> Frames {
        let (end, chunks) = sync_channel(1);
        // The piece before the first one is empty.
        end.send(Vec::new()).ok();
        let used = UsedChunks::default();
        let splitter =
            Splitter { input, compression, start: Vec::new(), used: used.clone(), limits };
        Frames {
            compression,
            pieces: Pieces::Here(splitter),
            bytes: Compressed::default(),
            chunks,
            chunk: Cursor::default(),
            used,
            returned: 0,
            before: 0,
            offset: 0,
            rest: None,
            limits,
            notes: notes.clone(),
        }
    }

    /// Start of the piece from which bytes were returned last: the number of compressed bytes
    /// before it, and the number of decompressed bytes.
    pub(super) const fn piece(&self) -> (u64, u64) {
        (self.offset, self.before)
    }

    fn next_piece(&mut self) -> io::Result<()> {
        self.offset += self.bytes.0.len() as u64;
        self.before += self.returned;
        self.returned = 0;
        let mut is_alone = false;
        if self.before >= self.limits.bytes_before && matches!(self.pieces, Pieces::Here(_)) {
            match (self.limits.threads)() {
                1 => is_alone = true,
                threads => self.pieces.read_ahead(threads - 1)?,
            }
        }
        let is_after_frames = self.offset > 0;
        match self.pieces.next()? {
            Piece::Frames { bytes, .. } if is_alone => self.read_in_sequence(bytes)?,
            Piece::Frames { bytes, chunks } => {
                self.bytes = bytes;
                self.chunks = chunks;
            }
            Piece::Rest(input) => self.rest = Some(self.in_sequence(input, is_after_frames)?),
            Piece::End if is_after_frames => self.rest = Some(Box::new(io::empty())),
            // The usual decoder decides about an input without data.
            Piece::End => self.rest = Some(self.in_sequence(Box::new(io::empty()), false)?),
        }
        Ok(())
    }

    fn in_sequence(
        &self,
        input: Box<dyn Read + Send>,
        is_after_frames: bool,
    ) -> io::Result<Box<dyn Read + Send>> {
        in_sequence(input, self.compression, None, is_after_frames, &self.notes)
    }

    /// Reads these compressed bytes and the next pieces in sequence. Decompressed bytes that were
    /// already returned are skipped.
    fn read_in_sequence(&mut self, bytes: Compressed) -> io::Result<()> {
        let bytes = Cursor::new(bytes);
        let pieces = std::mem::replace(&mut self.pieces, Pieces::Ended);
        let input = Joined { bytes: Box::new(bytes), pieces };
        let rest = self.in_sequence(Box::new(input), false)?;
        let rest = self.rest.insert(rest);
        io::copy(&mut rest.take(self.returned), &mut io::sink())?;
        Ok(())
    }
}

impl Read for Frames {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(rest) = &mut self.rest {
                return rest.read(out);
            }
            let len = self.chunk.read(out)?;
            if len > 0 || out.is_empty() {
                self.returned += len as u64;
                return Ok(len);
            }
            match self.chunks.recv() {
                Ok(chunk) if chunk.is_empty() => self.next_piece()?,
                Ok(chunk) => {
                    let used = std::mem::replace(&mut self.chunk, Cursor::new(chunk));
                    self.used.put(used.into_inner());
                }
                Err(_) => self.read_in_sequence(self.bytes.clone())?,
            }
        }
    }
}

/// Compressed bytes that two threads read.
#[derive(Clone, Default)]
struct Compressed(Arc<Vec<u8>>);

impl AsRef<[u8]> for Compressed {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Chunks whose memory is used again. To allocate a new chunk takes half as long as to decompress
/// one.
#[derive(Clone, Default)]
struct UsedChunks(Arc<Mutex<Vec<Vec<u8>>>>);

impl UsedChunks {
    fn put(&self, chunk: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }

    /// A chunk of [`CHUNK`] bytes.
    fn take(&self) -> Vec<u8> {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut chunk = used.unwrap_or_default();
        chunk.resize(CHUNK, 0);
        chunk
    }
}

/// A part of a compressed input.
enum Piece {
    /// Frames that are decompressed on another thread.
    Frames {
        bytes: Compressed,
        chunks: Receiver<Vec<u8>>,
    },
    /// The rest of the input, to be read in sequence.
    Rest(Box<dyn Read + Send>),
    End,
}

enum Pieces {
    /// The calling thread splits the input.
    Here(Splitter),
    /// Another thread splits the input ahead.
    Ahead(Receiver<Piece>),
    Ended,
}

impl Pieces {
    fn next(&mut self) -> io::Result<Piece> {
        match self {
            Pieces::Here(splitter) => Ok(splitter.next()),
            Pieces::Ahead(pieces) => pieces.recv().map_err(|_| {
                io::Error::other("internal error: the thread that reads the input has ended")
            }),
            Pieces::Ended => Ok(Piece::End),
        }
    }

    /// Starts the thread that splits the input. At most `max_waiting` pieces wait.
    fn read_ahead(&mut self, max_waiting: usize) -> io::Result<()> {
        let (sender, ahead) = sync_channel(max_waiting);
        let here = std::mem::replace(self, Pieces::Ahead(ahead));
        thread::Builder::new().spawn(move || here.send_all(&sender)).map(drop)
    }

    /// Sends all pieces, unless the reader of the input stops.
    fn send_all(mut self, pieces: &SyncSender<Piece>) {
        while let Ok(piece) = self.next() {
            let is_last = !matches!(piece, Piece::Frames { .. });
            if pieces.send(piece).is_err() || is_last {
                return;
            }
        }
    }
}

/// Splits a compressed input into pieces.
struct Splitter {
    input: Box<dyn Read + Send>,
    compression: Compression,
    /// The first bytes of the next frame.
    start: Vec<u8>,
    used: UsedChunks,
    limits: Limits,
}

impl Splitter {
    fn next(&mut self) -> Piece {
        let mut bytes = Vec::new();
        match self.take_frames(&mut bytes) {
            Err(error) => {
                bytes.append(&mut self.start);
                self.rest(bytes, Some(error))
            }
            Ok(()) if !bytes.is_empty() => self.decompress(bytes),
            Ok(()) if self.start.is_empty() => Piece::End,
            Ok(()) => {
                let start = std::mem::take(&mut self.start);
                self.rest(start, None)
            }
        }
    }

    /// Takes frames that announce their sizes, until there are enough bytes.
    fn take_frames(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        while bytes.len() < self.limits.enough_bytes {
            let missing = START.saturating_sub(self.start.len()) as u64;
            self.input.by_ref().take(missing).read_to_end(&mut self.start)?;
            let room = self.limits.piece_bytes.saturating_sub(bytes.len());
            let len = frame_len(self.compression, &self.start).filter(|len| *len <= room);
            let Some(len) = len else { return Ok(()) };
            bytes.append(&mut self.start);
            self.input.by_ref().take((len - START) as u64).read_to_end(bytes)?;
        }
        Ok(())
    }

    fn decompress(&self, bytes: Vec<u8>) -> Piece {
        let bytes = Compressed(Arc::new(bytes));
        let (sender, chunks) = sync_channel((self.limits.piece_bytes / CHUNK).max(1));
        let input = Box::new(Cursor::new(bytes.clone()));
        let compression = self.compression;
        let used = self.used.clone();
        // If there is no thread, the piece has no chunks, and is read in sequence.
        thread::Builder::new().spawn(move || send_chunks(input, compression, &used, &sender)).ok();
        Piece::Frames { bytes, chunks }
    }

    /// Makes the rest of the input. It begins with `bytes`; then comes the error, if there is one.
    fn rest(&mut self, bytes: Vec<u8>, error: Option<io::Error>) -> Piece {
        let input = std::mem::replace(&mut self.input, Box::new(io::empty()));
        Piece::Rest(Box::new(Cursor::new(bytes).chain(Fault(error)).chain(input)))
    }
}

/// Number of first bytes of a frame that show its size.
const START: usize = 18;

/// Length of a frame by its first bytes; `None` if they do not announce it.
fn frame_len(compression: Compression, start: &[u8]) -> Option<usize> {
    let len = match (compression, start) {
        // A skippable frame of four bytes with the size of the frame after it.
        (Compression::Zstd, [0x50..=0x5f, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, size @ ..]) => {
            12 + u64::from(u32::from_le_bytes(*size.first_chunk()?))
        }
        // The only extra field is `BC`, of two bytes: the size of the member minus one.
        (Compression::Gzip, [0x1f, 0x8b, 8, 4, _, _, _, _, _, _, extra @ ..]) => {
            let size = extra.strip_prefix(b"\x06\0BC\x02\0")?;
            1 + u64::from(u16::from_le_bytes(*size.first_chunk()?))
        }
        _ => return None,
    };
    usize::try_from(len).ok().filter(|len| *len >= START)
}

/// Sends the decompressed bytes of a piece, and an empty chunk at its end. If the piece is damaged
/// or incomplete, no empty chunk is sent.
fn send_chunks(
    input: Box<dyn Read + Send>,
    compression: Compression,
    used: &UsedChunks,
    chunks: &SyncSender<Vec<u8>>,
) {
    // A piece consists of whole frames, so there is nothing to report about it.
    let decoder = in_sequence(input, compression, Some(LOG_PIECE_BYTES), false, &Notes::default());
    let Ok(mut decoder) = decoder else { return };
    loop {
        let mut chunk = used.take();
        let Ok(len) = decoder.read(&mut chunk) else { return };
        chunk.truncate(len);
        // The receiver is gone when the reader of the input stops.
        if chunks.send(chunk).is_err() || len == 0 {
            return;
        }
    }
}

/// The compressed bytes of a piece and of all pieces after it.
struct Joined {
    bytes: Box<dyn Read + Send>,
    pieces: Pieces,
}

impl Read for Joined {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.bytes.read(out)?;
            if len > 0 || out.is_empty() {
                return Ok(len);
            }
            match self.pieces.next()? {
                Piece::Frames { bytes, .. } => self.bytes = Box::new(Cursor::new(bytes)),
                Piece::Rest(input) => {
                    self.bytes = input;
                    self.pieces = Pieces::Ended;
                }
                Piece::End => {
                    self.pieces = Pieces::Ended;
                    return Ok(0);
                }
            }
        }
    }
}

/// A fault that the next read returns.
pub(super) struct Fault(pub(super) Option<io::Error>);

impl Read for Fault {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Small pieces, read ahead from the start.
    const SMALL: Limits =
        Limits { threads: || 2, piece_bytes: 4000, enough_bytes: 1, bytes_before: 0 };

    const COMPRESSIONS: [Compression; 2] = [Compression::Zstd, Compression::Gzip];

    /// Texts that differ, of which no frame is over the limit.
    fn texts() -> Vec<Vec<u8>> {
        let text = |nth: u32| (0..nth * 40).flat_map(|at| (at * at * nth).to_le_bytes()).collect();
        (0..7).map(text).collect()
    }

    /// A frame that announces its size: as `pzstd` writes it, or a member of BGZF.
    fn frame(compression: Compression, text: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Gzip => {
                let extra = b"BC\x02\0\0\0";
                let member = flate2::GzBuilder::new().extra(&extra[..]);
                let mut member = member.write(Vec::new(), flate2::Compression::fast());
                member.write_all(text).unwrap();
                let mut member = member.finish().unwrap();
                let len = u16::try_from(member.len() - 1).unwrap();
                member[16..18].copy_from_slice(&len.to_le_bytes());
                member
            }
            _ => {
                let data = zstd::encode_all(text, 1).unwrap();
                [&skippable(u32::try_from(data.len()).unwrap())[..], &data].concat()
            }
        }
    }

    fn skippable(size: u32) -> Vec<u8> {
        [b"\x50\x2a\x4d\x18\x04\0\0\0", &size.to_le_bytes()[..]].concat()
    }

    fn frames(compression: Compression) -> Vec<Vec<u8>> {
        texts().iter().map(|text| frame(compression, text)).collect()
    }

    /// All bytes of an input, and its error.
    fn read_all(mut input: impl Read) -> (Vec<u8>, Option<String>) {
        let mut all = Vec::new();
        let mut out = [0; 1000];
        loop {
            match input.read(&mut out) {
                Ok(0) => return (all, None),
                Ok(len) => all.extend_from_slice(&out[..len]),
                Err(error) => return (all, Some(error.to_string())),
            }
        }
    }

    /// Reads on several threads and in sequence, and returns the result of both.
    #[track_caller]
    fn read_both(compression: Compression, input: &[u8]) -> (Vec<u8>, Option<String>) {
        let boxed = || Box::new(Cursor::new(input.to_vec()));
        let (usual, error) =
            read_all(in_sequence(boxed(), compression, None, false, &Notes::default()).unwrap());
        for limits in [Limits { threads: || 1, bytes_before: 3000, ..SMALL }, SMALL] {
            let (bytes, same_error) =
                read_all(Frames::new(boxed(), compression, limits, &Notes::default()));
            assert_eq!(same_error, error);
            // The usual decoder drops the bytes of a call that ends in an error.
            let is_same = bytes == usual || error.is_some() && bytes.starts_with(&usual);
            assert!(is_same, "{} bytes, in sequence {}", bytes.len(), usual.len());
        }
        (usual, error)
    }

    /// The numbers of frames that are decompressed separately, and the bytes of the rest.
    fn split(compression: Compression, input: Vec<u8>, limits: Limits) -> (usize, Vec<u8>) {
        let input = Box::new(Cursor::new(input));
        let start = Vec::new();
        let used = UsedChunks::default();
        let mut splitter = Splitter { input, compression, start, used, limits };
        for count in 0.. {
            match splitter.next() {
                Piece::Frames { .. } => {}
                Piece::Rest(rest) => return (count, read_all(rest).0),
                Piece::End => return (count, Vec::new()),
            }
        }
        unreachable!()
    }

    #[test]
    fn frames_with_sizes_are_decompressed_apart() {
        for compression in COMPRESSIONS {
            let frames = frames(compression);
            let all = frames.concat();
            assert_eq!(read_both(compression, &all), (texts().concat(), None));
            assert_eq!(split(compression, all.clone(), SMALL), (frames.len(), Vec::new()));
            let together = Limits { enough_bytes: 1 << 20, piece_bytes: 1 << 20, ..SMALL };
            assert_eq!(split(compression, all, together), (1, Vec::new()));
        }
        let lines = include_bytes!("../../tests/samples/pzstd/lines.epd.zst");
        assert_eq!(split(Compression::Zstd, lines.to_vec(), SMALL), (2, Vec::new()));
        assert_eq!(read_both(Compression::Zstd, lines).1, None);
    }

    #[test]
    fn frames_without_sizes_or_over_the_limit_are_read_in_sequence() {
        let text: Vec<u8> = (0..9000u32).flat_map(|at| (at * at).to_le_bytes()).collect();
        for compression in COMPRESSIONS {
            let frames = frames(compression);
            let mut plain = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            plain.write_all(&text).unwrap();
            let plain = match compression {
                Compression::Gzip => plain.finish().unwrap(),
                _ => zstd::encode_all(&text[..], 1).unwrap(),
            };
            let long = frame(compression, &text);
            assert!(long.len() > SMALL.piece_bytes, "{}", long.len());
            for other in [&plain, &long] {
                for nth in 0..=frames.len() {
                    let (before, after) = frames.split_at(nth);
                    let all = [&before.concat(), other, &after.concat()[..]].concat();
                    let (bytes, error) = read_both(compression, &all);
                    assert_eq!((bytes.len(), error), (texts().concat().len() + text.len(), None));
                    let (count, rest) = split(compression, all, SMALL);
                    assert_eq!((count, rest.starts_with(other)), (nth, true));
                }
            }
        }
    }

    #[test]
    fn sizes_are_hints() {
        let frames = frames(Compression::Zstd);
        for nth in 0..frames.len() {
            let before = frames[..nth].concat();
            let after = frames[nth + 1..].concat();
            let data = &frames[nth][12..];
            let size = u32::try_from(data.len()).unwrap();
            let behind = u32::try_from(after.len()).unwrap();
            let sizes = [0, 1, size - 1, size + 1, size + 12, size + 20, size + behind];
            for size in sizes.into_iter().chain([size + behind + 1, 4000, u32::MAX]) {
                let all = [&before, &skippable(size)[..], data, &after].concat();
                assert_eq!(read_both(Compression::Zstd, &all), (texts().concat(), None), "{size}");
            }
        }
        let frames = self::frames(Compression::Gzip);
        for size in [0, 17, 18, 30, 400, u16::MAX] {
            let mut all = frames.concat();
            let at = frames[..3].concat().len() + 16;
            all[at..at + 2].copy_from_slice(&size.to_le_bytes());
            assert_eq!(read_both(Compression::Gzip, &all), (texts().concat(), None), "{size}");
        }
    }

    #[test]
    fn a_damaged_or_cut_file_is_read_up_to_the_damage() {
        for compression in COMPRESSIONS {
            let all = frames(compression)[..3].concat();
            for len in 0..all.len() {
                read_both(compression, &all[..len]);
                let mut damaged = all.clone();
                damaged[len] ^= 0x55;
                read_both(compression, &damaged);
            }
            let texts = texts();
            let mut damaged = frames(compression);
            damaged[4].truncate(50);
            let (bytes, error) = read_both(compression, &damaged.concat());
            assert!(error.is_some() && bytes.starts_with(&texts[..4].concat()));
            let (bytes, error) = read_both(compression, &damaged[..5].concat());
            assert!(error.is_some() && bytes.starts_with(&texts[..4].concat()));
        }
    }

    /// An input that fails at its end, and reports that it was dropped.
    struct Faulty {
        bytes: Cursor<Vec<u8>>,
        panics: bool,
        dropped: Sender<()>,
    }

    impl Read for Faulty {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.bytes.read(out)? {
                0 if self.panics => panic!("as a test wants it"),
                0 => Err(io::Error::other("the disk is gone")),
                len => Ok(len),
            }
        }
    }

    impl Drop for Faulty {
        fn drop(&mut self) {
            self.dropped.send(()).ok();
        }
    }

    #[test]
    fn a_failure_never_becomes_an_end() {
        let all = frames(Compression::Zstd).concat();
        for panics in [true, false] {
            for len in [all.len(), all.len() - 10] {
                let bytes = Cursor::new(all[..len].to_vec());
                let input = Box::new(Faulty { bytes, panics, dropped: channel().0 });
                let mut input = Frames::new(input, Compression::Zstd, SMALL, &Notes::default());
                let (bytes, error) = read_all(&mut input);
                let expected = if panics { "thread that reads the input" } else { "disk is gone" };
                assert!(error.unwrap().contains(expected));
                assert!(texts().concat().starts_with(&bytes));
                assert!(bytes.len() >= texts()[..5].concat().len());
                assert!(read_all(input).1.is_some());
            }
        }
    }

    #[test]
    fn the_threads_end_with_the_reader() {
        let (dropped, is_dropped) = channel();
        let bytes = Cursor::new(frames(Compression::Zstd).concat().repeat(100));
        let input = Box::new(Faulty { bytes, panics: false, dropped });
        let mut input = Frames::new(input, Compression::Zstd, SMALL, &Notes::default());
        input.read_exact(&mut [0; 500]).unwrap();
        assert!(matches!(input.pieces, Pieces::Ahead(_)));
        drop(input);
        is_dropped.recv().unwrap();
    }
}
