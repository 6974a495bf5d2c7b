//! Operations on records and games: counting, sorting, sets, openings, engine runs. Operations that
//! need all records at once use bounded memory.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.

pub mod annotation_field;
pub mod backsolve;
pub mod book;
pub mod breakdown;
mod by_key;
pub mod census;
#[cfg(feature = "arrow")]
pub mod column_lookup;
#[cfg(feature = "parquet")]
pub mod column_scan;
pub mod date;
pub mod delta;
pub mod diff;
pub mod duplicates;
pub mod edit;
pub mod explore;
pub mod expression;
pub mod field;
pub mod flip;
pub mod forfeits;
pub mod game_diff;
pub mod game_sets;
pub mod game_tag;
pub mod group;
pub mod import;
pub mod jobs;
pub mod join;
pub mod kept_games;
pub mod kit;
pub mod lookup;
pub mod named_files;
pub mod names;
pub mod near_games;
pub mod openings;
pub mod order;
mod ordered;
pub mod perft;
pub mod play;
pub mod publish;
pub mod question;
pub mod registers;
pub mod repertoire;
pub mod run_file;
pub mod same_game;
pub mod sample;
#[cfg(feature = "arrow")]
pub mod scan;
pub mod scoutfish;
pub mod search;
pub mod sets;
pub mod shards;
#[cfg(test)]
#[path = "../../tests/support/skipped.rs"]
mod skipped;
pub mod tally;
pub mod tally_field;
pub mod value;
