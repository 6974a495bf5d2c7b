//! The log that a referee writes, and the state that a referee recovers from the log when it
//! begins.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::entry::{Entry, Note, SettingsText};
use super::follow::{Chain, HEADER, LogReader, unreadable};
use crate::arbiter::{Action, Arbiter, Event};
use crate::seat::ChannelId;
use epdb_base::new_file::cannot_write;
use epdb_chess::error::{Error, Result};

/// File mode of a log.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;

/// A log that is opened for writing, and locked so that no other referee writes it.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    chain: Chain,
}

/// The state of a tournament from its log.
#[derive(Debug)]
pub struct Recovered {
    /// The settings.
    pub settings: SettingsText,
    /// The arbiter in the state in which the last referee left it.
    pub arbiter: Arbiter,
    /// The time of the last line.
    pub at: Duration,
    /// The highest number of any channel so far.
    pub last_channel: ChannelId,
    /// The last address for clients.
    pub address: Option<String>,
    /// True if the last referee ended on command, or because it could not go on.
    pub is_stopped: bool,
    /// Actions that follow from the last event and are not logged yet.
    to_note: VecDeque<Action>,
}

impl Recovered {
    /// The state before the first event of a tournament.
    ///
    /// # Errors
    /// The settings are invalid.
    pub fn begin(settings: SettingsText) -> Result<Recovered> {
        let arbiter = Arbiter::new(Arc::new(settings.tournament()?));
        Ok(Recovered {
            settings,
            arbiter,
            at: Duration::ZERO,
            last_channel: 0,
            address: None,
            is_stopped: false,
            to_note: VecDeque::new(),
        })
    }

    /// Takes the next entry of a log.
    ///
    /// # Errors
    /// A logged action does not follow from the events.
    pub fn take(&mut self, at: Duration, entry: Entry) -> Result<()> {
        self.at = self.at.max(at);
        match entry {
            Entry::Event(event) => self.take_event(at, event)?,
            Entry::Note(Note::Action(action)) => self.take_action(&action)?,
            Entry::Note(Note::Listen(address)) => self.address = Some(address),
            Entry::Note(Note::Stopped) => self.is_stopped = true,
            Entry::Note(Note::Refused { .. }) => {}
            Entry::Settings(_) => return Err(Error::new("settings stand in the second line only")),
        }
        Ok(())
    }

    fn take_event(&mut self, at: Duration, event: Event) -> Result<()> {
        match event {
            Event::Opened(channel) => self.last_channel = self.last_channel.max(channel),
            Event::Session { .. } => {
                self.is_stopped = false;
                // The last referee may have ended before it had noted all actions.
                self.to_note.clear();
            }
            _ => {}
        }
        if let Some(missing) = self.to_note.front() {
            let missing = Entry::Note(Note::Action(missing.clone())).text();
            return Err(contradiction(&format!("`{missing}` has to come before")));
        }
        self.to_note = self.arbiter.take(at, event).into();
        Ok(())
    }

    /// Compares a noted action with the action that follows from the events. The texts of messages
    /// may differ, because another version may have written the log.
    fn take_action(&mut self, noted: &Action) -> Result<()> {
        match (self.to_note.pop_front(), noted) {
            (Some(Action::Message(_)), Action::Message(_)) => Ok(()),
            (Some(expected), noted) if expected == *noted => Ok(()),
            (Some(expected), _) => {
                let expected = Entry::Note(Note::Action(expected)).text();
                Err(contradiction(&format!("`{expected}` follows instead")))
            }
            (None, _) => Err(contradiction("it does not follow")),
        }
    }

    /// Takes all further entries that are in the log now. `seen` is called with each entry before it is
    /// taken.
    ///
    /// # Errors
    /// The log is damaged or contradicts itself.
    pub fn follow(&mut self, reader: &mut LogReader, mut seen: impl FnMut(&Entry)) -> Result<()> {
        while let Some((at, entry)) = reader.next_entry()? {
            seen(&entry);
            self.take(at, entry).map_err(|error| reader.damaged(&error.to_string()))?;
        }
        Ok(())
    }

    /// Reads the entries that a log has so far; `None` if there are none yet.
    ///
    /// # Errors
    /// The log is damaged, or its settings are invalid.
    pub fn read(reader: &mut LogReader) -> Result<Option<Recovered>> {
        let mut recovered = match reader.next_entry()? {
            None => return Ok(None),
            Some((_, Entry::Settings(settings))) => Recovered::begin(settings)?,
            Some(_) => return Err(Error::new("a log without settings in its second line")),
        };
        recovered.follow(reader, |_| {})?;
        Ok(Some(recovered))
    }
}

impl Log {
    /// Opens or creates the log for writing, and locks it; `None` if another referee has locked it.
    ///
    /// # Errors
    /// The log cannot be opened or locked.
    pub fn lock(path: &Path) -> Result<Option<Log>> {
        let file = open_private(path).map_err(|error| cannot_write(path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Log { file, path: path.to_path_buf(), chain: Chain::new() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(Error::new("cannot lock the log").because(error).in_source(self::name(path)))
            }
        }
    }

    /// Reads the log, and removes an incomplete last line. A log without settings, or with other settings but
    /// without a move, is begun again with `settings`.
    ///
    /// # Errors
    /// The log is damaged, or it cannot be written.
    pub fn recover(&mut self, settings: &SettingsText) -> Result<Recovered> {
        self.file.seek(SeekFrom::Start(0)).map_err(|error| unreadable(&self.path, error))?;
        let file = self.file.try_clone().map_err(|error| unreadable(&self.path, error))?;
        let mut reader = LogReader::new(file, &self.path);
        let found =
            Recovered::read(&mut reader).map_err(|error| error.in_source(name(&self.path)))?;
        let len = if found.is_some() { reader.offset() } else { 0 };
        let cut = self.file.set_len(len).and_then(|()| self.file.seek(SeekFrom::Start(len)));
        cut.map_err(|error| cannot_write(&self.path, error))?;
        self.chain = reader.chain();
        match found {
            Some(recovered) if recovered.settings == *settings || recovered.arbiter.has_moves() => {
                Ok(recovered)
            }
            // The log is empty, or has other settings and no move.
            Some(_) | None => self.begin(settings),
        }
    }

    fn begin(&mut self, settings: &SettingsText) -> Result<Recovered> {
        let recovered = Recovered::begin(settings.clone())?;
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|error| cannot_write(&self.path, error))?;
        self.chain = Chain::new();
        self.write(format!("{HEADER}\n").as_bytes())?;
        self.add(Duration::ZERO, &Entry::Settings(settings.clone()))?;
        self.sync()?;
        Ok(recovered)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn add(&mut self, at: Duration, entry: &Entry) -> Result<()> {
        let line = format!("{} {}", at.as_micros(), entry.text());
        let check = self.chain.extend(line.as_bytes());
        self.write(format!("{check:08x} {line}\n").as_bytes())
    }

    /// Syncs the added lines to the disk, so that they survive a loss of power.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn sync(&self) -> Result<()> {
        Ok(self.file.sync_data().map_err(|error| cannot_write(&self.path, error))?)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.file.write_all(bytes).map_err(|error| cannot_write(&self.path, error))?)
    }
}

/// Opens a file for writing; if it is created, only its owner can read it.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, OWNER_ONLY);
    options
}

/// Opens a log so that only its owner can read it, because it holds the tokens of clients.
fn open_private(path: &Path) -> io::Result<File> {
    let file = private().read(true).create(true).truncate(false).open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let mut permissions = file.metadata()?.permissions();
        // The mode of special files, such as /dev/null, is not changed.
        if file.metadata()?.is_file() && permissions.mode() & 0o777 != OWNER_ONLY {
            permissions.set_mode(OWNER_ONLY);
            file.set_permissions(permissions)?;
        }
    }
    Ok(file)
}

fn contradiction(what: &str) -> Error {
    Error::new(format!("the log contradicts itself: {what}"))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
