//! Libraries of positions: what became of the games that reached each.
//!
//! [`TallyBuilder`] takes games in any order and gives a record for each position, with the operation
//! `tally`, by ascending keys.

mod aggregate;
mod builder;
mod facts;
mod keep;
pub mod ledger;
mod merged;
mod visits;

pub use builder::{Taken, TallyBuilder, TallyCounts, TallyOptions, TallyOrder};
pub use facts::{GameFacts, RATING_GROUPS, Split};
pub use merged::MergedGames;
