//! Records on their way into a new store. An import borrows its store, so it has a thread of its
//! own, which takes the records in batches.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::encoded_batch::EncodedBatch;
use crate::codec::record;
use crate::codec::tally_origin::TallyLedger;
use crate::error::{Error, Result, caught};
use crate::model::EpdRecord;
use crate::new_file::NewFile;
use crate::store::{ImportOptions, Store, StoreOptions};

/// How many batches may wait.
const BATCHES: usize = 4;
/// So many bytes of games are one message.
const GAMES_AT_ONCE: usize = 1 << 20;

/// What goes to the thread of the import.
enum Message {
    Records(EncodedBatch),
    Ledger(TallyLedger),
    /// Games, and where each ends.
    Games(Vec<u8>, Vec<usize>),
    Finish,
}

/// A store that appears when it is complete.
pub(super) struct StoreTarget {
    batch: EncodedBatch,
    games: (Vec<u8>, Vec<usize>),
    bytes: Vec<u8>,
    import: Option<Import>,
    new: Option<NewFile>,
    options: StoreOptions,
}

struct Import {
    messages: SyncSender<Message>,
    worker: JoinHandle<Result<()>>,
}

impl StoreTarget {
    /// Begins a store, which may replace what is there if that is said.
    ///
    /// # Errors
    /// The file exists already, or cannot be made.
    pub(super) fn create(path: &Path, memory: Option<usize>, replace: bool) -> Result<StoreTarget> {
        let mut options = StoreOptions::new().replace(replace);
        if let Some(memory) = memory {
            options = options.memory_bytes(memory);
        }
        let new = NewFile::create(path)?;
        let store = Store::create_in(&new, &options)?;
        let (messages, received) = sync_channel(BATCHES);
        let worker = thread::spawn(move || caught(|| import(store, &received)));
        let import = Some(Import { messages, worker });
        let (batch, bytes) = (EncodedBatch::default(), Vec::new());
        Ok(StoreTarget { batch, games: Default::default(), bytes, import, new: Some(new), options })
    }

    pub(super) fn push(&mut self, record: &EpdRecord) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        record::encode(record, &mut bytes)?;
        let pushed = self.push_encoded(&bytes);
        self.bytes = bytes;
        pushed
    }

    /// Takes a record that the codec encoded.
    pub(super) fn push_encoded(&mut self, record: &[u8]) -> Result<()> {
        self.batch.push(record);
        if !self.batch.is_full() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Records(batch))
    }

    /// Says how the tallies among the records came to be.
    pub(super) fn set_tally_ledger(&mut self, ledger: TallyLedger) -> Result<()> {
        self.send(Message::Ledger(ledger))
    }

    /// Takes a game that a position lists.
    pub(super) fn keep_game(&mut self, game: &[u8]) -> Result<()> {
        let (bytes, ends) = &mut self.games;
        bytes.extend_from_slice(game);
        ends.push(bytes.len());
        if bytes.len() < GAMES_AT_ONCE {
            return Ok(());
        }
        self.send_games()
    }

    fn send_games(&mut self) -> Result<()> {
        let (bytes, ends) = std::mem::take(&mut self.games);
        self.send(Message::Games(bytes, ends))
    }

    /// Sends a message; when nobody takes it, the import says why.
    fn send(&mut self, message: Message) -> Result<()> {
        match &self.import {
            Some(import) if import.messages.send(message).is_ok() => Ok(()),
            _ => Err(self.end().err().unwrap_or_else(|| Error::new("the import has ended"))),
        }
    }

    pub(super) fn finish(mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Records(batch))?;
        self.send_games()?;
        self.send(Message::Finish)?;
        self.end()?;
        match self.new.take() {
            Some(new) => Ok(Store::publish(new, &self.options)?),
            None => Ok(()),
        }
    }

    /// Waits for the end of the import.
    fn end(&mut self) -> Result<()> {
        let Some(Import { messages, worker }) = self.import.take() else { return Ok(()) };
        drop(messages);
        worker.join().unwrap_or_else(|_| Err(Error::new("internal error: the import panicked")))
    }
}

impl Drop for StoreTarget {
    /// The file is removed when nothing uses it any more.
    fn drop(&mut self) {
        self.end().ok();
    }
}

fn import(store: Store, received: &Receiver<Message>) -> Result<()> {
    let mut importer = store.importer("-", &ImportOptions::default())?;
    loop {
        match received.recv() {
            Ok(Message::Records(records)) => {
                records.each(&mut |record| Ok(importer.push_encoded(record)?))?;
            }
            Ok(Message::Ledger(TallyLedger { origin, games })) => {
                let games = games.map(|games| games.iter().collect());
                importer.set_tally_origin(origin, games);
            }
            Ok(Message::Games(bytes, ends)) => {
                let mut start = 0;
                for end in ends {
                    importer.keep_game(&bytes[start..end])?;
                    start = end;
                }
            }
            Ok(Message::Finish) => break,
            // What was begun is given up.
            Err(_) => return Ok(()),
        }
    }
    importer.finish()?;
    Ok(store.close()?)
}
