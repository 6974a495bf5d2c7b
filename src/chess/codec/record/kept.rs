//! Encoding and decoding of lists of kept games: the short form of the operand of `kept_games`.

use super::super::error::{DecodeError, DecodeErrorKind};
use super::super::item::Cursor;
use crate::model::{GameDate, GameId, KeptGame, KeptGames, MAX_KEPT_GAMES, MAX_RATING, Operand};

/// Size in bytes of a game: its rating, its date and its ID.
const GAME: usize = 2 + 3 + GameId::LEN;
/// Dates are coded as numbers. The code counts `DAYS` days in each month, and `MONTHS` months in
/// each year. Day 0 and month 0 mean unknown.
const DAYS: u32 = 32;
const MONTHS: u32 = 13;

/// Appends the operand of `kept_games` in its short form.
pub fn put_kept_games(kept: &KeptGames, out: &mut Vec<u8>) {
    out.extend([kept.limit(), kept.games().len() as u8]);
    for KeptGame { rating, date, id } in kept.games() {
        let (year, month, day) = date.parts();
        let days = (u32::from(year) * MONTHS + u32::from(month)) * DAYS + u32::from(day);
        out.extend_from_slice(&rating.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&days.to_le_bytes()[..3]);
        out.extend_from_slice(&id.0);
    }
}

/// Converts the text of the operand to the short form; `None` if the text is not a canonical list.
pub(super) fn encode(text: &[u8]) -> Option<Vec<u8>> {
    let kept = KeptGames::from_text(text).filter(|kept| kept.to_text().as_bytes() == text)?;
    let mut bytes = Vec::new();
    put_kept_games(&kept, &mut bytes);
    Some(bytes)
}

/// Reads the short form of the operand.
pub(super) fn decode(cursor: &mut Cursor) -> Result<Operand, DecodeError> {
    take_kept_games(cursor).map(|kept| Operand::string(kept.to_text()))
}

/// Skips the short form.
pub(super) fn skip(cursor: &mut Cursor) -> Result<(), DecodeError> {
    cursor.int_1()?;
    let games = usize::from(cursor.int_1()?);
    cursor.take(games * GAME, "kept games").map(drop)
}

/// Reads the operand of `kept_games` in its short form.
///
/// # Errors
/// [`DecodeError`] for all bytes that [`put_kept_games`] does not write.
pub fn take_kept_games(cursor: &mut Cursor) -> Result<KeptGames, DecodeError> {
    let start = cursor.clone();
    let corrupt = || start.error(DecodeErrorKind::Corrupt("list of kept games"));
    let limit = cursor.int_1()?;
    let len = usize::from(cursor.int_1()?);
    if !(1..=MAX_KEPT_GAMES).contains(&limit) || len == 0 {
        return Err(corrupt());
    }
    let games = cursor.take(len * GAME, "kept games")?.chunks_exact(GAME).map(game);
    let games = games.collect::<Option<Vec<KeptGame>>>().ok_or_else(corrupt)?;
    let kept = KeptGames::new(limit, games.clone()).ok_or_else(corrupt)?;
    if kept.games() != games {
        let why = "only the best rated and the latest games are kept, in their order";
        return Err(start.error(DecodeErrorKind::NonCanonical(why)));
    }
    Ok(kept)
}

fn game(bytes: &[u8]) -> Option<KeptGame> {
    let (rating, rest) = bytes.split_first_chunk::<2>()?;
    let ([low, middle, high], rest) = rest.split_first_chunk::<3>()?;
    let rating = u16::from_le_bytes(*rating);
    if rating > MAX_RATING {
        return None;
    }
    let days = u32::from_le_bytes([*low, *middle, *high, 0]);
    let year = u16::try_from(days / DAYS / MONTHS).ok()?;
    let date = GameDate::new(year, (days / DAYS % MONTHS) as u8, (days % DAYS) as u8)?;
    let id = GameId(*rest.first_chunk()?);
    Some(KeptGame { rating: (rating > 0).then_some(rating), date, id })
}
