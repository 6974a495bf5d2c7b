//! Damage of an archive or a store, and the records that are lost because of the damage.

use std::fmt;
use std::ops::Range;

use super::error::ArchiveError;
use epdb_chess::model::EpdRecord;

/// A part of an archive on which records depend.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DamagedPart {
    /// A block of records.
    Block,
    /// A record of an archive of level fast, or several in sequence.
    Record,
    /// The model of a segment. Without it, no record of the segment can be decoded.
    Model,
    /// A frame of a stream, or several in sequence.
    Frame,
    /// The end of the file, with its tables and perhaps with records.
    End,
    /// The header of the file, on which no record depends.
    Header,
    /// The footer of the file, or bytes in its place. No record depends on it.
    Footer,
    /// The original order of the records of a segment. Without this part, the records can be read
    /// only in the order of their positions.
    Order,
    /// Parts of a store.
    Store,
    /// A shard of a sharded archive.
    Shard,
}

/// A damaged part of an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The part.
    pub part: DamagedPart,
    /// Number of the block, the record or the segment, from 0.
    pub number: u64,
    /// The bytes of the part in the file.
    pub bytes: Range<u64>,
    /// Number of the first record that is lost, from 0.
    pub first: u64,
    /// Number of records that are lost.
    pub records: u64,
    /// True if the lost records follow each other; false if the archive sorted them.
    pub in_sequence: bool,
}

impl Damage {
    /// The damage of a store by which this many records are lost.
    pub const fn of_store(records: u64) -> Damage {
        let part = DamagedPart::Store;
        Damage { part, number: 0, bytes: 0..0, first: 0, records, in_sequence: false }
    }

    /// The damage of a shard that cannot be opened and has this number of records.
    pub const fn of_shard(records: u64) -> Damage {
        Damage { part: DamagedPart::Shard, ..Damage::of_store(records) }
    }

    /// Returns the value that was read; `None` if the error is damage.
    ///
    /// # Errors
    /// The error, if it is not damage.
    pub fn or_none<T>(read: Result<T, ArchiveError>) -> Result<Option<T>, ArchiveError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_damage() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if it is not known how many records are lost.
    pub fn is_open_ended(&self) -> bool {
        self.records == 0 && matches!(self.part, DamagedPart::End | DamagedPart::Frame)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { part, number, bytes, first, records, in_sequence } = self;
        if *part == DamagedPart::Store {
            return match records {
                0 => f.write_str("damaged, and no record is lost; `verify` says where"),
                _ => write!(f, "damaged: {records} of its records are lost; `verify` says where"),
            };
        }
        if *part == DamagedPart::Shard {
            return match records {
                1 => f.write_str("its record is lost"),
                _ => write!(f, "its {records} records are lost"),
            };
        }
        let what = match part {
            DamagedPart::Block => "block",
            DamagedPart::Record => "record",
            DamagedPart::Model => "model of segment",
            DamagedPart::Frame => "frame",
            DamagedPart::Order => "order of records in segment",
            DamagedPart::End => "end of the file",
            DamagedPart::Header => "header",
            DamagedPart::Footer => "footer",
            DamagedPart::Store => "store",
            DamagedPart::Shard => "shard",
        };
        // The errors of streams count frames and records from 1.
        let is_of_stream = *part == DamagedPart::Frame;
        let number = number + u64::from(is_of_stream);
        let first = first + u64::from(is_of_stream);
        write!(f, "damaged: {what}")?;
        let is_of_file =
            [DamagedPart::End, DamagedPart::Header, DamagedPart::Footer].contains(part);
        if !is_of_file {
            write!(f, " {number}")?;
        }
        match bytes.end.checked_sub(1).filter(|last| *last > bytes.start) {
            Some(last) => write!(f, ", bytes {} to {last}; ", bytes.start)?,
            None => write!(f, ", at byte {}; ", bytes.start)?,
        }
        match records {
            0 if *part == DamagedPart::End => {
                let lost = "it is not known how many are lost";
                write!(f, "{first} records come before it, {lost}")
            }
            0 if is_of_file => f.write_str("no record is lost"),
            0 if self.is_open_ended() => f.write_str("it is not known how many records are lost"),
            0 => f.write_str("the records follow in the order of their positions"),
            1 => write!(f, "1 record is lost, number {first}"),
            _ if *in_sequence => {
                write!(f, "{records} records are lost, numbers {first} to {}", first + records - 1)
            }
            _ => write!(f, "{records} records are lost, the first with the number {first}"),
        }
    }
}

/// The first damage that a lookup met. The lookup goes on with the sound parts and reports this
/// damage at its end, because a damaged part may have more records of the position.
#[derive(Default)]
pub(super) struct FirstDamage(Option<ArchiveError>);

impl FirstDamage {
    /// Returns the value that was read; `None` if the error is damage, which is kept.
    ///
    /// # Errors
    /// The error, if it is not damage.
    pub(super) fn skip<T>(
        &mut self,
        read: Result<T, ArchiveError>,
    ) -> Result<Option<T>, ArchiveError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_damage() => {
                self.0.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reports the damage once.
    ///
    /// # Errors
    /// The first damage.
    pub(super) fn report(&mut self) -> Result<(), ArchiveError> {
        self.0.take().map_or(Ok(()), Err)
    }
}

/// A record of a damaged archive, or a damaged part; see
/// [`Archive::salvage`](super::Archive::salvage).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Salvaged {
    /// A record.
    Record {
        /// Number of the record, from 0.
        number: u64,
        /// The record itself.
        record: EpdRecord,
    },
    /// A damaged part. The records after it follow.
    Damage(Damage),
}
