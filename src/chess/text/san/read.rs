//! Parser of moves.

use super::write::{file_set, play, rank_set};
use crate::model::rules::{BACK_RANKS, Move, Playable, role_attacks};
use crate::model::{Color, Role, San, Side, Square};
use crate::text::{Profile, codes};

/// A move that was parsed.
#[derive(Clone, Debug)]
pub struct SanRead {
    /// The move.
    pub mv: Move,
    /// The canonical text of the move, with check and mate marks.
    pub san: San,
    /// The annotation mark after the move, as a Numeric Annotation Glyph from 1 to 6.
    pub nag: Option<u8>,
    /// True if the text has a capture mark but the move captures nothing.
    pub false_capture: bool,
    /// The position after the move.
    pub after: Playable,
}

/// The error for a text that is not a legal move.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct MoveError {
    /// The stable code, `E-MOVE-…`.
    pub code: &'static str,
    /// The text that was found, and the text that was expected.
    pub message: &'static str,
}

pub(super) const SYNTAX: MoveError = MoveError {
    code: codes::E_MOVE_SYNTAX,
    message: "not the text of a move such as `e4`, `Nbd7`, `exd8=Q+` or `O-O`",
};
const ILLEGAL: MoveError =
    MoveError { code: codes::E_MOVE_ILLEGAL, message: "no legal move of this position" };
const AMBIGUOUS: MoveError = MoveError {
    code: codes::E_MOVE_AMBIG,
    message: "more than one legal move fits; add the file or rank it comes from",
};
pub(super) const NO_PIECE: MoveError = MoveError {
    code: codes::E_MOVE_PROMO,
    message: "the promotion piece is missing, as in `e8=Q`",
};
const NOT_CANONICAL: MoveError = MoveError {
    code: codes::E_MOVE_NONCANON,
    message: "a legal move, but not in its canonical form",
};

/// Maximum length of the text of a move with all marks.
const MAX_LEN: usize = 24;

/// Parses the text of a move.
///
/// `Strict` accepts the canonical text only. `Standard` also accepts other letter cases, marks and
/// notes. `Lenient` accepts long algebraic and coordinate notation too.
///
/// # Errors
/// [`MoveError`] if the text is not a move, if no legal move fits, or if several do.
///
/// ```
/// use epdb_chess::model::{Position, rules::Playable};
/// use epdb_chess::text::{Profile, san};
/// let start = Playable::new(&Position::START).expect("playable");
/// let read = san::parse(&start, b"ng1f3!?", Profile::Standard)?;
/// assert_eq!(read.san.as_bytes(), b"Nf3");
/// assert_eq!(read.nag, Some(5));
/// # Ok::<(), san::MoveError>(())
/// ```
pub fn parse(playable: &Playable, text: &[u8], profile: Profile) -> Result<SanRead, MoveError> {
    if profile == Profile::Strict {
        return read_strict(playable, text);
    }
    let found = find(playable, text, profile)?;
    let (san, after) = play(playable, found.mv);
    let Found { mv, nag, false_capture } = found;
    Ok(SanRead { mv, san, nag, false_capture, after })
}

/// A move that was found, without its canonical text.
#[derive(Debug)]
pub struct Found {
    pub mv: Move,
    pub nag: Option<u8>,
    pub(crate) false_capture: bool,
}

/// Finds the move of a text, for the profiles `Standard` and `Lenient`.
pub fn find(playable: &Playable, text: &[u8], profile: Profile) -> Result<Found, MoveError> {
    if text.is_empty() || text.len() > MAX_LEN {
        return Err(SYNTAX);
    }
    let latin = Latin::new(text);
    let (text, nag) = strip_annotation(latin.as_bytes())?;
    let text = strip_marks(text);
    if matches!(text.last(), Some(b'!' | b'?')) {
        return Err(SYNTAX);
    }
    let (mv, false_capture) = match castling_side(text) {
        Some(side) => (castle(playable, side).ok_or(ILLEGAL)?, false),
        None => find_move(playable, text, profile)?,
    };
    Ok(Found { mv, nag, false_capture })
}

fn read_strict(playable: &Playable, text: &[u8]) -> Result<SanRead, MoveError> {
    if !is_canonical_form(text) {
        return Err(SYNTAX);
    }
    let read = parse(playable, text, Profile::Standard)?;
    if read.san.as_bytes() == text { Ok(read) } else { Err(NOT_CANONICAL) }
}

/// True if a text has the form of canonical SAN. It need not be a legal move in any position.
fn is_canonical_form(text: &[u8]) -> bool {
    let unmarked = match text {
        [rest @ .., b'+' | b'#'] => rest,
        _ => text,
    };
    let (body, promotes) = match unmarked {
        [rest @ .., b'=', b'N' | b'B' | b'R' | b'Q'] => (rest, true),
        _ => (unmarked, false),
    };
    let is_file = |byte: &u8| (b'a'..=b'h').contains(byte);
    let is_rank = |byte: &u8| (b'1'..=b'8').contains(byte);
    let [prefix @ .., file, rank] = body else { return false };
    if is_file(file) && is_rank(rank) {
        let from = prefix.strip_suffix(b"x").unwrap_or(prefix);
        let captures = from.len() < prefix.len();
        return match from {
            [] => !captures,
            [file] if is_file(file) => captures,
            [b'N' | b'B' | b'R' | b'Q' | b'K', from @ ..] if !promotes => match from {
                [] => true,
                [one] => is_file(one) || is_rank(one),
                [file, rank] => is_file(file) && is_rank(rank),
                _ => false,
            },
            _ => false,
        };
    }
    !promotes && matches!(body, b"O-O" | b"O-O-O")
}

/// The text of a move with piece letters in place of figurines.
struct Latin {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl Latin {
    fn new(text: &[u8]) -> Latin {
        let mut latin = Latin { bytes: [0; MAX_LEN], len: 0 };
        let mut rest = text;
        while let [first, behind @ ..] = rest {
            let (byte, behind) = match rest {
                [0xe2, 0x99, figure @ 0x94..=0x9f, behind @ ..] => {
                    (b"KQRBNP"[usize::from(figure - 0x94) % 6], behind)
                }
                _ => (*first, behind),
            };
            if let Some(place) = latin.bytes.get_mut(latin.len) {
                *place = byte;
                latin.len += 1;
            }
            rest = behind;
        }
        latin
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Splits one of the six annotation marks from the end. Returns the rest and the mark's NAG.
pub(super) fn strip_annotation(text: &[u8]) -> Result<(&[u8], Option<u8>), MoveError> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'!' | b'?')).map_or(0, |last| last + 1);
    let (body, marks) = text.split_at(end);
    let nag = match marks {
        b"" => None,
        b"!" => Some(1),
        b"?" => Some(2),
        b"!!" => Some(3),
        b"??" => Some(4),
        b"!?" => Some(5),
        b"?!" => Some(6),
        _ => return Err(SYNTAX),
    };
    Ok((body, nag))
}

/// Removes check and mate marks and the note of en passant.
pub(super) fn strip_marks(text: &[u8]) -> &[u8] {
    let end_of_move = |text: &[u8]| {
        text.iter().rposition(|byte| !matches!(byte, b'+' | b'#')).map_or(0, |last| last + 1)
    };
    let unmarked = &text[..end_of_move(text)];
    match unmarked.strip_suffix(b"e.p.").or_else(|| unmarked.strip_suffix(b"ep")) {
        Some(before) => {
            let before = before.strip_suffix(b"/").unwrap_or(before);
            &before[..end_of_move(before)]
        }
        None => unmarked,
    }
}

pub(super) fn castling_side(text: &[u8]) -> Option<Side> {
    let is_o = |byte: &u8| matches!(byte, b'O' | b'o' | b'0');
    match text {
        [a, b'-', b] if is_o(a) && is_o(b) => Some(Side::King),
        [a, b'-', b, b'-', c] if is_o(a) && is_o(b) && is_o(c) => Some(Side::Queen),
        _ => None,
    }
}

fn castle(playable: &Playable, side: Side) -> Option<Move> {
    let to = playable.castling(side)?;
    Some(Move { from: playable.king(), to, promotion: None })
}

/// The parts of the text of a move, except castling.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Pattern {
    /// `None` if there is no piece letter. The text is then a pawn move; in coordinate notation, it
    /// may be a move of any piece.
    pub(super) role: Option<Role>,
    pub(super) from_file: Option<u8>,
    pub(super) from_rank: Option<u8>,
    pub(super) to: Square,
    pub(super) promotion: Option<Role>,
    pub(super) captures: bool,
    /// True if a hyphen joins the squares, as in long algebraic notation.
    pub(super) hyphen: bool,
}

/// Finds the move of a text, and whether the text has a false capture mark. A first letter `b` is
/// tried as a file, then as a bishop. A first letter `B` is tried as a bishop, then as a file.
fn find_move(
    playable: &Playable,
    text: &[u8],
    profile: Profile,
) -> Result<(Move, bool), MoveError> {
    let (first, second) = match text.first() {
        Some(b'B') => (Leading::Piece, Some(Leading::File)),
        Some(b'b') => (Leading::File, Some(Leading::Piece)),
        _ => (Leading::Any, None),
    };
    let attempt = |leading| {
        let pattern = Pattern::read(text, leading).ok_or(SYNTAX)?;
        pattern.find(playable, profile)
    };
    let found = attempt(first);
    match (&found, second) {
        (Err(error), Some(second)) if error.code != codes::E_MOVE_AMBIG => match attempt(second) {
            Err(other) if error.code != codes::E_MOVE_SYNTAX || other == SYNTAX => found,
            other => other,
        },
        _ => found,
    }
}

/// The meaning of a first letter `b` or `B`: a bishop or a file. `Any` is for other letters.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Leading {
    Piece,
    File,
    Any,
}

impl Pattern {
    /// Reads `[piece][file][rank][x|:|-]square[promotion]`.
    pub(super) fn read(text: &[u8], leading: Leading) -> Option<Pattern> {
        let (body, promotion) = split_promotion(text)?;
        let [prefix @ .., file, rank] = body else { return None };
        let to = Square::at(file_of(*file)?, rank_of(*rank)?);
        let (prefix, captures, hyphen) = match prefix {
            [rest @ .., b'x' | b'X' | b':'] => (rest, true, false),
            [rest @ .., b'-'] => (rest, false, true),
            _ => (prefix, false, false),
        };
        let letter = |byte: &u8| Role::from_letter(byte.to_ascii_uppercase());
        let (role, from) = match prefix {
            [first, rest @ ..] if leading != Leading::File && letter(first).is_some() => {
                (letter(first), rest)
            }
            _ if leading == Leading::Piece => return None,
            _ => (None, prefix),
        };
        let (from_file, from_rank) = match from {
            [] => (None, None),
            [one] => (file_of(*one), rank_of(*one)),
            [file, rank] => (Some(file_of(*file)?), Some(rank_of(*rank)?)),
            _ => return None,
        };
        if from.len() == 1 && from_file.is_none() && from_rank.is_none() {
            return None;
        }
        Some(Pattern { role, from_file, from_rank, to, promotion, captures, hyphen })
    }

    fn find(&self, playable: &Playable, profile: Profile) -> Result<(Move, bool), MoveError> {
        if self.hyphen && (profile != Profile::Lenient || self.origin().is_none()) {
            return Err(SYNTAX);
        }
        match self.role {
            Some(Role::Pawn) | None => self.find_unlettered(playable, profile),
            Some(role) => self.find_piece(playable, role),
        }
    }

    pub(super) fn origin(&self) -> Option<Square> {
        Some(Square::at(self.from_file?, self.from_rank?))
    }

    /// Finds a pawn move or, in coordinate notation, the move of the piece on the first square.
    fn find_unlettered(
        &self,
        playable: &Playable,
        profile: Profile,
    ) -> Result<(Move, bool), MoveError> {
        if self.from_rank.is_some() && profile != Profile::Lenient {
            return Err(SYNTAX);
        }
        // In the lenient profile, two squares without a letter are coordinate notation.
        if profile == Profile::Lenient
            && self.role.is_none()
            && let Some(from) = self.origin()
        {
            let position = playable.position();
            let board = position.board();
            match board.role_at(from) {
                Some(role) if board.color(position.turn()).contains(from) => {
                    if role != Role::Pawn {
                        return self.find_piece(playable, role);
                    }
                }
                _ => return Err(ILLEGAL),
            }
        }
        self.find_pawn(playable)
    }

    fn find_pawn(&self, playable: &Playable) -> Result<(Move, bool), MoveError> {
        let position = playable.position();
        let us = position.turn();
        let steps = self.from_file.is_none_or(|file| file == self.to.file());
        if self.from_rank.is_none() && self.from_file.is_some() && steps {
            return Err(ILLEGAL);
        }
        if self.captures && self.from_file.is_none() {
            return Err(SYNTAX);
        }
        let from_file = self.from_file.unwrap_or(self.to.file());
        let behind = match us {
            Color::White => (1 << (8 * self.to.rank())) - 1,
            Color::Black => !rank_set(self.to) & (!0 << (8 * self.to.rank())),
        };
        let pawns = position.board().pieces(us, Role::Pawn).bits()
            & file_set(Square::at(from_file, 0))
            & self.from_rank.map_or(behind, |rank| rank_set(Square::at(0, rank)));
        let mut fits = Square::each(pawns).filter(|&from| {
            playable.destinations(from, Role::Pawn).contains(self.to)
                || playable.is_en_passant(Move { from, to: self.to, promotion: None })
        });
        let from = fits.next().ok_or(ILLEGAL)?;
        let is_promotion = self.to.bit() & BACK_RANKS != 0;
        if is_promotion && self.promotion.is_none() {
            return Err(NO_PIECE);
        }
        if !is_promotion && self.promotion.is_some() {
            return Err(SYNTAX);
        }
        let mv = Move { from, to: self.to, promotion: self.promotion };
        Ok((mv, self.captures && !playable.is_capture(mv)))
    }

    fn find_piece(&self, playable: &Playable, role: Role) -> Result<(Move, bool), MoveError> {
        if self.promotion.is_some() {
            return Err(SYNTAX);
        }
        let position = playable.position();
        let board = position.board();
        let candidates = board.pieces(position.turn(), role).bits()
            & role_attacks(role, self.to, board.occupied().bits())
            & self.from_file.map_or(!0, |file| file_set(Square::at(file, 0)))
            & self.from_rank.map_or(!0, |rank| rank_set(Square::at(0, rank)));
        let mut fits = Square::each(candidates)
            .filter(|&from| playable.destinations(from, role).contains(self.to));
        let Some(from) = fits.next() else {
            return self.castle_by_squares(playable, role).ok_or(ILLEGAL);
        };
        if fits.next().is_some() {
            return Err(AMBIGUOUS);
        }
        let mv = Move { from, to: self.to, promotion: None };
        Ok((mv, self.captures && !playable.is_capture(mv)))
    }

    /// Finds castling that is written with squares: `e1g1`, or `e1h1` if the king takes its rook.
    /// The text must name the square of the king in full, so `Kg1` is never castling.
    fn castle_by_squares(&self, playable: &Playable, role: Role) -> Option<(Move, bool)> {
        let king = playable.king();
        let has_two_squares = self.role.is_none() || self.hyphen;
        if role != Role::King || !has_two_squares || self.origin() != Some(king) {
            return None;
        }
        let mv = Side::ALL.into_iter().find_map(|side| {
            let castles = castle(playable, side)?;
            let (target, _) = side.targets(playable.position().turn());
            let is_classic = self.to == target && king.file() == 4;
            (is_classic || self.to == castles.to).then_some(castles)
        })?;
        Some((mv, false))
    }
}

/// Splits the piece of a promotion from `e8=Q`, `e8Q`, `e8(Q)`, `e8/Q`. `None` if a pawn cannot
/// become this piece.
fn split_promotion(text: &[u8]) -> Option<(&[u8], Option<Role>)> {
    let (body, letter) = match text {
        [body @ .., b'(', letter, b')'] => (body, letter),
        [body @ .., b'=' | b'/', letter] => (body, letter),
        [.., b'1'..=b'8'] => return Some((text, None)),
        [body @ .., letter] => (body, letter),
        [] => return None,
    };
    let role = Role::from_letter(letter.to_ascii_uppercase())
        .filter(|role| !matches!(role, Role::Pawn | Role::King))?;
    Some((body, Some(role)))
}

fn file_of(byte: u8) -> Option<u8> {
    byte.to_ascii_lowercase().checked_sub(b'a').filter(|file| *file < 8)
}

fn rank_of(byte: u8) -> Option<u8> {
    byte.checked_sub(b'1').filter(|rank| *rank < 8)
}
