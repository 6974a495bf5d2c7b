//! A tournament on the whole terminal: boards, clocks, the table.

mod game;
mod keys;
mod screen;
#[cfg(test)]
mod tests;
mod theme;

use std::io::{self, IsTerminal, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::console::{Console, Plain};
use epdb::referee::server::{ControlCommand, Referee, Remote, Watch};
use epdb::referee::{
    COMMANDS, Order, QuietTimeouts, Snapshot, Standings, SupervisorCommand, Tournament,
    parse_command,
};
use keys::{Key, Keys};
use screen::Screen;
use theme::Theme;

/// Interval between updates of clocks.
const REFRESH: Duration = Duration::from_millis(100);

/// Shows a tournament on the terminal and reads keys; prints lines after the terminal is left.
#[derive(Debug)]
pub(crate) struct Display {
    /// Whether the terminal will be used as soon as there is something to show.
    is_wanted: bool,
    shown: Option<DisplayState>,
    supervisor: Option<Supervisor>,
    plain: Plain,
}

/// Connection of keys and lines to the referee.
#[derive(Debug)]
struct Supervisor {
    remote: Remote,
    /// Whether commands are read as lines if the terminal is not used.
    is_attended: bool,
    /// Timeouts in force.
    silences: QuietTimeouts,
}

/// A terminal that is drawn on.
#[derive(Debug)]
struct DisplayState {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    screen: Screen,
    keys: Keys,
    drawn: Option<Instant>,
}

/// A request by a key that does not only change the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
enum KeyRequest {
    /// Leave the terminal.
    Leave,
    /// End the referee. The tournament can be resumed later.
    Stop,
    /// Begin or end a pause.
    Pause,
    /// A typed command.
    Command(String),
}

impl Display {
    /// Uses the terminal if it can show pictures and read keys, and `is_plain` is false. Otherwise
    /// prints lines.
    pub(crate) fn new(is_plain: bool) -> Display {
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        Display {
            is_wanted: is_terminal && !is_plain,
            shown: None,
            supervisor: None,
            plain: Plain::default(),
        }
    }

    /// Lets the keyboard control a referee; if the referee is attended, typed commands do so too.
    pub(crate) fn connect(&mut self, referee: &Referee, is_attended: bool) {
        let (remote, silences) = (referee.remote(), referee.arbiter().silences());
        if is_attended && self.is_wanted {
            remote.say(ControlCommand::Order(Order::Attend));
        } else if is_attended {
            Console::open(remote.clone(), referee.arbiter().tournament().clone(), silences);
        }
        self.supervisor = Some(Supervisor { remote, is_attended, silences });
    }

    /// Leaves the terminal; returns the table if the tournament is over.
    pub(crate) fn close(mut self) -> Option<Standings> {
        self.shown = None;
        self.plain.last.take()
    }

    /// Executes the request of a key.
    fn execute(&mut self, asked: KeyRequest, snapshot: &Snapshot<'_>) {
        match asked {
            KeyRequest::Leave => self.leave(snapshot.tournament),
            KeyRequest::Stop => match self.supervisor {
                Some(_) => self.say(ControlCommand::Stop),
                None => {
                    // An observer ends only itself.
                    leave_terminal();
                    std::process::exit(INTERRUPTED);
                }
            },
            KeyRequest::Pause if snapshot.is_paused => {
                self.say(ControlCommand::Order(Order::Resume))
            }
            KeyRequest::Pause => self.say(ControlCommand::Order(Order::Pause)),
            KeyRequest::Command(line) => self.command(&line, snapshot.tournament),
        }
    }

    fn leave(&mut self, tournament: &Tournament) {
        self.shown = None;
        if let Some(Supervisor { remote, is_attended: true, silences }) = &self.supervisor {
            Console::open(remote.clone(), tournament.clone(), *silences);
        }
    }

    fn command(&mut self, line: &str, tournament: &Tournament) {
        let silences = self.supervisor.as_ref().map_or(tournament.silences, |it| it.silences);
        match parse_command(line, tournament, silences) {
            Ok(SupervisorCommand::Control(wish)) => self.say(wish),
            Ok(SupervisorCommand::Help) => self.message(COMMANDS),
            Ok(SupervisorCommand::Nothing) => {}
            Err(why) => self.message(&why),
        }
    }

    fn say(&mut self, wish: ControlCommand) {
        let Some(supervisor) = &mut self.supervisor else {
            return self.message("the referee is another one");
        };
        if let ControlCommand::Order(Order::QuietTimeouts(silences)) = wish {
            supervisor.silences = silences;
        }
        supervisor.remote.say(wish);
    }
}

/// The exit status after an interrupt.
const INTERRUPTED: i32 = 130;

impl Watch for Display {
    fn message(&mut self, text: &str) {
        match &mut self.shown {
            Some(shown) => shown.screen.say(text),
            None => self.plain.message(text),
        }
    }

    fn show(&mut self, snapshot: &Snapshot<'_>) {
        self.plain.show(snapshot);
        if std::mem::take(&mut self.is_wanted) {
            self.shown = DisplayState::open().ok();
        }
        while let Some(key) = self.shown.as_ref().and_then(|shown| shown.keys.next()) {
            let asked = self.shown.as_mut().and_then(|shown| shown.screen.press(key));
            if let Some(asked) = asked {
                self.execute(asked, snapshot);
            }
        }
        let is_drawn = self.shown.as_mut().is_none_or(|shown| shown.draw(snapshot).is_ok());
        if !is_drawn {
            self.shown = None;
        }
    }

    fn standings(&mut self, snapshot: &Snapshot<'_>) {
        match &mut self.shown {
            Some(shown) => shown.screen.say(&snapshot.standings().to_string()),
            None => self.plain.standings(snapshot),
        }
    }

    fn refresh(&self) -> Option<Duration> {
        (self.is_wanted || self.shown.is_some()).then_some(REFRESH)
    }
}

impl DisplayState {
    fn open() -> io::Result<DisplayState> {
        IS_DRAWN_ON.store(true, Ordering::Relaxed);
        let begin = || {
            enable_raw_mode()?;
            execute!(io::stderr(), EnterAlternateScreen)?;
            Terminal::new(CrosstermBackend::new(io::stderr()))
        };
        let terminal = begin().inspect_err(|_| leave_terminal())?;
        let screen = Screen::new(Theme::of_environment());
        Ok(DisplayState { terminal, screen, keys: Keys::open(), drawn: None })
    }

    /// Draws the screen, unless it was drawn less than [`REFRESH`] ago.
    fn draw(&mut self, snapshot: &Snapshot<'_>) -> io::Result<()> {
        let is_new = self.drawn.is_some_and(|drawn| drawn.elapsed() < REFRESH);
        if is_new && !snapshot.has_ended {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        self.terminal.draw(|frame| self.screen.draw(frame, snapshot)).map(drop)
    }
}

impl Drop for DisplayState {
    fn drop(&mut self) {
        leave_terminal();
    }
}

impl Screen {
    /// Handles a key. Returns a request if the key does not only change the screen.
    fn press(&mut self, key: Key) -> Option<KeyRequest> {
        if key == Key::Interrupt {
            return Some(KeyRequest::Stop);
        }
        let Some(line) = &mut self.typed else {
            match key {
                Key::Char('q') => return Some(KeyRequest::Leave),
                Key::Char('p') => return Some(KeyRequest::Pause),
                Key::Char('f') => self.look.figures = !self.look.figures,
                Key::Char(':') => self.typed = Some(String::new()),
                _ => {}
            }
            return None;
        };
        match key {
            Key::Char(letter) => line.push(letter),
            Key::Backspace => drop(line.pop()),
            Key::Escape | Key::Interrupt => self.typed = None,
            Key::Enter => return self.typed.take().map(KeyRequest::Command),
        }
        None
    }
}

/// Whether the terminal must be restored.
static IS_DRAWN_ON: AtomicBool = AtomicBool::new(false);

/// Restores the terminal. This is also done when a signal ends the process.
pub(crate) fn leave_terminal() {
    if IS_DRAWN_ON.swap(false, Ordering::Relaxed) {
        // Errors are ignored, because they mean that the terminal is gone.
        disable_raw_mode().ok();
        execute!(io::stderr(), LeaveAlternateScreen, Show).ok();
    }
}
