//! Archives of files: zip and tar. The members with games or records are read in order, as one file.
//!
//! No member is written to a file, so the names of members are only compared and shown.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use zip::ZipArchive;

use super::format::{Compression, FileFormat, begins_tar};
use super::frames;
use super::notes::Notes;
use epdb_chess::error::{Error, Result, caught};

/// Maximum number of bytes that are read to find the members of a zip archive. The directory of an
/// archive is kept in memory, in about ten times as many bytes.
const MAX_DIRECTORY: u64 = 8 << 20;
/// Maximum number of members of an archive.
const MAX_MEMBERS: usize = 100_000;
/// Maximum number of bytes of the long name of a member in a tar archive, with its other attributes.
const MAX_ATTRIBUTES: u64 = 1 << 20;
/// Number of bytes that are written at a time.
const BUFFER: usize = 1 << 16;
/// Maximum number of names in a message.
const MAX_SHOWN: usize = 5;

#[derive(Copy, Clone, Debug)]
pub(super) enum ArchiveKind {
    Zip,
    /// A tar archive, compressed or not.
    Tar(Compression),
}

impl ArchiveKind {
    /// The kind of archive whose decompressed bytes begin with `head`. `None` for another file.
    pub(super) fn from_head(head: &[u8]) -> Option<ArchiveKind> {
        match head {
            _ if head.starts_with(b"PK\x03\x04") => Some(ArchiveKind::Zip),
            _ if begins_tar(head) => Some(ArchiveKind::Tar(Compression::None)),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            ArchiveKind::Zip => "a zip archive",
            ArchiveKind::Tar(_) => "a tar archive",
        }
    }

    /// The command that writes the text of a member.
    const fn tool(self) -> &'static str {
        match self {
            ArchiveKind::Zip => "unzip -p",
            ArchiveKind::Tar(_) => "tar -xOf",
        }
    }
}

pub(super) struct Members {
    /// The name of the first member, whose suffix may show the format.
    pub(super) first: PathBuf,
    /// The bytes of all members. Each member after another one begins on a new line.
    pub(super) bytes: Box<dyn Read + Send>,
    /// Says which members are not read, if there are such members.
    pub(super) left_out: Option<String>,
}

/// Opens an archive of files. The file is read from its start.
///
/// # Errors
/// The archive cannot be read, or its names do not show which members are meant. The error names it.
pub(super) fn open(path: &Path, mut file: File, kind: ArchiveKind) -> Result<Members> {
    let failed = |error: io::Error| {
        Error::new(format!("cannot read {}, {}", path.display(), kind.name())).because(error)
    };
    let names = names(&mut file, kind).map_err(failed)?;
    let chosen = choose(&names).map_err(|reason| refused(path, kind, &names, reason))?;
    let first = PathBuf::from(String::from_utf8_lossy(&names[chosen[0]].name).into_owned());
    let left_out = left_out(&names, &chosen);
    let (reader, writer) = io::pipe().map_err(failed)?;
    let fault = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&fault);
    let work = move || {
        let mut output = Joined { pipe: BufWriter::with_capacity(BUFFER, writer), last: b'\n' };
        let sent =
            caught(|| send(&mut file, kind, &chosen, &mut output).and_then(|()| output.flush()));
        // The fault is there before the end of the pipe shows.
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = sent.err();
        drop(output);
    };
    thread::Builder::new().spawn(work).map_err(failed)?;
    Ok(Members { first, bytes: Box::new(MemberBytes { pipe: reader, fault }), left_out })
}

struct Member {
    name: Vec<u8>,
    is_encrypted: bool,
}

impl Member {
    /// The format that the suffix of the name shows.
    fn format(&self) -> Option<FileFormat> {
        FileFormat::from_member_name(&self.name)
    }

    /// True for files that systems add to archives: hidden files and the forks of macOS.
    fn is_hidden(&self) -> bool {
        let base = self.name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        base.starts_with(b".") || self.name.starts_with(b"__MACOSX/")
    }
}

/// Chooses the members that are read: the only one, or all whose suffix is that of one format. Returns
/// their places in the list.
fn choose(members: &[Member]) -> std::result::Result<Vec<usize>, &'static str> {
    let visible: Vec<usize> =
        (0..members.len()).filter(|place| !members[*place].is_hidden()).collect();
    let known: Vec<usize> =
        visible.iter().copied().filter(|place| members[*place].format().is_some()).collect();
    let chosen = if visible.len() == 1 { visible } else { known };
    let formats: Vec<FileFormat> =
        chosen.iter().filter_map(|place| members[*place].format()).collect();
    let is_lines = |format: &FileFormat| matches!(format, FileFormat::Epd | FileFormat::Fen);
    let is_one_format =
        formats.windows(2).all(|pair| pair[0] == pair[1]) || formats.iter().all(is_lines);
    if chosen.is_empty() {
        Err("no file in it has the suffix of a format that is read")
    } else if chosen.iter().any(|place| members[*place].is_encrypted) {
        Err("its files are encrypted")
    } else if !is_one_format {
        Err("its files have different formats")
    } else if chosen.len() > 1 && !formats.iter().all(|format| format.is_text()) {
        Err("it has several files that are not text")
    } else {
        Ok(chosen)
    }
}

/// Says which files of an archive are not read; hidden ones do not count.
fn left_out(members: &[Member], chosen: &[usize]) -> Option<String> {
    let others = members.iter().enumerate();
    let others =
        others.filter(|(place, it)| !it.is_hidden() && chosen.binary_search(place).is_err());
    let others: Vec<&Member> = others.map(|(_, member)| member).collect();
    if others.is_empty() {
        return None;
    }
    let all = members.iter().filter(|member| !member.is_hidden()).count();
    let verb = if others.len() == 1 { "is" } else { "are" };
    Some(format!("{} of {all} files in it {verb} not read: {}", others.len(), first_names(&others)))
}

fn refused(path: &Path, kind: ArchiveKind, members: &[Member], reason: &str) -> Error {
    Error::new(format!(
        "{} is {} of {} files ({}), and {reason}: `{} {0}` writes the text of its files",
        path.display(),
        kind.name(),
        members.len(),
        first_names(&members.iter().collect::<Vec<_>>()),
        kind.tool()
    ))
}

/// The names of the first members, for a message.
fn first_names(members: &[&Member]) -> String {
    let names = members.iter().take(MAX_SHOWN).map(|member| {
        let name = String::from_utf8_lossy(&member.name);
        name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
    });
    let names: Vec<String> = names.collect();
    let more = if members.len() > names.len() { ", ..." } else { "" };
    names.join(", ") + more
}

/// The members of an archive that are files, in their order.
fn names(file: &mut File, kind: ArchiveKind) -> io::Result<Vec<Member>> {
    let mut members = Vec::new();
    match kind {
        ArchiveKind::Zip => {
            let mut archive = open_zip(file)?;
            if archive.len() > MAX_MEMBERS {
                return Err(too_many());
            }
            // Members that share bytes make a small archive endless.
            if archive.has_overlapping_entries().map_err(io::Error::other)? {
                return Err(invalid("its files overlap"));
            }
            for index in 0..archive.len() {
                let member = archive.by_index_raw(index).map_err(io::Error::other)?;
                if member.is_file() {
                    let name = member.name_raw().to_vec();
                    members.push(Member { name, is_encrypted: member.encrypted() });
                }
            }
        }
        ArchiveKind::Tar(compression) => {
            each_in_tar(file, compression, &mut |_, name, _| {
                if members.len() == MAX_MEMBERS {
                    return Err(too_many());
                }
                members.push(Member { name, is_encrypted: false });
                Ok(())
            })?;
        }
    }
    Ok(members)
}

fn too_many() -> io::Error {
    invalid("it has too many files")
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Writes the bytes of the members at these places.
fn send(
    file: &mut File,
    kind: ArchiveKind,
    chosen: &[usize],
    output: &mut Joined,
) -> io::Result<()> {
    match kind {
        ArchiveKind::Zip => {
            let mut archive = open_zip(file)?;
            let mut index = 0;
            for place in 0..archive.len() {
                if !archive.by_index_raw(place).map_err(io::Error::other)?.is_file() {
                    continue;
                }
                if chosen.binary_search(&index).is_ok() {
                    let mut member = archive.by_index(place).map_err(io::Error::other)?;
                    output.begin_member()?;
                    io::copy(&mut member, output)?;
                }
                index += 1;
            }
            Ok(())
        }
        ArchiveKind::Tar(compression) => each_in_tar(file, compression, &mut |index, _, bytes| {
            if chosen.binary_search(&index).is_err() {
                return Ok(());
            }
            output.begin_member()?;
            io::copy(bytes, output).map(drop)
        }),
    }
}

/// A file of which only a limited number of bytes is read while the directory is read.
struct Limited<'f> {
    file: &'f mut File,
    left: Arc<AtomicU64>,
}

impl Read for Limited<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(out)?;
        let left = self.left.load(Ordering::Relaxed);
        let left = left.checked_sub(len as u64).ok_or_else(too_many)?;
        self.left.store(left, Ordering::Relaxed);
        Ok(len)
    }
}

impl Seek for Limited<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn open_zip(file: &mut File) -> io::Result<ZipArchive<BufReader<Limited<'_>>>> {
    let left = Arc::new(AtomicU64::new(MAX_DIRECTORY));
    let limited = Limited { file, left: Arc::clone(&left) };
    let archive = ZipArchive::new(BufReader::new(limited)).map_err(io::Error::other)?;
    left.store(u64::MAX, Ordering::Relaxed);
    Ok(archive)
}

type VisitMember<'v> = dyn FnMut(usize, Vec<u8>, &mut dyn Read) -> io::Result<()> + 'v;

/// Calls `visit` with the index, the name and the bytes of each file in a tar archive.
///
/// The crate reads long names into memory, however long they are, so only its raw entries are used.
fn each_in_tar(
    file: &mut File,
    compression: Compression,
    visit: &mut VisitMember<'_>,
) -> io::Result<()> {
    file.rewind()?;
    let input: Box<dyn Read + Send> = Box::new(BufReader::new(file.try_clone()?));
    let input = match compression {
        Compression::None => input,
        _ => frames::decoder(input, compression, &Notes::default())?,
    };
    let mut archive = tar::Archive::new(input);
    let mut long_name = None;
    let mut index = 0;
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            let name = attributes(&mut entry)?;
            long_name = Some(name.split(|byte| *byte == 0).next().unwrap_or_default().to_vec());
        } else if kind.is_pax_local_extensions() {
            let attributes = attributes(&mut entry)?;
            if pax_value(&attributes, b"size").is_some() {
                return Err(invalid("it has a file that is larger than 8 GiB"));
            }
            long_name = pax_value(&attributes, b"path").map(<[u8]>::to_vec).or(long_name);
        } else if kind.is_file() || kind.is_contiguous() {
            let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
            let size = entry.size();
            let mut bytes = Exactly { bytes: &mut entry, left: size };
            visit(index, name, &mut bytes)?;
            index += 1;
        } else if !kind.is_pax_global_extensions() && !kind.is_gnu_longlink() {
            long_name = None;
        }
    }
    Ok(())
}

/// The bytes of a member. It is an error if they end early.
struct Exactly<'b> {
    bytes: &'b mut dyn Read,
    left: u64,
}

impl Read for Exactly<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read(out)?;
        self.left = self.left.saturating_sub(len as u64);
        if len == 0 && !out.is_empty() && self.left > 0 {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut off"))
        } else {
            Ok(len)
        }
    }
}

/// The bytes of an entry that describes the next one.
fn attributes(entry: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(MAX_ATTRIBUTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_ATTRIBUTES {
        Err(invalid("the name of a file is too long"))
    } else {
        Ok(bytes)
    }
}

/// A value of the attributes of POSIX: lines `LENGTH KEY=VALUE`.
fn pax_value<'a>(mut attributes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    while let Some(blank) = memchr::memchr(b' ', attributes) {
        let len: usize = std::str::from_utf8(&attributes[..blank]).ok()?.parse().ok()?;
        let line = attributes.get(blank + 1..len)?.strip_suffix(b"\n")?;
        let equals = memchr::memchr(b'=', line)?;
        if &line[..equals] == wanted {
            found = Some(&line[equals + 1..]);
        }
        attributes = &attributes[len..];
    }
    found
}

/// The members, one after the other. A member begins on a new line.
struct Joined {
    pipe: BufWriter<PipeWriter>,
    last: u8,
}

impl Joined {
    fn begin_member(&mut self) -> io::Result<()> {
        if self.last == b'\n' { Ok(()) } else { self.write_all(b"\n") }
    }
}

impl Write for Joined {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.pipe.write(bytes)?;
        self.last = bytes[..len].last().copied().unwrap_or(self.last);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

/// The bytes of the members, from the thread that reads the archive.
struct MemberBytes {
    pipe: PipeReader,
    /// The fault that ended the bytes.
    fault: Arc<Mutex<Option<io::Error>>>,
}

impl Read for MemberBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.pipe.read(out)?;
        if len > 0 || out.is_empty() {
            return Ok(len);
        }
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        fault.map_or(Ok(0), Err)
    }
}
