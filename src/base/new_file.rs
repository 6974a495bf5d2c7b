//! Files that appear complete or not at all, and scratch files that vanish with the process.
//!
//! A [`NewFile`] is written under a temporary name in the folder of its final path,
//! `.epdb-NAME-XXXXXX.part`. [`NewFile::finish`] renames it to its final path. If a `NewFile` is
//! dropped without this call, its temporary file is removed. A process that handles signals calls
//! [`abandon_all`] before it ends; that removes all its files under construction. If a process is
//! killed, or its machine stops, its temporary files stay in the folder. The next process that
//! makes a `NewFile` in that folder or calls `sweep_once` removes them. A file under construction
//! is locked as long as its owner lives, so a file without a lock has no owner.
//!
//! Errors name the final path, never the temporary file.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::Ipv6Addr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PREFIX: &str = ".epdb-";
const SUFFIX: &str = ".part";
/// Random letters and digits in the name of a temporary file.
const RANDOM: usize = 6;
/// Maximum number of characters of the final name that the name of the temporary file repeats.
const MAX_NAME: usize = 64;
/// Maximum number of symbolic links that are followed, the same as in Linux.
const MAX_LINKS: usize = 40;

/// The files under construction of this process.
static UNFINISHED: Mutex<Unfinished> =
    Mutex::new(Unfinished { paths: BTreeSet::new(), swept: BTreeSet::new() });

struct Unfinished {
    /// The temporary files, by absolute paths.
    paths: BTreeSet<PathBuf>,
    /// Folders in which the files that other processes left behind were removed.
    swept: BTreeSet<PathBuf>,
}

impl Unfinished {
    fn sweep_once(&mut self, folder: &Path) {
        if self.swept.insert(folder.to_path_buf()) {
            sweep(folder);
        }
    }
}

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a file for reading. A pipe or a device is refused, and opening it never waits for a writer.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Identity of a file: the device and the number of the file. Another file of the same name has
/// another identity.
#[cfg(unix)]
pub fn file_identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Identity of a file: its creation time, because the system has no file numbers here.
#[cfg(not(unix))]
pub fn file_identity(metadata: &Metadata) -> (u64, u64) {
    let made = metadata.created().ok();
    let since = made.and_then(|made| made.duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
    (since.map_or(0, |since| since.as_secs()), since.map_or(0, |since| since.subsec_nanos().into()))
}

/// A file under construction. [`NewFile::finish`] gives it its final path. If it is dropped without
/// this call, it never appears there.
///
/// ```
/// use std::io::Write;
/// use epdb_base::new_file::NewFile;
/// # let folder = tempfile::tempdir()?;
/// # let place = folder.path().join("book.epd");
/// let mut file = NewFile::create(&place)?;
/// file.write_all(b"4k3/8/8/8/8/8/8/4K3 w - -\n")?;
/// assert!(!place.exists());
/// file.finish()?;
/// assert!(place.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    file: File,
    temporary: PathBuf,
    /// The final path as the caller gave it, for messages.
    named: PathBuf,
    /// The final path with symbolic links followed.
    place: PathBuf,
}

/// Refuses the name `BASE+DELTA.epdb` where the base is a file. If there were a file with this name, it would hide
/// both from every command that is given the pair.
fn refuse_pair(named: &Path) -> io::Result<()> {
    let Some(name) = named.to_str().filter(|name| name.ends_with(".epdb")) else { return Ok(()) };
    let mut pairs = name.rmatch_indices('+').map(|(place, _)| name.split_at(place));
    let Some((base, delta)) = pairs.find(|(base, _)| Path::new(base).is_file()) else {
        return Ok(());
    };
    let delta = delta.trim_start_matches('+');
    let what = format!(
        "this name stands for {base} and its delta {delta}: add games with \
         `epdb import {delta} GAMES --tally --base {base}`, or name another file"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

impl NewFile {
    /// Begins a file that will get the path `place`. If `place` is a symbolic link, the file to
    /// which the link points is replaced, and the link stays.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written, or `place` is a folder.
    pub fn create(place: impl AsRef<Path>) -> io::Result<NewFile> {
        let named = place.as_ref();
        NewFile::create_unnamed(named).map_err(|error| cannot_write(named, error))
    }

    fn create_unnamed(named: &Path) -> io::Result<NewFile> {
        if named.to_str().is_some_and(|name| name.contains("://")) {
            let what = "an address cannot be written: write a file and upload it";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let place = destination(named)?;
        let replaced = fs::metadata(&place).ok();
        if replaced.is_none() {
            refuse_pair(named)?;
        }
        if replaced.as_ref().is_some_and(Metadata::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if replaced.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no ordinary file"));
        }
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        let mut unfinished = unfinished();
        unfinished.sweep_once(folder);
        let (file, temporary) = create_temporary(folder, name, replaced.is_some())?;
        unfinished.paths.insert(temporary.clone());
        Ok(NewFile { file, temporary, named: named.to_path_buf(), place })
    }

    /// The same file, but with another final name in the same folder.
    #[must_use]
    pub fn named_in_folder(mut self, name: &str) -> NewFile {
        self.place.set_file_name(name);
        self.named.set_file_name(name);
        self
    }

    /// Final path of the file, with symbolic links followed.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Current path of the file.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The final path as the caller gave it.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Replaces the first bytes of a file that is otherwise complete.
    pub fn put_first(&mut self, bytes: &[u8]) -> io::Result<()> {
        let put = self.file.rewind().and_then(|()| self.file.write_all(bytes));
        put.map_err(|error| cannot_write(&self.named, error))
    }

    /// The file under construction. A database locks its file through its own handle. Give the
    /// database a clone of this handle ([`File::try_clone`]), because only a clone shares the lock.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Writes all data through to the disk, so that [`NewFile::finish`] only has to rename. If
    /// several files belong together, prepare all of them before you finish the first.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn prepare(&self) -> io::Result<()> {
        keep_attributes(&self.file, &self.place)
            .and_then(|()| self.file.sync_all())
            .map_err(|error| cannot_write(&self.named, error))
    }

    /// Renames the file to its final path, and replaces an existing file. The new file gets the
    /// mode bits of the replaced file and, if this process may set them, its owner and group.
    ///
    /// # Errors
    /// Errors of the system. The last step writes the new name to the disk, so that it survives a
    /// loss of power. If only this step fails, the file stays at its final path.
    pub fn finish(self) -> io::Result<()> {
        self.prepare()?;
        let named = self.named.clone();
        let place = self.place.clone();
        self.publish(|temporary, place| fs::rename(temporary, place))?;
        sync_folder(&place).map_err(|error| cannot_write(&named, error))
    }

    /// Renames the file to its final path, but does not wait until it is on the disk:
    /// [`sync_files`] does that for many small files at once.
    ///
    /// # Errors
    /// The errors of [`NewFile::finish`].
    pub fn finish_unsynced(self) -> io::Result<()> {
        keep_attributes(&self.file, &self.place)
            .map_err(|error| cannot_write(&self.named, error))?;
        self.publish(|temporary, place| fs::rename(temporary, place))
    }

    /// Renames the file to its final path, unless another file has this path by now. After an
    /// error, the new file does not have this path.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if another file has the final path; errors of the system.
    pub fn finish_new(self) -> io::Result<()> {
        self.prepare()?;
        let named = self.named.clone();
        let place = self.place.clone();
        self.publish(|temporary, place| {
            let temporary = tempfile::TempPath::try_from_path(temporary)?;
            temporary.persist_noclobber(place).map_err(|error| error.error)
        })?;
        sync_folder(&place).map_err(|error| {
            fs::remove_file(&place).ok();
            cannot_write(&named, error)
        })
    }

    fn publish(self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let mut unfinished = unfinished();
        rename(&self.temporary, &self.place).map_err(|error| cannot_write(&self.named, error))?;
        unfinished.paths.remove(&self.temporary);
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        if unfinished.paths.remove(&self.temporary) {
            fs::remove_file(&self.temporary).ok();
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| cannot_write(&self.named, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| cannot_write(&self.named, error))
    }
}

/// Waits until files that [`NewFile::finish_unsynced`] put into a folder are on the disk. All files
/// must be in the same folder.
///
/// # Errors
/// Errors of the system.
pub fn sync_files(places: impl IntoIterator<Item = PathBuf>) -> io::Result<()> {
    let mut last = None;
    for place in places {
        let synced = File::open(&place).and_then(|file| file.sync_all());
        synced.map_err(|error| cannot_write(&place, error))?;
        last = Some(place);
    }
    match last {
        Some(place) => sync_folder(&place),
        None => Ok(()),
    }
}

/// No file can be made or finished as long as this value lives; see [`abandon_all`].
#[derive(Debug)]
#[must_use]
pub struct Abandoned {
    _unfinished: MutexGuard<'static, Unfinished>,
}

impl std::fmt::Debug for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unfinished").field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// Removes all files under construction of this process. Threads that make or finish a file wait
/// until the result is dropped. A process that is about to end keeps the result.
pub fn abandon_all() -> Abandoned {
    let mut unfinished = unfinished();
    for path in std::mem::take(&mut unfinished.paths) {
        fs::remove_file(path).ok();
    }
    Abandoned { _unfinished: unfinished }
}

impl Abandoned {
    /// Prevents files from being made or finished until the process ends.
    pub fn until_the_end(self) {
        std::mem::forget(self);
    }
}

/// Removes the temporary files that killed processes left in a folder. A process does this once for
/// each folder. Files that cannot be examined stay.
pub fn sweep_once(folder: &Path) {
    if let Ok(folder) = std::path::absolute(folder) {
        unfinished().sweep_once(&folder);
    }
}

/// The folder of a file, for temporary files. Errors name it, so the path is absolute.
pub fn folder_of(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    parent.canonicalize().unwrap_or_else(|_| parent.to_path_buf())
}

/// Number of bytes that are free on the disk of a folder, if the system says it.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Number of free bytes; the system is not asked.
#[cfg(not(unix))]
pub fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

/// Returns the path that a file at `place` will have. It is absolute, and symbolic links at its end
/// have been followed. The file need not exist.
///
/// # Errors
/// The links lead in a circle, or there is no current folder.
pub fn destination(place: &Path) -> io::Result<PathBuf> {
    let mut place = std::path::absolute(place)?;
    for _ in 0..MAX_LINKS {
        match (fs::read_link(&place), place.parent()) {
            (Ok(target), Some(folder)) => place = folder.join(target),
            _ => return Ok(place),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

/// Makes a temporary file and locks it.
fn create_temporary(folder: &Path, name: &OsStr, replaces: bool) -> io::Result<(File, PathBuf)> {
    let prefix = OsString::from(format!("{PREFIX}{}-", plain(name)));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX).rand_bytes(RANDOM);
    loop {
        let made = builder.make_in(folder, |path| new_options(replaces).open(path))?;
        let (file, path) = made.keep().map_err(|error| error.error)?;
        // Another process that is sweeping the folder may have taken the new file for an abandoned
        // one, and locked or removed it before this lock.
        let is_ours = !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
            && fs::symlink_metadata(&path).is_ok();
        if is_ours {
            return Ok((file, path));
        }
    }
}

/// Replaces characters that not every file system accepts in a name.
fn plain(name: &OsStr) -> String {
    let letters = name.to_string_lossy();
    let plain = |letter: char| match letter {
        '.' | '_' | '-' => letter,
        _ if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    };
    letters.chars().take(MAX_NAME).map(plain).collect()
}

fn new_options(replaces: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Only the owner may read a file that will replace another. The replaced file may be
        // private, and its mode bits are copied only at the end.
        options.mode(if replaces { 0o600 } else { 0o666 });
    }
    #[cfg(not(unix))]
    let _ = replaces;
    options
}

/// Removes temporary files whose owner is gone. Files that cannot be examined stay.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if is_temporary(&entry.file_name()) {
            remove_orphan(&entry.path());
        }
    }
}

fn is_temporary(name: &OsStr) -> bool {
    let Some(name) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { return false };
    let Some(name) = name.strip_suffix(SUFFIX) else { return false };
    name.rsplit_once('-').is_some_and(|(_, random)| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn remove_orphan(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return;
    }
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return };
    if file.try_lock().is_ok() {
        fs::remove_file(path).ok();
    }
}

/// Gives a file the mode bits of the file that it replaces and, if this process may set them, its
/// owner and group.
#[cfg(unix)]
fn keep_attributes(file: &File, place: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let Some(replaced) = fs::metadata(place).ok().filter(Metadata::is_file) else { return Ok(()) };
    let own = file.metadata()?;
    let has_owner = own.uid() == replaced.uid() || fchown(file, Some(replaced.uid()), None).is_ok();
    let has_group = own.gid() == replaced.gid() || fchown(file, None, Some(replaced.gid())).is_ok();
    // The setuid and setgid bits stay only if the owner and the group stay, because they give their
    // rights to whoever runs the file.
    let bits = if has_owner && has_group { 0o7777 } else { 0o777 };
    file.set_permissions(fs::Permissions::from_mode(replaced.mode() & bits))
}

#[cfg(not(unix))]
fn keep_attributes(_file: &File, _place: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a new name in a folder to the disk, so that the name survives a loss of power. Does
/// nothing if the system cannot do that.
#[cfg(unix)]
pub fn sync_folder(place: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    let folder = place.parent().unwrap_or(Path::new("/"));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

/// Does nothing: folders of this system cannot be synchronised.
#[cfg(not(unix))]
pub fn sync_folder(_place: &Path) -> io::Result<()> {
    Ok(())
}

/// Adds to an error the path of the file that could not be written. The kind of the error stays.
pub fn cannot_write(place: &Path, error: io::Error) -> io::Error {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "; its folder must be there".to_string(),
        kind => advice(kind, ELSEWHERE),
    };
    let place = without_secrets(&place.to_string_lossy());
    let message = format!("cannot write {place}: {error}{advice}");
    io::Error::new(error.kind(), message)
}

/// An argument without user name, password, query and fragment of the address at its end, such as
/// `--from=https://HOST/FILE?QUERY`. An argument without an address is returned unchanged.
// Not only the addresses that are read: a message also refuses `ftp://`.
pub fn without_secrets(argument: &str) -> String {
    let Some((scheme, mut rest)) = argument.split_once("://") else { return argument.to_string() };
    if !scheme.ends_with(|last: char| last.is_ascii_alphanumeric() || "+-.".contains(last)) {
        return argument.to_string();
    }
    let at_sign = authority(rest).rfind('@');
    if let Some(at_sign) = at_sign {
        rest = &rest[at_sign + 1..];
    }
    let host = authority(rest);
    let has_only_a_user = at_sign.is_some() && host.is_empty();
    if !has_valid_port(host) || has_only_a_user {
        // A password may have one of the characters that end an authority. The parts of such an
        // address cannot be told apart, so all of it is left out.
        return format!("{scheme}://…");
    }
    let end_of_path = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}://{}", &rest[..end_of_path])
}

/// User, password, host and port of an address without its scheme, as they are written.
fn authority(rest: &str) -> &str {
    rest.split(['/', '\\', '?', '#']).next().unwrap_or_default()
}

/// True if a host has no port, or a port that is a number. An address in brackets must be one of IPv6, because
/// a password may have brackets too.
fn has_valid_port(host: &str) -> bool {
    let port = match host.strip_prefix('[') {
        None => host.find(':').map_or("", |colon| &host[colon..]),
        Some(inside) => match inside.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => port,
            _ => return false,
        },
    };
    let is_number = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    port.is_empty() || port.strip_prefix(':').is_some_and(is_number)
}

const ELSEWHERE: &str = "choose another place for the output";

fn advice(kind: io::ErrorKind, elsewhere: &str) -> String {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("; make room there or {elsewhere}")
        }
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => format!("; {elsewhere}"),
        _ => String::new(),
    }
}

/// A value that comes from a file. Where there are no files, the compiler leaves out all that would handle it.
#[derive(Debug)]
pub struct OfFile<T> {
    #[cfg(not(target_family = "wasm"))]
    value: T,
    #[cfg(target_family = "wasm")]
    never: (std::convert::Infallible, std::marker::PhantomData<T>),
}

#[cfg(not(target_family = "wasm"))]
impl<T> OfFile<T> {
    /// A value that comes from a file.
    pub fn new(value: T) -> OfFile<T> {
        OfFile { value }
    }
}

#[cfg(target_family = "wasm")]
impl<T> OfFile<T> {
    /// Never called, because no file can be opened.
    pub fn new(_: T) -> OfFile<T> {
        unreachable!("there are no files")
    }
}

impl<T> Deref for OfFile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        #[cfg(not(target_family = "wasm"))]
        return &self.value;
        #[cfg(target_family = "wasm")]
        match self.never.0 {}
    }
}

impl<T> DerefMut for OfFile<T> {
    fn deref_mut(&mut self) -> &mut T {
        #[cfg(not(target_family = "wasm"))]
        return &mut self.value;
        #[cfg(target_family = "wasm")]
        match self.never.0 {}
    }
}

/// The folder for temporary files; an empty path if the system has no files.
pub fn temp_dir() -> PathBuf {
    if cfg!(target_family = "wasm") { PathBuf::new() } else { env::temp_dir() }
}

/// The bytes of a [`ScratchFile`].
#[cfg(not(target_family = "wasm"))]
type Scratch = File;
/// The bytes of a [`ScratchFile`]: in memory, because the system has no files.
#[cfg(target_family = "wasm")]
type Scratch = crate::memory_file::MemoryFile;

/// A file without a name, for data that does not fit into memory. It vanishes when the process
/// ends, even if the process is killed.
///
/// Errors name the folder.
#[derive(Debug)]
pub struct ScratchFile {
    file: Scratch,
    folder: PathBuf,
}

impl ScratchFile {
    /// Makes an empty file in `folder`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(folder: impl AsRef<Path>) -> io::Result<ScratchFile> {
        let folder = folder.as_ref();
        #[cfg(not(target_family = "wasm"))]
        let file = tempfile::tempfile_in(folder).map_err(|error| scratch_error(folder, error))?;
        #[cfg(target_family = "wasm")]
        let file = Scratch::default();
        Ok(ScratchFile { file, folder: folder.to_path_buf() })
    }
}

/// A temporary file for readers that need a path, for example a copy of a store that is read from a
/// pipe. The file is removed when this value is dropped, and by [`abandon_all`].
#[derive(Debug)]
pub struct SpooledFile {
    /// The handle that holds the lock.
    _file: File,
    path: PathBuf,
}

impl SpooledFile {
    /// Makes a file in `folder` that only its owner may read, and calls `fill` to write it.
    ///
    /// # Errors
    /// The file cannot be made or locked, or `fill` fails.
    pub fn fill<E: From<io::Error>>(
        folder: impl AsRef<Path>,
        fill: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<SpooledFile, E> {
        let folder = std::path::absolute(folder)?;
        let mut unfinished = unfinished();
        unfinished.sweep_once(&folder);
        // As if it replaced a file: only its owner may read it.
        let replaces = true;
        let (mut file, path) = create_temporary(&folder, OsStr::new("copy"), replaces)
            .map_err(|error| scratch_error(&folder, error))?;
        unfinished.paths.insert(path.clone());
        drop(unfinished);
        let filled = fill(&mut file);
        // Readers lock the file too. A shared lock allows them to, and still shows that the file
        // has an owner. On Windows a lock cannot be changed, and a file that is open is not removed.
        let unlocked = if cfg!(windows) { file.unlock() } else { Ok(()) };
        let shared = unlocked.and_then(|()| file.lock_shared());
        let spooled = SpooledFile { _file: file, path };
        filled?;
        shared?;
        Ok(spooled)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SpooledFile {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        if unfinished.paths.remove(&self.path) {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// The error of a temporary file. It names the folder.
pub fn scratch_error(folder: &Path, error: io::Error) -> io::Error {
    let elsewhere =
        if folder == temp_dir() { "name another folder with TMPDIR" } else { ELSEWHERE };
    let advice = advice(error.kind(), elsewhere);
    let message = format!("temporary file in {}: {error}{advice}", folder.display());
    io::Error::new(error.kind(), message)
}

impl Read for ScratchFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(|error| scratch_error(&self.folder, error))
    }
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| scratch_error(&self.folder, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| scratch_error(&self.folder, error))
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to).map_err(|error| scratch_error(&self.folder, error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_are_named_without_their_secrets() {
        for (address, name) in [
            ("https://h/a.pgn?token=S", "https://h/a.pgn"),
            ("https://h/a.pgn#S?S", "https://h/a.pgn"),
            ("https://h?S", "https://h"),
            ("https://u:S@h:80/@a/b@c.pgn", "https://h:80/@a/b@c.pgn"),
            ("https://S@h/a", "https://h/a"),
            ("https://u@v:S@h/a", "https://h/a"),
            ("https://u:S/S@h/a", "https://…"),
            ("https://u@v:S/S@h/a", "https://…"),
            ("https://u:S?S@h/a", "https://…"),
            ("https://u:S\\S@h/a", "https://…"),
            ("https://u:S@?/a@h", "https://…"),
            ("https://u:S]x/y@h", "https://…"),
            ("https://[u:S]x/y@h", "https://…"),
            ("https://[a:S]/y@h", "https://…"),
            ("https://[a:b", "https://…"),
            ("https://[::1]:80/@a", "https://[::1]:80/@a"),
            ("https://u:S@[::1]/a?S", "https://[::1]/a"),
            ("s3://u:S@b/a", "s3://b/a"),
            ("FTP://u:S@h/a", "FTP://h/a"),
            ("--from=https://u:S@h/a?S", "--from=https://h/a"),
            ("a ://b?c", "a ://b?c"),
            ("a?b@c", "a?b@c"),
            ("a://", "a://"),
        ] {
            assert_eq!(without_secrets(address), name, "{address}");
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a file\n.epd");
        let mut file = NewFile::create(&place).unwrap();
        file.write_all(b"new").unwrap();
        let [name] = names(folder.path()).try_into().unwrap();
        assert!(name.starts_with(".epdb-a_file_.epd-") && name.ends_with(".part"), "{name}");
        assert!(is_temporary(OsStr::new(&name)));
        file.finish().unwrap();
        assert_eq!(names(folder.path()), ["a file\n.epd"]);
        assert_eq!(fs::read(&place).unwrap(), b"new");
        drop(NewFile::create(&place).unwrap());
        assert_eq!(fs::read(&place).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a file\n.epd"]);
    }

    #[test]
    fn what_stands_there_is_not_replaced_by_finish_new() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a");
        NewFile::create(&place).unwrap().finish_new().unwrap();
        let mut second = NewFile::create(&place).unwrap();
        second.write_all(b"second").unwrap();
        assert_eq!(second.finish_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&place).unwrap(), b"");
        assert_eq!(names(folder.path()), ["a"]);
    }

    /// A lock through another handle stands for the lock of another process that lives.
    #[test]
    fn only_files_without_an_owner_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let owned = File::create(at(".epdb-a-000000.part")).unwrap();
        owned.lock().unwrap();
        let kept = [".epdb-a-000000.part", ".epdb-a-00000.part", ".epdb-notes.part", ".epdb-x"];
        kept[1..].iter().for_each(|name| fs::write(at(name), "").unwrap());
        fs::write(at(".epdb-a-0000zZ.part"), "left behind").unwrap();
        NewFile::create(at("b")).unwrap().finish().unwrap();
        let mut expected: Vec<&str> = kept.to_vec();
        expected.push("b");
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_mode_bits_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        symlink("deep/file", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        NewFile::create(at("second")).unwrap().finish().unwrap();
        assert_eq!(names(&at("deep")), ["file"]);
        for mode in [0o600, 0o664, 0o444] {
            fs::set_permissions(at("deep/file"), fs::Permissions::from_mode(mode)).unwrap();
            let mut file = NewFile::create(at("second")).unwrap();
            assert_eq!(file.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
            write!(file, "{mode}").unwrap();
            file.finish().unwrap();
            assert_eq!(fs::read_to_string(at("deep/file")).unwrap(), mode.to_string());
            assert_eq!(fs::metadata(at("link")).unwrap().permissions().mode() & 0o7777, mode);
            assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        }
        symlink("b", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        let error = NewFile::create(at("a")).unwrap_err().to_string();
        assert!(error.ends_with("/a: too many symbolic links"), "{error}");
    }

    #[test]
    fn errors_name_the_place_and_say_what_to_do() {
        let error = NewFile::create("no such folder/a.epd").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = error.to_string();
        assert!(error.starts_with("cannot write no such folder/a.epd: "), "{error}");
        assert!(error.ends_with("; its folder must be there"), "{error}");
        let error = cannot_write(Path::new("a"), io::ErrorKind::StorageFull.into()).to_string();
        assert!(error.ends_with("; make room there or choose another place for the output"));
        let error = ScratchFile::create("no such folder").unwrap_err().to_string();
        assert!(error.starts_with("temporary file in no such folder: "), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let error = NewFile::create(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }
}
