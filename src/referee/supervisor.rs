//! Commands of the supervisor.

use super::arbiter::Order;
use super::server::ControlCommand;
use super::settings::{QuietTimeouts, Tournament};
use epdb_chess::model::GameResult;

/// The list of commands, one per line.
pub const COMMANDS: &str = "\
pause                      begin no game and ask for no move
resume                     go on
adjudicate GAME RESULT     end a game: 1-0, 0-1, 1/2-1/2 or *
restart NAME               close the channel of a client, A or A (2), and start it again
silence conclude|reset TIME  how long clients are left alone, such as 5s
standings                  the table
stop, quit                 end; the tournament goes on when it is called again
help                       this";

/// A parsed command line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SupervisorCommand {
    /// A command for the referee.
    Control(ControlCommand),
    /// Show the list of commands.
    Help,
    /// An empty line.
    Nothing,
}

/// Reads a line. `silences` are the current settings, one of which the command `silence` changes.
///
/// # Errors
/// The line is not one of [`COMMANDS`].
///
/// ```
/// use epdb_referee::server::ControlCommand;
/// use epdb_referee::{Order, Tournament, SupervisorCommand, parse_command};
/// let text = "[[player]]\nname = 'A'\n[[player]]\nname = 'B 2'\n";
/// let tournament = Tournament::from_toml(text, "t")?;
/// let silences = tournament.silences;
/// let order = |line: &str| parse_command(line, &tournament, silences);
/// assert_eq!(order("restart B 2"), Ok(SupervisorCommand::Control(ControlCommand::Order(Order::Restart(1)))));
/// assert!(order("restart C").is_err());
/// # Ok::<(), epdb_chess::Error>(())
/// ```
pub fn parse_command(
    line: &str,
    tournament: &Tournament,
    silences: QuietTimeouts,
) -> Result<SupervisorCommand, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let order = match (word, rest) {
        ("", "") => return Ok(SupervisorCommand::Nothing),
        ("help", _) => return Ok(SupervisorCommand::Help),
        ("standings", "") => return Ok(SupervisorCommand::Control(ControlCommand::Standings)),
        ("stop" | "quit", "") => return Ok(SupervisorCommand::Control(ControlCommand::Stop)),
        ("pause", "") => Order::Pause,
        ("resume", "") => Order::Resume,
        ("adjudicate", rest) => adjudication(rest)?,
        ("restart", name) => {
            let seat = tournament.seat_named(name);
            Order::Restart(seat.ok_or_else(|| format!("no client is called `{name}`"))?)
        }
        ("silence", rest) => Order::QuietTimeouts(changed(silences, rest)?),
        _ => return Err(format!("`{line}` is not a command; help lists them")),
    };
    Ok(SupervisorCommand::Control(ControlCommand::Order(order)))
}

fn adjudication(text: &str) -> Result<Order, String> {
    let parts = text.split_once(' ').and_then(|(game, result)| {
        Some((game.parse().ok()?, GameResult::from_text(result.trim().as_bytes())?))
    });
    let (game, result) =
        parts.ok_or("expected `adjudicate GAME RESULT`, as in `adjudicate 3 1-0`")?;
    Ok(Order::Adjudicate { game, result })
}

fn changed(silences: QuietTimeouts, text: &str) -> Result<QuietTimeouts, String> {
    let expected =
        || "expected `silence conclude TIME` or `silence reset TIME`, as in `silence reset 2s`";
    let (which, time) = text.split_once(' ').ok_or_else(expected)?;
    let time = humantime::parse_duration(time.trim()).map_err(|error| error.to_string())?;
    match which {
        "conclude" => Ok(QuietTimeouts { conclude: time, ..silences }),
        "reset" => Ok(QuietTimeouts { reset: time, ..silences }),
        _ => Err(expected().into()),
    }
}
