//! What a supervisor types.

use super::arbiter::Order;
use super::server::Wish;
use super::settings::{Silences, Tournament};
use crate::model::GameResult;

/// What can be typed, a line each.
pub const COMMANDS: &str = "\
pause                      begin no game and ask for no move
resume                     go on
adjudicate GAME RESULT     end a game: 1-0, 0-1, 1/2-1/2 or *
restart NAME               close the channel of a client, A or A (2), and start it again
silence conclude|reset TIME  how long clients are left alone, such as 5s
standings                  the table
stop, quit                 end; the tournament goes on when it is called again
help                       this";

/// What a line wants.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// Something of the referee.
    Wish(Wish),
    /// To know what can be typed.
    Help,
    /// Nothing.
    Nothing,
}

/// Reads a line. `silences` are those in force, of which one may be changed.
///
/// # Errors
/// The line is none of [`COMMANDS`].
///
/// ```
/// use epdb::referee::server::Wish;
/// use epdb::referee::{Order, Tournament, Typed, typed};
/// let text = "[[player]]\nname = 'A'\n[[player]]\nname = 'B 2'\n";
/// let tournament = Tournament::from_toml(text, "t")?;
/// let silences = tournament.silences;
/// let order = |line: &str| typed(line, &tournament, silences);
/// assert_eq!(order("restart B 2"), Ok(Typed::Wish(Wish::Order(Order::Restart(1)))));
/// assert!(order("restart C").is_err());
/// # Ok::<(), epdb::Error>(())
/// ```
pub fn typed(line: &str, tournament: &Tournament, silences: Silences) -> Result<Typed, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let order = match (word, rest) {
        ("", "") => return Ok(Typed::Nothing),
        ("help", _) => return Ok(Typed::Help),
        ("standings", "") => return Ok(Typed::Wish(Wish::Standings)),
        ("stop" | "quit", "") => return Ok(Typed::Wish(Wish::Stop)),
        ("pause", "") => Order::Pause,
        ("resume", "") => Order::Resume,
        ("adjudicate", rest) => adjudication(rest)?,
        ("restart", name) => {
            let seat = tournament.seat_named(name);
            Order::Restart(seat.ok_or_else(|| format!("no client is called `{name}`"))?)
        }
        ("silence", rest) => Order::Silences(changed(silences, rest)?),
        _ => return Err(format!("`{line}` is no command; help shows them")),
    };
    Ok(Typed::Wish(Wish::Order(order)))
}

fn adjudication(text: &str) -> Result<Order, String> {
    let parts = text.split_once(' ').and_then(|(game, result)| {
        Some((game.parse().ok()?, GameResult::from_text(result.trim().as_bytes())?))
    });
    let (game, result) =
        parts.ok_or("expected `adjudicate GAME RESULT`, as in `adjudicate 3 1-0`")?;
    Ok(Order::Adjudicate { game, result })
}

fn changed(silences: Silences, text: &str) -> Result<Silences, String> {
    let expected =
        || "expected `silence conclude TIME` or `silence reset TIME`, as in `silence reset 2s`";
    let (which, time) = text.split_once(' ').ok_or_else(expected)?;
    let time = humantime::parse_duration(time.trim()).map_err(|error| error.to_string())?;
    match which {
        "conclude" => Ok(Silences { conclude: time, ..silences }),
        "reset" => Ok(Silences { reset: time, ..silences }),
        _ => Err(expected().into()),
    }
}
