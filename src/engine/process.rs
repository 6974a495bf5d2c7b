//! An engine as a child process: lines in, lines out, and no process that outlives its owner.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::clock::{Clock, EngineOutput};
use super::error::{EngineError, EngineErrorKind};

const MAX_LINE: usize = 1 << 16;
/// The maximum output between two calls of [`Process::begin`], in bytes.
const MAX_OUTPUT: usize = 32 << 20;
/// The minimum number of bytes that a line counts.
const MIN_LINE: usize = 64;
/// The maximum number of lines in the buffer.
const WAITING_LINES: usize = 256;
/// The maximum length of a line of standard error; the rest is discarded.
const MAX_COMPLAINT: usize = 1 << 10;
/// The maximum length of a line quoted in messages.
const SHOWN: usize = 160;
/// The time to wait for the last output of a process that ended.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Number of times that the exit status of a process that closed its output is looked for.
const EXIT_CHECKS: u32 = 200;
/// The pause between two of them.
const EXIT_PAUSE: Duration = Duration::from_millis(5);

/// A running program that exchanges lines. It ends when this value is dropped, or earlier.
///
/// If the system supports it, the program also ends with the thread that started it. Otherwise its
/// standard input is closed when this process ends in any way.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: Receiver<EngineOutput>,
    clock: Arc<dyn Clock>,
    /// The last line that was received.
    last: String,
    /// Bytes received since [`Process::begin`].
    amount: usize,
}

impl Process {
    pub(super) fn start(
        path: &Path,
        arguments: &[String],
        folder: Option<&Path>,
        clock: Arc<dyn Clock>,
    ) -> Result<Process, EngineError> {
        let mut command = Command::new(path);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        end_with_this_thread(&mut command);
        let failed = |why: String| {
            EngineError::new(EngineErrorKind::Start { path: path.display().to_string(), why })
        };
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        running.insert(child.id());
        drop(running);
        let (sender, received) = sync_channel(WAITING_LINES);
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(failed("it has no pipes".into()));
        };
        let complaints = sender.clone();
        thread::spawn(move || {
            read_lines(output, &sender);
            sender.send(EngineOutput::Closed).ok();
        });
        thread::spawn(move || read_complaints(errors, &complaints));
        Ok(Process { child, input, output: received, clock, last: String::new(), amount: 0 })
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Resets the output count.
    pub(super) const fn begin(&mut self) {
        self.amount = 0;
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), EngineError> {
        let sent = self.input.write_all(format!("{line}\n").as_bytes());
        sent.and_then(|()| self.input.flush()).map_err(|_| self.ended())
    }

    /// Receives the next line; `None` if no line arrives until the time `until`.
    pub(super) fn recv(&mut self, until: Duration) -> Result<Option<String>, EngineError> {
        loop {
            match self.clock.receive(&self.output, until) {
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Ok(EngineOutput::Closed) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.ended());
                }
                Ok(EngineOutput::TooLong) => {
                    return Err(self.error(EngineErrorKind::TooLong(MAX_LINE)));
                }
                Ok(EngineOutput::Stderr(line)) => {
                    self.remember(&line);
                    // A flood of these lines must not extend the time-out.
                    if self.clock.now() >= until {
                        return Ok(None);
                    }
                }
                Ok(EngineOutput::Line(line)) => {
                    self.count(&line)?;
                    return Ok(Some(line));
                }
            }
        }
    }

    fn remember(&mut self, line: &str) {
        if !line.is_empty() {
            self.last = shortened(line);
        }
    }

    fn count(&mut self, line: &str) -> Result<(), EngineError> {
        self.remember(line);
        self.amount += line.len().max(MIN_LINE);
        if self.amount > MAX_OUTPUT {
            Err(self.error(EngineErrorKind::TooMuch(MAX_OUTPUT)))
        } else {
            Ok(())
        }
    }

    /// An error that quotes the last output.
    pub(super) fn error(&self, kind: EngineErrorKind) -> EngineError {
        EngineError { kind, last: Some(self.last.clone()) }
    }

    /// The error for a process that has ended. Its last standard error may still arrive.
    fn ended(&mut self) -> EngineError {
        let until = self.clock.now() + LAST_WORDS;
        while let Ok(EngineOutput::Stderr(line) | EngineOutput::Line(line)) =
            self.clock.receive(&self.output, until)
            && self.count(&line).is_ok()
        {}
        let failure = self.exit_status().filter(|status| !status.success());
        self.error(EngineErrorKind::Ended(failure))
    }

    /// The exit status. The system may know it only some time after the output was closed.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        for _ in 0..EXIT_CHECKS {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(EXIT_PAUSE);
        }
        None
    }

    /// Asks the program to quit and waits briefly.
    pub(super) fn quit(mut self, within: Duration) {
        if self.send("quit").is_ok() {
            let until = self.clock.now() + within;
            while let Ok(Some(_)) = self.recv(until) {}
        }
    }

    fn kill(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        kill_group(self.child.id());
        self.child.kill().ok();
        self.child.wait().ok();
        running.remove(&self.child.id());
    }
}

/// Child processes that nobody has waited for yet. Until then, the system does not reuse their process
/// numbers.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Kills all engines and their child processes, because this process is about to end. No engine can
/// be started while the returned guard is held.
pub fn kill_all() -> impl Sized {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.iter().for_each(|child| kill_group(*child));
    running
}

/// Kills a child that leads a process group, and the whole group.
#[cfg(unix)]
fn kill_group(child: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        kill_process_group(group, Signal::KILL).ok();
    }
}

#[cfg(not(unix))]
fn kill_group(_child: u32) {}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends lines until there are no more or the receiver is gone.
fn read_lines(stream: impl Read, sender: &SyncSender<EngineOutput>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = stream.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut line);
        if !read.is_ok_and(|count| count > 0) {
            return;
        }
        let is_whole = line.pop_if(|byte| *byte == b'\n').is_some();
        let output = if is_whole || line.len() < MAX_LINE {
            EngineOutput::Line(String::from_utf8_lossy(line.trim_ascii_end()).into_owned())
        } else {
            EngineOutput::TooLong
        };
        if sender.send(output).is_err() {
            return;
        }
    }
}

/// Sends the lines of standard error, which are for messages only, cut to [`MAX_COMPLAINT`] bytes. While the
/// channel is full, lines are dropped, so that they never block the output of the engine.
fn read_complaints(stream: impl Read, sender: &SyncSender<EngineOutput>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while let Ok(part) = stream.fill_buf()
        && !part.is_empty()
    {
        let end = part.iter().position(|byte| *byte == b'\n');
        let text = &part[..end.unwrap_or(part.len())];
        line.extend(&text[..text.len().min(MAX_COMPLAINT - line.len())]);
        let read = end.map_or(part.len(), |end| end + 1);
        stream.consume(read);
        if end.is_some() {
            complain(&mut line, sender);
        }
    }
    complain(&mut line, sender);
}

fn complain(line: &mut Vec<u8>, sender: &SyncSender<EngineOutput>) {
    let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
    sender.try_send(EngineOutput::Stderr(text)).ok();
    line.clear();
}

/// A line in the form for messages: without control characters, and shortened.
fn shortened(line: &str) -> String {
    let printed = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut text: String = printed.take(SHOWN).collect();
    if line.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    text
}

/// Makes the system kill the child when the thread that started the child ends. This also happens
/// when this process is killed.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn end_with_this_thread(command: &mut Command) {
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::NotConnected.into())
        }
    };
    // SAFETY: code that runs between fork and exec must be safe there. This code makes two system
    // calls, without allocation, locks or memory that is shared; the captured number is a copy.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, tie) };
}

#[cfg(not(target_os = "linux"))]
fn end_with_this_thread(_command: &mut Command) {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn outputs(bytes: &[u8]) -> Vec<EngineOutput> {
        let (sender, receiver) = sync_channel(WAITING_LINES);
        read_lines(bytes, &sender);
        drop(sender);
        receiver.iter().collect()
    }

    #[test]
    fn lines_end_where_they_should() {
        let line = |line: &str| EngineOutput::Line(line.into());
        assert_eq!(outputs(b"uciok\r\n\nhalf"), [line("uciok"), line(""), line("half")]);
        assert_eq!(outputs(b"\xff\n"), [line("\u{fffd}")]);
        let long = [b"x".repeat(MAX_LINE + 5), b"\nnext\n".to_vec()].concat();
        assert_eq!(outputs(&long), [EngineOutput::TooLong, line("xxxxx"), line("next")]);
        let longest = [b"x".repeat(MAX_LINE - 1), b"\n".to_vec()].concat();
        assert_eq!(outputs(&longest), [line(&"x".repeat(MAX_LINE - 1))]);
    }

    #[test]
    fn long_lines_of_standard_error_are_cut() {
        let long = b"x".repeat(10 * MAX_LINE);
        let stream = [&long[..], b"\r\n\nnext\r\nhalf"].concat();
        let (sender, receiver) = sync_channel(WAITING_LINES);
        read_complaints(&stream[..], &sender);
        drop(sender);
        let lines = ["x".repeat(MAX_COMPLAINT), String::new(), "next".into(), "half".into()];
        assert_eq!(receiver.iter().collect::<Vec<_>>(), lines.map(EngineOutput::Stderr));
    }

    #[test]
    fn complaints_without_room_are_left_out() {
        let (sender, receiver) = sync_channel(2);
        read_complaints(&b"1\n2\n3\n4\n"[..], &sender);
        drop(sender);
        assert_eq!(receiver.iter().count(), 2);
    }

    #[test]
    fn what_is_repeated_is_short_and_printable() {
        assert_eq!(shortened("a\u{1b}[2Jb"), "a [2Jb");
        assert_eq!(shortened(&"é".repeat(300)).chars().count(), SHOWN + 1);
    }
}
