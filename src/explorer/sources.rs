//! `/api/sources`: the served sources.

use serde::Serialize;

use crate::{Explorer, Served};
use epdb_source::FileFormat;

/// A source.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceObject {
    name: String,
    format: &'static str,
    records: u64,
    /// Number of games in the tallies of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    games: Option<u64>,
    /// The filter of the source's games: arguments of `epdb tally`.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<String>,
    /// The properties by which the games of the source can be filtered.
    splits: Vec<&'static str>,
    keeps_games: bool,
    /// Time at which the source was last opened, in seconds since 1970.
    opened: u64,
}

pub(crate) fn sources(explorer: &Explorer) -> Vec<SourceObject> {
    explorer.sources.iter().map(|served| SourceObject::new(served)).collect()
}

/// The kind of a file.
const fn kind(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Epdb => "store",
        FileFormat::Epa => "archive",
        FileFormat::Shards => "shards",
        FileFormat::Epb => "stream",
        FileFormat::Polyglot => "book",
        format if format.is_of_games() => "games",
        _ => "text",
    }
}

impl SourceObject {
    fn new(served: &Served) -> SourceObject {
        let origin = served.origin();
        SourceObject {
            name: served.name().to_string(),
            format: kind(served.format()),
            records: served.lookup().len(),
            games: origin.map(|origin| origin.games()),
            settings: origin.map(|origin| origin.settings.to_string()),
            splits: served.splits().unwrap_or_default(),
            keeps_games: served.kept_games() > 0,
            opened: served.opened(),
        }
    }
}
