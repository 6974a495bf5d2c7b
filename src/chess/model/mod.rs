//! Values and their invariants: positions, moves, EPD records, games. No bytes, no text, no I/O.
//!
//! The rules of chess are in [`rules`], the rules of merging two records in [`merge`].

pub mod answer;
mod board;
mod game;
mod kept_games;
pub mod merge;
mod opcode;
mod position;
mod record;
pub mod registers;
pub mod rules;
mod san;
pub mod score;
mod square;
mod tally;
mod typed;

pub use board::Board;
pub use game::is_well_known_tag;
pub use game::{
    BuildError, DOUBLE_FORFEIT, Element, Elements, Game, GameBuilder, GameNode, GameResult,
    GameResultError, MAX_TAGS, MAX_VARIATION_DEPTH, Replay, SEVEN_TAG_ROSTER, Start, is_tag_name,
};
pub use game::{UNKNOWN_TAG_VALUES, WELL_KNOWN_TAGS};
pub(crate) use game::{is_tag_name_byte, without_signs};
pub use kept_games::{GameDate, GameId, GameIdError, KeptGame, KeptGames, MAX_KEPT_GAMES};
pub use opcode::{Opcode, OpcodeError, Operands, StandardOpcode};
pub(crate) use position::is_outermost;
pub use position::{
    Castling, Position, PositionError, Setup, Side, en_passant_rank, may_hold_right,
};
pub use record::{CastlingDialect, Counters, EpdRecord, Operand, Operation};
pub use san::{San, SanError};
pub use square::{Bitboard, Color, Piece, Role, Square, SquareError, Squares};
pub use tally::MAX_RATING;
pub use tally::Speed;
pub use tally::{Cell, GameCounts, MAX_GAMES, MoveTally, Ratings, Tally, TallyOverflow, TallyPart};
pub use typed::TypedOperand;
