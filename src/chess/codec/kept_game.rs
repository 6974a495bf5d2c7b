//! Games that a library keeps so that positions can list them: tags and main line, in PGC.
//!
//! The format is `formats/libraries.md`.

use super::pgc::{self, PgcEncodeError, PgcEncodeOptions, PgcReader};
use crate::model::{Element, Game, GameBuilder, GameId};
use crate::text::pgn::{self as pgn_text, PgnFormatOptions};

/// Appends the kept data of a game: its tags and its main line. Variations, comments, NAGs and `%`
/// lines are left out.
///
/// ```
/// use epdb_chess::codec::kept_game;
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. e4 {why} (1. d4) e5 1-0"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let mut bytes = Vec::new();
/// kept_game::encode(read.game.expect("a good one"), &mut bytes)?;
/// let kept = kept_game::decode(&bytes).expect("what was encoded");
/// assert_eq!(kept.elements().count(), 2);
/// assert_eq!(kept_game::id_of(&bytes).to_string().len(), 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A move that has no byte in PGC, because its ordinal is above 255; then nothing is appended.
pub fn encode(game: &Game, out: &mut Vec<u8>) -> Result<(), PgcEncodeError> {
    const OPTIONS: PgcEncodeOptions =
        PgcEncodeOptions { no_checksum: true, ..PgcEncodeOptions::EXTENDED };
    if game.elements().all(|element| matches!(element, Element::Move(_) | Element::NullMove)) {
        return pgc::encode(game, &OPTIONS, out).map(drop);
    }
    let mut builder = GameBuilder::new();
    builder.set_start(*game.start());
    // This cannot fail, because the new game gets only parts that the given game already has.
    for (name, value) in game.tags().filter(|(name, _)| game.has_tag(name)) {
        let _ = builder.add_checked_tag(name, value);
    }
    for ply in game.plies() {
        let _ = match ply {
            Some(mv) => builder.play_legal(mv),
            None => builder.play_null_move(),
        };
    }
    pgc::encode(builder.game(), &OPTIONS, out).map(drop)
}

/// Reads a kept game; `None` for bytes that [`encode`] does not write for any game.
pub fn decode(bytes: &[u8]) -> Option<Game> {
    let mut reader = PgcReader::new(bytes, bytes.len());
    let game = reader.next_game().ok()??.game.ok()?.clone();
    let mut canonical = Vec::with_capacity(bytes.len());
    encode(&game, &mut canonical).ok()?;
    (canonical == bytes).then_some(game)
}

/// Two games with one id, of which only one could be kept.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("two games that are kept have the id {id}; leave one of them out:\n{}\n{}", games[0], games[1])]
pub struct EqualIds {
    /// The id.
    pub id: GameId,
    /// The games, in PGN.
    pub games: [String; 2],
}

/// Checks that two games with one id are the same game.
///
/// # Errors
/// They are two games.
pub fn check_same(id: GameId, games: [&[u8]; 2]) -> Result<(), EqualIds> {
    if games[0] == games[1] {
        return Ok(());
    }
    let text = |bytes: &[u8]| {
        let mut text = Vec::new();
        let game = decode(bytes);
        let is_written = game.is_some_and(|game| {
            pgn_text::format(&game, &PgnFormatOptions::default(), &mut text).is_ok()
        });
        if is_written { String::from_utf8_lossy(&text).into_owned() } else { "(no game)".into() }
    };
    Err(EqualIds { id, games: games.map(text) })
}

/// Returns the ID of a game: the first bytes of the BLAKE3 hash of its kept data.
pub fn id_of(bytes: &[u8]) -> GameId {
    let mut id = GameId::default();
    id.0.copy_from_slice(&blake3::hash(bytes).as_bytes()[..GameId::LEN]);
    id
}
