//! Blocks of canonical text.

use crate::model::EpdRecord;
use crate::text::{ParseOptions, Profile, epd};

/// Maximum length of a block's text in bytes.
pub(super) const MAX_BLOCK: usize = 4 << 20;

/// Decompresses a frame of `lines` lines; `None` if it is damaged.
pub(super) fn unpack(frame: &[u8], lines: u64) -> Option<Vec<u8>> {
    let len = zstd::zstd_safe::get_frame_content_size(frame).ok()??;
    let len = usize::try_from(len).ok().filter(|&len| len <= MAX_BLOCK)?;
    let text = zstd::bulk::decompress(frame, len).ok()?;
    let found = text.iter().filter(|&&byte| byte == b'\n').count();
    let is_whole = found as u64 == lines && text.last() == Some(&b'\n') && text.len() == len;
    is_whole.then_some(text)
}

/// Parses a line without its line feed.
pub(super) fn read_line(line: &[u8]) -> Option<EpdRecord> {
    let options = ParseOptions::new(Profile::Lenient);
    match epd::parse_line(line, &options, &mut Vec::new()) {
        Ok(epd::Line::Record(record)) => Some(record),
        _ => None,
    }
}
