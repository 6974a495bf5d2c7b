//! Games to a library of positions, compared with similar programs:
//! `cargo bench --bench tally -- GAMES.pgn`.
//!
//! Programs run one after the other on the same file. The processor time of each counts, with system calls, of
//! its best round. The other programs are looked for in the folder `EPDB_PEERS` and among the commands:
//! `chess_db` and `fastpopular`, built from source, and `polyglot`. A missing program is reported. Without a file
//! the games are random ones.
//!
//! The parts of `tally` are timed in this process, by the library: the games are read; they are read and their
//! positions counted; the counts of each position are added up and its record is made; and the records are
//! written to a stream.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use epdb_chess::codec::ordinal;
use epdb_chess::model::Position;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_chess::text::san;
use epdb_library::tally::{TallyBuilder, TallyOptions, TallyOrder};
use epdb_source::Target;

const GAMES: usize = 20_000;
const ROUNDS: usize = 3;
/// Memory for counting in this process, in bytes: enough to avoid temporary files.
const MEMORY: usize = 4 << 30;
/// Of the clock of processes.
const TICKS_A_SECOND: f64 = 100.0;

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = tempfile::tempdir().expect("a folder");
    let games = folder.path().join("games.pgn");
    match file {
        Some(path) => drop(fs::copy(&path, &games).expect("a file of games")),
        None => fs::write(&games, random_games()).expect("a file of games"),
    }
    let (count, plies) = count(&games);
    println!("{count} games, {plies} plies; processor time, best of {ROUNDS} rounds");
    println!("{:<52} {:>8} {:>12} {:>10} {:>8}", "", "s", "M plies/s", "bytes", "a row");
    let bench = Bench { folder: folder.path(), plies, rows: rows(folder.path()) };
    bench.parts();
    let epdb = env!("CARGO_BIN_EXE_epdb");
    bench.run("epdb, reading the games", epdb, &["count", "games.pgn"], None);
    bench.run("epdb tally, nothing written but the start", epdb, &TALLY_START, Some("start.epd"));
    bench.run(
        "epdb tally to a stream",
        epdb,
        &["tally", "games.pgn", "-o", "l.epb"],
        Some("l.epb"),
    );
    bench.run(
        "epdb tally to a store",
        epdb,
        &["tally", "games.pgn", "-o", "l.epdb"],
        Some("l.epdb"),
    );
    bench.run(
        "epdb tally to an archive",
        epdb,
        &["tally", "games.pgn", "-o", "l.epa"],
        Some("l.epa"),
    );
    bench.run("epdb book make", epdb, &BOOK, Some("l.bin"));
    for (name, program, args, made) in PEERS {
        match found(program) {
            Some(path) => bench.run(name, &path.to_string_lossy(), args, Some(made)),
            None => println!("{name:<52} not there: name its folder in EPDB_PEERS"),
        }
    }
}

/// All positions are counted, and one is written.
const TALLY_START: [&str; 6] = ["tally", "games.pgn", "-o", "start.epd", "--max-ply", "0"];
const BOOK: [&str; 8] =
    ["book", "make", "games.pgn", "-o", "l.bin", "--min-games", "1", "--keep-duplicates"];

type Peer = (&'static str, &'static str, &'static [&'static str], &'static str);

/// Their output: every visit with hash and offset, a file of positions and counts, moves of a book.
const PEERS: [Peer; 3] = [
    (
        "chess_db, 16 bytes a visit, no board",
        "chess_db",
        &["book", "games.pgn", "full"],
        "games.bin",
    ),
    (
        "fastpopular, positions and counts, no moves",
        "fastpopular",
        &[
            "--file",
            "games.pgn",
            "--concurrency",
            "1",
            "--maxPlies",
            "1000",
            "--minCount",
            "1",
            "--saveCount",
            "-o",
            "pop.epd",
        ],
        "pop.epd",
    ),
    (
        "polyglot make-book, hash and moves",
        "polyglot",
        &["make-book", "-pgn", "games.pgn", "-bin", "p.bin", "-max-ply", "1000", "-min-game", "1"],
        "p.bin",
    ),
];

struct Bench<'f> {
    folder: &'f Path,
    plies: u64,
    /// Pairs of a position and a move.
    rows: u64,
}

impl Bench<'_> {
    /// Says what the parts of `tally` take.
    fn parts(&self) {
        let mut least = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let took = self.parts_once();
            least.iter_mut().zip(took).for_each(|(least, took)| *least = least.min(took));
        }
        let [reading, counting, summing, writing] = least;
        self.part("the library: games read", reading);
        self.part("the library: games read, positions counted", counting);
        self.part("the library: the counting alone", counting - reading);
        self.part("the library: counts added up, records made", summing);
        self.part("the library: the same, and written to a stream", writing);
    }

    fn part(&self, name: &str, seconds: f64) {
        println!("{name:<52} {seconds:>8.2} {:>12.2}", self.plies as f64 / seconds / 1e6);
    }

    fn parts_once(&self) -> [f64; 4] {
        let games = self.folder.join("games.pgn");
        let reading = seconds(|| {
            black_box(count(&games));
        });
        let mut builders =
            [(); 2].map(|()| TallyBuilder::new(TallyOptions::default(), self.folder, MEMORY));
        let [first, second] = &mut builders;
        let counting = seconds(|| add_games(&games, first));
        add_games(&games, second);
        let summing =
            seconds(|| first.drain(TallyOrder::Key, &mut |_, _| Ok(())).expect("the positions"));
        let stream = self.folder.join("parts.epb");
        let writing = seconds(|| {
            let mut target = Target::create(&stream).expect("a stream");
            second
                .drain(TallyOrder::Key, &mut |batch, _| target.write_batch(batch))
                .expect("records");
            target.finish().expect("a stream");
        });
        [reading, counting, summing, writing]
    }

    /// Runs a program on the games and says what it took.
    fn run(&self, name: &str, program: &str, args: &[&str], made: Option<&str>) {
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            made.into_iter().for_each(|made| drop(fs::remove_file(self.folder.join(made))));
            let before = children_seconds();
            let status = Command::new(program)
                .args(args)
                .current_dir(self.folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.is_ok_and(|status| status.success()), "{program} {args:?}");
            least = least.min(children_seconds() - before);
        }
        let rate = self.plies as f64 / least / 1e6;
        let bytes = made.map(|made| fs::metadata(self.folder.join(made)).map(|found| found.len()));
        match bytes {
            None => println!("{name:<52} {least:>8.2} {rate:>12.2}"),
            Some(Ok(len)) => {
                let a_row = len as f64 / self.rows as f64;
                println!("{name:<52} {least:>8.2} {rate:>12.2} {len:>10} {a_row:>8.2}");
            }
            Some(Err(_)) => println!("{name:<52} makes nothing of these games"),
        }
    }
}

/// Number of pairs of position and move in the games.
fn rows(folder: &Path) -> u64 {
    let epdb = env!("CARGO_BIN_EXE_epdb");
    let run = |args: &[&str]| {
        let mut command = Command::new(epdb);
        command.args(args).current_dir(folder).stderr(Stdio::null()).output().expect("epdb").stdout
    };
    run(&["tally", "games.pgn", "-o", "rows.epb"]);
    let lines = run(&["table", "rows.epb", "--rows", "moves", "--columns", "games"]);
    lines.iter().filter(|&&byte| byte == b'\n').count() as u64 - 1
}

/// Processor time of the processes that this one has waited for.
fn children_seconds() -> f64 {
    seconds_at(13)
}

/// Processor time of this process.
fn own_seconds() -> f64 {
    seconds_at(11)
}

/// What the system says at a place of its line on this process, and at the next one: the time outside
/// of it and in it.
fn seconds_at(place: usize) -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("a system with /proc");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |place: usize| fields[place].parse::<f64>().expect("ticks");
    (ticks(place) + ticks(place + 1)) / TICKS_A_SECOND
}

/// The program of a peer.
fn found(program: &str) -> Option<PathBuf> {
    let own = std::env::var_os("EPDB_PEERS").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&paths));
    let games = PathBuf::from("/usr/games");
    folders.chain([games]).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Processor time that work takes in this process.
fn seconds(work: impl FnOnce()) -> f64 {
    let before = own_seconds();
    work();
    own_seconds() - before
}

fn add_games(path: &Path, builder: &mut TallyBuilder) {
    let file = fs::File::open(path).expect("the games");
    let mut reader = GameReader::new(file, PgnReadOptions::default());
    while let Some(read) = reader.next_game().expect("the games") {
        if let Ok(game) = read.game {
            builder.add(game).expect("room for the games");
        }
    }
}

/// Games and the plies of their main lines.
fn count(path: &Path) -> (u64, u64) {
    let file = fs::File::open(path).expect("the games");
    let mut reader = GameReader::new(file, PgnReadOptions::default());
    let (mut games, mut plies) = (0, 0);
    while let Some(read) = reader.next_game().expect("the games") {
        if let Ok(game) = read.game {
            games += 1;
            plies += game.main_line().count() as u64;
        }
    }
    (games, plies)
}

/// Games of moves that a walk chooses, the first ones among few, so that games meet.
fn random_games() -> String {
    let mut walk = 1_u64;
    let mut below = |count: usize| {
        walk = walk.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (walk >> 33) as usize % count.max(1)
    };
    let mut text = String::new();
    for game in 0..GAMES {
        text += &format!("[White \"{game}\"]\n[WhiteElo \"{}\"]\n\n", 2000 + below(800));
        let mut position = Position::START;
        for ply in 0..80 {
            let playable = Playable::new(&position).expect("a legal position");
            let moves = ordinal::list(&playable);
            if moves.is_empty() {
                break;
            }
            let choice = if ply < 12 { moves.len().min(3) } else { moves.len() };
            let mv = moves[below(choice)];
            if ply % 2 == 0 {
                text += &format!("{}. ", ply / 2 + 1);
            }
            text += &format!("{} ", san::format(&playable, mv));
            position = *playable.after(mv).position();
        }
        text += "1/2-1/2\n\n";
    }
    text
}
