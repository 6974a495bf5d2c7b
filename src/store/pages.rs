//! Checks of redb's pages, from the last commit to the meta row (the header of the store).
//!
//! redb writes the checksum of every page into the parent page. The checksums of the roots are in
//! its header. But redb does not compare these checksums when it reads. If an old page took the
//! place of the current one, redb would show the state of an earlier commit. The layout is version
//! 3 of redb's file format.
// redb has a check of its own, `Database::check_integrity`, and `verify` calls it. It cannot
// replace this check, because it needs the file open for writing, repairs what it finds, and walks
// every page. With it, opening a store would read the whole file. This check reads only the few
// pages that lead to the meta row, and before writing also the pages of redb's own tables. Without
// it two exchanged sectors made a store report 425 records where it had 464. The rest of the file
// needs no check of pages, because blocks, chunks and journal have checksums and digests that the
// meta row records.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use redb::backends::FileBackend;
use redb::{StorageBackend, TableHandle};
use twox_hash::XxHash3_128;

use super::error::{Result, damaged};
use super::file::MAGIC;
use super::schema::{self, Access};
use epdb_base::mapped_file::MappedFile;
use epdb_base::new_file::open_regular;

const HEADER_BYTES: usize = 320;
const GOD_BYTE: usize = 9;
/// Places of numbers in the header.
const PAGE_BYTES: usize = 12;
const REGION_HEADER_PAGES: usize = 16;
const REGION_MAX_DATA_PAGES: usize = 20;
const FULL_REGIONS: usize = 24;
const LAST_REGION_DATA_PAGES: usize = 28;
const PRIMARY_BIT: u8 = 1;
const RECOVERY_REQUIRED: u8 = 2;
const TWO_PHASE_COMMIT: u8 = 4;
/// The commit of the primary slot may not be on the disk yet.
const PRIMARY_UNFLUSHED: u8 = 8;
const SLOTS: usize = 64;
const SLOT_BYTES: usize = 128;
const FORMAT: u8 = 3;
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// Maximum height of a sound tree.
const MAX_LEVELS: u32 = 32;

pub(super) type Header = [u8; HEADER_BYTES];

/// A file and the header of the commit read from it, whose pages a transaction keeps.
pub(super) struct FileSnapshot {
    pub(super) file: File,
    pub(super) header: Header,
    pub(super) file_bytes: u64,
}

/// Reads the header, which each commit changes.
pub(super) fn read_header(file: &File) -> io::Result<Header> {
    let mut header = [0; HEADER_BYTES];
    read_at(file, 0, &mut header)?;
    Ok(header)
}

/// Reads bytes without moving the position in the file, which other threads use too.
fn read_at(file: &File, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    FileBackend::new(file.try_clone()?).map_err(io::Error::other)?.read(at, bytes)
}

impl FileSnapshot {
    /// Reads the header and the length of a file.
    pub(super) fn read(file: &File) -> io::Result<FileSnapshot> {
        let header = read_header(file)?;
        Ok(FileSnapshot { header, file_bytes: file.metadata()?.len(), file: file.try_clone()? })
    }

    /// True if the length of the file is that of the header. A writer that has the file open changes the length
    /// before the header, and when it closes the file, after the header.
    pub(super) fn has_its_length(&self) -> bool {
        is_open_for_writing(&self.header) || self.file_bytes == announced_bytes(&self.header)
    }

    /// True if there is no later commit, as far as the file can be read.
    pub(super) fn is_current(&self) -> bool {
        let now = read_header(&self.file).ok().and_then(|header| commit_id(&header));
        now.is_none() || now == commit_id(&self.header)
    }

    /// Checks the pages that lead to the meta row.
    ///
    /// Returns `Ok` for a file that redb itself will refuse.
    pub(super) fn check(&self) -> Result<()> {
        check(&self.file, &self.header, self.file_bytes, Access::Read)
    }
}

/// Checks the pages that lead to the meta row, and the pages of redb's own tables, which list free
/// pages: with a damaged list, redb could overwrite pages that are in use. No process may write to the
/// file.
///
/// Returns `Ok` for a file that redb itself will repair or refuse when it opens it.
pub(super) fn check_before_writing(file: &File) -> Result<()> {
    match read_header(file) {
        Ok(header) => check(file, &header, file.metadata()?.len(), Access::Write),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn check(file: &File, header: &Header, file_bytes: u64, access: Access) -> Result<()> {
    let read_at = |at, bytes: &mut [u8]| read_at(file, at, bytes);
    let Some(slot) = committed_slot(header, access) else { return Ok(()) };
    let mut pages = PageCheck::new(&read_at, header, file_bytes);
    if let Some(root) = slot.tables {
        pages.check_tables(root, |name| name == schema::META.name().as_bytes())?;
    }
    // The tables in which redb notes free pages. Only writers use them.
    if access == Access::Write
        && let Some(root) = slot.own_tables
    {
        pages.check_tables(root, |_| true)?;
    }
    Ok(())
}

/// The table of blocks in the commit of a header. `None` if redb will refuse the file, or if the
/// table is not there.
pub(super) fn blocks_tree(file: &MappedFile, header: &Header) -> Result<Option<NumberedTree>> {
    let read_at = |at: u64, bytes: &mut [u8]| {
        let start = at as usize;
        let found = start.checked_add(bytes.len()).and_then(|end| file.bytes(start..end));
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    };
    let slot = committed_slot(header, Access::Read);
    let Some(root) = slot.and_then(|slot| slot.tables) else { return Ok(None) };
    let mut pages = PageCheck::new(&read_at, header, file.len() as u64);
    let name = schema::BLOCKS.name().as_bytes();
    let definitions = pages.definitions(root, |other| other == name)?;
    let found = definitions.first().and_then(|definition| table(definition));
    Ok(found.and_then(|(root, widths)| match widths {
        Widths { key: Some(8), value: None } => {
            Some(NumberedTree { layout: pages.layout, root: root.page })
        }
        _ => None,
    }))
}

/// Fills bytes from a place in the file.
type ReadAt<'f> = &'f dyn Fn(u64, &mut [u8]) -> io::Result<()>;

/// True if the database of a header was opened for writing and not closed since.
pub(super) const fn is_open_for_writing(header: &Header) -> bool {
    header[GOD_BYTE] & RECOVERY_REQUIRED != 0
}

/// Identifies a commit: the checksum of its slot. Two commits never have equal slots, because their
/// numbers ascend.
pub type CommitId = [u8; 16];

/// Identifies the commit that readers see. `None` while the header is being written, and if the file is not a
/// store.
fn commit_id(header: &Header) -> Option<CommitId> {
    committed_slot(header, Access::Read).map(|slot| slot.id)
}

/// Identifies the last commit of the store at a path; `None` for any other file.
pub fn last_commit(path: &Path) -> Option<CommitId> {
    let header = open_regular(path).and_then(|file| read_header(&file)).ok()?;
    if header.starts_with(MAGIC) { commit_id(&header) } else { None }
}

/// The roots of the trees of a commit: the user's tables and redb's own.
struct CommitSlot {
    id: CommitId,
    tables: Option<Child>,
    own_tables: Option<Child>,
}

/// A page and the checksum that it must have.
#[derive(Copy, Clone)]
struct Child {
    page: u64,
    checksum: u128,
}

impl Child {
    fn read(bytes: &[u8]) -> Option<Child> {
        let (page, rest) = bytes.split_first_chunk()?;
        let checksum = u128::from_le_bytes(*rest.first_chunk()?);
        Some(Child { page: u64::from_le_bytes(*page), checksum })
    }

    /// The root of a tree; `None` if the tree is empty.
    fn if_any(flag: u8, bytes: &[u8]) -> Option<Child> {
        if flag == 0 { None } else { Child::read(bytes) }
    }
}

/// The slot in the header that describes the last commit; `None` if redb would repair the file
/// first. If the commit of the primary slot may not be on the disk yet, readers use the other slot,
/// and a writer flushes the file and keeps the primary slot.
fn committed_slot(header: &Header, access: Access) -> Option<CommitSlot> {
    let god_byte = header[GOD_BYTE];
    if god_byte & RECOVERY_REQUIRED != 0 && god_byte & TWO_PHASE_COMMIT == 0 {
        return None;
    }
    let primary = usize::from(god_byte & PRIMARY_BIT);
    let is_unflushed = god_byte & PRIMARY_UNFLUSHED != 0;
    let nth = if is_unflushed && access == Access::Read { 1 - primary } else { primary };
    let start = SLOTS + SLOT_BYTES * nth;
    let (slot, checksum) = header[start..start + SLOT_BYTES].split_last_chunk::<16>()?;
    if slot[0] != FORMAT || XxHash3_128::oneshot(slot) != u128::from_le_bytes(*checksum) {
        return None;
    }
    let tables = &slot[8..40];
    let own_tables = &slot[40..72];
    Some(CommitSlot {
        id: *checksum,
        tables: Child::if_any(slot[1], tables),
        own_tables: Child::if_any(slot[2], own_tables),
    })
}

/// The fixed widths of a table's keys and values; `None` if they vary.
#[derive(Copy, Clone, Default)]
struct Widths {
    key: Option<u64>,
    value: Option<u64>,
}

/// Sizes that give the place of a page in the file.
#[derive(Copy, Clone, Debug)]
pub(super) struct PageLayout {
    file_bytes: u64,
    page_bytes: u64,
    region_bytes: u64,
    region_header_bytes: u64,
}

impl PageLayout {
    fn new(header: &Header, file_bytes: u64) -> PageLayout {
        let number = |at: usize| u64::from(number(header, at).unwrap_or_default());
        let page_bytes = number(PAGE_BYTES).max(512);
        let region_pages = number(REGION_HEADER_PAGES) + number(REGION_MAX_DATA_PAGES);
        PageLayout {
            file_bytes,
            page_bytes,
            region_bytes: region_pages.saturating_mul(page_bytes),
            region_header_bytes: number(REGION_HEADER_PAGES).saturating_mul(page_bytes),
        }
    }

    fn place(&self, page: u64) -> Result<(u64, u64)> {
        let order = (page >> 59) as u32;
        let region = (page >> 20) & 0xf_ffff;
        let index = page & (0xf_ffff >> order.min(20));
        let page_bytes = u128::from(self.page_bytes) << order;
        let start = u128::from(self.page_bytes)
            + u128::from(region) * u128::from(self.region_bytes)
            + u128::from(self.region_header_bytes)
            + u128::from(index) * page_bytes;
        if start + page_bytes > u128::from(self.file_bytes) {
            return Err(wrong("a page lies past the end of the file"));
        }
        Ok((start as u64, page_bytes as u64))
    }
}

/// Length of the file that a header announces, if no process writes to the file.
pub(super) fn announced_bytes(header: &Header) -> u64 {
    let PageLayout { page_bytes, region_bytes, region_header_bytes, .. } =
        PageLayout::new(header, 0);
    let number = |at: usize| u64::from(number(header, at).unwrap_or_default());
    let last_region = match number(LAST_REGION_DATA_PAGES) {
        0 => 0,
        pages => region_header_bytes.saturating_add(pages.saturating_mul(page_bytes)),
    };
    let regions = number(FULL_REGIONS).saturating_mul(region_bytes);
    page_bytes.saturating_add(regions).saturating_add(last_region)
}

struct PageCheck<'f> {
    read_at: ReadAt<'f>,
    layout: PageLayout,
    /// Number of pages that may still be read.
    left: u64,
}

fn wrong(what: impl Into<String>) -> super::error::Fault {
    damaged("the pages of redb", what)
}

impl<'f> PageCheck<'f> {
    fn new(read_at: ReadAt<'f>, header: &Header, file_bytes: u64) -> PageCheck<'f> {
        let layout = PageLayout::new(header, file_bytes);
        // A cycle of pages ends, because no commit has more pages than the file.
        let left = file_bytes / layout.page_bytes;
        PageCheck { read_at, layout, left }
    }

    /// Checks a tree of tables, and all pages of the tables that are chosen by name.
    fn check_tables(&mut self, root: Child, choose: impl Fn(&[u8]) -> bool) -> Result<()> {
        for definition in self.definitions(root, choose)? {
            let Some((root, widths)) = table(&definition) else { continue };
            self.check_tree(root, widths, 0, &mut |_| ())?;
        }
        Ok(())
    }

    /// Checks a tree of tables, and returns the definitions of the tables that are chosen by name.
    fn definitions(&mut self, root: Child, choose: impl Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>> {
        let mut definitions = Vec::new();
        self.check_tree(root, Widths::default(), 0, &mut |leaf| {
            for (name, definition) in pairs(leaf) {
                if choose(name) {
                    definitions.push(definition.to_vec());
                }
            }
        })?;
        Ok(definitions)
    }

    fn check_tree(
        &mut self,
        child: Child,
        widths: Widths,
        level: u32,
        visit: &mut impl FnMut(&[u8]),
    ) -> Result<()> {
        if level == MAX_LEVELS || self.left == 0 {
            return Err(wrong("they form a cycle"));
        }
        self.left -= 1;
        let bytes = self.read(child, widths)?;
        match bytes.first() {
            Some(&LEAF) => visit(&bytes),
            _ => {
                for child in children(&bytes) {
                    self.check_tree(child, widths, level + 1, visit)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the used bytes of a page and checks their checksum.
    fn read(&mut self, child: Child, widths: Widths) -> Result<Vec<u8>> {
        let (start, page_bytes) = self.layout.place(child.page)?;
        let stale = || wrong(format!("the page at byte {start} is not that of the last commit"));
        let mut bytes = Vec::new();
        self.append(start, page_bytes.min(4096), &mut bytes)?;
        let end = PageEnd::parse(&bytes, widths).ok_or_else(stale)?;
        if end.offsets > page_bytes {
            return Err(stale());
        }
        self.append(start, end.offsets, &mut bytes)?;
        let end = end.resolve(&bytes);
        if end > page_bytes {
            return Err(stale());
        }
        self.append(start, end, &mut bytes)?;
        bytes.truncate(end as usize);
        if XxHash3_128::oneshot(&bytes) == child.checksum { Ok(bytes) } else { Err(stale()) }
    }

    /// Reads more of the page, until `bytes` holds `len` bytes of it.
    fn append(&mut self, start: u64, len: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let from = bytes.len();
        if (from as u64) < len {
            bytes.resize(len as usize, 0);
            let rest = (self.read_at)(start + from as u64, &mut bytes[from..]);
            rest.map_err(redb::StorageError::Io)?;
        }
        Ok(())
    }
}

/// The end of the used bytes of a page.
struct PageEnd {
    /// End of the offsets that precede the keys.
    offsets: u64,
    /// True if the keys or values have varying width, so that the last offset is their end.
    is_listed: bool,
    /// Number of bytes of fixed width that follow.
    fixed: u64,
}

impl PageEnd {
    fn parse(page: &[u8], widths: Widths) -> Option<PageEnd> {
        let [kind, _, low, high] = *page.first_chunk()?;
        let entries = u64::from(u16::from_le_bytes([low, high]));
        let list = |width: Option<u64>| if width.is_none() { 4 * entries } else { 0 };
        let all = |width: Option<u64>| width.unwrap_or(0) * entries;
        match (kind, entries, widths) {
            (_, 0, _) => None,
            (LEAF, _, Widths { key, value }) => Some(PageEnd {
                offsets: 4 + list(key) + list(value),
                is_listed: key.is_none() || value.is_none(),
                fixed: if value.is_none() { 0 } else { all(key) + all(value) },
            }),
            (BRANCH, _, Widths { key, .. }) => Some(PageEnd {
                offsets: 8 + 24 * (entries + 1) + list(key),
                is_listed: key.is_none(),
                fixed: all(key),
            }),
            _ => None,
        }
    }

    fn resolve(&self, page: &[u8]) -> u64 {
        let varying_end = if self.is_listed {
            u64::from(number(page, self.offsets as usize - 4).unwrap_or(u32::MAX))
        } else {
            self.offsets
        };
        varying_end + self.fixed
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The keys and values of a leaf whose table has no fixed widths.
fn pairs(leaf: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let entries = leaf.get(2..4).map_or(0, |n| usize::from(u16::from_le_bytes([n[0], n[1]])));
    let end = move |nth: usize| number(leaf, 4 + 4 * nth).map(|end| end as usize);
    (0..entries).filter_map(move |nth| {
        let key_start = if nth == 0 { 4 + 8 * entries } else { end(nth - 1)? };
        let key = key_start..end(nth)?;
        let value = end(entries + nth - 1)?..end(entries + nth)?;
        Some((leaf.get(key)?, leaf.get(value)?))
    })
}

fn children(branch: &[u8]) -> Vec<Child> {
    let keys = branch.get(2..4).map_or(0, |n| usize::from(u16::from_le_bytes([n[0], n[1]])));
    let parts = branch.get(8..).and_then(|rest| rest.split_at_checked(16 * (keys + 1)));
    let (checksums, rest) = parts.unwrap_or_default();
    let (checksums, _) = checksums.as_chunks::<16>();
    let (numbers, _) = rest.as_chunks::<8>();
    let child = |(page, checksum): (&[u8; 8], &[u8; 16])| Child {
        page: u64::from_le_bytes(*page),
        checksum: u128::from_le_bytes(*checksum),
    };
    numbers.iter().zip(checksums).map(child).collect()
}

/// The tree of a table whose keys are numbers and whose values vary in length.
#[derive(Copy, Clone, Debug)]
pub(super) struct NumberedTree {
    layout: PageLayout,
    root: u64,
}

pub(super) struct Leaf {
    /// The range of the page in the file.
    pub(super) place: Range<usize>,
    /// The first bytes of the page.
    pub(super) start: Vec<u8>,
}

impl NumberedTree {
    /// Finds the leaf that can have a key. `bytes` returns the bytes of a range of the file. `read_start`
    /// reads the first bytes of a page, so that a large leaf is not read as a whole.
    pub(super) fn leaf_of<'m>(
        &self,
        key: u64,
        bytes: impl Fn(Range<usize>) -> Option<&'m [u8]>,
        read_start: impl Fn(usize) -> Result<Vec<u8>>,
    ) -> Result<Leaf> {
        let mut page = self.root;
        for _ in 0..MAX_LEVELS {
            let (start, len) = self.layout.place(page)?;
            let place = start as usize..(start + len) as usize;
            // Nearly all large pages are leaves of one value. But redb makes branches with 129
            // children too, which is one more than a small page has room for.
            if len > self.layout.page_bytes {
                let start = read_start(place.start)?;
                if start.first() != Some(&BRANCH) {
                    return Ok(Leaf { place, start });
                }
            }
            let cut_off =
                || wrong(format!("the page at byte {start} lies past the end of the file"));
            let bytes = bytes(place.clone()).ok_or_else(cut_off)?;
            page = match bytes {
                [LEAF, ..] => return Ok(Leaf { place, start: bytes.to_vec() }),
                [BRANCH, ..] => child_in_branch(bytes, key).ok_or_else(|| {
                    wrong(format!("the page at byte {start} counts more keys than it has room for"))
                })?,
                [kind, ..] => {
                    let what = format!("the page at byte {start} has the kind {kind}, not 1 or 2");
                    return Err(wrong(what));
                }
                [] => return Err(cut_off()),
            };
        }
        Err(wrong("they form a cycle"))
    }
}

/// Number of entries of a leaf, or of keys of a branch.
fn entry_count(page: &[u8]) -> Option<usize> {
    Some(u16::from_le_bytes(*page.get(2..)?.first_chunk()?).into())
}

/// `count` numbers of 64 bits.
fn numbers(page: &[u8], start: usize, count: usize) -> Option<&[[u8; 8]]> {
    Some(page.get(start..start + 8 * count)?.as_chunks().0)
}

/// Range of the value of a key in a leaf of a [`NumberedTree`]. `bytes` are those of the leaf, at least
/// with its keys, and `len` is its length.
pub(super) fn value_in_leaf(bytes: &[u8], len: usize, key: u64) -> Option<Range<usize>> {
    let count = entry_count(bytes)?;
    if bytes[0] != LEAF {
        return None;
    }
    let keys = numbers(bytes, 4 + 4 * count, count)?;
    let nth = keys.partition_point(|other| u64::from_le_bytes(*other) < key);
    if u64::from_le_bytes(*keys.get(nth)?) != key {
        return None;
    }
    let end = |nth: usize| number(bytes, 4 + 4 * nth).map(|end| end as usize);
    let start = if nth == 0 { 4 + 12 * count } else { end(nth - 1)? };
    let end = end(nth)?;
    if start <= end && end <= len { Some(start..end) } else { None }
}

/// The child page that can have a key, in a branch of a [`NumberedTree`].
fn child_in_branch(branch: &[u8], key: u64) -> Option<u64> {
    let count = entry_count(branch)?;
    let keys = numbers(branch, 8 + 24 * (count + 1), count)?;
    let nth = keys.partition_point(|other| u64::from_le_bytes(*other) < key);
    let children = numbers(branch, 8 + 16 * (count + 1), count + 1)?;
    children.get(nth).map(|child| u64::from_le_bytes(*child))
}

/// The root of a table and the widths of its rows; `None` if it is empty or not ordinary.
fn table(definition: &[u8]) -> Option<(Child, Widths)> {
    const NORMAL: u8 = 3;
    let width = |at: usize| (definition.get(at) == Some(&1)).then(|| number(definition, at + 1));
    let root = Child::if_any(*definition.get(9)?, definition.get(10..)?)?;
    let widths = Widths {
        key: width(42).flatten().map(u64::from),
        value: width(47).flatten().map(u64::from),
    };
    (definition.first() == Some(&NORMAL)).then_some((root, widths))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ops::Bound;

    use super::*;

    const PAGE: usize = 4096;

    /// Finds a key in pages of 4 KiB. The first page has the header of the file, and the tree begins
    /// in page 0, which follows.
    fn find(pages: &[Vec<u8>], key: u64) -> std::result::Result<Option<Range<usize>>, String> {
        let mut bytes = vec![0; PAGE];
        for page in pages {
            bytes.extend_from_slice(page);
            bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        }
        let layout = PageLayout {
            file_bytes: bytes.len() as u64,
            page_bytes: PAGE as u64,
            region_bytes: 1 << 32,
            region_header_bytes: 0,
        };
        let tree = NumberedTree { layout, root: 0 };
        let leaf = tree
            .leaf_of(key, |range| bytes.get(range), |start| Ok(bytes[start..][..PAGE].to_vec()))
            .map_err(|fault| fault.into_error(Path::new("x")).to_string())?;
        let value = value_in_leaf(&leaf.start, leaf.place.len(), key);
        Ok(value.map(|value| leaf.place.start + value.start..leaf.place.start + value.end))
    }

    fn leaf(rows: &[(u64, &[u8])]) -> Vec<u8> {
        let mut page = vec![LEAF, 0];
        page.extend((rows.len() as u16).to_le_bytes());
        let mut end = 4 + 12 * rows.len() as u32;
        for (_, value) in rows {
            end += value.len() as u32;
            page.extend(end.to_le_bytes());
        }
        rows.iter().for_each(|(key, _)| page.extend(key.to_le_bytes()));
        rows.iter().for_each(|(_, value)| page.extend(*value));
        page
    }

    fn branch(keys: &[u64], children: &[u64]) -> Vec<u8> {
        let mut page = vec![BRANCH, 0];
        page.extend((keys.len() as u16).to_le_bytes());
        page.resize(8 + 16 * children.len(), 0);
        children.iter().chain(keys).for_each(|number| page.extend(number.to_le_bytes()));
        page
    }

    /// A header whose slots have the root pages 10 and 11.
    fn header(god_byte: u8) -> Header {
        let mut header = [0; HEADER_BYTES];
        header[GOD_BYTE] = god_byte;
        for nth in 0..2 {
            let slot = &mut header[SLOTS + SLOT_BYTES * nth..][..SLOT_BYTES];
            (slot[0], slot[1], slot[8]) = (FORMAT, 1, 10 + nth as u8);
            let checksum = XxHash3_128::oneshot(&slot[..SLOT_BYTES - 16]);
            slot[SLOT_BYTES - 16..].copy_from_slice(&checksum.to_le_bytes());
        }
        header
    }

    #[test]
    fn the_god_byte_chooses_the_slot() {
        let root = |god_byte: u8, access| {
            committed_slot(&header(god_byte), access).map(|slot| slot.tables.unwrap().page)
        };
        for (god_byte, read, write) in [
            (0, Some(10), Some(10)),
            (PRIMARY_BIT, Some(11), Some(11)),
            (PRIMARY_UNFLUSHED, Some(11), Some(10)),
            (PRIMARY_BIT | PRIMARY_UNFLUSHED, Some(10), Some(11)),
            (TWO_PHASE_COMMIT | RECOVERY_REQUIRED | PRIMARY_UNFLUSHED, Some(11), Some(10)),
            (RECOVERY_REQUIRED, None, None),
        ] {
            assert_eq!(root(god_byte, Access::Read), read, "{god_byte}");
            assert_eq!(root(god_byte, Access::Write), write, "{god_byte}");
        }
        let mut damaged = header(PRIMARY_UNFLUSHED);
        damaged[SLOTS + SLOT_BYTES + 9] ^= 1;
        assert!(committed_slot(&damaged, Access::Read).is_none());
        assert!(committed_slot(&damaged, Access::Write).is_some());
    }

    #[test]
    fn keys_are_found() {
        let rows = [leaf(&[(0, b"ab"), (1, b""), (3, b"c")]), leaf(&[(4, b"defg")])];
        let pages = [branch(&[3], &[1, 2]), rows[0].clone(), rows[1].clone()];
        let first = 2 * PAGE + 4 + 12 * 3;
        let expected = [
            (0, Some(first..first + 2)),
            (1, Some(first + 2..first + 2)),
            (2, None),
            (3, Some(first + 2..first + 3)),
            (4, Some(3 * PAGE + 16..3 * PAGE + 20)),
            (5, None),
        ];
        for (key, range) in expected {
            assert_eq!(find(&pages, key), Ok(range), "{key}");
        }
    }

    /// Tables that redb wrote. With 129 or 257 rows, a branch is longer than a small page.
    #[test]
    fn all_rows_that_redb_wrote_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let value = |key: u64| key.to_le_bytes().repeat(600);
        for rows in [1, 2, 128, 129, 130, 256, 257, 258, 386, 600] {
            let path = folder.path().join(format!("{rows}.redb"));
            let database = redb::Database::create(&path).unwrap();
            let transaction = database.begin_write().unwrap();
            let mut table = transaction.open_table(schema::BLOCKS).unwrap();
            let mut end = table.upper_bound_mut(Bound::<u64>::Unbounded).unwrap();
            (0..rows).for_each(|key| end.insert_before(key, value(key).as_slice()).unwrap());
            end.close().unwrap();
            drop(table);
            transaction.commit().unwrap();
            drop(database);
            let file = File::open(&path).unwrap();
            let mapped = MappedFile::new(&file, &path).unwrap();
            let tree = blocks_tree(&mapped, &read_header(&file).unwrap()).unwrap().unwrap();
            for key in 0..rows {
                let read_start = |start| Ok(mapped.bytes(start..start + PAGE).unwrap().to_vec());
                let leaf = tree.leaf_of(key, |range| mapped.bytes(range), read_start).unwrap();
                let found = value_in_leaf(&leaf.start, leaf.place.len(), key);
                let found = found.unwrap_or_else(|| panic!("row {key} of {rows}"));
                assert_eq!(mapped.bytes(leaf.place).unwrap()[found], value(key));
            }
        }
    }

    /// Numbers of pages and counts that are wrong give an error, or a missing key.
    #[test]
    fn lying_pages_are_errors() {
        let is_error = |pages: &[Vec<u8>], what: &str| {
            let error = find(pages, 3).unwrap_err();
            assert!(error.contains(what), "{error}");
        };
        is_error(&[branch(&[9], &[0, 0])], "cycle");
        is_error(&[branch(&[9], &[7, 7])], "past the end");
        for far in [u64::MAX, 1 << 20, 31 << 59, 1 << 59] {
            is_error(&[branch(&[9], &[far, 0])], "past the end");
        }
        is_error(&[vec![7, 0, 1, 0]], "kind 7");
        is_error(&[vec![BRANCH, 0, 0xff, 0xff]], "more keys");
        let mut long = leaf(&[(3, b"x")]);
        long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        let mut short = leaf(&[(3, b"x")]);
        short[4..8].copy_from_slice(&3_u32.to_le_bytes());
        for damaged in [vec![LEAF, 0, 0xff, 0xff], vec![LEAF, 0, 0, 0], long, short] {
            assert_eq!(find(&[damaged], 3), Ok(None));
        }
    }
}
