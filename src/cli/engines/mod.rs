//! Parts that commands with an engine share.

mod annotating;
mod args;
mod cutechess_args;
mod progress;
mod run;

pub(crate) use annotating::Annotating;
pub(crate) use args::{EngineArgs, ProcessArgs, parse_option, parse_time};
pub(crate) use cutechess_args::joined;
pub(crate) use run::{Verb, run};
