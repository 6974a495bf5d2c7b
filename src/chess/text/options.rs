//! Settings of parsers and writers of text.

use super::charset::Charset;

/// The tolerance of a parser. Each profile accepts everything that the previous profile accepts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Profile {
    /// Only canonical text is accepted.
    Strict,
    /// All text that the standards allow is accepted.
    Standard,
    /// Files are accepted as they are found in practice; each repair is reported as a warning.
    #[default]
    Lenient,
}

/// The point of view of scores in labelled training files.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScoreView {
    /// White's point of view.
    White,
    /// The point of view of the side to move.
    Mover,
}

/// The treatment of mate targets such as `bm #5`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum MateTargets {
    /// Mate targets stay as they are.
    #[default]
    Keep,
    /// Mate targets become a `dm` operation.
    Dm,
    /// Mate targets become a `ce` operation.
    Ce,
}

/// Settings of the parser of EPD and FEN lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParseOptions {
    /// The faults that are accepted and repaired.
    pub profile: Profile,
    /// Reads by the EPD standard of 1994. It lacks the six opcodes that were added in 1995, so they
    /// are unknown opcodes. In it, `ce -32767` marks an illegal position.
    pub revision_1994: bool,
    /// Accepts the labels of training files, as in `FEN [0.5]` and `FEN | 23 | 0.5`: results become
    /// `c9`, scores become `ce`.
    pub labels: bool,
    /// The point of view of labelled scores. If it is `None`, a line with a labelled score is
    /// rejected.
    pub score_view: Option<ScoreView>,
    /// Accepts perft counts in forms other than `;D1 20`, and reads them as `D1` … `Dn`.
    pub perft: bool,
    /// The treatment of mate targets.
    pub mates: MateTargets,
    /// Keeps moves after a position, as in `startpos moves e2e4`. If true, the record has the
    /// position before the moves, and the moves as `pv`. Otherwise the record has the position after
    /// the moves.
    pub keep_moves: bool,
    /// Accepts moves in descriptive notation (`N-KB3`, `PxP e.p.`) and in numeric notation
    /// (`5254`), in the lenient profile only. Exactly one legal move must fit.
    pub repair_moves: bool,
    /// The character set of strings in the lenient profile; `None` if each text tells it. If it is
    /// not Latin-1, each string is read as UTF-8, or as Windows-1252 if it is not valid UTF-8.
    pub charset: Option<Charset>,
}

/// A setting that would accept a rejected line or game.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Setting {
    /// The setting [`ParseOptions::labels`].
    Labels,
    /// The setting [`ParseOptions::score_view`].
    ScoreView,
    /// The setting [`ParseOptions::perft`].
    Perft,
    /// The maximum number of bytes of a game.
    GameLimit,
}

impl ParseOptions {
    /// The default settings of a profile.
    pub fn new(profile: Profile) -> ParseOptions {
        ParseOptions { profile, ..ParseOptions::default() }
    }
}

/// The fields and operations of written lines.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Format {
    /// Four fields and operations. Counters stay fields or operations as in the record.
    #[default]
    Epd,
    /// Six fields, no operations.
    Fen,
    /// Six fields, then the operations.
    FenOps,
}

/// The form of written counters.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum CounterForm {
    /// The form of the record: fields or operations.
    #[default]
    Keep,
    /// Counters are written as the operations `hmvc` and `fmvn`.
    Ops,
    /// Counters are written as fields 5 and 6.
    Fen,
    /// Counters are not written.
    Drop,
}

/// The letters of written castling rights.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum CastlingForm {
    /// `KQkq` for the outermost rooks, file letters for inner rooks.
    #[default]
    XFen,
    /// The file letters of the rooks.
    Shredder,
    /// The letters that the record had.
    Keep,
}

/// The en passant squares that are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum EnPassantForm {
    /// Every square that the record has.
    #[default]
    Keep,
    /// Squares with a legal capture (X-FEN).
    Legal,
    /// Squares next to an enemy pawn, even if pins or checks forbid the capture (Polyglot).
    Pseudo,
}

/// A program that accepts less than the standard allows.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Compat {
    /// No such program is to read the lines.
    #[default]
    None,
    /// python-chess (`Board.from_epd`). Counters become operations. Operands that python-chess
    /// cannot read become one string.
    PythonChess,
}

/// Settings of the writer of records. The default is the canonical form.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct FormatOptions {
    /// The fields and operations that are written.
    pub format: Format,
    /// The form of the counters.
    pub counters: CounterForm,
    /// The letters of castling rights.
    pub castling: CastlingForm,
    /// The en passant squares that are written.
    pub en_passant: EnPassantForm,
    /// The program that reads the lines.
    pub compat: Compat,
}

impl FormatOptions {
    /// True if these options give lines in canonical form. Counters may be fields or operations.
    pub fn has_canonical_operations(self) -> bool {
        let is_form = matches!(self.counters, CounterForm::Keep | CounterForm::Ops);
        is_form && self == FormatOptions { counters: self.counters, ..FormatOptions::default() }
    }
}
