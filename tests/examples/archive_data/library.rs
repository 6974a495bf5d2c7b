//! The samples of libraries: tallies, the games that they list, and their origin.

use std::fs;
use std::path::Path;

use epdb_archive::{ArchiveWriter, PackOptions};
use epdb_chess::codec::ordinal;
use epdb_chess::codec::record;
use epdb_chess::codec::tally_origin::{GameDigests, TallyLedger, TallyOrigin, TallySource};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Position};
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_chess::text::{FormatOptions, Profile, epd, san};
use epdb_library::tally::{Split, TallyBuilder, TallyOptions, TallyOrder};
use epdb_store::{ImportOptions, Store, StoreOptions};

use super::golden::Result;

/// What a library has.
struct Library {
    records: Vec<EpdRecord>,
    ledger: TallyLedger,
    games: Vec<Vec<u8>>,
}

/// Makes archives and a store of libraries. Returns the samples of the archives.
pub(crate) fn make(folder: &Path) -> Result<Vec<String>> {
    let all = Split { year: true, month: true, speed: true, rating: true };
    let split = Library::count(&games(40)?, all, TallyOrder::Games)?;
    let whole = Library::count(&games(80)?, Split::default(), TallyOrder::Games)?;
    let default = PackOptions::default();
    let segments = PackOptions { segment_records: 300, block_records: Some(16), ..default.clone() };
    let mut samples = Vec::new();
    for (file, library, options, name) in [
        (
            "library",
            &split,
            &default,
            "A library whose tallies are split, with its origin, its digests and its kept games",
        ),
        ("library_segments", &whole, &segments, "A library in several segments"),
    ] {
        fs::write(folder.join(format!("{file}.epd")), library.text())?;
        fs::write(folder.join(format!("{file}.epa")), library.archive(options)?)?;
        samples.push(format!(
            "    {{\n      \"name\": {name:?},\n      \"text_file\": \"archive/{file}.epd\",\n      \
             \"file\": \"archive/{file}.epa\"\n    }}"
        ));
    }
    fs::write(folder.join("digests.epa"), Library::of_digests(1025)?.archive(&default)?)?;
    samples.push(
        "    {\n      \"name\": \"A library whose digests have two groups\",\n      \
         \"text\": [\"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\",\n        \
         \"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3\"],\n      \"file\": \"archive/digests.epa\"\n    }"
            .to_string(),
    );
    let store = folder.with_file_name("store");
    fs::create_dir_all(&store)?;
    let library = Library::count(&games(160)?, Split::default(), TallyOrder::Key)?;
    fs::write(store.join("library.epd"), library.text())?;
    library.store(&store.join("library.epdb"))?;
    Ok(samples)
}

/// Games from the start array that share their first moves; some lack ratings, dates or a result.
fn games(count: u64) -> Result<String> {
    let mut text = String::new();
    for number in 0..count {
        let elo = |nth: u64| match (number + nth) % 5 {
            0 => String::new(),
            part => format!(
                "[{}Elo \"{}\"]\n",
                ["White", "Black"][nth as usize],
                1500 + 203 * part + number
            ),
        };
        let date = match number % 7 {
            0 => "????.??.??".to_string(),
            1 => format!("{}.??.??", 2001 + number % 20),
            _ => format!("{}.{:02}.{:02}", 2001 + number % 20, number % 12 + 1, number % 28 + 1),
        };
        let result = ["1-0", "0-1", "1/2-1/2", "*"][(number % 4) as usize];
        let control = ["", "60+0", "180+2", "600+5", "5400+30", "?"][(number % 6) as usize];
        text += &format!(
            "[Event \"Round {}\"]\n[Date \"{date}\"]\n[White \"W{}\"]\n[Black \"B{}\"]\n[Result \"{result}\"]\n\
             {}{}[TimeControl \"{control}\"]\n\n",
            number % 9,
            number % 13,
            number % 11,
            elo(0),
            elo(1)
        );
        let mut playable = Playable::new(&Position::START)?;
        for ply in 0..12 {
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (ply * 5) & 31;
            let nth = mixed % (2 + ply) % u64::from(ordinal::count(&playable));
            let mv = ordinal::move_at(&playable, nth as u16).ok_or("an ordinal")?;
            text += &format!("{} ", san::format(&playable, mv));
            playable = playable.after(mv);
        }
        text += &format!("{result}\n\n");
    }
    Ok(text)
}

impl Library {
    fn count(pgn: &str, split: Split, order: TallyOrder) -> Result<Library> {
        let options = TallyOptions { split, keep_games: Some(2), ..TallyOptions::default() };
        let settings = options.settings(false, false, None);
        let mut builder = TallyBuilder::new(options, std::env::temp_dir(), 1 << 26);
        builder.begin_source("games.pgn");
        let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
        while let Some(read) = reader.next_game()? {
            builder.add(read.game.map_err(|error| error.to_string())?)?;
        }
        let (sources, digests) = builder.take_games()?;
        let origin = TallyOrigin { settings, sources, ..TallyOrigin::default() };
        let (mut records, mut games) = (Vec::new(), Vec::new());
        builder.drain(order, &mut |batch, _| {
            batch.each(&mut |bytes| {
                records.push(record::decode(bytes)?.0);
                Ok(())
            })
        })?;
        builder.drain_games(&mut |game| {
            games.push(game.to_vec());
            Ok(())
        })?;
        Ok(Library { records, ledger: TallyLedger { origin, games: Some(digests) }, games })
    }

    fn of_digests(games: u64) -> Result<Library> {
        let settings = TallyOptions::default().settings(false, false, None);
        let source = TallySource { name: "games.pgn".to_string(), games, ..TallySource::default() };
        let origin = TallyOrigin { settings, sources: vec![source], ..TallyOrigin::default() };
        let mut digests = GameDigests::default();
        for game in 0..games {
            // Spread evenly, as hashes are.
            let high = game.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            digests.insert((u128::from(high) << 64 | u128::from(game)).to_be_bytes());
        }
        let start = Playable::new(&Position::START)?;
        let e4 = san::find(&start, b"e4", Profile::Strict).map_err(|error| error.to_string())?;
        let records = vec![Position::START, *start.after(e4.mv).position()];
        Ok(Library {
            records: records.into_iter().map(EpdRecord::new).collect(),
            ledger: TallyLedger { origin, games: Some(digests) },
            games: Vec::new(),
        })
    }

    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for record in &self.records {
            epd::format(record, &FormatOptions::default(), &mut text);
            text.push(b'\n');
        }
        text
    }

    fn archive(&self, options: &PackOptions) -> Result<Vec<u8>> {
        let mut writer = ArchiveWriter::new(Vec::new(), options.clone())?;
        writer.set_tally_ledger(self.ledger.clone());
        self.records.iter().try_for_each(|record| writer.push(record))?;
        self.games.iter().try_for_each(|game| writer.keep_game(game))?;
        Ok(super::golden::whole(writer.finish_packed()?))
    }

    fn store(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let store =
            Store::create(path, &StoreOptions { memory_bytes: 1 << 20, ..Default::default() })?;
        let mut importer = store.importer("games.pgn", &ImportOptions::default())?;
        self.records.iter().try_for_each(|record| importer.push(record))?;
        self.games.iter().try_for_each(|game| importer.keep_game(game))?;
        let digests = self.ledger.games.as_ref().map(|games| games.to_bytes());
        let digests = digests.map(|bytes| bytes.as_chunks().0.to_vec());
        importer.set_tally_origin(self.ledger.origin.clone(), digests);
        importer.finish()?;
        Ok(store.close()?)
    }
}
