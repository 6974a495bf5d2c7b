//! Models that are shared by many archives.

use super::row::Row;
use super::tree::TrainingSet;
use crate::model::EpdRecord;

/// The bytes of a model for positions like these. It makes the built-in model of epdb, for archives
/// that are too small for a model of their own (`tests/examples/archive_data`).
///
/// ```
/// let record = epdb::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")?;
/// assert!(!epdb::archive::position_model(&[record]).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn position_model(records: &[EpdRecord]) -> Vec<u8> {
    let rows: Vec<Row> = records.iter().map(Row::of).collect();
    let training = TrainingSet::of(&rows, 1, None);
    training.build_open(&training.plan(false)).write()
}
