//! Reading of the records of a damaged archive of level fast.

use std::ops::{ControlFlow, Range};

use super::reader::RowReader;
use super::row::ROW_BYTES;
use crate::damage::{Damage, DamagedPart, Salvaged};
use crate::error::ArchiveError;

impl RowReader {
    /// Passes each record of a range to `visit`. For damaged records, passes the damage.
    pub(crate) fn salvage<E: From<ArchiveError>>(
        &self,
        range: &Range<u64>,
        visit: &mut dyn FnMut(Salvaged) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let mut damage: Option<Damage> = None;
        for number in range.clone() {
            match Damage::or_none(self.record(number))? {
                Some(record) => {
                    let flow = match damage.take() {
                        Some(damage) => visit(Salvaged::Damage(damage))?,
                        None => ControlFlow::Continue(()),
                    };
                    if flow.is_break() || visit(Salvaged::Record { number, record })?.is_break() {
                        return Ok(());
                    }
                }
                None => {
                    let found = self.damage(number)?;
                    match &mut damage {
                        // The rows of two segments are apart.
                        Some(damage) if damage.bytes.end == found.bytes.start => {
                            damage.bytes.end = found.bytes.end;
                            damage.records += 1;
                        }
                        before => {
                            if let Some(damage) = before.replace(found)
                                && visit(Salvaged::Damage(damage))?.is_break()
                            {
                                return Ok(());
                            }
                        }
                    }
                }
            }
        }
        if let Some(damage) = damage {
            let _ = visit(Salvaged::Damage(damage))?;
        }
        Ok(())
    }

    fn damage(&self, number: u64) -> Result<Damage, ArchiveError> {
        let segment = self.segment_with(number)?;
        let start = segment.rows.offset + (number - segment.span.first) * ROW_BYTES;
        Ok(Damage {
            part: DamagedPart::Record,
            number,
            bytes: start..start + ROW_BYTES,
            first: number,
            records: 1,
            in_sequence: true,
        })
    }
}
