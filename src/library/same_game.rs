//! When two games count as the same.

use super::date::Date;
use super::site_id::SiteId;
use crate::codec::packed;
use crate::model::rules::Move;
use crate::model::{Game, Role};
use crate::text::pgn::{self, PgnFormatOptions};

/// When a library counts two games as the same.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum SameGame {
    /// They have the same id of lichess.org or chess.com. Games without such an id have the same moves,
    /// date and result, and the same id of another kind or none. If they have no id and fewer than
    /// [`SHORT_GAME_PLIES`], the tags White, Black, Round and UTCTime are the same too.
    #[default]
    Auto,
    /// They have the same main line from the same position, the same date, which is UTCDate where Date
    /// has no year, and the same tag Result.
    Moves,
    /// Also the tags White and Black are the same, letter by letter.
    Players,
    /// They agree in everything: tags, variations, comments and all else that is written.
    Exact,
}

/// Many games with fewer plies than this have moves that other games have too.
pub const SHORT_GAME_PLIES: usize = 20;

/// First bytes of the keys of [`SameGame::Auto`].
const UNIQUE_ID: u8 = 1;
const OTHER_ID: u8 = 2;
const SHORT_GAME: u8 = 3;
const LONG_GAME: u8 = 4;

impl SameGame {
    /// Bytes that are equal exactly for games that count as the same.
    pub(super) fn key(self, game: &Game, id: Option<&SiteId>) -> Vec<u8> {
        // The line of a long game fits.
        let mut key = Vec::with_capacity(512);
        match (self, id) {
            (SameGame::Exact, _) => return export_format(game),
            (SameGame::Players, _) => put_tags(game, &["White", "Black"], &mut key),
            (SameGame::Moves, _) => {}
            (SameGame::Auto, Some(SiteId::Unique(id))) => {
                key.push(UNIQUE_ID);
                key.extend_from_slice(id.as_bytes());
                return key;
            }
            (SameGame::Auto, Some(SiteId::Other(id))) => {
                key.push(OTHER_ID);
                put_text(id, &mut key);
            }
            (SameGame::Auto, None) if game.plies().nth(SHORT_GAME_PLIES - 1).is_none() => {
                key.push(SHORT_GAME);
                put_tags(game, &["White", "Black", "Round", "UTCTime"], &mut key);
            }
            (SameGame::Auto, None) => key.push(LONG_GAME),
        }
        put_text(date(game).unwrap_or_default(), &mut key);
        put_tags(game, &["Result"], &mut key);
        put_main_line(game, &mut key);
        key
    }

    /// Whether games that count as the same may differ in their moves, because their id says so.
    pub(super) fn goes_by_id(self, id: Option<&SiteId>) -> bool {
        self == SameGame::Auto && matches!(id, Some(SiteId::Unique(_)))
    }
}

/// The game as PGN, `%` lines included.
fn export_format(game: &Game) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    // UTF-8 can say every game.
    pgn::format(game, &PgnFormatOptions::new().escapes(true), &mut text).ok();
    text
}

/// Appends the values of tags.
fn put_tags(game: &Game, names: &[&str], out: &mut Vec<u8>) {
    names.iter().for_each(|name| put_text(game.tag(name).unwrap_or_default(), out));
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    // No tag has a control character.
    out.push(0);
}

/// The position where the game begins, and its moves.
pub(super) fn main_line(game: &Game) -> Vec<u8> {
    // The line of a long game fits.
    let mut bytes = Vec::with_capacity(512);
    put_main_line(game, &mut bytes);
    bytes
}

fn put_main_line(game: &Game, out: &mut Vec<u8>) {
    out.extend_from_slice(packed::encode(&game.start().position.identity()).as_bytes());
    game.plies().for_each(|ply| out.extend_from_slice(&ply_bytes(ply)));
}

/// The tag `Date`, unless it has no year and there is `UTCDate`.
fn date(game: &Game) -> Option<&str> {
    let date = game.tag("Date");
    let has_year = date.and_then(|date| Date::parse(date.as_bytes())?.year()).is_some();
    if has_year { date } else { game.tag("UTCDate").or(date) }
}

fn ply_bytes(ply: Option<Move>) -> [u8; 2] {
    // No move stays on its square.
    let Some(mv) = ply else { return [0; 2] };
    let promotion = mv.promotion.map_or(0, |role: Role| role as u8 + 1);
    let squares = (mv.from.index() as u16) << 6 | mv.to.index() as u16;
    (u16::from(promotion) << 12 | squares).to_be_bytes()
}
