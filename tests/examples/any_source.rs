//! Copies the records of any sources into every format, with a note of their origin.
//!
//! Then it looks up the start position in the store and in the archive:
//! `cargo run --example any_source -- FOLDER book.epd.gz games.pgn suite.epb`.

use std::path::PathBuf;

use epdb::codec::pgc::PgcEncodeOptions;
use epdb::error::Result;
use epdb::model::{Opcode, Operand, Operation, Position};
use epdb::source::{Collection, Lookup, OwnedItem, SourceOptions, Sources, Target, TargetOptions};
use epdb::text::pgn::{PositionOptions, positions};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_string()));
    let options = TargetOptions {
        pgc: PgcEncodeOptions { extended: true, ..Default::default() },
        ..Default::default()
    };
    let create = |name: &&str| Target::create_with(folder.join(name), &options);
    let names = ["all.epd", "all.fen.zst", "all.epb", "all.epdb", "all.epa"];
    let mut targets = names.iter().map(create).collect::<Result<Vec<Target>>>()?;
    let mut games = ["all.pgn", "all.pgc"].iter().map(create).collect::<Result<Vec<Target>>>()?;

    for item in Sources::new(arguments, &SourceOptions::default()).items() {
        let (records, place) = match item? {
            OwnedItem::Record { record, place } => (vec![record], place),
            OwnedItem::Game { game, place, .. } => {
                let mut write = |target: &mut Target| target.write_game(&game);
                games
                    .iter_mut()
                    .try_for_each(&mut write)
                    .map_err(|error| error.at(place.clone()))?;
                (positions(&game, &PositionOptions::default()).collect(), place)
            }
            other => {
                eprintln!("{}: rejected or repaired", other.place());
                continue;
            }
        };
        let note =
            Operation { opcode: Opcode::C9, operands: vec![Operand::string(place.to_string())] };
        for mut record in records {
            record.set(note.clone());
            targets.iter_mut().try_for_each(|target| target.write(&record))?;
        }
    }
    targets.into_iter().chain(games).try_for_each(|target| target.finish().map(drop))?;

    for name in ["all.epdb", "all.epa"] {
        let found = count(&Collection::open(folder.join(name), 64 << 20)?, &Position::START)?;
        println!("{name}: {found} records of the starting position");
    }
    Ok(())
}

/// Number of records of a position in a store or an archive.
fn count(source: &dyn Lookup, position: &Position) -> Result<usize> {
    source.matches(&position.into()).try_fold(0, |count, found| found.map(|_| count + 1))
}
