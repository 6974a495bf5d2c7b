//! Fields of records, by name: for expressions, columns of tables and sort orders.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::annotation_field::{AnnotationField, evaluation};
use super::date::Date;
use super::game_tag::{TagName, Tags};
use super::tally_field::TallyField;

use super::value::{EvalContext, Number, Type, Value, joined};
use epdb_chess::codec::{key, ordinal};
use epdb_chess::model::rules::{Playable, en_passant_is_legal};
use epdb_chess::model::{
    Board, CastlingDialect, Color, DOUBLE_FORFEIT, EpdRecord, GameResult, Opcode, Operand,
    Operands, Operation, Piece, Role, Speed, StandardOpcode,
};
use epdb_chess::model::{WELL_KNOWN_TAGS, is_well_known_tag};
use epdb_chess::text::fields::CastlingText;
use epdb_chess::text::pgn::{GamePosition, MainLine};
use epdb_chess::text::{CastlingForm, FormatOptions, epd, fen, san};

/// A named value of a record.
///
/// ```
/// use epdb_library::field::Field;
/// use epdb_library::value::EvalContext;
/// let record = epdb_chess::parse_epd(b"8/8/8/8/8/4k3/3r4/4K1R1 b - - bm Ra2; ce 120;")?;
/// let shown = |name: &str| {
///     let value = Field::parse(name).map(|field| field.value(&EvalContext::from_record(&record)).text());
///     String::from_utf8_lossy(&value.unwrap_or_default()).into_owned()
/// };
/// assert_eq!(shown("material"), "KRkr");
/// assert_eq!(shown("uci(bm)"), "d2a2");
/// assert_eq!(shown("ce:white"), "-120");
/// assert_eq!(Field::parse("materiel").unwrap_err(), "unknown field `materiel`: did you mean `material`?");
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// One of [`BUILTIN_FIELDS`].
    BuiltinField(BuiltinField),
    /// The operands of an opcode.
    Operation(Opcode),
    /// The value of a tag of the position's game. If there is no game, the value of the tag in
    /// `ptp`.
    Tag(TagName),
    /// A tag, or the private opcode of that name if the record has no such tag.
    TagOrOperation(TagName, Opcode),
    /// The moves of an opcode in coordinates.
    Uci(Opcode),
    /// `ce` from the point of view of White.
    WhiteScore,
    /// [`AnnotationField::Evaluation`] from the point of view of White.
    WhiteEvaluation,
    /// A column of the row in [`EvalContext::row`]: its name and its index.
    Column(&'static str, usize),
}

/// The fields that are not opcodes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BuiltinField {
    /// The number of pieces.
    Pieces,
    /// The pieces in the order `KQRBNPkqrbnp`.
    Material,
    /// `w` or `b`.
    SideToMove,
    /// The number of legal moves; missing if moves cannot be generated.
    LegalMoves,
    /// The value of White's pieces minus that of Black's, with 9, 5, 3, 3 and 1 for queen to pawn.
    Balance,
    /// The en passant square as given, or `-`.
    EnPassant,
    /// The castling field in X-FEN letters.
    Castling,
    /// Plies before the position, by the fullmove number.
    Ply,
    /// The line, or the number of the record, in its source.
    Line,
    /// The name of the source.
    File,
    /// White's points in the game: 1, 0.5 or 0.
    Result,
    /// The number of the game from 0, if it is known: that of [`EvalContext::game_number`], or in a Parquet table.
    GameNumber,
    /// The year of the tag `Date`, or else of `UTCDate`.
    Year,
    /// The month of the date of [`BuiltinField::Year`].
    Month,
    /// The day of the date of [`BuiltinField::Year`].
    Day,
    /// The class of the time control, as on lichess.org.
    Speed,
    /// The lower of the two ratings.
    EloMin,
    /// The mean of the two ratings.
    EloAverage,
    /// The number of plies in the game's main line.
    Plies,
    /// The six fields of FEN; missing counters are `0 1`.
    Fen,
    /// The four fields of EPD.
    Epd,
    /// The whole record as EPD.
    Record,
    /// The position key in sixteen hexadecimal digits.
    Key,
    /// Number of times that the game had the position so far.
    Repetition,
    /// Whether a legal move captures en passant.
    EnPassantLegal,
    /// Whether the side to move is in check.
    Check,
    /// Whether the side to move is checkmated.
    Mate,
    /// Whether the side to move is stalemated.
    Stalemate,
    /// Whether castling needs the notation of Chess960.
    Chess960,
    /// A value about the time or the evaluation of a position.
    Annotation(AnnotationField),
    /// A value of the tally.
    Tally(TallyField),
}

/// The fields that are not opcodes: name, field, description.
pub const BUILTIN_FIELDS: [(&str, BuiltinField, &str); 43] = {
    use BuiltinField::*;
    [
        ("pieces", Pieces, "number of pieces on the board"),
        ("material", Material, "the pieces, as in 'KRPkr': K Q R B N P, White's first"),
        ("stm", SideToMove, "side to move, 'w' or 'b'"),
        ("legal_moves", LegalMoves, "number of legal moves"),
        ("balance", Balance, "White's material minus Black's: queen 9, rook 5, 3, 3, pawn 1"),
        ("ep", EnPassant, "en passant square, or '-'; in a game after every double step"),
        ("ep_legal", EnPassantLegal, "a pawn can legally capture en passant"),
        ("castling", Castling, "castling rights as in FEN: 'KQkq' in this order, or '-'"),
        ("ply", Ply, "number of plies before the position, by the fullmove number"),
        ("line", Line, "line (or number of the record) in its source"),
        ("file", File, "name of the source"),
        ("result", Result, "White's points: 1, 0.5 or 0; compare with these or with '1-0'"),
        (
            "game",
            GameNumber,
            "number of the position's game, from 0: in Parquet and in 'table --positions'",
        ),
        ("year", Year, "of a game: the year of Date, or else of UTCDate"),
        ("month", Month, "of a game: the month of the same date, 1 to 12"),
        ("day", Day, "of a game: the day of the same date, 1 to 31"),
        ("speed", Speed, "of a game: 'bullet', 'blitz' ... by TimeControl (see above)"),
        ("elo_min", EloMin, "of a game: the lower of WhiteElo and BlackElo"),
        ("elo_avg", EloAverage, "of a game: the mean of WhiteElo and BlackElo"),
        ("plies", Plies, "of a game: number of plies in its main line, with null moves"),
        ("fen", Fen, "the six fields of FEN"),
        ("epd", Epd, "the four fields of EPD"),
        ("record", Record, "the whole record as EPD"),
        ("key", Key, "position key: a text of 16 hexadecimal digits, in the order of numbers"),
        ("repetition", Repetition, "of a game: how often it has had the position so far"),
        ("check", Check, "the side to move is in check"),
        ("mate", Mate, "the side to move is checkmated"),
        ("stalemate", Stalemate, "the side to move is stalemated"),
        ("chess960", Chess960, "the castling rights are ones that only Chess960 has"),
        (
            "clock",
            Annotation(AnnotationField::Clock),
            "seconds that the mover has left after its move",
        ),
        (
            "elapsed",
            Annotation(AnnotationField::Elapsed),
            "seconds that the mover used for its move",
        ),
        (
            "eval",
            Annotation(AnnotationField::Evaluation),
            "evaluation like ce, for the mover: ce, dm, or from a comment",
        ),
        (
            "eval_loss",
            Annotation(AnnotationField::EvaluationLoss),
            "centipawns that the move lost, 0 to 2000",
        ),
        ("reached", Tally(TallyField::Reached), "of a tally: games that reached the position"),
        ("games", Tally(TallyField::Games), "of a tally: games with a move played there"),
        ("white", Tally(TallyField::White), "of a tally: games that White won"),
        ("draws", Tally(TallyField::Draws), "of a tally: drawn games"),
        ("black", Tally(TallyField::Black), "of a tally: games that Black won"),
        ("score", Tally(TallyField::Score), "of a tally: White's share of the points, 0 to 1"),
        ("elo", Tally(TallyField::Elo), "of a tally: mean rating of the side to move"),
        ("opp", Tally(TallyField::Opponents), "of a tally: mean rating of the other side"),
        ("years", Tally(TallyField::Years), "of a tally: first and last year"),
        ("move", Tally(TallyField::Move), "with 'table --rows moves': the move; else that of sm"),
    ]
};

/// Opcodes that are not in the standard, but that analysis writes.
const WRITTEN: [&str; 5] = ["acd", "acms", "solve_first", "solve_held", "run_error"];

/// Whether analysis writes this nonstandard opcode: one of [`WRITTEN`], or `pv2`, `ce2` and so on.
fn is_written(opcode: &Opcode) -> bool {
    let is_named = WRITTEN.iter().any(|name| name.as_bytes() == opcode.as_bytes());
    is_named || opcode.is_of_further_line()
}

impl Field {
    /// Whether the field is a tag that names players.
    pub(super) fn is_of_players(&self) -> bool {
        matches!(self, Field::Tag(tag) | Field::TagOrOperation(tag, _) if tag.is_of_players())
    }

    /// Parses the name of a field. It is one of [`BUILTIN_FIELDS`], an opcode of the standard or of analysis,
    /// `uci(OPCODE)`, `ce:white`, `eval:white`, `op(OPCODE)` or `tag(NAME)`. A name that begins with a
    /// capital letter is a tag of a game or a private opcode.
    ///
    /// # Errors
    /// The mistake in the name, as text.
    pub fn parse(name: &str) -> Result<Field, String> {
        if let Some((function, inner)) = name.strip_suffix(')').and_then(|it| it.split_once('(')) {
            return Field::parse_call(function.trim(), inner.trim());
        }
        if let Some((field, view)) = name.split_once(':') {
            return match (field, view) {
                ("ce", "white") => Ok(Field::WhiteScore),
                ("eval", "white") => Ok(Field::WhiteEvaluation),
                ("ce" | "eval", _) => {
                    Err(format!("`{field}:{view}`: the other view of {field} is `{field}:white`"))
                }
                _ => Err(format!(
                    "`{field}` has no other view; `ce:white` and `eval:white` are the ones there are"
                )),
            };
        }
        if let Some((_, named, _)) = BUILTIN_FIELDS.iter().find(|(known, ..)| *known == name) {
            return Ok(Field::BuiltinField(*named));
        }
        let may_be_tag = name.starts_with(|first: char| first.is_ascii_uppercase());
        let tag = if may_be_tag { TagName::new(name) } else { None };
        match (Opcode::new(name.as_bytes()).ok(), tag) {
            (Some(opcode), _) if opcode.standard().is_some() || is_written(&opcode) => {
                Ok(Field::Operation(opcode))
            }
            (Some(opcode), Some(tag)) if is_own_name(name) => {
                Ok(Field::TagOrOperation(tag, opcode))
            }
            (None, Some(tag)) if is_own_name(name) => Ok(Field::Tag(tag)),
            (opcode, tag) => Err(unknown_field(name, opcode.is_some(), tag.is_some())),
        }
    }

    fn parse_call(function: &str, inner: &str) -> Result<Field, String> {
        match function {
            "op" => parse_opcode(inner).map(Field::Operation),
            "tag" => TagName::new(inner)
                .map(Field::Tag)
                .ok_or_else(|| format!("`{inner}` is not the name of a tag, such as White")),
            "uci" => {
                let opcode = parse_opcode(inner)?;
                match Field::Operation(opcode).kind() {
                    Type::Moves => Ok(Field::Uci(opcode)),
                    _ => Err(format!("`{opcode}` has no moves; uci() takes {MOVE_OPCODES}")),
                }
            }
            other => Err(format!("unknown function `{other}`: there are uci(), op() and tag()")),
        }
    }

    /// The type of the values.
    pub fn kind(&self) -> Type {
        match self {
            Field::BuiltinField(named) => named.kind(),
            Field::WhiteScore | Field::WhiteEvaluation | Field::Column(..) => Type::Number,
            Field::Tag(name) | Field::TagOrOperation(name, _) => name.kind(),
            Field::Uci(_) => Type::Text,
            Field::Operation(opcode) => match opcode.standard().map(|entry| entry.operands) {
                None | Some(Operands::Any) => Type::Any,
                Some(Operands::None) => Type::Nothing,
                Some(Operands::Integer(..)) => Type::Number,
                Some(Operands::Move | Operands::MoveSet | Operands::MoveLine) => Type::Moves,
                Some(
                    Operands::Str { .. }
                    | Operands::TwoStrings
                    | Operands::Clocks
                    | Operands::Timestamp
                    | Operands::TagPairs
                    | Operands::Tally
                    | Operands::KeptGames
                    | Operands::Identifier(_),
                ) => Type::Text,
            },
        }
    }

    /// Whether the values are like those of `ce`, so that large ones are mates.
    pub(super) fn is_score(&self) -> bool {
        match self {
            Field::Operation(opcode) => {
                let is_further =
                    opcode.is_of_further_line() && opcode.as_bytes().starts_with(b"ce");
                *opcode == Opcode::CE || is_further
            }
            Field::BuiltinField(BuiltinField::Annotation(AnnotationField::Evaluation))
            | Field::WhiteScore
            | Field::WhiteEvaluation => true,
            _ => false,
        }
    }

    /// The texts that the field can have, if they are few.
    pub(super) fn words(&self) -> Vec<&'static str> {
        match self {
            Field::BuiltinField(BuiltinField::SideToMove) => vec!["w", "b"],
            Field::BuiltinField(BuiltinField::Speed) => Speed::ALL.map(Speed::name).into(),
            Field::Tag(name) | Field::TagOrOperation(name, _) if name.as_str() == "Result" => {
                let results = GameResult::ALL.iter().map(|result| result.as_str());
                results.chain([DOUBLE_FORFEIT]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value of the field in a record. Several operands of an opcode become one text with
    /// blanks. `hmvc` and `fmvn` are also found if they are fields of FEN.
    pub fn value<'a>(&self, subject: &EvalContext<'a>) -> Value<'a> {
        match self {
            Field::BuiltinField(named) => named.value(subject),
            Field::Tag(name) => name.value(&Tags::new(subject)),
            Field::TagOrOperation(name, opcode) => match name.value(&Tags::new(subject)) {
                Value::Missing => name.typed(operation(subject.record, *opcode)),
                value => value,
            },
            Field::WhiteScore => whites(subject.record.integer(Opcode::CE), subject.record),
            Field::WhiteEvaluation => whites(evaluation(subject).map(i128::from), subject.record),
            Field::Uci(opcode) => match subject.record.operands(*opcode) {
                Some(operands) => {
                    Value::Coordinates(coordinates(subject.record, *opcode, operands))
                }
                None => Value::Missing,
            },
            Field::Operation(opcode) => operation(subject.record, *opcode),
            Field::Column(_, column) => subject.row.get(*column).cloned().unwrap_or(Value::Missing),
        }
    }

    /// The value of the field for people: a tag whose text is not of its type has its text. In
    /// expressions, such a tag has no value.
    pub fn shown_value<'a>(&self, subject: &EvalContext<'a>) -> Value<'a> {
        match (self.value(subject), self) {
            (Value::Missing, Field::Tag(name) | Field::TagOrOperation(name, _)) => {
                let text = Tags::new(subject).get(name.as_str());
                text.map_or(Value::Missing, |text| Value::Text(Cow::Borrowed(text)))
            }
            (value, _) => value,
        }
    }

    /// Whether a record has a value for the field.
    pub fn is_in(&self, subject: &EvalContext<'_>) -> bool {
        match self {
            Field::Operation(opcode) if subject.record.operands(*opcode).is_some() => true,
            _ => self.value(subject) != Value::Missing,
        }
    }

    /// Whether all values are whole numbers.
    #[cfg(feature = "arrow")]
    pub(super) const fn is_whole(&self) -> bool {
        match self {
            Field::WhiteScore | Field::WhiteEvaluation => true,
            Field::BuiltinField(field) => matches!(
                field,
                BuiltinField::Pieces
                    | BuiltinField::LegalMoves
                    | BuiltinField::Balance
                    | BuiltinField::Repetition
                    | BuiltinField::Ply
                    | BuiltinField::Line
                    | BuiltinField::GameNumber
                    | BuiltinField::Year
                    | BuiltinField::Month
                    | BuiltinField::Day
                    | BuiltinField::Plies
                    | BuiltinField::Annotation(
                        AnnotationField::Evaluation | AnnotationField::EvaluationLoss
                    )
                    | BuiltinField::Tally(
                        TallyField::Reached
                            | TallyField::Games
                            | TallyField::White
                            | TallyField::Draws
                            | TallyField::Black
                    )
            ),
            _ => false,
        }
    }

    /// Advice about `ce` where no record had it.
    pub const CE_OF_GAMES: &'static str =
        ": in games it is `eval`, unless --game-evals (game_evals=True) makes it ce";

    /// Advice about a field that no record had: the meaning of the field, and the tag of a similar name.
    pub(super) fn advice(&self) -> String {
        if *self == Field::Operation(Opcode::CE) {
            return Field::CE_OF_GAMES.into();
        }
        let name = self.to_string();
        let known = BUILTIN_FIELDS.iter().find(|(known, ..)| *known == name);
        let meaning = known.map_or(String::new(), |(.., meaning)| format!(" ({meaning})"));
        let tag = WELL_KNOWN_TAGS.into_iter().find(|tag| tag.eq_ignore_ascii_case(&name));
        let meant = tag.filter(|tag| *tag != name).or_else(|| self.probably_meant());
        let meant = meant.map_or(String::new(), |meant| format!(": did you mean `{meant}`?"));
        format!("{meaning}{meant}")
    }

    /// The known opcode that the user probably meant by a private opcode.
    pub fn probably_meant(&self) -> Option<&'static str> {
        let Field::Operation(opcode) = self else { return None };
        let name = std::str::from_utf8(opcode.as_bytes()).ok()?;
        if opcode.standard().is_some() || is_written(opcode) {
            return None;
        }
        nearest(name, standard_opcodes().chain(WRITTEN))
    }

    /// The value of a date field for the file names of PGN archives: `YYYY` for a year, `YYYYMM`
    /// for a month, `YYYYMMDD` for a day; 0 replaces `?`. `None` for other fields.
    pub fn archive_name(&self, subject: &EvalContext<'_>) -> Option<String> {
        let tags = Tags::new(subject);
        let digits = |count| {
            let mut digits = Date::archive_digits(tags.date()?);
            digits.truncate(count);
            Some(digits)
        };
        match self {
            Field::BuiltinField(BuiltinField::Year) => digits(4),
            Field::BuiltinField(BuiltinField::Month) => digits(6),
            Field::BuiltinField(BuiltinField::Day) => digits(8),
            Field::Tag(name) | Field::TagOrOperation(name, _) if name.kind() == Type::Date => {
                let text = tags.text(name.as_str())?;
                Some(String::from_utf8_lossy(text).replace('?', "0"))
            }
            _ => None,
        }
    }

    /// True if the field is a tag or made from tags, a nonstandard opcode, `ce`, the column of a table or of a
    /// tally, so that only the user knows whether records have it.
    pub(super) fn is_private(&self) -> bool {
        match self {
            Field::Tag(_) | Field::TagOrOperation(..) => true,
            Field::BuiltinField(named) => {
                named.is_of_tags()
                    || matches!(named, BuiltinField::GameNumber | BuiltinField::Tally(_))
            }
            // Positions of games have `ce` on request only.
            Field::Operation(Opcode::CE) => true,
            Field::Operation(opcode) => opcode.standard().is_none() && *opcode != Opcode::ACD,
            Field::Uci(_) | Field::WhiteScore | Field::WhiteEvaluation | Field::Column(..) => false,
        }
    }

    /// Whether the value depends on the position and its counters alone.
    #[cfg(feature = "parquet")]
    pub(super) fn is_of_position(&self) -> bool {
        match self {
            Field::Operation(opcode) => [Opcode::HMVC, Opcode::FMVN].contains(opcode),
            Field::BuiltinField(field) => matches!(
                field,
                BuiltinField::Pieces
                    | BuiltinField::Material
                    | BuiltinField::SideToMove
                    | BuiltinField::LegalMoves
                    | BuiltinField::Balance
                    | BuiltinField::EnPassantLegal
                    | BuiltinField::EnPassant
                    | BuiltinField::Castling
                    | BuiltinField::Fen
                    | BuiltinField::Epd
                    | BuiltinField::Key
                    | BuiltinField::Check
                    | BuiltinField::Mate
                    | BuiltinField::Stalemate
                    | BuiltinField::Chess960
            ),
            _ => false,
        }
    }

    /// Whether the value depends on the place of a game in its source.
    pub(super) const fn is_of_place(&self) -> bool {
        matches!(self, Field::BuiltinField(BuiltinField::Line | BuiltinField::File))
    }

    /// Whether the value depends on the record, and not only on its game and its place.
    pub const fn is_of_record(&self) -> bool {
        match self {
            Field::Tag(_) => false,
            Field::BuiltinField(named) => {
                let is_of_game = matches!(
                    named,
                    BuiltinField::Line
                        | BuiltinField::File
                        | BuiltinField::Result
                        | BuiltinField::GameNumber
                        | BuiltinField::Plies
                );
                !is_of_game && !named.is_of_tags()
            }
            // Depends on the game only: a position of a game has no private opcodes.
            Field::TagOrOperation(..) => false,
            Field::Operation(_)
            | Field::Uci(_)
            | Field::WhiteScore
            | Field::WhiteEvaluation
            | Field::Column(..) => true,
        }
    }
}

impl std::fmt::Display for Field {
    /// The name that [`Field::parse`] parses.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Field::BuiltinField(named) => {
                let known = BUILTIN_FIELDS.iter().find(|(_, known, _)| known == named);
                f.write_str(known.map_or("", |(name, ..)| name))
            }
            Field::Operation(opcode) => opcode.fmt(f),
            Field::Tag(name) | Field::TagOrOperation(name, _) => f.write_str(name.as_str()),
            Field::Uci(opcode) => write!(f, "uci({opcode})"),
            Field::WhiteScore => f.write_str("ce:white"),
            Field::WhiteEvaluation => f.write_str("eval:white"),
            Field::Column(name, _) => f.write_str(name),
        }
    }
}

impl BuiltinField {
    /// Whether the value is made from tags of the game that not every game has.
    const fn is_of_tags(self) -> bool {
        matches!(
            self,
            BuiltinField::Year
                | BuiltinField::Month
                | BuiltinField::Day
                | BuiltinField::Speed
                | BuiltinField::EloMin
                | BuiltinField::EloAverage
        )
    }

    const fn kind(self) -> Type {
        match self {
            BuiltinField::Pieces
            | BuiltinField::LegalMoves
            | BuiltinField::Balance
            | BuiltinField::Repetition
            | BuiltinField::Ply
            | BuiltinField::Line
            | BuiltinField::Result
            | BuiltinField::GameNumber
            | BuiltinField::Year
            | BuiltinField::Month
            | BuiltinField::Day
            | BuiltinField::EloMin
            | BuiltinField::EloAverage
            | BuiltinField::Plies
            | BuiltinField::Annotation(_) => Type::Number,
            BuiltinField::Tally(field) if !field.is_text() => Type::Number,
            BuiltinField::Check
            | BuiltinField::EnPassantLegal
            | BuiltinField::Mate
            | BuiltinField::Stalemate
            | BuiltinField::Chess960 => Type::Flag,
            _ => Type::Text,
        }
    }

    fn value<'a>(self, subject: &EvalContext<'a>) -> Value<'a> {
        let record = subject.record;
        let position = record.position();
        let mut text = Vec::new();
        match self {
            BuiltinField::Pieces => {
                return Value::whole(position.board().occupied().count().into());
            }
            BuiltinField::Line => return Value::whole(subject.line.into()),
            BuiltinField::File => return Value::Text(Cow::Borrowed(subject.file.as_bytes())),
            BuiltinField::SideToMove => {
                let side: &[u8] = if position.turn() == Color::White { b"w" } else { b"b" };
                return Value::Text(Cow::Borrowed(side));
            }
            BuiltinField::LegalMoves => {
                return Playable::new(position).map_or(Value::Missing, |playable| {
                    Value::whole(ordinal::count(&playable).into())
                });
            }
            BuiltinField::Ply => {
                if let Some(ply) = subject.table_row.and_then(|row| row.ply) {
                    return Value::whole(ply.into());
                }
                let (_, fullmove_number) = record.counters();
                let fullmove_number = fullmove_number.filter(|number| *number > 0);
                return fullmove_number.map_or(Value::Missing, |number| {
                    let blacks = i128::from(position.turn() == Color::Black);
                    Value::whole(2 * (i128::from(number) - 1) + blacks)
                });
            }
            BuiltinField::Result => return result(subject).map_or(Value::Missing, Value::Number),
            BuiltinField::GameNumber => {
                let in_table = || subject.table_row.and_then(|row| row.game);
                return subject
                    .game_number
                    .or_else(in_table)
                    .map_or(Value::Missing, |number| Value::whole(number.into()));
            }
            BuiltinField::Year => return Tags::new(subject).part_of_date(Date::year),
            BuiltinField::Month => return Tags::new(subject).part_of_date(Date::month),
            BuiltinField::Day => return Tags::new(subject).part_of_date(Date::day),
            BuiltinField::Speed => return Tags::new(subject).speed(),
            BuiltinField::EloMin => return Tags::new(subject).lower_rating(),
            BuiltinField::EloAverage => return Tags::new(subject).mean_rating(),
            BuiltinField::Plies => {
                return subject.game.map_or(Value::Missing, |position| {
                    Value::whole(position.game().plies().count() as i128)
                });
            }
            BuiltinField::Balance => return Value::whole(balance(position.board()).into()),
            BuiltinField::Repetition => {
                let Some(position) = subject.game else { return Value::Missing };
                // Only moves of pieces, two of each side, lead back to a position.
                let is_new = record.counters().0.is_some_and(|clock| clock < 4);
                let count = if is_new { Some(1) } else { repetition(position) };
                return count.map_or(Value::Missing, |count| Value::whole(count.into()));
            }
            BuiltinField::EnPassantLegal => return Value::Flag(en_passant_is_legal(position)),
            BuiltinField::Check => return Value::Flag(is_in(record, |it| it.is_check())),
            BuiltinField::Mate => return Value::Flag(is_in(record, Playable::is_checkmate)),
            BuiltinField::Stalemate => {
                return Value::Flag(is_in(record, |it| !it.is_check() && !it.has_move()));
            }
            BuiltinField::Chess960 => return Value::Flag(position.is_chess960()),
            BuiltinField::Annotation(field) => return field.value(subject),
            BuiltinField::Tally(field) => return field.value(subject),
            BuiltinField::Material => text = material(position.board()),
            BuiltinField::EnPassant => match position.en_passant() {
                Some(square) => text.extend_from_slice(&square.to_ascii()),
                None => text.push(b'-'),
            },
            BuiltinField::Castling => {
                text.extend_from_slice(CastlingText::new(position, CastlingForm::XFen).as_bytes());
            }
            BuiltinField::Epd | BuiltinField::Fen => {
                let FormatOptions { castling, en_passant, .. } = subject.forms;
                let shredder =
                    castling == CastlingForm::Keep && record.dialect() == CastlingDialect::Shredder;
                let castling = if shredder { CastlingForm::Shredder } else { castling };
                fen::format_fields(position, castling, en_passant, &mut text);
                if self == BuiltinField::Fen {
                    let (halfmove_clock, fullmove_number) = record.counters();
                    let clock = halfmove_clock.unwrap_or(0);
                    let number = fullmove_number.unwrap_or(1);
                    text.extend_from_slice(format!(" {clock} {number}").as_bytes());
                }
            }
            BuiltinField::Record => _ = epd::format(record, &subject.forms, &mut text),
            BuiltinField::Key => return Value::Key(key::position_key(position)),
        }
        Value::text_of(text)
    }
}

/// The opcodes with move operands, as a list in text.
pub const MOVE_OPCODES: &str = "am, bm, pm, pv, sm and sv";

/// Parses the name of an opcode.
///
/// # Errors
/// The syntax of opcodes, as text.
pub fn parse_opcode(name: &str) -> Result<Opcode, String> {
    Opcode::new(name.as_bytes()).map_err(|_| {
        format!(
            "`{name}` is not an opcode: an opcode is a letter and up to 14 letters, digits and underscores"
        )
    })
}

/// Whether a name that begins with a capital letter is accepted: it is a common tag, or it
/// resembles no known name.
fn is_own_name(name: &str) -> bool {
    is_well_known_tag(name) || nearest_name(name).is_none()
}

/// Whether a name after a comparison operator is probably a text without its quotes.
pub(super) fn is_bare_text(name: &str) -> bool {
    match Field::parse(name) {
        Ok(Field::Tag(_) | Field::TagOrOperation(..)) => !is_well_known_tag(name),
        Ok(_) => false,
        Err(_) => !name.contains(':') && (name.len() < 4 || nearest_name(name).is_none()),
    }
}

fn unknown_field(name: &str, is_opcode: bool, is_tag: bool) -> String {
    let nearest = nearest_name(name);
    let is_opcode =
        is_opcode && nearest.is_some_and(|near| standard_opcodes().any(|it| it == near));
    let near = match nearest {
        Some(near) => format!("did you mean `{near}`?"),
        None if name.eq_ignore_ascii_case("player") => {
            "the players are `White` and `Black`; `epdb search --player NAME` finds a player with either side".into()
        }
        None => "`epdb help where` lists the fields".into(),
    };
    match (is_tag, is_opcode) {
        (true, true) => format!(
            "unknown field `{name}`: {near} (a tag of that name is `tag({name})`, an opcode \
             `op({name})`)"
        ),
        (true, false) => {
            format!("unknown field `{name}`: {near} (a tag of that name is `tag({name})`)")
        }
        (false, true) => {
            format!("unknown field `{name}`: {near} (an opcode of that name is `op({name})`)")
        }
        (false, false) => format!("unknown field `{name}`: {near}"),
    }
}

/// The known name that the user probably meant: a name with a small difference, a field or tag in another
/// letter case, or a name with the same letters in another order. Short names that begin with a capital
/// letter are excluded, because they are close to too many opcodes, and `BM` is itself a valid opcode.
fn nearest_name(name: &str) -> Option<&'static str> {
    let is_private = name.starts_with(|first: char| first.is_ascii_uppercase());
    // Files have private opcodes such as `Eval`.
    let may_be_meant =
        |field: &BuiltinField| !is_private || !matches!(field, BuiltinField::Annotation(_));
    let fields = BUILTIN_FIELDS.iter().filter(|(_, field, _)| may_be_meant(field));
    let fields = fields.map(|(known, ..)| *known);
    nearest(name, fields.chain(standard_opcodes()).chain(WELL_KNOWN_TAGS))
}

fn standard_opcodes() -> impl Iterator<Item = &'static str> {
    StandardOpcode::ALL.iter().filter_map(|it| std::str::from_utf8(it.opcode.as_bytes()).ok())
}

/// [`nearest_name`] among these names.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let is_private = name.starts_with(|first: char| first.is_ascii_uppercase());
    let max_distance = match name.len() {
        0..4 if is_private => 0,
        0..6 => 1,
        _ => 2,
    };
    let distance = |known: &str| edit_distance(name.as_bytes(), known.as_bytes());
    let is_near = |known: &str| {
        let is_field = BUILTIN_FIELDS.iter().any(|(field, ..)| *field == known);
        let is_tag = is_well_known_tag(known);
        let is_long = is_field || known.len() >= 4;
        distance(known) <= max_distance.min(known.len() / 2) && (is_long || !is_private)
            || (is_field || is_tag) && known.eq_ignore_ascii_case(name)
            || letters(known) == letters(name)
    };
    if name.len() > 2 * Opcode::MAX_LEN {
        return None;
    }
    let other_case = |known: &str| known.eq_ignore_ascii_case(name);
    known.filter(|known| is_near(known)).min_by_key(|known| (!other_case(known), distance(known)))
}

/// The letters of a name in alphabetical order.
fn letters(name: &str) -> Vec<u8> {
    let mut letters = name.as_bytes().to_vec();
    letters.sort_unstable();
    letters
}

/// The edit distance of two short texts. A swap of neighbouring letters counts as one edit.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

fn operand_value(opcode: Opcode, operands: &[Operand]) -> Value<'_> {
    match (Field::Operation(opcode).kind(), operands) {
        (Type::Nothing, _) => Value::Flag(true),
        (Type::Moves, moves) => Value::Moves(moves),
        (_, [Operand::Integer(value)]) => Value::whole(*value),
        (_, [Operand::Str(text)]) => Value::Text(Cow::Borrowed(text)),
        (_, [tally @ Operand::Tally(_)]) => Value::text_of(tally.text()),
        (Type::Any, [Operand::Token(text)]) => Value::Word(Cow::Borrowed(text)),
        (_, several) => Value::text_of(joined(several)),
    }
}

fn operation(record: &EpdRecord, opcode: Opcode) -> Value<'_> {
    let Some(operands) = record.operands(opcode) else {
        let counter = record.fen_counters().and_then(|counters| match opcode {
            Opcode::HMVC => Some(counters.halfmove_clock),
            Opcode::FMVN => Some(counters.fullmove_number),
            _ => None,
        });
        return counter.map_or(Value::Missing, |value| Value::whole(value.into()));
    };
    operand_value(opcode, operands)
}

/// A value of `ce` from the point of view of White.
fn whites(ce: Option<i128>, record: &EpdRecord) -> Value<'static> {
    let is_blacks = record.position().turn() == Color::Black;
    ce.map_or(Value::Missing, |ce| Value::whole(if is_blacks { -ce } else { ce }))
}

/// The moves of an opcode in coordinates; a text that is not a legal move stays as it is.
fn coordinates(record: &EpdRecord, opcode: Opcode, operands: &[Operand]) -> Vec<Vec<u8>> {
    let is_line = opcode.standard().is_some_and(|entry| entry.operands == Operands::MoveLine);
    let mut playable = Playable::new(record.position()).ok();
    let mut moves = Vec::with_capacity(operands.len());
    for operand in operands {
        match (operand, &playable) {
            (Operand::Move { mv, .. }, Some(before)) => {
                moves.push(san::uci(before, *mv).into_bytes());
                if is_line {
                    playable = Some(before.after(*mv));
                }
            }
            _ => moves.push(operand.text()),
        }
    }
    moves
}

fn is_in(record: &EpdRecord, holds: impl Fn(&Playable) -> bool) -> bool {
    Playable::new(record.position()).is_ok_and(|playable| holds(&playable))
}

/// Number of times that the main line of a game had a position so far; `None` if the position is of a variation.
fn repetition(game: GamePosition<'_>) -> Option<u32> {
    let place = game.place();
    let mut line = MainLine::new(game.game());
    let mut positions = vec![line.position().identity()];
    while line.place().place() != place {
        if !line.step() {
            return None;
        }
        positions.push(line.position().identity());
    }
    let last = positions.last()?;
    Some(positions.iter().filter(|it| *it == last).count() as u32)
}

/// The value of White's pieces minus that of Black's.
pub(super) fn balance(board: &Board) -> i64 {
    let count = |color, role| i64::from(board.pieces(color, role).count());
    Role::ALL
        .into_iter()
        .filter(|role| *role != Role::King)
        .map(|role| value_of(role) * (count(Color::White, role) - count(Color::Black, role)))
        .sum()
}

/// The value of a piece; that of a king is above all others.
pub(super) const fn value_of(role: Role) -> i64 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => i64::MAX,
    }
}

fn material(board: &Board) -> Vec<u8> {
    let mut pieces = Vec::with_capacity(32);
    for color in Color::ALL {
        for role in [Role::King, Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn] {
            let count = board.pieces(color, role).into_iter().count();
            pieces.extend(std::iter::repeat_n(Piece { color, role }.letter(), count));
        }
    }
    pieces
}

/// The points of White, from the game of a record, from the row of a table, or else from a result in the
/// record.
fn result(subject: &EvalContext<'_>) -> Option<Number> {
    let of_table = subject.table_row.and_then(|row| row.result);
    let result = match (subject.game, of_table) {
        (Some(position), _) => position.game().result().as_str(),
        (None, Some(result)) => result,
        (None, None) => subject.record.game_result()?.as_str(),
    };
    points(result.as_bytes())
}

/// The points of White for a result.
pub fn points(result: &[u8]) -> Option<Number> {
    match result {
        b"1-0" => Some(Number::Fraction(1.0)),
        b"1/2-1/2" => Some(Number::Fraction(0.5)),
        b"0-1" => Some(Number::Fraction(0.0)),
        _ => None,
    }
}

/// A value as JSON: numbers as numbers, flags as true and false, moves as arrays, missing values as
/// null, and everything else as a string. An unquoted operand of a non-standard opcode is a number
/// if it can be read as one. Invalid UTF-8 becomes replacement characters.
pub fn json_value(value: &Value<'_>) -> serde_json::Value {
    let text = |text: &[u8]| serde_json::Value::from(String::from_utf8_lossy(text).into_owned());
    match (value, value.number()) {
        (_, Some(Number::Whole(number))) => serde_json::Number::from_i128(number)
            .map_or_else(|| text(&value.text()), serde_json::Value::Number),
        (_, Some(Number::Fraction(number))) => number.into(),
        (Value::Missing, _) => serde_json::Value::Null,
        (Value::Flag(flag), _) => (*flag).into(),
        (Value::Moves(moves), _) => moves.iter().map(|mv| text(&mv.text())).collect(),
        (Value::Coordinates(moves), _) => moves.iter().map(|mv| text(mv)).collect(),
        (other, _) => text(&other.text()),
    }
}

/// The operands of an opcode as JSON; null if there is no such operation.
pub fn json_operands(opcode: Opcode, operands: Option<&[Operand]>) -> serde_json::Value {
    operands
        .map_or(serde_json::Value::Null, |operands| json_value(&operand_value(opcode, operands)))
}

/// The first operation of each opcode as JSON, by the name of the opcode.
///
/// ```
/// let record = epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke6; id \"A.1\"; ce 20;")?;
/// let object = epdb_library::field::json_operations(record.operations());
/// assert_eq!(serde_json::to_string(&object)?, r#"{"bm":["Ke6"],"ce":20,"id":"A.1"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn json_operations(operations: &[Operation]) -> BTreeMap<String, serde_json::Value> {
    let mut all = BTreeMap::new();
    for operation in operations {
        let value = || json_operands(operation.opcode, Some(&operation.operands));
        all.entry(operation.opcode.to_string()).or_insert_with(value);
    }
    all
}
