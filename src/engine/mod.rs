//! UCI engines as child processes, and what they find as operations of records.
//!
//! An [`EngineSpec`] says which program; an [`Engine`] is one that runs, with its options checked
//! against those that it declares, and searches positions under [`Limits`]. Nothing that it says is
//! believed: lines and their amount are bounded, numbers checked, moves read by the rules of chess, and a
//! time-out stands behind every wait ([`Clock`]). A [`Task`] makes a record of a search; a [`Pool`] has
//! several engines at work and gives the records back in their order. A [`SuiteRun`] does this for the
//! records of files, with a journal from which an interrupted run resumes. [`annotated`] puts analysis into
//! games.

mod analysis;
mod annotate;
mod choices;
mod clock;
mod declared;
mod error;
mod finished;
mod info;
mod journal;
mod mate;
mod moves;
mod opcodes;
mod play;
mod pool;
mod process;
mod search;
mod session;
mod spec;
mod suite_run;
mod task;

pub use annotate::{annotated, positions_of};
pub use clock::ClockReading;
pub use clock::{Clock, Heard, SystemClock};
pub use error::{EngineError, EngineErrorKind};
pub use finished::Finished;
pub use info::{Bound, Info};
pub use mate::MateOptions;
pub use play::{MoveTime, SearchLimits};
pub use pool::{Emit, Plan, Pool};
pub use process::kill_all;
pub use search::Moment;
pub use session::{Answer, Engine, Identity, Limits};
pub use spec::EngineSpec;
pub use suite_run::{RunningSuite, SearchedSuite, SuiteRun, survey};
pub use task::Task;
