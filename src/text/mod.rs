//! FEN, EPD and SAN text: grammar to model and back, profiles, diagnostics with places.
//!
//! No binary and no files.

mod diagnostic;
mod options;
pub mod purge;
pub mod san;

pub use diagnostic::{Diagnostic, Repair, Severity};
pub use options::{
    CastlingForm, CounterForm, EnPassantForm, Format, MateTargets, Profile, ReadOptions, ScoreView,
    WriteOptions,
};
