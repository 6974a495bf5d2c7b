//! What all requests have in common.

use std::sync::Arc;

use super::answer::Refusal;
use super::cache::{self, Answers};
use super::metrics::Metrics;
use super::settings::{ServerSettings, SourceSpec};
use super::sources::{Served, Sources};
use crate::error::Result;
use crate::library::names::Names;

/// Answers are kept in this part of the memory.
const ANSWERS_OF_MEMORY: usize = 8;

/// What all requests have in common.
#[derive(Debug)]
pub(super) struct App {
    pub(super) settings: ServerSettings,
    pub(super) sources: Arc<Sources>,
    /// Names of openings.
    pub(super) names: Names,
    pub(super) answers: Answers,
    pub(super) metrics: Metrics,
}

impl App {
    /// Reads the names of openings and opens all sources, having told `begins` of each.
    pub(super) fn open(settings: ServerSettings, begins: &dyn Fn(&SourceSpec)) -> Result<App> {
        let mut names = Names::new();
        settings.openings.iter().try_for_each(|file| names.add_file(file))?;
        for (place, found) in names.warnings() {
            tracing::warn!("{}:{}:{found}", place.source, place.number());
        }
        let sources = Sources::open(&settings.sources, settings.memory, begins)?;
        let answers = cache::answers(settings.memory / ANSWERS_OF_MEMORY);
        Ok(App { settings, sources, names, answers, metrics: Metrics::new() })
    }

    /// The source of a name, or the first where none is named.
    pub(super) fn source(&self, name: Option<&str>) -> Result<Arc<Served>, Refusal> {
        match name {
            None => self.sources.first().ok_or_else(|| Refusal::not_found("there is no source")),
            Some(name) => self.sources.get(name).ok_or_else(|| {
                let names: Vec<String> =
                    self.sources.all().iter().map(|it| it.name().to_string()).collect();
                Refusal::not_found(format!(
                    "no source is named {name}: there are {}",
                    names.join(", ")
                ))
            }),
        }
    }
}
