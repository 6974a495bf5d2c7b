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
use std::io::{self, Read, Seek, SeekFrom};

use redb::TableHandle;
use twox_hash::XxHash3_128;

use super::error::{Result, damaged};
use super::schema::{self, Access};

pub(super) const HEADER_BYTES: usize = 320;
const GOD_BYTE: usize = 9;
const PRIMARY_BIT: u8 = 1;
const RECOVERY_REQUIRED: u8 = 2;
const TWO_PHASE_COMMIT: u8 = 4;
const SLOTS: usize = 64;
const SLOT_BYTES: usize = 128;
const FORMAT: u8 = 3;
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// Maximum height of a sound tree.
const MAX_LEVELS: u32 = 32;

/// Checks the pages that lead to the meta row. Before writing, also checks the pages of redb's own
/// tables, which list free pages: with a damaged list, redb could overwrite pages that are in use.
///
/// Returns `Ok` for a file that redb itself will repair or refuse when it opens it.
pub(super) fn check(file: &File, access: Access) -> Result<()> {
    let mut header = [0; HEADER_BYTES];
    let mut reader = file;
    reader.seek(SeekFrom::Start(0)).map_err(redb::StorageError::Io)?;
    match reader.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        Err(error) => return Err(redb::StorageError::Io(error).into()),
    }
    let Some(slot) = primary_slot(&header) else { return Ok(()) };
    let file_bytes = file.metadata().map_err(redb::StorageError::Io)?.len();
    let mut pages = PageCheck::new(file, &header, file_bytes);
    if let Some(root) = slot.tables {
        pages.check_tables(root, |name| name == schema::META.name().as_bytes())?;
    }
    match (access, slot.own_tables) {
        (Access::Write, Some(root)) => pages.check_tables(root, |_| true),
        _ => Ok(()),
    }
}

/// True if the database of a header was opened for writing and not closed since.
pub(super) const fn is_open_for_writing(header: &[u8; HEADER_BYTES]) -> bool {
    header[GOD_BYTE] & RECOVERY_REQUIRED != 0
}

/// The roots of the trees of a commit: the user's tables and redb's own.
struct CommitSlot {
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
/// first.
fn primary_slot(header: &[u8; HEADER_BYTES]) -> Option<CommitSlot> {
    let god_byte = header[GOD_BYTE];
    if god_byte & RECOVERY_REQUIRED != 0 && god_byte & TWO_PHASE_COMMIT == 0 {
        return None;
    }
    let start = SLOTS + SLOT_BYTES * usize::from(god_byte & PRIMARY_BIT);
    let (slot, checksum) = header[start..start + SLOT_BYTES].split_last_chunk::<16>()?;
    if slot[0] != FORMAT || XxHash3_128::oneshot(slot) != u128::from_le_bytes(*checksum) {
        return None;
    }
    let (tables, own_tables) = (&slot[8..40], &slot[40..72]);
    Some(CommitSlot {
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

struct PageCheck<'f> {
    file: &'f File,
    file_bytes: u64,
    page_bytes: u64,
    region_bytes: u64,
    region_header_bytes: u64,
    /// Number of pages that may still be read. It begins with the number of pages of the file, so
    /// that a cycle of pages ends.
    left: u64,
}

fn wrong(what: impl Into<String>) -> super::error::Fault {
    damaged("the pages of redb", what)
}

impl<'f> PageCheck<'f> {
    fn new(file: &'f File, header: &[u8; HEADER_BYTES], file_bytes: u64) -> PageCheck<'f> {
        let number = |at: usize| u64::from(number(header, at).unwrap_or_default());
        let page_bytes = number(12).max(512);
        PageCheck {
            file,
            file_bytes,
            page_bytes,
            region_bytes: (number(16) + number(20)).saturating_mul(page_bytes),
            region_header_bytes: number(16).saturating_mul(page_bytes),
            left: file_bytes / page_bytes,
        }
    }

    /// Checks a tree of tables, and all pages of the tables that are chosen by name.
    fn check_tables(&mut self, root: Child, choose: impl Fn(&[u8]) -> bool) -> Result<()> {
        let mut tables = Vec::new();
        self.check_tree(root, Widths::default(), 0, &mut |leaf| {
            for (name, definition) in pairs(leaf) {
                if choose(name) {
                    tables.push(definition.to_vec());
                }
            }
        })?;
        for definition in tables {
            let Some((root, widths)) = table(&definition) else { continue };
            self.check_tree(root, widths, 0, &mut |_| ())?;
        }
        Ok(())
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
        let (start, page_bytes) = self.place(child.page)?;
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

    /// Offset and length of a page.
    fn place(&self, page: u64) -> Result<(u64, u64)> {
        let (order, region) = ((page >> 59) as u32, (page >> 20) & 0xf_ffff);
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

    /// Reads more of the page, until `bytes` holds `len` bytes of it.
    fn append(&mut self, start: u64, len: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let from = bytes.len();
        if (from as u64) < len {
            bytes.resize(len as usize, 0);
            let mut file = self.file;
            file.seek(SeekFrom::Start(start + from as u64)).map_err(redb::StorageError::Io)?;
            file.read_exact(&mut bytes[from..]).map_err(redb::StorageError::Io)?;
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
        let varying_end = match self.is_listed {
            true => u64::from(number(page, self.offsets as usize - 4).unwrap_or(u32::MAX)),
            false => self.offsets,
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
        let start_of = |nth: usize, first| if nth == first { None } else { end(nth - 1) };
        let key = start_of(nth, 0).unwrap_or(4 + 8 * entries)..end(nth)?;
        let value = end(entries + nth - 1)?..end(entries + nth)?;
        Some((leaf.get(key)?, leaf.get(value)?))
    })
}

/// The child pages of a branch page.
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

/// The root of a table, and the widths of its rows; `None` if the table is empty or is not an
/// ordinary table.
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
