//! Published libraries in one file and in parts.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use epdb_archive::About;
use epdb_library::jobs::{JobSink, TakeItem};
use epdb_library::publish::{
    ONE_FILE, PUBLISHED_TAGS, PlayerNames, PublishJob, PublishedGames, PublishedLibrary,
};
use epdb_source::{Collection, Encode, Inputs, Lookup, Source, SourceOptions, Streams};

/// Reads files as they are.
struct Plain;

type Failure = Box<dyn Error + Send + Sync>;

fn read(inputs: &Inputs, take: &mut TakeItem<'_, Failure>) -> Result<(), Failure> {
    let Inputs::Files(files) = inputs else { return Err("a slice".into()) };
    for file in files {
        let source = Source::open(file, &SourceOptions::default())?;
        source.read(&mut |item| take(item).map(ControlFlow::Continue))?;
    }
    Ok(())
}

impl JobSink for Plain {
    type Error = Failure;

    fn read_games(
        &mut self,
        inputs: &Inputs,
        take: &mut TakeItem<'_, Failure>,
    ) -> Result<(), Failure> {
        read(inputs, take)
    }

    fn read_records(
        &mut self,
        inputs: &Inputs,
        _: Option<Arc<dyn Encode>>,
        take: &mut TakeItem<'_, Failure>,
    ) -> Result<(), Failure> {
        read(inputs, take)
    }

    fn begin_writing(&mut self, _: u64) {}

    fn written(&mut self, _: u64, _: Option<u64>) -> epdb_chess::error::Result<()> {
        Ok(())
    }
}

fn publish(source: &Path, folder: &Path, max_one_file: u64, part_bytes: u64) -> PublishedLibrary {
    let job = PublishJob {
        source: source.to_path_buf(),
        folder: folder.to_path_buf(),
        name: "x".into(),
        about: "licence=CC0-1.0".parse::<About>().unwrap(),
        games: PublishedGames {
            tags: PUBLISHED_TAGS.map(String::from).to_vec(),
            names: PlayerNames::Initials,
            digests: false,
        },
        max_one_file,
        part_bytes,
        streams: Streams::default(),
        memory_bytes: 64 << 20,
    };
    job.run(&mut Plain).unwrap()
}

/// Games whose positions have many different pawns.
fn games() -> String {
    let openings = ["1. e4", "1. d4", "1. c4", "1. a3", "1. h4", "1. b3", "1. g4", "1. f4"];
    let replies = ["e5", "d5", "c5", "a5", "h6", "b6", "g6", "f5"];
    let mut games = String::new();
    for (opening, reply) in openings.iter().flat_map(|one| replies.map(|two| (*one, two))) {
        let year = 1990 + games.len() % 30;
        games += &format!(
            "[White \"Ann, Bea\"]\n[Black \"Cy\"]\n[Date \"{year}.01.02\"]\n[Site \"{opening} {reply}\"]\n[Result \"1-0\"]\n\n\
             {opening} {reply} 2. Nf3 Nf6 3. Nc3 Nc6 1-0\n\n"
        );
    }
    games
}

#[test]
fn parts_have_the_records_and_games_of_one_file_and_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("games.pgn");
    std::fs::write(&source, games()).unwrap();
    let place = |name: &str| folder.path().join(name);
    let one = publish(&source, &place("one"), ONE_FILE, 1000);
    let parts = publish(&source, &place("parts"), 0, 1000);
    assert_eq!(one.files, std::slice::from_ref(&one.file));
    assert!(parts.files.len() > 4, "{:?}", parts.files);
    assert_eq!(parts.file, "manifest.json");
    let again = publish(&source, &place("again"), 0, 1000);
    assert_eq!(parts.files, again.files);
    for file in &parts.files {
        let [one, other] = ["parts", "again"].map(|of| std::fs::read(place(of).join(file)));
        assert_eq!(one.unwrap(), other.unwrap(), "{file}");
    }
    let [one, parts] = [(place("one"), one), (place("parts"), parts)].map(|(folder, published)| {
        assert_eq!(published.kept_games, 64);
        assert_eq!(published.players.iter().collect::<Vec<_>>(), ["A. B.", "C."]);
        let library = Collection::open(folder.join(&published.file), 64 << 20).unwrap();
        let about = library.about().unwrap();
        assert!(about.facts().any(|fact| fact == ("licence", "CC0-1.0")));
        let mut games = Vec::new();
        let visit = &mut |id, game: &[u8]| {
            games.push((id, game.to_vec()));
            Ok(())
        };
        library.each_kept_game(visit).unwrap();
        let mut records = Vec::new();
        for number in 0..library.len() {
            records.push(epdb_chess::format_epd(&library.record(number).unwrap().unwrap()));
        }
        records.sort();
        (games, records)
    });
    assert_eq!(one, parts);
}
