//! Several sources in sequence, and the items of sources as an iterator.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{thread, vec};

use super::item::{Item, OwnedItem, Summary, VisitItem};
use super::open::Source;
use super::options::SourceOptions;
use super::report::Reason;
use super::slices::Slice;
use epdb_chess::error::{Error, Result, caught};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::Severity;

/// The files or the slice that are read.
#[derive(Clone, Debug)]
pub enum Inputs {
    /// Files, or standard input for `-`, in this order.
    Files(Vec<PathBuf>),
    /// A slice of the files of a plan.
    Slice(Slice),
}

impl<P: Into<PathBuf>, I: IntoIterator<Item = P>> From<I> for Inputs {
    fn from(paths: I) -> Inputs {
        Inputs::Files(paths.into_iter().map(Into::into).collect())
    }
}

impl From<Slice> for Inputs {
    fn from(slice: Slice) -> Inputs {
        Inputs::Slice(slice)
    }
}

/// Sources of any format, read in sequence. A source is opened when the previous one ends.
#[derive(Clone, Debug)]
pub struct Sources {
    inputs: Inputs,
    options: SourceOptions,
}

impl Sources {
    /// Files, or standard input for `-`, in this order; or a slice.
    pub fn new(inputs: impl Into<Inputs>, options: &SourceOptions) -> Sources {
        Sources { inputs: inputs.into(), options: options.clone() }
    }

    /// Opens the sources one after the other.
    ///
    /// # Errors
    /// The errors of [`Source::open`] and [`Slice::open`].
    pub fn each<E: From<Error>>(
        &self,
        visit: &mut dyn FnMut(Source) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        match &self.inputs {
            Inputs::Files(paths) => {
                for path in paths {
                    if visit(Source::open(path, &self.options)?)?.is_break() {
                        break;
                    }
                }
            }
            Inputs::Slice(slice) => {
                for part in slice.parts() {
                    if visit(slice.open(part, &self.options)?)?.is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with all items of all sources; see [`Source::read`].
    ///
    /// # Errors
    /// The errors of [`Source::open`] and [`Source::read`].
    pub fn read<E: From<Error>>(self, visit: &mut VisitItem<'_, E>) -> Result<Summary, E> {
        let mut all = Summary::default();
        self.each(&mut |source| {
            all.add(&source.read(visit)?);
            Ok::<_, E>(if all.was_stopped {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(all)
    }

    /// All items of all sources.
    pub fn items(self) -> Items {
        let sources = Sources { options: self.options.without_encoding(), ..self };
        Items::start(move |visit| sources.read(visit))
    }

    /// All records of all sources; a rejected line or game is an error, and the next record
    /// follows.
    pub fn records(self) -> impl Iterator<Item = Result<EpdRecord>> {
        self.items().records()
    }
}

impl Source {
    /// All items of the source.
    pub fn items(self) -> Items {
        let source = self.without_encoding();
        Items::start(move |visit| source.read(visit))
    }

    /// All records of the source; a rejected line or game is an error, and the next record follows.
    pub fn records(self) -> impl Iterator<Item = Result<EpdRecord>> {
        self.items().records()
    }
}

/// Number of items in a batch.
const BATCH: usize = 1024;
/// Number of batches that may wait.
const BATCHES: usize = 4;

type Batch = Vec<Result<OwnedItem>>;

/// The items of sources in order. A separate thread reads a little ahead. An error of a source is
/// the last item.
#[derive(Debug)]
pub struct Items {
    batches: Receiver<Batch>,
    batch: vec::IntoIter<Result<OwnedItem>>,
}

impl Items {
    fn start(
        read: impl FnOnce(&mut VisitItem<'_, Error>) -> Result<Summary> + Send + 'static,
    ) -> Items {
        let (sender, batches) = sync_channel(BATCHES);
        thread::spawn(move || {
            let mut batches = BatchSender { sender, batch: Vec::new(), reason: Reason::default() };
            let end = caught(|| read(&mut |item| Ok(batches.take(item))));
            batches.batch.extend(end.err().map(Err));
            // The receiver is gone if the iterator was dropped.
            let _ = batches.send();
        });
        Items { batches, batch: Vec::new().into_iter() }
    }

    fn records(self) -> impl Iterator<Item = Result<EpdRecord>> {
        self.filter_map(|item| match item {
            Ok(item) => item.into_record(),
            Err(error) => Some(Err(error)),
        })
    }
}

impl Iterator for Items {
    type Item = Result<OwnedItem>;

    fn next(&mut self) -> Option<Result<OwnedItem>> {
        loop {
            if let Some(item) = self.batch.next() {
                return Some(item);
            }
            // The channel is closed after the end, or after an error.
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}

/// Items on their way to the iterator.
struct BatchSender {
    sender: SyncSender<Batch>,
    batch: Batch,
    reason: Reason,
}

impl BatchSender {
    /// Takes an item. If the iterator was dropped, stops the reading.
    fn take(&mut self, item: Item<'_>) -> ControlFlow<()> {
        self.reason.note(&item);
        match item {
            Item::Record { record, place, .. } => {
                self.batch.push(Ok(OwnedItem::Record { record, place: place.clone() }));
            }
            Item::Game { game, place, is_cut_short, .. } => {
                let game = Box::new(game.clone());
                let place = place.clone();
                self.batch.push(Ok(OwnedItem::Game { game, place, is_cut_short }));
            }
            Item::Rejected { is_more: true, .. } => {}
            Item::Rejected { raw, place, .. } => {
                let raw = raw.to_vec();
                let place = place.clone();
                let diagnostic = self.reason.take();
                self.batch.push(Ok(OwnedItem::Rejected { raw, place, diagnostic }));
            }
            Item::Diagnostic { diagnostic, place } => {
                if diagnostic.severity == Severity::Warning {
                    let diagnostic = diagnostic.clone();
                    let place = place.clone();
                    self.batch.push(Ok(OwnedItem::Warning { diagnostic, place }));
                }
            }
            // The diagnostic came before.
            Item::CutShort { .. } => {}
            Item::Encoded { .. }
            | Item::LeftOut { .. }
            | Item::LeftOutMany { .. }
            | Item::Skipped { .. } => {}
            Item::Damaged { damage, place } => {
                let error = Error::new(damage.to_string()).at(place.clone());
                self.batch.push(Err(error));
            }
            Item::Waiting => return self.send(),
        }
        if self.batch.len() < BATCH {
            return ControlFlow::Continue(());
        }
        self.send()
    }

    fn send(&mut self) -> ControlFlow<()> {
        match self.sender.send(std::mem::take(&mut self.batch)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
