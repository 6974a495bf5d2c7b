//! The words by which values of the library are chosen on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use epdb::archive::Level;
use epdb::library::diff::MatchBy;
use epdb::library::explore::SortBy;
use epdb::library::flip::Mirror;
use epdb::library::join::Meet;
use epdb::library::sets::{By, OnConflict};
use epdb::model::Color;
use epdb::model::merge::{BestMoves, Prefer};
use epdb::source::FileFormat;
use epdb::store::Same;
use epdb::text::{
    CastlingForm, Compat, CounterForm, EnPassantForm, Format, MateTargets, Profile, ScoreView,
};

/// A type of the library whose values have words on the command line. Its types cannot have the traits of
/// clap here.
pub(crate) trait Words: Sized {
    /// Each word with its value.
    fn words() -> Vec<(PossibleValue, Self)>;
}

/// Reads a value by its word.
pub(crate) fn word_of<T: Words + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = T>
{
    one_of(T::words())
}

/// Reads one of these values by its word.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    words: Vec<(PossibleValue, T)>,
) -> impl TypedValueParser<Value = T> {
    let parser = PossibleValuesParser::new(words.iter().map(|(word, _)| word.clone()));
    parser.try_map(move |given| {
        let found = words.iter().find(|(word, _)| word.matches(&given, false));
        found.map(|(_, value)| value.clone()).ok_or("no such word")
    })
}

/// The word of a value.
pub(crate) fn word<T: Words + PartialEq>(value: &T) -> Option<String> {
    let found = T::words().into_iter().find(|(_, it)| it == value);
    found.map(|(word, _)| word.get_name().to_string())
}

/// Gives each value of a type its word: `Variant = "word"`, then `: "help"` and `| "another word"`.
macro_rules! words {
    ($($type:ident {
        $($value:ident = $word:literal $(: $help:literal)? $(| $alias:literal)?,)+
    })+) => {$(
        impl Words for $type {
            fn words() -> Vec<(PossibleValue, $type)> {
                vec![$((
                    PossibleValue::new($word)$(.help($help))?$(.alias($alias))?,
                    $type::$value,
                )),+]
            }
        }
    )+};
}

words! {
    Profile { Strict = "strict", Standard = "standard", Lenient = "lenient", }
    ScoreView { White = "white", Mover = "mover", }
    MateTargets { Keep = "keep", Dm = "dm", Ce = "ce", }
    Format { Epd = "epd", Fen = "fen", FenOps = "fen+ops", }
    CounterForm { Keep = "keep", Ops = "ops", Fen = "fen", Drop = "drop", }
    CastlingForm { XFen = "xfen", Shredder = "shredder", Keep = "keep", }
    EnPassantForm { Keep = "keep", Legal = "legal", Pseudo = "pseudo", }
    Color { White = "white" | "w", Black = "black" | "b", }
    Prefer {
        Later = "later",
        First = "first",
        Deepest = "deepest": "The larger acd",
        Nodes = "nodes": "The larger acn",
    }
    BestMoves {
        Conflict = "conflict": "Both records stay and are reported",
        Union = "union",
        First = "first",
        Last = "last",
    }
    By { Position = "position", Board = "board", Record = "record", }
    OnConflict { Report = "report", First = "first", Last = "last", }
    MatchBy { Id = "id", Position = "position", Record = "record", }
    SortBy {
        Games = "games",
        Score = "score",
        White = "white",
        Draws = "draws",
        Black = "black",
        Elo = "elo",
        Performance = "performance",
        Reached = "reached",
        Ce = "ce",
        Name = "name",
    }
    Meet { Position = "position", Id = "id", }
    Same { Position = "position", Record = "record", }
    Mirror {
        Colors = "colors": "White and Black" | "colours",
        Files = "files": "The a-file and the h-file",
        Both = "both",
    }
    Level {
        Fast = "fast": "Rows of fixed size and an index of every record",
        Default = "default": "Blocks under a model of the positions",
        Max = "max": "Blocks under a larger model: a tenth smaller, several times slower",
    }
}

/// Text for no program in particular is written without naming one.
impl Words for Compat {
    fn words() -> Vec<(PossibleValue, Compat)> {
        let help = "The library of that name for Python";
        vec![(PossibleValue::new("python-chess").help(help), Compat::PythonChess)]
    }
}

impl Words for FileFormat {
    fn words() -> Vec<(PossibleValue, FileFormat)> {
        let word = |format: &FileFormat| {
            let help = match format {
                FileFormat::Fen => "FEN text, one position a line",
                FileFormat::Epdb => "a position store",
                format => format.description(),
            };
            (PossibleValue::new(format.suffix()).help(help), *format)
        };
        FileFormat::ALL.iter().map(word).collect()
    }
}
