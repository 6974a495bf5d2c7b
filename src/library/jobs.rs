//! Jobs: whole pieces of work, such as counting games into a library. A program that embeds epdb maps its
//! arguments to the settings of a job, runs it, and reports the result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::expression::Expression;
use super::kept_games::KeptGamesOf;
use super::shards::{self, GRACE, ShardBuilder, ShardOptions, Unlisted};
use super::tally::ledger::{self, Allowed, LedgerError, LedgerSum};
use super::tally::{
    MergedGames, SliceCopies, SliceOfGames, TallyBuilder, TallyCounts, TallyOptions, TallyOrder,
};
use epdb_archive::{Level, PackOptions};
use epdb_base::new_file::{folder_of, temp_dir};
use epdb_chess::codec::tally_origin::{TallyLedger, TallyOrigin};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, Result};
use epdb_source::{
    BinaryRecords, Collection, Encode, FileFormat, Filter, Inputs, Item, Manifest, Slice, Source,
    Streams, Target, TargetLosses, TargetOptions, is_address,
};

/// Receives the items of a job, so that the job takes one at a time.
pub type TakeItem<'t, E> = dyn FnMut(Item<'_>) -> Result<(), E> + 't;

/// The program around a job: it reads the sources, which decides what happens to lines that cannot be read, and it
/// shows the progress.
pub trait JobSink {
    /// Errors of the program.
    type Error: From<Error>;

    /// Reads games in order, and passes their items to `take`. A source of records is refused.
    ///
    /// # Errors
    /// A source cannot be read, and errors of `take`.
    fn read_games(
        &mut self,
        inputs: &Inputs,
        take: &mut TakeItem<'_, Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Reads records in order, which for games are their positions, and passes their items to `take`. Records are
    /// encoded where all threads can encode them.
    ///
    /// # Errors
    /// A source cannot be read, and errors of `take`.
    fn read_records(
        &mut self,
        inputs: &Inputs,
        encode: Option<Arc<dyn Encode>>,
        take: &mut TakeItem<'_, Self::Error>,
    ) -> Result<(), Self::Error>;

    /// All sources were read, and `amount` records, or plies of games, will be sorted and written.
    fn begin_writing(&mut self, amount: u64);

    /// More records were written. `all` is the number of all records, if it is known.
    ///
    /// # Errors
    /// The job was interrupted.
    fn written(&mut self, records: u64, all: Option<u64>) -> Result<()>;
}

/// Counts games into a library, which is written when all of them were read.
#[derive(Clone, Debug)]
pub struct TallyJob {
    /// The games.
    pub inputs: Inputs,
    /// The options of counting.
    pub counting: TallyOptions,
    /// The settings that the library stores ([`TallyOptions::settings`]).
    pub settings: TallySettings,
    /// The list that decides, for games with copies in several slices of the plan, which copy is counted; `None`
    /// if there are no such games, or every copy is counted.
    pub copies: Option<PathBuf>,
    /// Whether the library keeps digests of its games, so that a copy that is added later is recognised.
    pub digests: bool,
    /// Approximate limit of the memory for counting, in bytes.
    pub memory_bytes: usize,
}

impl TallyJob {
    /// The format that the name of a library gives it. The library of a slice must be an archive, because only
    /// archives store of which slice they are.
    ///
    /// # Errors
    /// The name is not that of a library.
    pub fn format(&self, output: &Path) -> Result<FileFormat> {
        let shown = output.display();
        match FileFormat::from_name(output).filter(|format| !format.is_of_games()) {
            None => Err(Error::new(format!(
                "{shown} is not the name of a library: use .epdb, .epa, .epb or .epd"
            ))),
            Some(format) if slice_of(&self.inputs).is_some() && format != FileFormat::Epa => {
                Err(Error::new(format!(
                    "a slice is written as an archive, which is merged with those of the other slices: give {shown} the suffix .epa"
                )))
            }
            Some(format) => Ok(format),
        }
    }

    /// Options of the target, with memory beside that of counting.
    pub fn target_options(&self) -> TargetOptions {
        TargetOptions {
            store_memory_bytes: Some(self.memory_bytes / 2),
            archive: PackOptions { memory_bytes: self.memory_bytes / 2, ..Default::default() },
            ..Default::default()
        }
    }

    /// Counts the games, and writes the library. `output` is the file that `target` writes; temporary files are in
    /// its folder. The library appears only if everything succeeds.
    ///
    /// # Errors
    /// Errors of `sink` and of files; a list of copies that does not belong to the games.
    pub fn run<S: JobSink>(
        self,
        output: &Path,
        mut target: Target,
        sink: &mut S,
    ) -> Result<(TallyCounts, MergedGames), S::Error> {
        let TallyJob { inputs, counting, settings, copies, digests, memory_bytes } = self;
        let keeps_digests = digests && counting.same_game.is_some();
        let slice = slice_of(&inputs);
        let mut builder = TallyBuilder::new(counting, folder_of(output), memory_bytes);
        if let Some(slice) = slice
            && let Some(copies) = &copies
        {
            let games = SliceOfGames::new(slice, settings.clone());
            builder = builder.with_copies(SliceCopies::read(copies, &games)?);
        }
        sink.read_games(&inputs, &mut |item| {
            if let Item::Game { place, .. } | Item::LeftOut { place, .. } = &item {
                builder.begin_source(&place.source);
            }
            Ok(builder.take_item(&item, settings.truncate_games).map(drop)?)
        })?;
        builder.check_copies()?;
        sink.begin_writing(builder.counts().plies);
        if target.keeps_tally_ledger() {
            let (sources, games) = builder.take_games()?;
            let slices = slice.map(Slice::origin).unwrap_or_default();
            let origin = TallyOrigin { settings, sources, slices, ..TallyOrigin::default() };
            let games = keeps_digests.then_some(games);
            target.set_tally_ledger(TallyLedger { origin, games })?;
        }
        let order = match FileFormat::from_name(output) {
            Some(FileFormat::Epa) => TallyOrder::Games,
            _ => TallyOrder::Key,
        };
        builder.drain(order, &mut |batch, all| {
            sink.written(batch.len() as u64, all)?;
            target.write_batch(batch)
        })?;
        builder.drain_games(&mut |game| target.keep_game(game))?;
        // Whatever can fail comes before the library appears.
        let merged = builder.take_merged_games()?;
        sink.written(0, None)?;
        target.finish()?;
        Ok((builder.counts(), merged))
    }
}

const fn slice_of(inputs: &Inputs) -> Option<&Slice> {
    match inputs {
        Inputs::Slice(slice) => Some(slice),
        Inputs::Files(_) => None,
    }
}

/// The files that may be libraries. A slice has none: it is a part of texts.
pub fn library_files(inputs: &Inputs) -> &[PathBuf] {
    match inputs {
        Inputs::Files(files) => files,
        Inputs::Slice(_) => &[],
    }
}

/// Writes all records of sources to one file.
#[derive(Debug)]
pub struct RecordsJob {
    /// The records.
    pub inputs: Inputs,
    /// The streams among the sources, which were opened for the ledger.
    pub streams: Streams,
    /// The ledger that is written if the format has a place for it ([`ledger::of_records`]).
    pub ledger: Option<LedgerSum>,
}

/// The result of a [`RecordsJob`].
#[derive(Copy, Clone, Debug)]
pub struct WrittenRecords {
    /// Number of records.
    pub records: u64,
    /// Data that the format cannot express.
    pub losses: TargetLosses,
}

impl RecordsJob {
    /// Writes the records, the comments between them if the target is text, and the games that the records
    /// list if the target keeps games. The file appears only if everything succeeds.
    ///
    /// # Errors
    /// Errors of `sink` and of files.
    pub fn run<S: JobSink>(
        self,
        mut target: Target,
        sink: &mut S,
    ) -> Result<WrittenRecords, S::Error> {
        let mut games = KeptGamesOf::default();
        let mut encode = None;
        if target.keeps_tally_ledger() {
            games = KeptGamesOf::new(library_files(&self.inputs), &self.streams)?;
            encode = Some(Arc::new(BinaryRecords { only_plain: true }) as Arc<dyn Encode>);
        }
        if let Some(ledger) = self.ledger {
            target.set_tally_ledger(ledger.into_memory()?)?;
        }
        let mut records = 0;
        sink.read_records(&self.inputs, encode, &mut |item| {
            match item {
                // These are records without operations, so they list no games.
                Item::Encoded { records: encoded, .. } => {
                    records += encoded.count() as u64;
                    encoded.iter().try_for_each(|record| target.write_encoded(record))?;
                }
                Item::Record { record, place, game, .. } => {
                    records += 1;
                    games.note(&record);
                    target.write_position(&record, game, place)?;
                }
                Item::Skipped { raw, aside: Some(_), .. } => {
                    if let Some(output) = target.text_output() {
                        let line = [raw.trim_ascii_end(), b"\n"].concat();
                        std::io::Write::write_all(output, &line).map_err(Error::from)?;
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        games.each(&mut |game| target.keep_game(game))?;
        sink.begin_writing(records);
        sink.written(0, None)?;
        Ok(WrittenRecords { records, losses: target.finish()? })
    }
}

/// Writes the records of files as a sharded archive, with the games that these files keep.
#[derive(Debug)]
pub struct ShardsJob {
    /// The records.
    pub files: Vec<PathBuf>,
    /// The folder, or its address, that gets the shards and the manifest.
    pub folder: PathBuf,
    /// The options of writing.
    pub options: ShardOptions,
    /// The streams among the files, which were opened for the ledger.
    pub streams: Streams,
    /// The ledger of the whole library; `None` if it is no library.
    pub ledger: Option<LedgerSum>,
}

/// The result of a [`ShardsJob`].
#[derive(Debug)]
pub struct WrittenShards {
    /// The manifest.
    pub manifest: Manifest,
    /// Files of earlier manifests.
    pub unlisted: Unlisted,
}

impl ShardsJob {
    /// A job that adds libraries, or joins archives. `filter` chooses the positions after the tallies were added. The
    /// result does not depend on the order of libraries.
    ///
    /// # Errors
    /// Libraries must not be added, or cannot be read.
    pub fn merging(
        mut files: Vec<PathBuf>,
        folder: PathBuf,
        options: ShardOptions,
        streams: Streams,
        filter: Option<Expression>,
        allowed: Allowed,
    ) -> Result<ShardsJob, LedgerError> {
        let text = filter.as_ref().map(Expression::text);
        let ledger = ledger::of_merged(&mut files, &streams, text, allowed)?;
        let filter = filter.map(|filter| Arc::new(filter) as Arc<dyn Filter>);
        let options = ShardOptions { add_tallies: ledger.is_some(), filter, ..options };
        Ok(ShardsJob { files, folder, options, streams, ledger })
    }

    /// Writes the shards and then the manifest. Files of earlier manifests that no program reads any more are
    /// removed before, because the shards need their space.
    ///
    /// # Errors
    /// Errors of `sink` and of files.
    pub fn run<S: JobSink>(self, sink: &mut S) -> Result<WrittenShards, S::Error> {
        let ShardsJob { files, folder, options, streams, ledger } = self;
        let mut builder = ShardBuilder::new(options, temp_dir());
        let mut records = 0;
        let inputs = Inputs::Files(files);
        sink.read_records(&inputs, None, &mut |item| {
            if let Item::Record { record, .. } = item {
                records += 1;
                builder.push(&record)?;
            }
            Ok(())
        })?;
        for file in library_files(&inputs) {
            if let Some(library) = streams.library(file)? {
                library.opened()?.each_kept_game(&mut |_, game| builder.keep_game(game))?;
            }
        }
        let before = remove_unlisted(&folder);
        sink.begin_writing(records);
        sink.written(0, None)?;
        let manifest = builder.finish(&folder, ledger)?;
        // The manifest is new, so all files that it does not list stay for now.
        let unlisted = Unlisted { kept: remove_unlisted(&folder).kept, ..before };
        Ok(WrittenShards { manifest, unlisted })
    }
}

/// Removes the files of earlier manifests that no program reads any more. A folder that cannot be cleaned can still be
/// written to.
fn remove_unlisted(folder: &Path) -> Unlisted {
    if is_address(folder) {
        return Unlisted::default();
    }
    shards::remove_unlisted(folder, GRACE).unwrap_or_default()
}

/// Opens a source of any format for lookups. A store or an archive is searched where it is. Games are counted, and
/// other records are packed into a temporary archive; `read` reads the source, and passes its items on. Lookups use
/// about `memory_bytes`.
///
/// # Errors
/// Errors of `read` and of files.
pub fn open(
    source: Source,
    counting: TallyOptions,
    memory_bytes: usize,
    read: impl FnOnce(Source, &mut TakeItem<'_, Error>) -> Result<()>,
) -> Result<Collection> {
    let format = source.format();
    let name = source.name().to_string();
    if format.is_indexed() {
        return source.into_collection(memory_bytes);
    }
    if format.is_of_games() {
        let counts_cut_short = false;
        return count_games(&name, counting, counts_cut_short, memory_bytes, |take| {
            read(source, take)
        });
    }
    let options =
        PackOptions { level: Level::Fast, memory_bytes: memory_bytes / 2, ..Default::default() };
    Collection::built(&name, options, memory_bytes, |writer| {
        read(source, &mut |item| match item {
            Item::Record { record, .. } => Ok(writer.push(&record)?),
            _ => Ok(()),
        })
    })
}

/// Counts the games of a source into a temporary library for lookups, which use about `memory_bytes`. `read` passes the
/// items of the source on.
///
/// # Errors
/// Errors of `read` and of files.
pub fn count_games<E: From<Error>>(
    name: &str,
    counting: TallyOptions,
    counts_cut_short: bool,
    memory_bytes: usize,
    read: impl FnOnce(&mut TakeItem<'_, E>) -> Result<(), E>,
) -> Result<Collection, E> {
    let mut builder = TallyBuilder::new(counting, temp_dir(), memory_bytes / 2);
    builder.begin_source(name);
    read(&mut |item| {
        match item {
            Item::Rejected { is_more: false, .. } => builder.leave_out(),
            item => _ = builder.take_item(&item, counts_cut_short)?,
        }
        Ok(())
    })?;
    Ok(builder.into_lookup(name, memory_bytes)?)
}
