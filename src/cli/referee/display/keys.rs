//! Keys, read by a separate thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Interval at which the thread checks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// Meaning of a key.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// The keys of a terminal. A thread reads them until this value is dropped.
#[derive(Debug)]
pub(super) struct Keys {
    pressed: Receiver<Key>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Keys {
    pub(super) fn open() -> Keys {
        let (sender, pressed) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                if event::poll(LOOK)?
                    && let Event::Key(key) = event::read()?
                    && let Some(key) = read(key)
                {
                    sender.send(key).map_err(io::Error::other)?;
                }
            }
            Ok(())
        });
        Keys { pressed, is_over, thread: Some(thread) }
    }

    /// A pressed key, if any.
    pub(super) fn next(&self) -> Option<Key> {
        self.pressed.try_recv().ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // An error means that the terminal is gone; it can be ignored.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn read(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
        KeyCode::Char(letter) => Some(Key::Char(letter)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        _ => None,
    }
}
