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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseOptions {
    /// The faults that are accepted and repaired.
    pub profile: Profile,
    /// Reads by the standard of 1994.
    pub revision_1994: bool,
    /// Accepts labels of training files.
    pub labels: bool,
    /// The point of view of labelled scores.
    pub score_view: Option<ScoreView>,
    /// Accepts perft counts in every form.
    pub perft: bool,
    /// The treatment of mate targets.
    pub mates: MateTargets,
    /// Keeps moves after a position.
    pub keep_moves: bool,
    /// Repairs moves that cannot be played as they stand.
    pub repair_moves: bool,
    /// The character set; `None` if each text tells it.
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
    pub const fn new(profile: Profile) -> ParseOptions {
        ParseOptions {
            profile,
            revision_1994: false,
            labels: false,
            score_view: None,
            perft: false,
            mates: MateTargets::Keep,
            keep_moves: false,
            repair_moves: false,
            charset: None,
        }
    }

    /// Whether to read by the EPD standard of 1994. The standard of 1994 lacks the six opcodes that
    /// were added in 1995, so they are unknown opcodes. In it, `ce -32767` marks an illegal
    /// position.
    #[must_use]
    pub const fn revision_1994(mut self, revision_1994: bool) -> ParseOptions {
        self.revision_1994 = revision_1994;
        self
    }

    /// Accepts the labels of training files, as in `FEN [0.5]` and `FEN | 23 | 0.5`: results become
    /// `c9`, scores become `ce`.
    #[must_use]
    pub const fn labels(mut self, labels: bool) -> ParseOptions {
        self.labels = labels;
        self
    }

    /// Sets the point of view of labelled scores. If it is `None`, a line with a labelled score is
    /// rejected.
    #[must_use]
    pub const fn score_view(mut self, score_view: Option<ScoreView>) -> ParseOptions {
        self.score_view = score_view;
        self
    }

    /// Accepts perft counts in forms other than `;D1 20`, and reads them as `D1` … `Dn`.
    #[must_use]
    pub const fn perft(mut self, perft: bool) -> ParseOptions {
        self.perft = perft;
        self
    }

    /// Sets the treatment of mate targets.
    #[must_use]
    pub const fn mates(mut self, mates: MateTargets) -> ParseOptions {
        self.mates = mates;
        self
    }

    /// Whether to keep moves after a position, as in `startpos moves e2e4`. If true, the record has
    /// the position before the moves, and the moves as `pv`. By default the record has the position
    /// after the moves.
    #[must_use]
    pub const fn keep_moves(mut self, keep_moves: bool) -> ParseOptions {
        self.keep_moves = keep_moves;
        self
    }

    /// Accepts moves in descriptive notation (`N-KB3`, `PxP e.p.`) and in numeric notation
    /// (`5254`), in the lenient profile only. Exactly one legal move must fit.
    #[must_use]
    pub const fn repair_moves(mut self, repair_moves: bool) -> ParseOptions {
        self.repair_moves = repair_moves;
        self
    }

    /// Sets the character set of strings in the lenient profile. If it is not Latin-1, each string
    /// is read as UTF-8, or as Windows-1252 if it is not valid UTF-8.
    #[must_use]
    pub const fn charset(mut self, charset: Option<Charset>) -> ParseOptions {
        self.charset = charset;
        self
    }
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions::new(Profile::Lenient)
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
    /// EPD or FEN.
    pub format: Format,
    /// The form of the counters.
    pub counters: CounterForm,
    /// The form of castling rights.
    pub castling: CastlingForm,
    /// The en passant squares that are written.
    pub en_passant: EnPassantForm,
    /// The program that is to read the text.
    pub compat: Compat,
}

impl FormatOptions {
    /// The default settings: the canonical form.
    pub fn new() -> FormatOptions {
        FormatOptions::default()
    }

    /// Sets the fields and operations that are written.
    #[must_use]
    pub const fn format(mut self, format: Format) -> FormatOptions {
        self.format = format;
        self
    }

    /// Sets the form of the counters.
    #[must_use]
    pub const fn counters(mut self, counters: CounterForm) -> FormatOptions {
        self.counters = counters;
        self
    }

    /// Sets the letters of castling rights.
    #[must_use]
    pub const fn castling(mut self, castling: CastlingForm) -> FormatOptions {
        self.castling = castling;
        self
    }

    /// Sets the en passant squares that are written.
    #[must_use]
    pub const fn en_passant(mut self, en_passant: EnPassantForm) -> FormatOptions {
        self.en_passant = en_passant;
        self
    }

    /// True if these options give lines in canonical form. Counters may be fields or operations.
    pub fn has_canonical_operations(self) -> bool {
        let is_form = matches!(self.counters, CounterForm::Keep | CounterForm::Ops);
        is_form && self.counters(CounterForm::Keep) == FormatOptions::default()
    }

    /// Sets the program that reads the lines.
    #[must_use]
    pub const fn compat(mut self, compat: Compat) -> FormatOptions {
        self.compat = compat;
        self
    }
}
