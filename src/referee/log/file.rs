//! The log of the referee, and what it finds in it when it begins.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::entry::{Entry, Note, SettingsText};
use super::follow::{HEADER, LogReader, unreadable};
use crate::error::{Error, Result};
use crate::new_file::cannot_write;
use crate::referee::arbiter::Arbiter;
use crate::referee::arbiter::Event;
use crate::referee::seat::ChannelId;

/// A log that is written, which no other referee writes.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
}

/// What a log says of the tournament so far.
#[derive(Debug)]
pub struct Recovered {
    /// The settings.
    pub settings: SettingsText,
    /// The arbiter as it was.
    pub arbiter: Arbiter,
    /// The time of the last line.
    pub at: Duration,
    /// The highest number that a channel had.
    pub last_channel: ChannelId,
    /// Where clients were awaited last.
    pub address: Option<String>,
    /// Whether the last referee did not just go away: it was told to end, or could not go on.
    pub is_stopped: bool,
}

impl Recovered {
    /// Before the first event of a tournament.
    ///
    /// # Errors
    /// The settings describe no tournament.
    pub fn begin(settings: SettingsText) -> Result<Recovered> {
        let arbiter = Arbiter::new(Arc::new(settings.tournament()?));
        let at = Duration::ZERO;
        Ok(Recovered { settings, arbiter, at, last_channel: 0, address: None, is_stopped: false })
    }

    /// Whether a game was begun.
    fn has_games(&self) -> bool {
        let snapshot = self.arbiter.snapshot(self.at);
        !snapshot.finished.is_empty() || !snapshot.running.is_empty()
    }

    /// Takes what a log says next.
    pub fn take(&mut self, at: Duration, entry: Entry) {
        self.at = self.at.max(at);
        match entry {
            Entry::Event(event) => {
                match event {
                    Event::Opened(channel) => self.last_channel = self.last_channel.max(channel),
                    Event::Session { .. } => self.is_stopped = false,
                    _ => {}
                }
                self.arbiter.take(at, event);
            }
            Entry::Note(Note::Listen(address)) => self.address = Some(address),
            Entry::Note(Note::Stopped) => self.is_stopped = true,
            Entry::Note(Note::Action(_)) | Entry::Settings(_) => {}
        }
    }

    /// Reads what a log says so far; `None` where there is nothing yet.
    ///
    /// # Errors
    /// The log is damaged, or its settings describe no tournament.
    pub fn read(reader: &mut LogReader) -> Result<Option<Recovered>> {
        let mut recovered = match reader.next_entry()? {
            None => return Ok(None),
            Some((_, Entry::Settings(settings))) => Recovered::begin(settings)?,
            Some(_) => return Err(Error::new("a log without settings in its second line")),
        };
        while let Some((at, entry)) = reader.next_entry()? {
            recovered.take(at, entry);
        }
        Ok(Some(recovered))
    }
}

impl Log {
    /// Opens the log for writing, or makes one; `None` where another referee holds it.
    ///
    /// # Errors
    /// The system does not let it be opened or locked.
    pub fn lock(path: &Path) -> Result<Option<Log>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| cannot_write(path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Log { file, path: path.to_path_buf() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(Error::new("cannot lock the log").because(error).in_source(self::name(path)))
            }
        }
    }

    /// Reads what is there. Half a line at the end, which was being written when its referee ended, is
    /// taken away. A log without settings, or without a game and with others, begins anew with these.
    ///
    /// # Errors
    /// The log is damaged, or it cannot be written.
    pub fn recover(&mut self, settings: &SettingsText) -> Result<Recovered> {
        self.file.seek(SeekFrom::Start(0)).map_err(|error| unreadable(&self.path, error))?;
        let file = self.file.try_clone().map_err(|error| unreadable(&self.path, error))?;
        let mut reader = LogReader::of(file, &self.path);
        let found =
            Recovered::read(&mut reader).map_err(|error| error.in_source(name(&self.path)))?;
        let len = if found.is_some() { reader.offset() } else { 0 };
        let cut = self.file.set_len(len).and_then(|()| self.file.seek(SeekFrom::Start(len)));
        cut.map_err(|error| cannot_write(&self.path, error))?;
        match found {
            Some(recovered) if recovered.settings == *settings || recovered.has_games() => {
                Ok(recovered)
            }
            // What was begun with other settings was not played.
            Some(_) | None => self.begin(settings),
        }
    }

    fn begin(&mut self, settings: &SettingsText) -> Result<Recovered> {
        let recovered = Recovered::begin(settings.clone())?;
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|error| cannot_write(&self.path, error))?;
        let line = Entry::Settings(settings.clone()).text();
        self.write(format!("{HEADER}\n0 {line}\n").as_bytes())?;
        Ok(recovered)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, at: Duration, entry: &Entry) -> Result<()> {
        self.write(format!("{} {}\n", at.as_micros(), entry.text()).as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.file.write_all(bytes).map_err(|error| cannot_write(&self.path, error))?)
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
