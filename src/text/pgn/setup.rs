//! What the tags of a game say about how it is played: the position that it begins from, and the
//! rules.

use crate::model::{BuildError, Counters, EpdRecord, GameBuilder, Start};
use crate::text::{Diagnostic, Profile, fen};

/// Why a game cannot be set up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetUpError {
    /// `SetUp "1"` without `FEN`.
    #[error("SetUp \"1\" needs a FEN tag")]
    NoFen,
    /// `SetUp "0"` with a `FEN` that is not the start array.
    #[error("SetUp \"0\" with a FEN tag that is not the start array")]
    Contradiction,
    /// The `FEN` is none.
    #[error("the FEN tag: {0}")]
    Fen(Diagnostic),
    /// The `Variant` is neither standard chess nor Chess960.
    #[error("the Variant tag says `{0}`; games of standard chess and Chess960 are read")]
    Variant(String),
    /// See [`BuildError`].
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// What [`set_up`] met.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SetUp {
    /// Nothing to repair.
    AsGiven,
    /// A FEN that only the lenient profile takes.
    LenientFen,
}

/// Takes the start of a game from its tags, and adds the tags that a set-up game must have:
/// `SetUp "1"`, and `Variant "Chess960"` where castling needs it.
///
/// # Errors
/// [`SetUpError`].
pub(crate) fn set_up(builder: &mut GameBuilder) -> Result<SetUp, SetUpError> {
    let game = builder.game();
    if let Some(variant) = game.tag("Variant").filter(|variant| !is_known_variant(variant)) {
        return Err(SetUpError::Variant(variant.chars().take(40).collect()));
    }
    let Some(fen) = game.tag("FEN") else {
        return if game.tag("SetUp") == Some("1") {
            Err(SetUpError::NoFen)
        } else {
            Ok(SetUp::AsGiven)
        };
    };
    let (record, met) = match fen::read(fen.as_bytes(), Profile::Standard) {
        Ok(record) => (record, SetUp::AsGiven),
        Err(error) => match fen::read(fen.as_bytes(), Profile::Lenient) {
            Ok(record) => (record, SetUp::LenientFen),
            Err(_) => return Err(SetUpError::Fen(error)),
        },
    };
    let start = Start { position: *record.position(), counters: counters(&record, fen) };
    if game.tag("SetUp") == Some("0") {
        return if start == Start::ARRAY { Ok(met) } else { Err(SetUpError::Contradiction) };
    }
    if game.tag("SetUp") != Some("1") {
        builder.set_tag("SetUp", "1")?;
    }
    if start.position.is_chess960() && !builder.game().has_tag("Variant") {
        builder.set_tag("Variant", "Chess960")?;
    }
    builder.set_start(start);
    Ok(met)
}

/// The names of standard chess and of Chess960 in files of many programs, without what is no
/// letter or digit.
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

/// Whether the rules of a variant are those of standard chess or of Chess960.
fn is_known_variant(name: &str) -> bool {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let name: String = letters.take(40).flat_map(char::to_lowercase).collect();
    KNOWN_VARIANTS.contains(&name.as_str())
}

/// The counters of a record that was read from a FEN; where one of them is out of range, as the
/// move number 0 of many puzzles is, the other is kept.
fn counters(record: &EpdRecord, fen: &str) -> Counters {
    let mut words = fen.split_ascii_whitespace().skip(4).map(str::parse::<u32>);
    let mut word = || words.next().and_then(Result::ok);
    let (clock, number) = record.counters();
    let (fifth, sixth) = (word(), word().filter(|number| *number > 0));
    let (clock, number) = (clock.or(fifth), number.or(sixth));
    let unknown = Counters::default();
    Counters {
        halfmove_clock: clock.unwrap_or(unknown.halfmove_clock),
        fullmove_number: number.unwrap_or(unknown.fullmove_number),
    }
}
