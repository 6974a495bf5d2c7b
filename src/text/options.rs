//! How text is read and written.

use super::charset::Charset;

/// How much a reader takes, each profile a superset of the one before.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Profile {
    /// Only the exact canonical text.
    Strict,
    /// What the standards allow a careful reader.
    Standard,
    /// Files as they are found; each repair is a warning.
    #[default]
    Lenient,
}

/// From whose side the scores of labelled training files are seen.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScoreView {
    /// White's.
    White,
    /// The side to move's.
    Mover,
}

/// What `bm #5` becomes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum MateTargets {
    /// Stays as it is written.
    #[default]
    Keep,
    /// A `dm` operation.
    Dm,
    /// A `ce` operation.
    Ce,
}

/// What a reader of EPD and FEN lines takes and makes of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseOptions {
    pub(crate) profile: Profile,
    pub(crate) revision_1994: bool,
    pub(crate) labels: bool,
    pub(crate) score_view: Option<ScoreView>,
    pub(crate) perft: bool,
    pub(crate) mates: MateTargets,
    pub(crate) keep_moves: bool,
    pub(crate) repair_moves: bool,
    pub(crate) charset: Option<Charset>,
}

/// A setting without which a line or a game is rejected.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Setting {
    /// [`ParseOptions::labels`].
    Labels,
    /// [`ParseOptions::score_view`].
    ScoreView,
    /// [`ParseOptions::perft`].
    Perft,
    /// The most bytes that a game may have.
    GameLimit,
}

impl ParseOptions {
    /// The options of a profile, everything else as it is by default.
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

    /// Read the six opcodes of 1995 as unknown ones, and `ce -32767` as an illegal position.
    #[must_use]
    pub const fn revision_1994(mut self, revision_1994: bool) -> ParseOptions {
        self.revision_1994 = revision_1994;
        self
    }

    /// Take `FEN [0.5]` and `FEN | 23 | 0.5`: results become `c9`, scores `ce`.
    #[must_use]
    pub const fn labels(mut self, labels: bool) -> ParseOptions {
        self.labels = labels;
        self
    }

    /// From whose side labelled scores are seen; without it a line with a score is rejected.
    #[must_use]
    pub const fn score_view(mut self, score_view: Option<ScoreView>) -> ParseOptions {
        self.score_view = score_view;
        self
    }

    /// Take perft counts in other dialects than `;D1 20` and read them as `D1` … `Dn`.
    #[must_use]
    pub const fn perft(mut self, perft: bool) -> ParseOptions {
        self.perft = perft;
        self
    }

    /// What becomes of mate targets.
    #[must_use]
    pub const fn mates(mut self, mates: MateTargets) -> ParseOptions {
        self.mates = mates;
        self
    }

    /// Of a position with moves behind it, `startpos moves e2e4`, take the position before the
    /// moves and keep these as `pv`; otherwise the record is that of the position after them.
    #[must_use]
    pub const fn keep_moves(mut self, keep_moves: bool) -> ParseOptions {
        self.keep_moves = keep_moves;
        self
    }

    /// Take moves in descriptive notation (`N-KB3`, `PxP e.p.`) and in numeric notation (`5254`)
    /// where exactly one legal move fits (lenient only).
    #[must_use]
    pub const fn repair_moves(mut self, repair_moves: bool) -> ParseOptions {
        self.repair_moves = repair_moves;
        self
    }

    /// The character set of strings. When Latin-1 is not declared, each string is read as UTF-8 if it is
    /// that, and as Windows-1252 if not (lenient only).
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

/// Which fields and operations are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Format {
    /// Four fields and operations; counters as they are kept in the record.
    #[default]
    Epd,
    /// Six fields, no operations.
    Fen,
    /// Six fields, then the operations.
    FenOps,
}

/// In which form counters are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum CounterForm {
    /// As the record has them.
    #[default]
    Keep,
    /// As `hmvc` and `fmvn`.
    Ops,
    /// As fields 5 and 6.
    Fen,
    /// Not at all.
    Drop,
}

/// In which letters castling rights are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum CastlingForm {
    /// `KQkq`, file letters only for inner rooks.
    #[default]
    XFen,
    /// The files of the rooks.
    Shredder,
    /// As the record was written.
    Keep,
}

/// Which en passant squares are written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum EnPassantForm {
    /// As given.
    #[default]
    Keep,
    /// Only where a legal capture exists (X-FEN).
    Legal,
    /// Only where an enemy pawn stands ready, pins and checks aside (Polyglot).
    Pseudo,
}

/// For whom text is written that takes less than the standard allows.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Compat {
    /// Nobody.
    #[default]
    None,
    /// python-chess (`Board.from_epd`): counters are operations, and operands that it cannot read
    /// are one string.
    PythonChess,
}

/// How records become text. The default is the canonical form.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct FormatOptions {
    pub(crate) format: Format,
    pub(crate) counters: CounterForm,
    pub(crate) castling: CastlingForm,
    pub(crate) en_passant: EnPassantForm,
    pub(crate) compat: Compat,
}

impl FormatOptions {
    /// The default, the canonical form.
    pub fn new() -> FormatOptions {
        FormatOptions::default()
    }

    /// Which fields and operations.
    #[must_use]
    pub const fn format(mut self, format: Format) -> FormatOptions {
        self.format = format;
        self
    }

    /// The counters.
    #[must_use]
    pub const fn counters(mut self, counters: CounterForm) -> FormatOptions {
        self.counters = counters;
        self
    }

    /// The castling field.
    #[must_use]
    pub const fn castling(mut self, castling: CastlingForm) -> FormatOptions {
        self.castling = castling;
        self
    }

    /// The en passant field.
    #[must_use]
    pub const fn en_passant(mut self, en_passant: EnPassantForm) -> FormatOptions {
        self.en_passant = en_passant;
        self
    }

    /// Whether lines are in canonical form but for counters that stand as fields: they may be
    /// operations.
    pub fn has_canonical_operations(self) -> bool {
        let is_form = matches!(self.counters, CounterForm::Keep | CounterForm::Ops);
        is_form && self.counters(CounterForm::Keep) == FormatOptions::default()
    }

    /// For whom.
    #[must_use]
    pub const fn compat(mut self, compat: Compat) -> FormatOptions {
        self.compat = compat;
        self
    }
}
