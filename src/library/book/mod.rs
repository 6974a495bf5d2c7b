//! Opening books of Polyglot: whose the keys in a book are, books made of several, and what is in
//! one.

mod make;
mod merge;
mod repertoire;
mod summary;

pub use make::{BookMaker, MakeOptions};
pub use merge::{Merge, Merged, merge};
pub use repertoire::repertoire_entries;
pub use summary::Summary;

pub use crate::source::{BookPosition, KnownPositions, Walk, Way};
