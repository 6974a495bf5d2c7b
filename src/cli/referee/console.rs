//! The supervisor at standard input.

use std::io::BufRead;
use std::{io, thread};

use crate::cli::message::{note, print_line};
use epdb::referee::server::{Remote, Wish};
use epdb::referee::{COMMANDS, Order, Silences, Tournament, Typed, typed};

/// Reads what a supervisor types and says it to the referee.
#[derive(Debug)]
pub(crate) struct Console {
    remote: Remote,
    tournament: Tournament,
    silences: Silences,
}

impl Console {
    /// Begins to read standard input. From now on the referee waits for the supervisor where a client
    /// breaks the rules, until the input ends.
    pub(crate) fn open(remote: Remote, tournament: Tournament, silences: Silences) {
        remote.say(Wish::Order(Order::Attend));
        let mut console = Console { remote, tournament, silences };
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                console.take(&line);
            }
            console.remote.say(Wish::Order(Order::Leave));
        });
    }

    fn take(&mut self, line: &str) {
        match typed(line, &self.tournament, self.silences) {
            Ok(Typed::Wish(wish)) => {
                if let Wish::Order(Order::Silences(silences)) = wish {
                    self.silences = silences;
                }
                match wish {
                    Wish::Order(Order::Pause) => {
                        note!("no game begins and nobody is asked; resume goes on")
                    }
                    Wish::Order(Order::Resume) => note!("it goes on"),
                    _ => {}
                }
                self.remote.say(wish);
            }
            Ok(Typed::Help) => help(line.trim().trim_start_matches("help").trim()),
            Ok(Typed::Nothing) => {}
            Err(why) => print_line(&why),
        }
    }
}

/// Shows what can be typed, or the command of that name.
fn help(command: &str) {
    let is_wanted = |line: &&str| command.is_empty() || line.starts_with(command);
    COMMANDS.lines().filter(is_wanted).for_each(|line| note!("{line}"));
}
