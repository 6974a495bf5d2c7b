//! Scores carried back from the ends of lines to the positions before them.
//!
//! [`solve`] gives every position of a [`Graph`] its value. [`Backsolver`] makes the graph of records,
//! in which each position is there once and the moves are all legal ones from one of them to another,
//! and gives the records back with their new `ce`.

mod annotate;
mod backsolver;
mod graph;
mod positions;
mod repetition;
mod solve;

pub use annotate::{CE_LEAF, CE_OWN, CE_PLIES, CE_REPEATS};
pub use backsolver::{BacksolveCounts, BacksolveOptions, Backsolved, Backsolver, ScoreChange};
pub use graph::{Graph, GraphError, Known, Node};
pub use solve::{Origin, OwnScores, Solution, solve};
