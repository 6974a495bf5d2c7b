//! Counts the games of a file into a library in memory.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::host::progress;
use crate::open::MEMORY;
use epdb_archive::{Archive, ArchiveWriter, Level, PackOptions};
use epdb_chess::codec::tally_origin::{TallyLedger, TallyOrigin};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::Color;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_explorer::Served;
use epdb_library::tally::{TallyBuilder, TallyCounts, TallyOptions, TallyOrder};
use epdb_source::{Collection, Compression, FileFormat, Lookup};

/// Memory for counting, in bytes: that of 45,000 games. More goes to a spill, which is in memory too.
const COUNTING: usize = 288 << 20;
/// Memory for writing the archive that was counted, in bytes, beside the archive itself and the spill.
const WRITING: usize = 32 << 20;
/// Most bytes that a record takes in an archive, as far as is known. One that outgrew its memory would be copied.
const RECORD: usize = 128;
/// The part of the time in which games are read.
const READING: f64 = 0.7;

/// The choice of games, and the new source.
#[derive(Deserialize)]
pub(crate) struct Counting {
    /// The name of the new source.
    name: String,
    /// Only the games of this player count.
    player: Option<String>,
    /// Only the games that the player had with this colour count.
    color: Option<Color>,
    /// Seconds since 1970.
    time: u64,
}

/// The numbers of games and positions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    games: u64,
    duplicates: u64,
    /// Games with errors, or of other players.
    left_out: u64,
    positions: u64,
}

/// Counts the games of a file, which may be compressed, into a library of level fast: it is there sooner than a
/// small one.
///
/// # Errors
/// The file has no games, or cannot be read.
pub(crate) fn tally(counting: &Counting, file: Vec<u8>) -> Result<(Served, Counts)> {
    let Counting { name, player, color, time } = counting;
    let options = TallyOptions {
        players: player.iter().cloned().collect(),
        color: *color,
        ..TallyOptions::for_explorers()
    };
    let settings = options.settings(false, false, None);
    let mut builder = TallyBuilder::new(options, "", COUNTING);
    builder.begin_source(name);
    read_games(name, file, &mut builder)?;
    let (sources, games) = builder.take_games()?;
    let origin = TallyOrigin { settings, sources, ..TallyOrigin::default() };
    let options = PackOptions { level: Level::Fast, memory_bytes: WRITING, ..Default::default() };
    let mut begun = None;
    let mut written = 0;
    builder.drain(TallyOrder::Games, &mut |batch, all| {
        // Only now, because what counting took is free again.
        let writer = match &mut begun {
            Some(writer) => writer,
            None => {
                let archive = Vec::with_capacity(all.unwrap_or_default() as usize * RECORD);
                begun.insert(ArchiveWriter::new(archive, options.clone())?)
            }
        };
        written += batch.len();
        let part = all.map_or(0.0, |all| written as f64 / all as f64);
        progress(READING + part * (1.0 - READING));
        batch.each(&mut |record| Ok(writer.push_encoded(record)?))
    })?;
    let Some(mut writer) = begun else { return Err(no_games(name)) };
    writer.set_tally_ledger(TallyLedger { origin, games: Some(games) });
    builder.drain_games(&mut |game| Ok(writer.keep_game(game)?))?;
    let archive = Archive::from_bytes(writer.finish()?)?;
    let served =
        Served::new(name, FileFormat::Epa, Collection::from_archive(name, archive, MEMORY), *time)?;
    let TallyCounts { games, duplicates, left_out, positions, .. } = builder.counts();
    Ok((served, Counts { games, duplicates, left_out, positions }))
}

/// A library as the bytes of a small archive.
///
/// # Errors
/// The library is damaged.
pub(crate) fn packed(library: &Collection) -> Result<Vec<u8>> {
    let options = PackOptions { memory_bytes: COUNTING, ..Default::default() };
    let mut writer = ArchiveWriter::new(Vec::new(), options)?;
    if let Some(ledger) = library.tally_ledger()? {
        writer.set_tally_ledger(ledger);
    }
    for number in 0..library.len() {
        if let Some(record) = library.record(number)? {
            writer.push(&record)?;
        }
    }
    library.each_kept_game(&mut |_, game| Ok(writer.keep_game(game)?))?;
    Ok(writer.finish()?)
}

/// Passes the games of a file to a builder. Games with errors do not count.
///
/// # Errors
/// The file has no games, or cannot be read.
fn read_games(name: &str, file: Vec<u8>, builder: &mut TallyBuilder) -> Result<()> {
    let is_compressed = Compression::from_bytes(&file) == Compression::Zstd;
    let mut file = Watched { size: file.len(), read: 0, file: io::Cursor::new(file) };
    let mut decoder;
    let text: &mut dyn Read = if is_compressed {
        decoder = zstd::Decoder::new(file)?;
        &mut decoder
    } else {
        &mut file
    };
    let mut reader = GameReader::new(text, PgnReadOptions::default());
    let failed = |error| Error::new("cannot be read").because(error).in_source(name);
    let mut has_games = false;
    while let Some(read) = reader.next_game().map_err(failed)? {
        match read.game {
            Ok(_) if read.is_cut_short => builder.leave_out(),
            Ok(game) => drop(builder.add(game)?),
            Err(_) => continue,
        }
        has_games = true;
    }
    has_games.then_some(()).ok_or_else(|| no_games(name))
}

fn no_games(name: &str) -> Error {
    Error::new("no games: a file of games in PGN is expected").in_source(name)
}

/// A file that tells the host how much of it was read.
struct Watched {
    file: io::Cursor<Vec<u8>>,
    size: usize,
    read: usize,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read;
        progress(self.read as f64 / self.size as f64 * READING);
        Ok(read)
    }
}
