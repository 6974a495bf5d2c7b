//! Options of reading and writing from keyword arguments.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::text::pgn::{PositionOptions, Positions};
use epdb_chess::text::{ParseOptions, Profile, ScoreView};
use epdb_library::expression::Expression;
use epdb_library::tally::TallyOptions;
use epdb_source::{FileFormat, SourceOptions, TextCharset};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::errors::invalid;

/// Values that have a name.
pub(crate) trait Words: Sized + Copy + 'static {
    /// The names and the values.
    const WORDS: &'static [(&'static str, Self)];
}

impl Words for Profile {
    const WORDS: &'static [(&'static str, Profile)] = &[
        ("strict", Profile::Strict),
        ("standard", Profile::Standard),
        ("lenient", Profile::Lenient),
    ];
}

impl Words for ScoreView {
    const WORDS: &'static [(&'static str, ScoreView)] =
        &[("white", ScoreView::White), ("mover", ScoreView::Mover)];
}

/// The value of a name.
pub(crate) fn word<T: Words>(py: Python<'_>, name: &str) -> PyResult<T> {
    let found = T::WORDS.iter().find(|(word, _)| *word == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        invalid(py, &format!("{name:?} is not one of {}", words.join(", ")))
    })
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(py: Python<'_>, text: &str) -> PyResult<T> {
    text.parse().map_err(|error: T::Err| invalid(py, &format!("{text:?}: {error}")))
}

/// Paths of one or several files.
pub(crate) fn paths(value: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let is_one = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.hasattr("__fspath__")?;
    if is_one {
        Ok(vec![value.extract()?])
    } else {
        value.try_iter()?.map(|path| path?.extract()).collect()
    }
}

/// Options of reading.
#[derive(Clone)]
pub(crate) struct ReadOptions {
    pub(crate) source: SourceOptions,
    pub(crate) positions: PositionOptions,
    /// The expression of `where`.
    pub(crate) filter: Option<Expression>,
    pub(crate) deny_warnings: bool,
    pub(crate) truncate_games: bool,
}

impl ReadOptions {
    /// Reads keyword arguments. Games are read as games.
    pub(crate) fn new(
        py: Python<'_>,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ReadOptions> {
        let mut source = SourceOptions::default();
        let mut profile = Profile::default();
        let mut positions = PositionOptions::default();
        let (mut filter, mut view) = (None, None);
        let mut charset = None;
        let (mut labels, mut deny_warnings, mut truncate_games) = (false, false, false);
        for (name, value) in arguments.into_iter().flatten() {
            if value.is_none() {
                continue;
            }
            let word_of = || value.extract::<String>();
            let flag = || value.extract::<bool>();
            match name.extract::<String>()?.as_str() {
                "profile" => profile = word(py, &word_of()?)?,
                "format" => {
                    let name = word_of()?;
                    let format = FileFormat::ALL.into_iter().find(|it| it.suffix() == name);
                    let format = format.ok_or_else(|| {
                        invalid(py, &format!("{name:?} is not the name of a format"))
                    })?;
                    source.format = Some(format);
                }
                "positions" => {
                    positions.positions = parsed::<Positions>(py, &word_of()?)?;
                }
                "variations" => positions.variations = flag()?,
                "game_tags" => positions.tags = flag()?,
                "game_openings" => positions.names = flag()?,
                "game_evals" => positions.evaluations = flag()?,
                "labels" => labels = flag()?,
                "label_view" => view = Some(word(py, &word_of()?)?),
                "where" => {
                    let expression: Expression = parsed(py, &word_of()?)?;
                    source.filter = Some(Arc::new(expression.clone()));
                    filter = Some(expression);
                }
                "charset" => charset = Some(parsed::<TextCharset>(py, &word_of()?)?),
                "deny_warnings" => deny_warnings = flag()?,
                "truncate_games" => truncate_games = flag()?,
                // They are set where the addresses are known.
                "storage_options" => {}
                name => {
                    let text = format!("unexpected keyword argument '{name}'");
                    return Err(PyTypeError::new_err(text));
                }
            }
        }
        source.text = ParseOptions { labels, score_view: view, ..ParseOptions::new(profile) };
        source.games.profile = profile;
        source.deny_warnings = deny_warnings;
        source.set_charset(charset);
        Ok(ReadOptions { source, positions, filter, deny_warnings, truncate_games })
    }

    /// The settings that a library of games stores, which are read with these options.
    pub(crate) fn settings(&self, counting: &TallyOptions) -> TallySettings {
        let filter = self.filter.as_ref().map(Expression::text);
        counting.settings(self.truncate_games, self.deny_warnings, filter)
    }

    /// The options for records: positions of games are records.
    pub(crate) fn records(&self) -> SourceOptions {
        SourceOptions { positions: Some(self.positions.clone()), ..self.source.clone() }
    }
}
