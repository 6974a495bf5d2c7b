//! Conversion of a finished game to a [`Game`].

use std::fmt;
use std::time::Duration;

use super::openings::Opening;
use super::outcome::Outcome;
use super::pairing::Pairing;
use super::settings::Tournament;
use epdb_chess::model::rules::Move;
use epdb_chess::model::score::Score;
use epdb_chess::model::{BuildError, Color, Counters, Game, GameBuilder, Start};
use epdb_chess::text::pgn::evaluation_comment;

/// A move as it was made.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct PlayedMove {
    /// The move.
    pub mv: Move,
    /// Thinking time.
    pub used: Duration,
    /// The player's clock after the move, including the increment; `None` if the game has no clock.
    pub left: Option<Duration>,
    /// The player's evaluation of the position before the move.
    pub score: Option<Score>,
    /// Search depth in plies.
    pub depth: Option<u32>,
}

/// Returns the game with its tags. Each move of the players has a comment such as `[%eval 0.34,18]
/// [%clk 0:00:59.9] [%emt 0:00:00.5]`: the mover's evaluation of the position after the move in
/// White's view, the mover's clock, and the thinking time. The last comment is the reason why the
/// game ended. `moves` are the moves after the opening; `date` is `YYYY.MM.DD`.
///
/// # Errors
/// A move is not legal, or a text of the tournament cannot stand in a tag.
pub fn to_game(
    tournament: &Tournament,
    pairing: &Pairing,
    opening: &Opening,
    moves: &[PlayedMove],
    outcome: &Outcome,
    date: &str,
    reason: &str,
) -> Result<Game, BuildError> {
    let mut game = GameBuilder::new();
    let [white, black] = [pairing.white, pairing.black].map(|place| &tournament.players[place]);
    for (name, value) in [
        ("Event", tournament.event.as_str()),
        ("Site", &tournament.site),
        ("Date", date),
        ("Round", &tournament.round_tag(pairing)),
        ("White", &white.name),
        ("Black", &black.name),
        ("Result", outcome.result.as_str()),
        ("PlyCount", &(opening.moves.len() + moves.len()).to_string()),
        ("Termination", outcome.termination.as_str()),
    ] {
        game.set_tag(name, value)?;
    }
    let [white, black] =
        [white, black].map(|player| player.time.as_ref().unwrap_or(&tournament.time).tag());
    if white == black {
        game.set_tag("TimeControl", &white)?;
    } else {
        game.set_tag("WhiteTimeControl", &white)?;
        game.set_tag("BlackTimeControl", &black)?;
    }
    set_up(&mut game, &opening.start)?;
    opening.moves.iter().try_for_each(|mv| game.play(*mv))?;
    for played in moves {
        game.play(played.mv)?;
        let turn = game.replay().map_or(Color::White, |replay| replay.position().turn());
        game.add_comment(&comment(played, turn))?;
    }
    game.add_comment(reason)?;
    game.finish()
}

fn set_up(game: &mut GameBuilder, start: &Start) -> Result<(), BuildError> {
    game.set_start(*start);
    if *start == Start::ARRAY {
        return Ok(());
    }
    let Counters { halfmove_clock, fullmove_number } = start.counters;
    game.set_tag("FEN", &format!("{} {halfmove_clock} {fullmove_number}", start.position))?;
    game.set_tag("SetUp", "1")?;
    if start.position.is_chess960() {
        game.set_tag("Variant", "Chess960")?;
    }
    Ok(())
}

/// The comment after a move; `turn` is the side to move next.
fn comment(played: &PlayedMove, turn: Color) -> String {
    let depth = played.depth.map(|depth| depth.to_string()).unwrap_or_default();
    let score = played.score.and_then(after_best_move);
    let evaluation = score.and_then(|score| evaluation_comment(score, turn, &depth));
    let clock = played.left.map(|left| format!("[%clk {}]", Clock(left)));
    let used = Some(format!("[%emt {}]", Clock(played.used)));
    [evaluation, clock, used].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Converts a score before the best move to the opponent's score after this move. A mate is then one ply
/// nearer. `None` if there is no such score, for example after a mating move.
const fn after_best_move(score: Score) -> Option<Score> {
    match score {
        Score::Centipawns(value) => Some(Score::Centipawns(-value)),
        Score::Mates(plies @ 2..) => Some(Score::Mated(plies - 1)),
        Score::Mated(plies @ 2..) => Some(Score::Mates(plies - 1)),
        Score::Mates(_) | Score::Mated(_) | Score::Checkmated | Score::Illegal => None,
    }
}

/// Hours, minutes and seconds, with a fraction if the seconds are not whole.
struct Clock(Duration);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        write!(f, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        match self.0.subsec_millis() {
            0 => Ok(()),
            part => f.write_str(format!(".{part:03}").trim_end_matches('0')),
        }
    }
}
