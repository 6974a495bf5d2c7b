//! One file a command.

pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod moves;
pub(crate) mod normalize;
pub(crate) mod purge;
pub(crate) mod sort;
pub(crate) mod stats;
pub(crate) mod tfgg;
pub(crate) mod verify;
