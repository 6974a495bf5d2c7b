//! Values of options: words of the library's types, character sets, numbers of threads.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::terminal::note;
use epdb_archive::Level;
use epdb_chess::codec::tally_settings::SameGame;
use epdb_chess::model::Color;
use epdb_chess::model::merge::{BestMoves, Prefer};
use epdb_chess::text::{
    CastlingForm, Compat, CounterForm, EnPassantForm, Format, MateTargets, ParseOptions, Profile,
    ScoreView, codes,
};
use epdb_library::diff::MatchBy;
use epdb_library::explore::SortBy;
use epdb_library::flip::Mirror;
use epdb_library::join::Meet;
use epdb_library::kept_games::ListOrder;
use epdb_library::publish::PlayerNames;
use epdb_library::question;
use epdb_library::sets::OnConflict;
use epdb_source::{DeltaPath, FileFormat};
use epdb_store::Same;

/// A type of the library whose values have words on the command line. Types of the library cannot
/// implement the traits of clap.
pub(crate) trait Words: Sized {
    /// Each word with its value.
    fn words() -> Vec<(PossibleValue, Self)>;
}

/// A parser that reads a value by its word.
pub(crate) fn word_of<T: Words + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = T>
{
    one_of(T::words())
}

/// A parser that reads one of these values by its word.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    words: Vec<(PossibleValue, T)>,
) -> impl TypedValueParser<Value = T> {
    let parser = PossibleValuesParser::new(words.iter().map(|(word, _)| word.clone()));
    parser.try_map(move |given| {
        let found = words.iter().find(|(word, _)| word.matches(&given, false));
        found.map(|(_, value)| value.clone()).ok_or("unknown value")
    })
}

/// The word of a value.
pub(crate) fn word<T: Words + PartialEq>(value: &T) -> Option<String> {
    let found = T::words().into_iter().find(|(_, it)| it == value);
    found.map(|(word, _)| word.get_name().to_string())
}

/// Assigns a word to each variant of a type, in the form `Variant = "word"`. A help text (`:
/// "help"`) and further words (`| "another word"`) may follow.
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
    ListOrder { Rating = "rating", Date = "date", }
    PlayerNames { Keep = "keep", Initials = "initials", None = "none", }
    Prefer {
        Later = "later",
        First = "first",
        Deepest = "deepest": "The larger acd",
        Nodes = "nodes": "The larger acn",
    }
    BestMoves {
        Conflict = "conflict": "Keep both records and report them",
        Union = "union",
        First = "first",
        Last = "last",
    }
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
    SameGame { Auto = "auto", Moves = "moves", Players = "players", Exact = "exact", }
    Mirror {
        Colors = "colors": "White and Black" | "colours",
        Files = "files": "The a-file and the h-file",
        Both = "both",
    }
    Level {
        Fast = "fast": "Rows of fixed size and an index of all records",
        Default = "default": "Blocks compressed with a model of the positions",
    }
}

/// If text is not for a particular program, the option is left out. So this case needs no word.
impl Words for Compat {
    fn words() -> Vec<(PossibleValue, Compat)> {
        let help = "The Python library";
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
        // The header of a .csv shows which table it is, `--schema` says which table a Parquet file
        // has, and a manifest always shows itself.
        let is_named = |format: &&FileFormat| match format {
            FileFormat::EvaluationTable | FileFormat::Shards => false,
            format => !format.is_parquet() || **format == FileFormat::Parquet,
        };
        FileFormat::ALL.iter().filter(is_named).map(word).collect()
    }
}

/// Largest useful number of threads per core.
const MAX_THREADS_PER_CORE: usize = 4;

/// Reads the value of `--threads`.
pub(crate) fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    let count: usize = text.parse().map_err(|_| "expected a number".to_string())?;
    NonZeroUsize::new(count).ok_or_else(|| "at least 1; the default is one per core".to_string())
}

/// Starts the threads of the process once: the requested number within bounds, or one per core. In a shell, a
/// later request for another number has no effect, and this is reported.
///
/// # Errors
///
/// The system cannot start the threads.
pub(crate) fn start_threads(asked: Option<NonZeroUsize>) -> anyhow::Result<()> {
    static STARTED: Mutex<Option<usize>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let most = MAX_THREADS_PER_CORE * cores;
    let count = asked.map_or(cores, NonZeroUsize::get);
    if let Some(started) = *started {
        if asked.is_some() && count.min(most) != started {
            note!("epdb: {started} threads are running already: --threads {count} has no effect");
        }
        return Ok(());
    }
    if count > most {
        note!("epdb: {count} threads are too many for {cores} cores: using {most}");
    }
    let count = count.min(most);
    *started = Some(count);
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build_global()
        .with_context(|| format!("cannot start {count} threads: reduce --threads"))
}

/// Whether an argument is a position. No file may have this name, but a folder may. The argument must contain a
/// space, or be a move or another word for a position, such as `startpos`.
pub(crate) fn is_position(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    let is_file = Path::new(argument).metadata().is_ok_and(|found| !found.is_dir());
    let names_source = is_file || DeltaPath::parse(argument).is_some();
    if text == "-" || names_source {
        return false;
    }
    text.contains([' ', '\t']) || is_position_word(&text)
}

/// Whether a word is a position by itself. Illegal moves count as positions too, so that the error
/// says that they are illegal.
fn is_position_word(word: &str) -> bool {
    match question::parse(word.as_bytes(), &ParseOptions::new(Profile::Lenient)) {
        Ok(position) => position.is_some(),
        Err(error) => [codes::E_MOVE_ILLEGAL, codes::E_MOVE_AMBIG].contains(&error.code),
    }
}
