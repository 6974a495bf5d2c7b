//! What keepers of openings and suites do with positions: counting, sorting, and, built on these,
//! everything that needs all records at once in bounded memory.

pub mod census;
pub mod game_census;
pub mod sort;
