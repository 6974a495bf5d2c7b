//! Rules for the tags of games in every format.
//!
//! A new rule is a function in `RULES`; these functions are applied to games of PGN and PGC.
//! `agreed_result` settles the result. `OPCODES` maps tags to opcodes of records.
//! `check_value` refuses a wrong value in PGC as soon as the tag is read; the reader of PGN looks
//! at the movetext first. A refusal is a [`TagError`], which gives the code of the diagnostic; a
//! repair is a `TagRepair`.
//!
//! Tag names, their maximum number and the roster are in the model. Each format has its own
//! spelling of tag pairs.

use super::ending::Ending;
use crate::model::{
    BuildError, Counters, DOUBLE_FORFEIT, EpdRecord, GameBuilder, GameResult, Opcode, Start,
};
use crate::text::fields::{CounterText, write_with_counters};
use crate::text::{CastlingForm, Diagnostic, EnPassantForm, Profile, codes, fen};

/// A reason to refuse the tags of a game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// The value of `Result` is neither one of the four results nor `0-0`.
    #[error("the Result tag is not one of 1-0, 0-1, 1/2-1/2, 0-0 and *")]
    Result,
    /// `SetUp "1"` without `FEN`.
    #[error("SetUp \"1\" needs a FEN tag")]
    NoFen,
    /// `SetUp "0"` with a `FEN` that is not the start array.
    #[error("SetUp \"0\" with a FEN tag that is not the start array")]
    Contradiction,
    /// The `FEN` is not valid.
    #[error("the FEN tag: {0}")]
    Fen(Diagnostic),
    /// The `Variant` is neither standard chess nor Chess960.
    #[error("the Variant tag is `{0}`; only games of standard chess and Chess960 can be read")]
    Variant(String),
    /// A tag that a rule would add exceeds a limit.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl TagError {
    /// The stable code of the diagnostic in games of PGN.
    pub const fn code(&self) -> &'static str {
        match self {
            TagError::Result => codes::E_PGN_RESULT,
            TagError::NoFen | TagError::Contradiction | TagError::Fen(_) => codes::E_PGN_SETUP,
            TagError::Variant(_) => codes::E_PGN_VARIANT,
            TagError::Build(BuildError::TooLarge) => codes::E_PGN_SIZE,
            TagError::Build(_) => codes::E_PGN_TAG,
        }
    }
}

/// A repair that a rule has made.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum TagRepair {
    /// A FEN that only the lenient profile accepts.
    LenientFen,
    /// A `FEN` is required and missing, so the start array is assumed.
    NoFen,
}

/// A rule for the tags of a game. It is applied when all tags are known.
type Rule = fn(&mut GameBuilder) -> Result<Option<TagRepair>, TagError>;

/// The rules, in the order of application.
const RULES: [Rule; 2] = [check_variant, set_up];

/// Applies the rules to a game whose tags are all known.
///
/// # Errors
/// The first violation.
pub(crate) fn apply_rules(builder: &mut GameBuilder) -> Result<Vec<TagRepair>, TagError> {
    let mut repairs = Vec::new();
    for rule in RULES {
        repairs.extend(rule(builder)?);
    }
    Ok(repairs)
}

/// Checks the value of a single tag, for formats that accept no unusual values.
///
/// # Errors
/// The reason why the tag cannot have this value.
pub(crate) fn check_value(name: &str, value: &[u8]) -> Result<(), TagError> {
    match name {
        "Result" if value == DOUBLE_FORFEIT.as_bytes() => Ok(()),
        "Result" if GameResult::from_text(value).is_none() => Err(TagError::Result),
        _ => Ok(()),
    }
}

/// Returns the result of a game from its `Result` tag and its termination marker. If they disagree,
/// the result that the last position proves counts. If the position proves none, the marker counts;
/// if the marker is `*`, the tag counts.
pub(super) fn agreed_result(
    tag: Option<Ending>,
    marker: Option<Ending>,
    proven: impl FnOnce() -> Option<Ending>,
) -> Ending {
    match (tag, marker) {
        (None, marker) => marker.unwrap_or(Ending::UNKNOWN),
        (Some(tag), None) => tag,
        (Some(tag), Some(marker)) if tag == marker => tag,
        (Some(tag), Some(marker)) => proven().unwrap_or(match marker {
            Ending::UNKNOWN => tag,
            marker => marker,
        }),
    }
}

/// Tags whose values have a separate operation in records.
pub(super) const OPCODES: [(&str, Opcode); 5] = [
    ("ECO", Opcode::ECO),
    ("NIC", Opcode::NIC),
    ("Opening", Opcode::V0),
    ("Variation", Opcode::V1),
    ("SubVariation", Opcode::V2),
];

/// Refuses games of other variants.
fn check_variant(builder: &mut GameBuilder) -> Result<Option<TagRepair>, TagError> {
    match builder.game().tag("Variant").filter(|variant| !is_known_variant(variant)) {
        Some(variant) => Err(TagError::Variant(variant.chars().take(40).collect())),
        None => Ok(None),
    }
}

/// Sets the start of a game from its tags. The FEN becomes canonical, and tags are added that a game
/// with a FEN needs: `SetUp "1"`, and `Variant "Chess960"` if castling needs it.
fn set_up(builder: &mut GameBuilder) -> Result<Option<TagRepair>, TagError> {
    let game = builder.game();
    let is_due = game.tag("SetUp") == Some("1") || game.has_tag("FEN");
    let Some(fen) = game.tag("FEN").filter(|fen| !is_unknown(fen)) else {
        if is_due {
            builder.remove_tag("FEN");
            builder.remove_tag("SetUp");
        }
        return Ok(is_due.then_some(TagRepair::NoFen));
    };
    let (record, repair) = read_fen(fen)?;
    let start = Start { position: *record.position(), counters: counters(&record, fen) };
    if !is_exact_fen(fen, &start) {
        let canonical = fen_text(&start, CastlingForm::XFen, CounterText::Fields(start.counters));
        builder.set_tag("FEN", &canonical)?;
    }
    let game = builder.game();
    if game.tag("SetUp") == Some("0") {
        return if start == Start::ARRAY { Ok(repair) } else { Err(TagError::Contradiction) };
    }
    if game.tag("SetUp") != Some("1") {
        builder.set_tag("SetUp", "1")?;
    }
    if start.position.is_chess960() && !builder.game().has_tag("Variant") {
        builder.set_tag("Variant", "Chess960")?;
    }
    builder.set_start(start);
    Ok(repair)
}

/// True if the value of a tag means "unknown".
fn is_unknown(value: &str) -> bool {
    matches!(value.trim(), "" | "?" | "-" | "*")
}

/// Parses a FEN in the standard profile. If that fails, it is parsed again with the counters `0 1`
/// added. If that fails too, it is parsed in the lenient profile.
fn read_fen(fen: &str) -> Result<(EpdRecord, Option<TagRepair>), TagError> {
    let error = match fen::parse(fen.as_bytes(), Profile::Standard) {
        Ok(record) => return Ok((record, None)),
        Err(error) => error,
    };
    let with_counters = format!("{fen} 0 1");
    let record = fen::parse(with_counters.as_bytes(), Profile::Standard)
        .or_else(|_| fen::parse(fen.as_bytes(), Profile::Lenient));
    match record {
        Ok(record) => Ok((record, Some(TagRepair::LenientFen))),
        Err(_) => Err(TagError::Fen(error)),
    }
}

/// True if every reader of PGC accepts this spelling of the start position. It must be canonical
/// X-FEN or Shredder-FEN, with or without counters.
fn is_exact_fen(fen: &str, start: &Start) -> bool {
    [CastlingForm::XFen, CastlingForm::Shredder].into_iter().any(|castling| {
        [CounterText::Fields(start.counters), CounterText::None]
            .into_iter()
            .any(|counters| fen_text(start, castling, counters) == fen)
    })
}

fn fen_text(start: &Start, castling: CastlingForm, counters: CounterText) -> String {
    let mut text = Vec::new();
    let en_passant = EnPassantForm::Keep;
    write_with_counters(&start.position, castling, en_passant, counters, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Names of standard chess and of Chess960 in the files of many programs. The names are written
/// without characters other than letters and digits.
const KNOWN_VARIANTS: [&str; 30] = [
    "",
    "chess",
    "standard",
    "standardchess",
    "normal",
    "normalchess",
    "regular",
    "regularchess",
    "orthodox",
    "orthodoxchess",
    "orthochess",
    "classical",
    "classicalchess",
    "classicchess",
    "fromposition",
    "960",
    "chess960",
    "frc",
    "dfrc",
    "fischerandom",
    "fischerandomchess",
    "fischerrandom",
    "fischerrandomchess",
    "fischerrandom960",
    "doublefischerrandom",
    "doublefischerrandomchess",
    "freestyle",
    "freestylechess",
    "chess9lx",
    "wildfr",
];

/// Whether a variant is standard chess or Chess960.
fn is_known_variant(name: &str) -> bool {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let name: String = letters.take(40).flat_map(char::to_lowercase).collect();
    KNOWN_VARIANTS.contains(&name.as_str())
}

/// Returns the counters of a record that was parsed from a FEN. If one counter is out of range
/// (many puzzles have the move number 0), the other is kept.
fn counters(record: &EpdRecord, fen: &str) -> Counters {
    let mut words = fen.split_ascii_whitespace().skip(4).map(str::parse::<u32>);
    let mut word = || words.next().and_then(Result::ok);
    let (clock, number) = record.counters();
    let fifth = word();
    let sixth = word().filter(|number| *number > 0);
    let clock = clock.or(fifth);
    let number = number.or(sixth);
    let unknown = Counters::default();
    Counters {
        halfmove_clock: clock.unwrap_or(unknown.halfmove_clock),
        fullmove_number: number.unwrap_or(unknown.fullmove_number),
    }
}
