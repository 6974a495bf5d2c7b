//! Commands that need an engine: what they share.

mod annotating;
mod args;
mod counts;
mod desk;
mod run;
mod search;
mod sink;
mod suite;
mod words;

pub(crate) use annotating::Annotating;
pub(crate) use args::{EngineArgs, ProcessArgs, parse_option, parse_time};
pub(crate) use run::{Verb, run};
pub(crate) use words::joined;
