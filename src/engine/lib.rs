//! Runs UCI engines as child processes and stores their results as operations of records.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! An [`EngineSpec`] names a program. An [`Engine`] is a running engine: its options are checked
//! against those that it declares, and it searches positions under [`Limits`].
//!
//! Engine output is not trusted. Lines and their total are bounded, numbers are checked, moves must
//! be legal, and every wait has a time-out ([`Clock`]).
//!
//! A [`Task`] turns a search into a finished record. A [`Pool`] runs several engines and returns
//! the records in order. A [`SuiteRun`] does this for the records of files, with a journal from
//! which an interrupted run resumes. [`annotated`] adds analysis to games.

mod analysis;
mod annotate;
mod choices;
mod clock;
mod declared;
mod error;
mod info;
mod journal;
mod mate;
mod moves;
mod opcodes;
mod play;
mod pool;
mod process;
pub mod report;
mod search;
mod session;
mod spec;
mod suite_run;
mod task;

pub use annotate::{annotated, positions_of};
pub use choices::Finished;
pub use clock::ClockReading;
pub use clock::{Clock, EngineOutput, SystemClock};
pub use error::{EngineError, EngineErrorKind};
pub use info::{Bound, Info};
pub use mate::{MateOptions, stated_mates};
pub use play::{MoveTime, SearchLimits};
pub use pool::{Emit, Plan, Pool};
pub use process::kill_all;
pub use search::Elapsed;
pub use session::{Answer, Engine, Identity, Limits};
pub use spec::EngineSpec;
pub use suite_run::{RunningSuite, SearchedSuite, SuiteRun, survey};
pub use task::Task;
