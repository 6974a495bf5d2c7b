//! A program in a pseudo terminal: types input, and reads until the expected output appears.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pty_process::Size;
use pty_process::blocking::{Command, open};

/// No answer takes so long; without it a test that fails would not end.
const PATIENCE: Duration = Duration::from_secs(120);

/// A terminal with a program in it.
pub(crate) struct Terminal {
    keys: File,
    child: Child,
    output: Receiver<Vec<u8>>,
    /// Output since the last expected text.
    shown: String,
}

impl Terminal {
    /// Starts a program in a folder, which is also its home; `no_color` is what `NO_COLOR` says.
    pub(crate) fn start(program: &Path, args: &[&str], folder: &Path, no_color: &str) -> Terminal {
        Terminal::start_wide(200, program, args, folder, no_color)
    }

    /// [`Terminal::start`] with a number of columns.
    pub(crate) fn start_wide(
        columns: u16,
        program: &Path,
        args: &[&str],
        folder: &Path,
        no_color: &str,
    ) -> Terminal {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(50, columns)).unwrap();
        let child = Command::new(program)
            .args(args)
            .current_dir(folder)
            .env("HOME", folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("TERM", "xterm")
            .env("NO_COLOR", no_color)
            .spawn(pts)
            .unwrap();
        let keys = File::from(OwnedFd::from(pty));
        let mut screen = keys.try_clone().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { keys, child, output, shown: String::new() }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a text is shown, and gives what was shown before it.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        loop {
            if let Some(place) = self.shown.find(text) {
                let rest = self.shown.split_off(place + text.len());
                let mut before = std::mem::replace(&mut self.shown, rest);
                before.truncate(place);
                return before;
            }
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("expected {text:?}, shown was {:?}", self.shown),
            }
        }
    }

    /// Waits until the line editor reads keys: before, some of them are for the terminal itself.
    pub(crate) fn prompt(&mut self) {
        self.expect("\x1b[?2004h");
    }

    /// Waits until the line editor has read a line, and the terminal is as it was without it.
    pub(crate) fn entered(&mut self) {
        self.expect("\x1b[?2004l\r\n");
    }

    /// The exit status of the program, which is ending.
    pub(crate) fn status(mut self) -> i32 {
        let waiting = loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown += &String::from_utf8_lossy(&bytes),
                Err(ended) => break ended,
            }
        };
        if waiting == RecvTimeoutError::Timeout {
            self.child.kill().unwrap();
            panic!("it did not end, shown was {:?}", self.shown);
        }
        self.child.wait().unwrap().code().expect("no signal")
    }
}
