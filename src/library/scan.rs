//! Files as tables of Apache Arrow: batches of records, games or moves.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("epdb-scan-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("a.epd");
//! use epdb_library::scan::{Rows, Scan, ScanOptions};
//! std::fs::write(&path, "8/8/8/4k3/8/1K6/8/8 b - - bm Ke4; ce 0;\n")?;
//! let columns = ["fen", "cp", "pieces"].map(String::from);
//! for batch in Scan::open([&path], &ScanOptions { columns: Some(columns.into_iter().collect()), ..ScanOptions::new(Rows::Records) })? {
//!     assert_eq!(batch?.num_rows(), 1);
//! }
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A scan has a pool of threads. One of them reads the sources in order; the others parse text and make
//! batches, which are returned in order. Lines of text and games become rows on the threads that read them.

use std::cell::LazyCell;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use rayon::Yield;

#[cfg(feature = "parquet")]
use super::column_scan::ColumnScan;
use super::expression::{Expression, never_met_advice};
use super::field::Field;
use super::value::{EvalContext, Number, Type, Value, record_of_game};
use epdb_chess::error::{At, Error, Place, Result, caught, locked};
use epdb_chess::model::{EpdRecord, Game, MoveTally};
#[cfg(feature = "parquet")]
use epdb_chess::text::ScoreView;
use epdb_chess::text::pgn::{GamePlace, GamePosition, PositionOptions};
use epdb_source::arrow::{
    Batch, CellWriter, GameRows, Kind, MoveRows, RecordRows, Row, TableOptions,
};
use epdb_source::{
    Encode, EncodedRecords, GameCounter, Inputs, Item, ReadReport, SourceOptions, Sources,
};

/// The rows of a table.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Rows {
    /// A record. The records of a game are its positions.
    #[default]
    Records,
    /// A game.
    Games,
    /// A move of a position in a library, in one group of its games.
    Moves,
}

impl Rows {
    /// The names of all columns of the table. By default, a table of records has only some of them.
    pub fn all_columns(self) -> Vec<String> {
        match self {
            Rows::Records => RecordRows::all_columns(),
            Rows::Games => GameRows::all_columns(),
            Rows::Moves => MoveRows::all_columns(),
        }
    }
}

/// Options of a [`Scan`].
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// The rows of the table.
    pub rows: Rows,
    /// The columns, in this order: columns of the table, or fields of `epdb help where`. `None` for the
    /// default columns.
    pub columns: Option<Vec<String>>,
    /// An [`Expression`]; only rows for which it holds are taken.
    pub filter: Option<String>,
    /// True if scores are from White's view, and not from that of the side to move.
    pub white_view: bool,
    /// True if rejected lines and games are only counted ([`Scan::report`]). Otherwise the first one
    /// is an error.
    pub skip_rejected: bool,
    /// Number of rows in a batch, at least 1; the last batch has fewer. The default is
    /// [`BATCH_ROWS`].
    pub batch_rows: usize,
    /// Number of threads. If it is `None`, it is that of the environment variable `RAYON_NUM_THREADS`, or else
    /// one per core.
    pub threads: Option<NonZeroUsize>,
    /// Options of the sources. The scan decides whether games are read as games or as positions.
    pub source: SourceOptions,
}

/// Default number of rows in a batch.
pub const BATCH_ROWS: usize = 65_536;

impl ScanOptions {
    /// All default columns of all rows; scores from the view of the side to move.
    pub fn new(rows: Rows) -> ScanOptions {
        ScanOptions {
            rows,
            columns: None,
            filter: None,
            white_view: false,
            skip_rejected: false,
            batch_rows: BATCH_ROWS,
            threads: None,
            source: SourceOptions::default(),
        }
    }

    /// The schema of the table.
    ///
    /// # Errors
    /// A column is neither a column of the table nor a field, or is there twice.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(self.table()?.schema())
    }

    fn table(&self) -> Result<Table> {
        let options = TableOptions { columns: self.columns.clone(), white_view: self.white_view };
        let own = self.rows.all_columns();
        let field = |name: &String| Field::parse(name).ok().filter(|_| !own.contains(name));
        let fields: Vec<_> = self.columns.iter().flatten().map(field).collect();
        let met = fields.iter().map(|_| AtomicBool::new(false)).collect();
        let other = |name: &str| {
            let field = Field::parse(name).map_err(Error::new)?;
            Ok(kind_of(&field))
        };
        let rows = match self.rows {
            Rows::Records => TableOf::Records(RecordRows::new(&options, &other)?),
            Rows::Games => TableOf::Games(GameRows::new(&options, &other)?),
            Rows::Moves => TableOf::Moves(MoveRows::new(&options, &other)?),
        };
        Ok(Table { rows, fields, met })
    }

    /// The files as columns; `None` if one of them has to be read as records.
    #[cfg(feature = "parquet")]
    fn column_scans(&self, inputs: &Inputs, schema: &SchemaRef) -> Result<Option<Vec<ColumnScan>>> {
        let Inputs::Files(files) = inputs else { return Ok(None) };
        if self.filter.is_some() && self.rows != Rows::Records {
            return Ok(None);
        }
        let columns = Some(self.rows.all_columns());
        let all = ScanOptions { columns, ..ScanOptions::new(self.rows) }.schema()?;
        let filter = self.filter.as_deref().map(Expression::parse).transpose();
        let filter = filter.map_err(|error| Error::new("the filter").because(error))?;
        let view = if self.white_view { ScoreView::White } else { ScoreView::Mover };
        let mut scans = Vec::new();
        for file in files {
            let scan = ColumnScan::new(file, &all, schema, filter.as_ref(), view, &self.source);
            // The error of a file that cannot be opened is an item of the other way.
            let Ok(Some(scan)) = scan else { return Ok(None) };
            scans.push(scan);
        }
        Ok(Some(scans))
    }

    fn expression(&self) -> Result<Option<Expression>> {
        let Some(text) = &self.filter else { return Ok(None) };
        let expression = Expression::parse(text)
            .map_err(|error| Error::new(format!("the filter `{text}`")).because(error))?;
        Ok(Some(expression))
    }

    fn source_options(&self, table: &Arc<Table>, filter: Option<Expression>) -> SourceOptions {
        let mut options = self.source.clone();
        options.encode = Some(Arc::clone(table) as Arc<dyn Encode>);
        if self.rows != Rows::Games {
            options.positions = Some(PositionOptions { evaluations: true, ..Default::default() });
        }
        if let Some(expression) = filter {
            // Records that are left out count as positions of their games.
            options.filter = Some(Arc::new(expression));
            options.keep_left_out = true;
        }
        options
    }
}

/// A table with the fields of its other columns.
struct Table {
    rows: TableOf,
    /// The field of each column, by the place of the column; `None` for columns of the table itself.
    fields: Vec<Option<Field>>,
    /// Whether a row had a value of the field.
    met: Vec<AtomicBool>,
}

enum TableOf {
    Records(RecordRows),
    Games(GameRows),
    Moves(MoveRows),
}

impl Table {
    fn schema(&self) -> SchemaRef {
        match &self.rows {
            TableOf::Records(rows) => rows.schema(),
            TableOf::Games(rows) => rows.schema(),
            TableOf::Moves(rows) => rows.schema(),
        }
    }

    fn batch(&self) -> Batch {
        match &self.rows {
            TableOf::Records(rows) => rows.batch(),
            TableOf::Games(rows) => rows.batch(),
            TableOf::Moves(rows) => rows.batch(),
        }
    }

    /// Writes the rows of a record, with its game and the number of the game. A table of games has none.
    fn write(
        &self,
        record: &EpdRecord,
        game: Option<(GamePosition<'_>, u64)>,
        place: &Place,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let subject = EvalContext::new(record, game.map(|(position, _)| position), place);
        let done = match &self.rows {
            TableOf::Records(rows) => {
                let mut other = |column: usize, cell: CellWriter<'_>| {
                    self.put(cell, column, &subject);
                };
                let row = match game {
                    Some((position, number)) => Row::new(record).of_game(position, number),
                    None => Row::new(record).of_table(place),
                };
                rows.write(&row, &mut other, out)
            }
            TableOf::Moves(rows) => {
                let mut other = |one: &MoveTally, column: usize, cell: CellWriter<'_>| {
                    let subject = EvalContext { move_tally: Some(one), ..subject };
                    self.put(cell, column, &subject);
                };
                rows.write(record, &mut other, out)
            }
            TableOf::Games(_) => Ok(()),
        };
        done.map_err(|error| error.at(place.clone()))
    }

    /// Writes the row of a game. A table of records has none.
    fn write_game(&self, game: &Game, place: &Place, out: &mut Vec<u8>) {
        let TableOf::Games(rows) = &self.rows else { return };
        let is_of_position = self.fields.iter().flatten().any(Field::is_of_record);
        let last = LazyCell::new(|| record_of_game(game, is_of_position));
        let mut other = |column: usize, cell: CellWriter<'_>| {
            let (record, position) = &*last;
            let subject = EvalContext::new(record, Some(*position), place);
            self.put(cell, column, &subject);
        };
        rows.write(game, &mut other, out);
    }

    fn put(&self, cell: CellWriter<'_>, column: usize, subject: &EvalContext<'_>) {
        let met = &self.met[column];
        if put(cell, &self.fields[column], subject) && !met.load(Ordering::Relaxed) {
            met.store(true, Ordering::Relaxed);
        }
    }

    /// The fields of columns that no row had so far, among those of which only the user knows that rows have them.
    fn never_met(&self) -> impl Iterator<Item = &Field> {
        let unmet =
            self.fields.iter().zip(&self.met).filter(|(_, met)| !met.load(Ordering::Relaxed));
        unmet.filter_map(|(field, _)| field.as_ref()).filter(|field| field.is_private())
    }

    fn fill(&self, batch: &mut Batch, read: &ReadRows) -> Result<RecordBatch> {
        let mut out = Vec::new();
        for Part { rows, records } in &read.parts {
            batch.push(rows)?;
            for ReadRecord { record, origin, at } in records {
                let Origin { place, game } = &read.origins[*origin];
                let game = game.as_ref().map(|(game, number)| {
                    (at.map_or_else(|| game.into(), |at| at.in_game(game)), *number)
                });
                out.clear();
                self.write(record, game, place, &mut out)?;
                batch.push(&out)?;
            }
        }
        batch.finish()
    }
}

impl Encode for Table {
    fn encode(&self, record: &EpdRecord, place: &Place, out: &mut Vec<u8>) -> Result<()> {
        self.write(record, None, place, out)
    }

    fn takes_plain(&self) -> bool {
        false
    }

    fn encode_game(&self, game: &Game, out: &mut Vec<u8>) -> bool {
        let is_of_place = self.fields.iter().flatten().any(Field::is_of_place);
        if !is_of_place {
            self.write_game(game, &Place::new(Arc::default(), At::Whole), out);
        }
        !is_of_place
    }
}

pub(super) fn kind_of(field: &Field) -> Kind {
    match field.kind() {
        Type::Number if field.is_whole() => Kind::I64,
        Type::Flag | Type::Nothing => Kind::Flag,
        Type::Number => Kind::F64,
        Type::Text | Type::Date | Type::Any => Kind::Text,
        Type::Moves => Kind::Texts,
    }
}

/// Writes the value of a field. Returns whether there is one.
pub(super) fn put(
    mut cell: CellWriter<'_>,
    field: &Option<Field>,
    subject: &EvalContext<'_>,
) -> bool {
    let Some(field) = field else { return false };
    let lossy = |text: Vec<u8>| String::from_utf8_lossy(&text).into_owned();
    match (field.value(subject), cell.kind()) {
        (Value::Missing, _) => return false,
        (Value::Flag(flag), Kind::Flag) => cell.flag(flag),
        (Value::Moves(moves), Kind::Texts) => {
            let texts = moves.iter().map(|operand| lossy(operand.text()));
            cell.texts(&texts.collect::<Vec<_>>());
        }
        (Value::Coordinates(moves), Kind::Texts) => {
            cell.texts(&moves.into_iter().map(lossy).collect::<Vec<_>>());
        }
        (Value::Number(Number::Whole(number)), Kind::I64) => cell.whole(number),
        (value, Kind::F64) => {
            if let Some(number) = value.number() {
                cell.fraction(number.as_f64());
            }
        }
        (value, _) => cell.text(&lossy(value.text())),
    }
    true
}

#[derive(Default)]
struct ReadRows {
    /// The rows, in order.
    parts: Vec<Part>,
    /// Number of rows.
    count: usize,
    origins: Vec<Origin>,
}

impl ReadRows {
    /// Adds a row, which the caller appends to these bytes.
    fn add_row(&mut self) -> &mut Vec<u8> {
        if self.parts.last().is_none_or(|part| !part.records.is_empty()) {
            self.parts.push(Part::default());
        }
        self.count += 1;
        let last = self.parts.len() - 1;
        &mut self.parts[last].rows
    }

    fn add_record(&mut self, record: ReadRecord) {
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        self.count += 1;
        let last = self.parts.len() - 1;
        self.parts[last].records.push(record);
    }
}

/// Consecutive rows.
#[derive(Default)]
struct Part {
    /// Rows that are written already.
    rows: Vec<u8>,
    /// The records of the rows after them.
    records: Vec<ReadRecord>,
}

struct ReadRecord {
    record: EpdRecord,
    origin: usize,
    /// The place in the game of the origin.
    at: Option<GamePlace>,
}

/// The origin of consecutive records.
struct Origin {
    place: Place,
    game: Option<(Game, u64)>,
}

/// Consecutive batches that one thread makes.
type Batches = Receiver<Result<RecordBatch>>;

/// Number of game numbers that are reserved for each slice, so that games of different slices have different
/// numbers.
const GAMES_OF_SLICE: u64 = 1 << 40;

/// The rows of files as batches, in order. After an error, which is the last item, there are no more
/// batches. Reading goes on in other threads while a batch is in use, and ends when the scan is
/// dropped.
pub struct Scan {
    schema: SchemaRef,
    batches: Receiver<Batches>,
    /// The batches that are being made.
    next: Option<Batches>,
    report: Arc<Mutex<ReadReport>>,
    /// The table and the filter of a scan of records. `None` if files are read as columns.
    asked: Option<(Arc<Table>, Option<Expression>)>,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Scan {
    /// Begins to read files, or standard input for `-`, or a slice of files. The first game of a slice
    /// has the number of the slice, from 0, times 2^40.
    ///
    /// # Errors
    /// The errors of [`ScanOptions::schema`]. Also fails if the filter is not an expression. Errors of files
    /// are items.
    pub fn open(inputs: impl Into<Inputs>, options: &ScanOptions) -> Result<Scan> {
        let table = Arc::new(options.table()?);
        let schema = table.schema();
        let inputs = inputs.into();
        let first_game = match &inputs {
            Inputs::Files(_) => 0,
            Inputs::Slice(slice) => GAMES_OF_SLICE.saturating_mul(slice.number() as u64),
        };
        let filter = options.expression()?;
        let source = options.source_options(&table, filter.clone());
        #[cfg(feature = "parquet")]
        let columns = options.column_scans(&inputs, &schema)?;
        let sources = Sources::new(inputs, &source);
        // Threads of its own: those of a pool that others use would wait for the user of the scan.
        let wanted_threads = options.threads.map_or(0, NonZeroUsize::get);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(wanted_threads).build();
        let pool = pool.map_err(|error| Error::new("no threads to read with").because(error))?;
        let threads = pool.current_num_threads();
        let (to_scan, batches) = sync_channel(2 * threads);
        let report = Arc::new(Mutex::new(ReadReport::default()));
        #[cfg(feature = "parquet")]
        if let Some(scans) = columns {
            let reading = ColumnReading {
                scans,
                batch_rows: options.batch_rows.max(1),
                report: Arc::clone(&report),
                is_alone: threads == 1,
                to_scan,
            };
            pool.spawn(move || reading.run());
            return Ok(Scan { schema, batches, next: None, report, asked: None });
        }
        let asked = Some((Arc::clone(&table), filter));
        let reading = Reading {
            is_of_games: options.rows == Rows::Games,
            batch_rows: options.batch_rows.max(1),
            skip_rejected: options.skip_rejected,
            report: Arc::clone(&report),
            rows: ReadRows::default(),
            games: GameCounter::starting_at(first_game),
            is_alone: threads == 1,
            maker: Arc::new(BatchMaker { table, idle: Mutex::default() }),
            to_scan,
        };
        // The threads end after the reading and the last batch.
        pool.spawn(move || reading.run(sources));
        Ok(Scan { schema, batches, next: None, report, asked })
    }

    /// Counts of the items that were read so far. The reading may be ahead of the batches.
    pub fn report(&self) -> ReadReport {
        locked(&self.report).clone()
    }

    /// The next batch, if it is ready within `time`; `None` if it is not, and `Some(None)` after the last
    /// batch.
    ///
    /// # Errors
    /// A source cannot be read, or has a line or a game that is rejected.
    pub fn next_within(&mut self, time: Duration) -> Option<Option<Result<RecordBatch>>> {
        loop {
            if self.next.is_none() {
                match self.batches.recv_timeout(time) {
                    Ok(batches) => self.next = Some(batches),
                    Err(RecvTimeoutError::Timeout) => return None,
                    Err(RecvTimeoutError::Disconnected) => return Some(None),
                }
            }
            match self.next.as_ref()?.recv_timeout(time) {
                Ok(batch) => {
                    if batch.is_err() {
                        self.batches = channel().1;
                        self.next = None;
                    }
                    return Some(Some(batch));
                }
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => self.next = None,
            }
        }
    }
}

/// Sentences about columns that no row had, and about fields of the filter that no record had. Call this after
/// the last batch of a scan with rows, or of one that left records out.
pub fn never_met(scan: &Scan, has_rows: bool) -> Vec<String> {
    let Some((table, filter)) = &scan.asked else { return Vec::new() };
    let columns = table
        .never_met()
        .filter(|_| has_rows)
        .map(|field| format!("no row has a value in the column `{field}`{}", field.advice()));
    columns.chain(filter.iter().flat_map(never_met_advice)).collect()
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = loop {
            if let Some(batch) = self.next_within(Duration::from_secs(3600)) {
                break batch?;
            }
        };
        Some(batch.map_err(|error| ArrowError::from_external_error(Box::new(error))))
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Makes batches, on any thread.
struct BatchMaker {
    table: Arc<Table>,
    /// Empty batches whose memory is used again.
    idle: Mutex<Vec<Batch>>,
}

impl BatchMaker {
    fn make(&self, rows: &ReadRows) -> Result<RecordBatch> {
        let idle = locked(&self.idle).pop();
        let mut batch = idle.unwrap_or_else(|| self.table.batch());
        // After a panic the batch may have half of the rows, so it is not used again.
        let made = caught(|| self.table.fill(&mut batch, rows))?;
        locked(&self.idle).push(batch);
        Ok(made)
    }
}

/// The items of sources on their way to batches.
struct Reading {
    is_of_games: bool,
    batch_rows: usize,
    skip_rejected: bool,
    report: Arc<Mutex<ReadReport>>,
    rows: ReadRows,
    games: GameCounter,
    /// True if no other thread can make batches.
    is_alone: bool,
    maker: Arc<BatchMaker>,
    to_scan: SyncSender<Batches>,
}

fn refuse_positions(item: &Item<'_>) -> Result<()> {
    match item {
        Item::Record { place, .. }
        | Item::Encoded { place, .. }
        | Item::LeftOut { record: Some(_), place, .. }
        | Item::LeftOutMany { place, .. } => Err(Error::new(format!(
            "{} has positions and no games: read the rows \"records\"",
            place.source
        ))),
        _ => Ok(()),
    }
}

impl Reading {
    /// Reads all sources. An error is the last batch.
    fn run(mut self, sources: Sources) {
        let end = caught(|| {
            let summary = sources.read(&mut |item| self.take(item));
            // The rows before an error come before it.
            let _ = self.hand_on();
            locked(&self.report).add_summary(&summary?);
            Ok(())
        });
        if let Err(error) = end {
            let (batch, result) = channel();
            // An error means that nobody waits for batches any more, here and below.
            let _ = batch.send(Err(error));
            let _ = self.to_scan.send(result);
        }
    }

    fn take(&mut self, item: Item<'_>) -> Result<ControlFlow<()>> {
        let rejection = locked(&self.report).take(&item);
        if self.is_of_games {
            refuse_positions(&item)?;
        }
        match item {
            Item::Record { record, place, game, .. } => self.take_record(record, place, game)?,
            Item::Encoded { records, .. } => return Ok(self.take_rows(records)),
            Item::Game { game, place, encoded, .. } if self.is_of_games => {
                let out = self.rows.add_row();
                match encoded {
                    Some(row) => out.extend_from_slice(row),
                    None => self.maker.table.write_game(game, place, out),
                }
            }
            Item::LeftOut { record: Some(record), place, .. } => {
                self.games.count(&record, place);
            }
            Item::Damaged { damage, place } => {
                return Err(Error::new(damage.to_string()).at(place.clone()));
            }
            _ => {}
        }
        match rejection {
            Some(error) if !self.skip_rejected => Err(error),
            _ => Ok(self.hand_on_if_full()),
        }
    }

    fn take_rows(&mut self, records: EncodedRecords<'_>) -> ControlFlow<()> {
        for row in records.iter() {
            self.rows.add_row().extend_from_slice(row);
            self.hand_on_if_full()?;
        }
        ControlFlow::Continue(())
    }

    fn hand_on_if_full(&mut self) -> ControlFlow<()> {
        if self.rows.count >= self.batch_rows { self.hand_on() } else { ControlFlow::Continue(()) }
    }

    fn take_record(
        &mut self,
        record: EpdRecord,
        place: &Place,
        game: Option<GamePosition<'_>>,
    ) -> Result<()> {
        let game = game.map(|position| (position, self.games.count(&record, place)));
        if self.is_alone {
            // Nobody else could write the row, and later the record would no longer be in the cache.
            let out = self.rows.add_row();
            let start = out.len();
            let written = self.maker.table.write(&record, game, place, out);
            return written.inspect_err(|_| out.truncate(start));
        }
        let number = game.map(|(_, number)| number);
        let last = self.rows.origins.last();
        let is_known = last.is_some_and(|origin| match &origin.game {
            Some((_, known)) => number == Some(*known),
            None => number.is_none() && origin.place == *place,
        });
        if !is_known {
            let game = game.map(|(position, number)| (position.game().clone(), number));
            self.rows.origins.push(Origin { place: place.clone(), game });
        }
        let origin = self.rows.origins.len() - 1;
        let at = game.and_then(|(position, _)| position.place());
        self.rows.add_record(ReadRecord { record, origin, at });
        Ok(())
    }

    /// Passes the rows on. Stops the reading if the scan was dropped.
    fn hand_on(&mut self) -> ControlFlow<()> {
        if self.rows.count == 0 {
            return ControlFlow::Continue(());
        }
        let (batch, result) = channel();
        let rows = std::mem::take(&mut self.rows);
        let maker = Arc::clone(&self.maker);
        let make = move || {
            let _ = batch.send(maker.make(&rows));
        };
        if self.is_alone {
            make();
        } else {
            rayon::spawn_fifo(make);
        }
        send(&self.to_scan, result)
    }
}

/// Puts batches in the queue of a scan. While the queue is full, makes batches.
fn send(to_scan: &SyncSender<Batches>, mut batches: Batches) -> ControlFlow<()> {
    loop {
        match to_scan.try_send(batches) {
            Ok(()) => return ControlFlow::Continue(()),
            Err(TrySendError::Disconnected(_)) => return ControlFlow::Break(()),
            Err(TrySendError::Full(back)) => batches = back,
        }
        if rayon::yield_now() != Some(Yield::Executed) {
            return match to_scan.send(batches) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
        }
    }
}

/// The row groups of Parquet files on their way to batches.
#[cfg(feature = "parquet")]
struct ColumnReading {
    scans: Vec<ColumnScan>,
    batch_rows: usize,
    report: Arc<Mutex<ReadReport>>,
    /// True if no other thread can make batches.
    is_alone: bool,
    to_scan: SyncSender<Batches>,
}

#[cfg(feature = "parquet")]
impl ColumnReading {
    /// Reads all files.
    fn run(self) {
        for scan in self.scans {
            let scan = Arc::new(scan);
            locked(&self.report).left_out += scan.all_rows() as u64;
            for group in scan.groups() {
                let (batches, result) = channel();
                let scan = Arc::clone(&scan);
                let report = Arc::clone(&self.report);
                let batch_rows = self.batch_rows;
                let read = move || {
                    let done = caught(|| {
                        scan.read(group, batch_rows, &mut |batch| {
                            locked(&report).left_out -= batch.num_rows() as u64;
                            // An error means that nobody waits for batches any more, here and below.
                            Ok(batches.send(Ok(batch)).is_ok())
                        })
                    });
                    if let Err(error) = done {
                        let _ = batches.send(Err(error));
                    }
                };
                if self.is_alone {
                    read();
                } else {
                    rayon::spawn_fifo(read);
                }
                if send(&self.to_scan, result).is_break() {
                    return;
                }
            }
        }
    }
}
