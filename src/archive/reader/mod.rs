//! Reading archives.

mod archive;
mod describe;
mod level;
mod lookup;
mod records;
mod segments;
mod verbatim;
mod verify;

pub use archive::Archive;
pub use describe::ArchivePart;
pub use lookup::{Match, Matches};
pub use records::ArchiveRecords;
