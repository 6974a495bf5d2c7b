//! `/api/sources`: the served sources.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Explorer, Served};
use epdb_source::FileFormat;

/// A source.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SourceObject {
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
    /// Facts about the data, such as its source and licence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    about: BTreeMap<String, Vec<String>>,
    /// Time at which the source was last opened, in seconds since 1970.
    opened: u64,
}

/// The objects of all sources.
pub fn sources(explorer: &Explorer) -> Vec<SourceObject> {
    explorer.sources.iter().map(|served| SourceObject::new(served)).collect()
}

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
        let mut about: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in served.about().facts() {
            about.entry(key.to_string()).or_default().push(value.to_string());
        }
        SourceObject {
            name: served.name().to_string(),
            format: kind(served.format()),
            records: served.lookup().len(),
            games: origin.map(|origin| origin.games()),
            settings: origin.map(|origin| origin.settings.to_string()),
            splits: served.splits().unwrap_or_default(),
            keeps_games: served.kept_games() > 0,
            about,
            opened: served.opened(),
        }
    }
}
