//! The commands that a supervisor of a tournament types.

use std::io::{self, BufRead};
use std::thread;

use crate::cli::terminal::{note, print_line};
use epdb_referee::server::{ControlCommand, Referee, Remote};
use epdb_referee::{COMMANDS, Order, QuietTimeouts, SupervisorCommand, Tournament, parse_command};

/// Reads the commands of a supervisor and passes them to the referee.
#[derive(Debug)]
pub(crate) struct Console {
    remote: Remote,
    tournament: Tournament,
    silences: QuietTimeouts,
}

impl Console {
    /// Starts reading standard input. Until the input ends, the referee waits for the supervisor when a
    /// client breaks the rules.
    pub(crate) fn open(referee: &Referee) {
        let arbiter = referee.arbiter();
        let mut console = Console {
            remote: referee.remote(),
            tournament: arbiter.tournament().clone(),
            silences: arbiter.silences(),
        };
        console.remote.say(ControlCommand::Order(Order::Attend));
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                console.take(&line);
            }
            console.remote.say(ControlCommand::Order(Order::Leave));
        });
    }

    fn take(&mut self, line: &str) {
        match parse_command(line, &self.tournament, self.silences) {
            Ok(SupervisorCommand::Control(wish)) => {
                match wish {
                    ControlCommand::Order(Order::QuietTimeouts(silences)) => {
                        self.silences = silences;
                    }
                    ControlCommand::Order(Order::Pause) => {
                        note!("paused: no game begins and no move is requested; `resume` continues")
                    }
                    ControlCommand::Order(Order::Resume) => note!("resumed"),
                    _ => {}
                }
                self.remote.say(wish);
            }
            Ok(SupervisorCommand::Help) => help(line.trim().trim_start_matches("help").trim()),
            Ok(SupervisorCommand::Nothing) => {}
            Err(why) => print_line(&why),
        }
    }
}

/// Prints all commands, or the one with this name.
fn help(command: &str) {
    let is_wanted = |line: &&str| command.is_empty() || line.starts_with(command);
    COMMANDS.lines().filter(is_wanted).for_each(|line| note!("{line}"));
}
