//! Games behind a position: those that its records list.

use crate::model::rules::Move;
use crate::model::{EpdRecord, Game, KeptGames, Opcode, Position, Replay, San};
use crate::text::san;

/// The games that records of one position list: the best rated and the latest of all; `None` where none
/// lists any.
pub fn listed(records: &[EpdRecord]) -> Option<KeptGames> {
    let lists =
        records.iter().filter_map(|it| KeptGames::of_operands(it.operands(Opcode::KEPT_GAMES)?));
    lists.reduce(|all, more| all.merged(&more))
}

/// The move that a game played in a position when it was there first; `None` where it ended there, or did
/// not reach it.
///
/// ```
/// use epdb::library::kept_games::move_played;
/// use epdb::model::Position;
/// use epdb::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. e4 e5 1-0"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let (_, san) = move_played(read.game.expect("a good one"), &Position::START).expect("a move");
/// assert_eq!(san.to_string(), "e4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn move_played(game: &Game, position: &Position) -> Option<(Move, San)> {
    let identity = position.identity();
    let mut replay = Replay::new(game.start())?;
    for mv in game.main_line() {
        if replay.position().identity() == identity {
            return Some((mv, san::format(&replay.playable(), mv)));
        }
        replay.play(mv);
    }
    None
}
