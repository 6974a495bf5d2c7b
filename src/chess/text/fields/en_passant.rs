//! Field 4, the en passant square: the parser, and the rule for writing the square.

use crate::model::rules::{en_passant_is_legal, pawn_attacks};
use crate::model::{Color, Position, Role, Square, en_passant_rank};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::{EnPassantForm, Profile};
use crate::text::scan::Word;

pub(super) fn read(
    word: Word,
    turn: Color,
    profile: Profile,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Square>, Diagnostic> {
    if matches!(word.text, b"-" | b"nil") {
        return Ok(None);
    }
    let rank = en_passant_rank(turn) + 1;
    let Some(square) = Square::from_ascii(word.text) else {
        let lower = word.text.to_ascii_lowercase();
        let hint = match Square::from_ascii(&lower) {
            Some(square) => format!("did you mean `{square}`?"),
            None => "is a field missing?".into(),
        };
        let message = format!(
            "the en passant field must be `-` or a square of rank {rank}, not {}; {hint}",
            shown(word.text)
        );
        return Err(Diagnostic::error(codes::E_FEN_EP, word.column(), message));
    };
    if square.rank() == en_passant_rank(turn) {
        return Ok(Some(square));
    }
    if profile == Profile::Lenient {
        warnings.push(dropped_square(word, &format!("it is not on rank {rank}")));
        return Ok(None);
    }
    let message = format!("the en passant square must be on rank {rank}, not {square}");
    Err(Diagnostic::error(codes::E_FEN_EP, word.column(), message))
}

pub(super) fn dropped_square(word: Word, why: &str) -> Diagnostic {
    let message = format!("en passant square {} dropped: {why}", shown(word.text));
    Diagnostic::warning(codes::W_LEN_EP, word.column(), message).with_repair(word.text, b"-")
}

/// Returns the en passant square that is written in this form.
pub(in crate::text) fn shown_square(position: &Position, form: EnPassantForm) -> Option<Square> {
    let target = position.en_passant()?;
    let us = position.turn();
    let shows = match form {
        EnPassantForm::Keep => true,
        EnPassantForm::Legal => en_passant_is_legal(position),
        EnPassantForm::Pseudo => {
            pawn_attacks(!us, target) & position.board().pieces(us, Role::Pawn).bits() != 0
        }
    };
    shows.then_some(target)
}
