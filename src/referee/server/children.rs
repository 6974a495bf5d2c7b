//! Clients that the referee starts.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::address::Address;
use super::input::{Input, Permits, Queue};
use crate::client::TOKEN_VARIABLE;
use crate::settings::{Launch, Player, Tournament};

/// Maximum time for clients to end after their channels are closed.
const END_WITHIN: Duration = Duration::from_secs(2);
/// Interval between checks for ended clients.
const LOOK: Duration = Duration::from_millis(10);
/// Maximum number of queued lines of a client's standard error. Further lines are dropped.
const WAITING_LINES: usize = 16;
/// Maximum length of a repeated line of a client's standard error. Longer lines are split.
const MAX_LINE: u64 = 400;

/// The clients that were started, by seat.
#[derive(Debug)]
pub(super) struct Children {
    running: BTreeMap<usize, (u64, Child)>,
    starts: u64,
    queue: Queue,
}

impl Children {
    pub(super) const fn new(queue: Queue) -> Children {
        Children { running: BTreeMap::new(), starts: 0, queue }
    }

    /// True if `start` is the number of the last start on this seat.
    pub(super) fn is_current(&self, seat: usize, start: u64) -> bool {
        self.running.get(&seat).is_some_and(|(current, _)| *current == start)
    }

    /// Starts the client of a seat, after killing an earlier client that still runs.
    pub(super) fn start(
        &mut self,
        seat: usize,
        tournament: &Tournament,
        address: &Address,
        token: &str,
    ) -> io::Result<()> {
        if let Some((_, child)) = self.running.remove(&seat) {
            kill(child);
        }
        let player = &tournament.players[seat % tournament.players.len()];
        let Some(words) = words(player, tournament, address)? else { return Ok(()) };
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Arguments can be read by everybody, the environment by the owner of the process only.
        command.env(TOKEN_VARIABLE, token);
        let mut child = command.spawn()?;
        self.starts += 1;
        let start = self.starts;
        let queue = self.queue.clone();
        let errors = child.stderr.take();
        let process = child.id();
        let told = queue.clone();
        let telling = thread::spawn(move || {
            if let Some(errors) = errors {
                hand_on(errors, seat, &told);
            }
        });
        thread::spawn(move || {
            wait(process, telling);
            queue.send(Input::Exited(seat, start)).ok();
        });
        self.running.insert(seat, (start, child));
        Ok(())
    }

    /// Waits for all clients to end, and kills those that do not end in time.
    pub(super) fn end(&mut self) {
        let until = Instant::now() + END_WITHIN;
        while !self.running.is_empty() && Instant::now() < until {
            self.running.retain(|_, (_, child)| !matches!(child.try_wait(), Ok(Some(_))));
            thread::sleep(LOOK);
        }
        std::mem::take(&mut self.running).into_values().for_each(|(_, child)| kill(child));
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        std::mem::take(&mut self.running).into_values().for_each(|(_, child)| kill(child));
    }
}

fn kill(mut child: Child) {
    child.kill().ok();
    child.wait().ok();
}

/// Waits until a program has ended. Its exit status stays available to the owner of the [`Child`].
#[cfg(unix)]
fn wait(process: u32, _: JoinHandle<()>) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    if let Some(process) = Pid::from_raw(process.cast_signed()) {
        rustix::io::retry_on_intr(|| waitid(WaitId::Pid(process), options)).ok();
    }
}

/// Waits until the standard error of a program has ended.
#[cfg(not(unix))]
fn wait(_: u32, telling: JoinHandle<()>) {
    telling.join().ok();
}

/// Puts the lines of a client's standard error into the queue, until they end or the queue is
/// closed.
fn hand_on(errors: impl Read, seat: usize, queue: &Queue) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    let permits = Permits::new(WAITING_LINES);
    let mut left_out = 0_u64;
    loop {
        line.clear();
        match errors.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ => return,
        }
        let text = line.trim_ascii_end();
        if text.is_empty() {
            continue;
        }
        let Some(permit) = permits.try_take() else {
            left_out += 1;
            continue;
        };
        let mut text = String::from_utf8_lossy(text).into_owned();
        if left_out > 0 {
            text = format!("({left_out} lines are left out) {text}");
            left_out = 0;
        }
        if queue.send(Input::Complaint(seat, permit, text)).is_err() {
            return;
        }
    }
}

/// The program and the arguments of a player's client.
fn words(
    player: &Player,
    tournament: &Tournament,
    address: &Address,
) -> io::Result<Option<Vec<String>>> {
    let socket = address.local();
    let [host, port] = match socket {
        Some(socket) => [socket.ip().to_string(), socket.port().to_string()],
        None => Default::default(),
    };
    Ok(match &player.launch {
        None => None,
        Some(Launch::Client { words, .. }) => {
            let filled = |word: &String| {
                let word = word.replace("{host}", &host).replace("{port}", &port);
                word.replace("{name}", &player.name)
            };
            Some(words.iter().map(filled).collect())
        }
        Some(Launch::Engine(engine)) => {
            let program = env::current_exe()?.display().to_string();
            let no_address = || io::Error::other("a client of ours needs an address to connect to");
            let connect = socket.ok_or_else(no_address)?.to_string();
            let engine = engine.to_string();
            // A client that loses its referee ends; the next referee starts it again.
            let rest = [
                "client",
                "--quiet",
                "--retry",
                "1ms",
                "--connect",
                &connect,
                "--name",
                &player.name,
            ];
            let optional = tournament.optional_options.iter();
            let optional = optional.flat_map(|name| ["--optional", name.as_str()]);
            let rest = rest.into_iter().chain(["--engine", &engine]).chain(optional);
            Some([program.as_str()].into_iter().chain(rest).map(str::to_string).collect())
        }
    })
}
