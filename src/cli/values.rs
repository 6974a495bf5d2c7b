//! The words by which values of the library are chosen on the command line.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::archive::Level;
use crate::library::diff::MatchBy;
use crate::library::explore::SortBy;
use crate::library::flip::Mirror;
use crate::library::join::Meet;
use crate::library::sets::{By, OnConflict};
use crate::model::Color;
use crate::model::merge::{BestMoves, Prefer};
use crate::source::FileFormat;
use crate::store::Same;
use crate::text::{
    CastlingForm, Compat, CounterForm, EnPassantForm, Format, MateTargets, Profile, ScoreView,
};

/// Gives each value of a type its word: `Variant = "word"`, then `: "help"` and `| "another word"`.
macro_rules! words {
    ($($type:ident {
        $($value:ident = $word:literal $(: $help:literal)? $(| $alias:literal)?,)+
    })+) => {$(
        impl ValueEnum for $type {
            fn value_variants<'a>() -> &'a [$type] {
                &[$($type::$value),+]
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(match self {
                    $($type::$value => {
                        PossibleValue::new($word)$(.help($help))?$(.alias($alias))?
                    })+
                })
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
impl ValueEnum for Compat {
    fn value_variants<'a>() -> &'a [Compat] {
        &[Compat::PythonChess]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Compat::None => None,
            Compat::PythonChess => {
                Some(PossibleValue::new("python-chess").help("The library of that name for Python"))
            }
        }
    }
}

impl ValueEnum for FileFormat {
    fn value_variants<'a>() -> &'a [FileFormat] {
        &FileFormat::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            FileFormat::Fen => "FEN text, one position a line",
            FileFormat::Epdb => "a position store",
            format => format.description(),
        };
        Some(PossibleValue::new(self.suffix()).help(help))
    }
}
