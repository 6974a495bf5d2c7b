//! Archives with invalid contents under valid checksums are refused.

use std::ops::Range;

/// The bytes of the footer, and of an entry of the section table.
pub(crate) const FOOTER: usize = 52;
const ENTRY: usize = 32;
/// Kinds of sections.
const SEPARATORS: usize = 13;
const HEAD: usize = 21;
/// In an entry of the section table: kind, flags, segment, CRC32C, offset and length of the section.
pub(crate) const KIND: usize = 0;
pub(crate) const FLAGS: usize = 4;
const SEGMENT: usize = 8;
const CHECK: usize = 12;
const OFFSET: usize = 16;
const LEN: usize = 24;
/// In the header and in the footer: the id of the file.
const HEADER_ID: usize = 12;
const FOOTER_ID: usize = 16;
/// In the footer.
pub(crate) const FOOTER_FLAGS: usize = 36;
/// In an entry of the segment table.
pub(crate) const SEGMENT_FLAGS: usize = 29;

pub(crate) struct Forged(Vec<u8>);

impl Forged {
    /// Makes the segment heads those of the tables again.
    fn renew_heads(&self, bytes: &mut [u8]) {
        let entries: Vec<usize> = self.table().step_by(ENTRY).collect();
        for &entry in entries.iter().filter(|&&entry| self.number(entry + KIND) == HEAD) {
            let nth = self.number(entry + SEGMENT);
            let segment = self.segments().start + 32 * nth;
            let own = entries.iter().filter(|&&other| {
                let is_listed = ![HEAD, SEPARATORS].contains(&self.number(other + KIND));
                is_listed && self.number(other + SEGMENT) == nth
            });
            let mut head = [b"\nEPA-SEG", &bytes[segment..segment + 32]].concat();
            own.for_each(|&other| head.extend_from_slice(&bytes[other..other + ENTRY]));
            head.extend_from_slice(&crc32c::crc32c(&head).to_le_bytes());
            let start = self.number(entry + OFFSET);
            bytes[start..start + head.len()].copy_from_slice(&head);
            bytes[entry + CHECK..][..4].copy_from_slice(&crc32c::crc32c(&head).to_le_bytes());
        }
    }

    /// The part that will be changed.
    pub(crate) fn new(bytes: &[u8]) -> Forged {
        Forged(bytes.to_vec())
    }

    fn number(&self, at: usize) -> usize {
        u32::from_le_bytes(*self.0[at..].first_chunk().unwrap()) as usize
    }

    /// The places of the footer.
    pub(crate) fn footer(&self) -> Range<usize> {
        self.0.len() - FOOTER..self.0.len()
    }

    /// The places of the section table.
    pub(crate) fn table(&self) -> Range<usize> {
        let end = self.footer().start;
        end - self.number(end + 28) * ENTRY..end
    }

    /// The places of the entry of the first section of a kind.
    pub(crate) fn entry(&self, kind: usize) -> Range<usize> {
        let mut entries = self.table().step_by(ENTRY);
        let start = entries.find(|&at| self.number(at + KIND) == kind).unwrap();
        start..start + ENTRY
    }

    /// The places of the first section of a kind.
    pub(crate) fn section(&self, kind: usize) -> Range<usize> {
        let entry = self.entry(kind).start;
        let (offset, len) = (self.number(entry + OFFSET), self.number(entry + LEN));
        offset..offset + len
    }

    /// The places of the segment table.
    pub(crate) fn segments(&self) -> Range<usize> {
        self.section(1)
    }

    /// The flags of the first segment.
    pub(crate) fn segment_flags(&self) -> u8 {
        self.0[self.segments().start + SEGMENT_FLAGS]
    }

    /// The file with a byte changed, and the checks of sections, table and footer and the ids made right.
    pub(crate) fn with(&self, place: usize, change: impl Fn(u8) -> u8) -> Vec<u8> {
        self.changed(|bytes| bytes[place] = change(bytes[place]))
    }

    /// The file with bytes changed in place, and the checks of sections, table and footer and the ids made
    /// right.
    pub(crate) fn changed(&self, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut bytes = self.0.clone();
        change(&mut bytes);
        let table = self.table();
        for entry in table.clone().step_by(ENTRY) {
            // The old places of the sections: a forged place is left unchanged.
            let (start, len) = (self.number(entry + OFFSET), self.number(entry + LEN));
            let check = crc32c::crc32c(&bytes[start..start + len]);
            if bytes[start..start + len] != self.0[start..start + len] {
                bytes[entry + CHECK..][..4].copy_from_slice(&check.to_le_bytes());
            }
        }
        self.renew_heads(&mut bytes);
        self.sealed(bytes)
    }

    /// The file with the first segment head changed, and its checks made right.
    #[allow(dead_code, reason = "the example of golden samples uses it")]
    pub(crate) fn with_head(&self, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let (mut bytes, entry, head) = (self.0.clone(), self.entry(HEAD).start, self.section(HEAD));
        change(&mut bytes[head.clone()]);
        seal(&mut bytes, head.start..head.end - 4, head.end - 4);
        seal(&mut bytes, head, entry + CHECK);
        self.sealed(bytes)
    }

    /// These bytes with the checks and ids of header, table and footer made right.
    fn sealed(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let (footer, table) = (self.footer(), self.table());
        let id = blake3::hash(&bytes[table.clone()]).as_bytes()[..8].to_vec();
        bytes[footer.start + FOOTER_ID..][..8].copy_from_slice(&id);
        if bytes[HEADER_ID..][..8] != [0; 8] {
            bytes[HEADER_ID..][..8].copy_from_slice(&id);
        }
        seal(&mut bytes, 0..28, 28);
        seal(&mut bytes, table, footer.start + 32);
        seal(&mut bytes, footer.start..footer.end - 4, footer.end - 4);
        bytes
    }
}

/// Writes the check of a range of bytes to a place.
pub(crate) fn seal(bytes: &mut [u8], range: Range<usize>, at: usize) {
    let check = crc32c::crc32c(&bytes[range]);
    bytes[at..at + 4].copy_from_slice(&check.to_le_bytes());
}

impl Forged {
    /// The file with the bytes of its header or footer changed, and their checks made right.
    pub(crate) fn with_ends(&self, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let (mut bytes, footer) = (self.0.clone(), self.footer());
        change(&mut bytes);
        seal(&mut bytes, 0..28, 28);
        seal(&mut bytes, footer.start..footer.end - 4, footer.end - 4);
        bytes
    }

    /// The file of a writer that could not write the id into the header.
    pub(crate) fn without_id(&self) -> Vec<u8> {
        self.with_ends(|bytes| bytes[HEADER_ID..][..8].fill(0))
    }

    /// The file with a row of level fast changed, and its check made right.
    pub(crate) fn with_row(&self, number: usize, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let start = self.section(5).start + 32 * number;
        let identity = self.number(self.segments().start + 24) as u64;
        self.changed(|bytes| {
            let row = &mut bytes[start..start + 32];
            change(row);
            row[29..].fill(0);
            let place = (identity << 32) + number as u64;
            let check = crc32c::crc32c_append(crc32c::crc32c(&place.to_le_bytes()), row) >> 8;
            row[29..].copy_from_slice(&check.to_le_bytes()[..3]);
        })
    }

    /// The file with a line of the row directory changed, and its check made right.
    pub(crate) fn with_line(&self, number: usize, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let start = self.section(18).start + 64 * number;
        let identity = self.number(self.entry(1).start + CHECK) as u64;
        self.changed(|bytes| {
            let line = &mut bytes[start..start + 64];
            change(line);
            line[4..8].fill(0);
            let place = (identity << 32) + number as u64;
            let check = crc32c::crc32c_append(crc32c::crc32c(&place.to_le_bytes()), line);
            line[4..8].copy_from_slice(&check.to_le_bytes());
        })
    }
}
