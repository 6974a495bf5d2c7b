//! Games: reading PGN compared with pgn-reader and shakmaty, PGC, and sizes.
//!
//! Contestants take turns over the same bytes, and the best round of each counts. The games are random ones of a
//! fixed seed, or those of a PGN file that is given as argument.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;
use std::io::Write;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use epdb_chess::codec::key::position_key;
use epdb_chess::codec::packed;
use epdb_chess::codec::pgc::{PgcEncodeOptions, PgcReader, encode};
use epdb_chess::model::{Game, GameBuilder, Replay};
use epdb_source::{Item, Source, SourceOptions};
use epdb_chess::text::pgn::{GameReader, PgnFormatOptions, PgnReadOptions, format};
use pgn_reader::{RawTag, Reader, SanPlus, Visitor};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Position as _};

const GAMES: usize = 2_000;
const PLIES: usize = 80;
const ROUNDS: u32 = 9;
/// Frames, and the least size of their text.
const FRAMES: usize = 12;
const MIN_FRAME: usize = 8 << 20;
const EXT: PgcEncodeOptions = PgcEncodeOptions::EXTENDED;

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let pgn = match file {
        Some(path) => std::fs::read(path).expect("a PGN file"),
        None => random_games(),
    };
    let (games, plies) = count(&pgn);
    let mut pgc = Vec::new();
    each_game(&pgn, |game| {
        encode(game, &EXT, &mut pgc).expect("a game that PGC can say");
    });
    println!("{games} games, {plies} plies in main lines, best of {ROUNDS} rounds");
    println!("{:<44} {:>10} {:>10} {:>10}", "", "ms", "M plies/s", "MB/s");

    let [ours, theirs, kept, to_boards, to_pgc, to_pgn, to_positions] = best([
        &mut || {
            black_box(count(&pgn));
        },
        &mut || {
            black_box(their_count(&pgn, false));
        },
        &mut || {
            black_box(their_count(&pgn, true));
        },
        &mut || {
            let mut sum = 0;
            each_game(&pgn, |game| sum ^= boards_and_keys(game));
            black_box(sum);
        },
        &mut || {
            let mut out = Vec::with_capacity(pgc.len());
            each_game(&pgn, |game| {
                black_box(encode(game, &EXT, &mut out)).ok();
            });
        },
        &mut || {
            let mut out = Vec::with_capacity(pgn.len());
            each_decoded(&pgc, |game| {
                format(game, &PgnFormatOptions::default(), &mut out).ok();
            });
        },
        &mut || {
            let mut pieces = 0;
            each_decoded(&pgc, |game| pieces += positions(game));
            black_box(pieces);
        },
    ]);
    let row = |name: &str, time: Duration, bytes: usize| {
        let seconds = time.as_secs_f64();
        let (rate, megabytes) = (plies as f64 / seconds / 1e6, bytes as f64 / seconds / 1e6);
        println!("{name:<44} {:>10.1} {rate:>10.2} {megabytes:>10.1}", seconds * 1e3);
    };
    row("PGN read and validated, epdb", ours, pgn.len());
    row("PGN read and validated, pgn-reader+shakmaty", theirs, pgn.len());
    println!("{:<44} {:>10.2}", "  ratio", theirs.as_secs_f64() / ours.as_secs_f64());
    row("  and kept: moves, tags, comments", kept, pgn.len());
    println!("{:<44} {:>10.2}", "  ratio", kept.as_secs_f64() / ours.as_secs_f64());
    row("PGN -> packed boards and keys", to_boards, pgn.len());
    row("PGN -> PGC", to_pgc, pgn.len());
    row("PGC -> PGN", to_pgn, pgc.len());
    row("PGC -> positions", to_positions, pgc.len());
    sizes(&pgn, &pgc, games);
    frames(&pgn);
}

/// Frames as pzstd writes them, read on one and on two threads.
fn frames(pgn: &[u8]) {
    let frame = pgn.repeat(MIN_FRAME / pgn.len() + 1);
    let data = zstd::encode_all(&frame[..], 3).expect("a frame");
    let size = u32::try_from(data.len()).expect("a small frame").to_le_bytes();
    let frames = [b"\x50\x2a\x4d\x18\x04\0\0\0", &size[..], &data].concat().repeat(FRAMES);
    let count = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let options = SourceOptions::default();
            let source = Source::from_bytes("a.pgn.zst", frames.clone(), &options).expect("frames");
            let mut games = 0;
            let read = source.read(&mut |item| {
                games += usize::from(matches!(item, Item::Game { .. }));
                Ok::<_, epdb_chess::Error>(ControlFlow::Continue(()))
            });
            read.expect("memory does not fail");
            black_box(games);
        });
    };
    let [one, two] = best([&mut || count(1), &mut || count(2)]);
    println!("\n{FRAMES} frames of zstd, {} bytes of games", FRAMES * frame.len());
    println!("{:<44} {:>10.1}", "ms on one thread", one.as_secs_f64() * 1e3);
    println!("{:<44} {:>10.1}", "ms on two threads", two.as_secs_f64() * 1e3);
    println!("{:<44} {:>10.2}", "  ratio", one.as_secs_f64() / two.as_secs_f64());
}

/// The best time of each contestant, who take turns.
fn best<const N: usize>(mut contestants: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut times = [Duration::MAX; N];
    for _ in 0..ROUNDS {
        for (time, contestant) in times.iter_mut().zip(&mut contestants) {
            let start = Instant::now();
            contestant();
            *time = start.elapsed().min(*time);
        }
    }
    times
}

fn each_game(pgn: &[u8], mut visit: impl FnMut(&Game)) {
    let mut reader = GameReader::new(pgn, PgnReadOptions::default());
    while let Some(read) = reader.next_game().expect("memory does not fail") {
        if let Ok(game) = read.game {
            visit(game);
        }
    }
}

fn each_decoded(pgc: &[u8], mut visit: impl FnMut(&Game)) {
    let mut reader = PgcReader::new(pgc, usize::MAX);
    while let Some(read) = reader.next_game().expect("memory does not fail") {
        visit(read.game.expect("what was written is read"));
    }
}

fn count(pgn: &[u8]) -> (usize, usize) {
    let (mut games, mut plies) = (0, 0);
    each_game(pgn, |game| {
        games += 1;
        plies += game.main_line().count();
    });
    (games, plies)
}

/// Looks at every position of the main line.
fn positions(game: &Game) -> u32 {
    let Some(mut replay) = Replay::new(game.start()) else { return 0 };
    let mut pieces = 0;
    for mv in game.main_line() {
        replay.play(mv);
        pieces += replay.position().board().occupied().count();
    }
    pieces
}

/// The packed identity board and the key of every position of the main line.
fn boards_and_keys(game: &Game) -> u64 {
    let Some(mut replay) = Replay::new(game.start()) else { return 0 };
    let mut sum = 0;
    for mv in game.main_line() {
        replay.play(mv);
        let identity = replay.position().identity();
        sum ^= position_key(&identity) ^ u64::from(packed::encode(&identity).as_bytes()[8]);
    }
    sum
}

/// pgn-reader's way: every move of the main line is played, variations are passed over. What epdb
/// has afterwards, tags and comments and moves, is kept or not.
#[derive(Default)]
struct TheirPlies {
    keeps: bool,
    text: Vec<u8>,
    moves: Vec<shakmaty::Move>,
}

impl Visitor for TheirPlies {
    type Tags = Chess;
    type Movetext = (Chess, usize);
    type Output = usize;

    fn begin_tags(&mut self) -> ControlFlow<usize, Chess> {
        self.text.clear();
        self.moves.clear();
        ControlFlow::Continue(Chess::default())
    }

    fn tag(&mut self, chess: &mut Chess, name: &[u8], value: RawTag<'_>) -> ControlFlow<usize> {
        if self.keeps {
            self.text.extend_from_slice(name);
            self.text.extend_from_slice(value.decode_utf8_lossy().as_bytes());
        }
        if name == b"FEN" {
            let fen = Fen::from_ascii(value.as_bytes()).ok();
            match fen.and_then(|fen| fen.into_position(CastlingMode::Chess960).ok()) {
                Some(position) => *chess = position,
                None => return ControlFlow::Break(0),
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, chess: Chess) -> ControlFlow<usize, (Chess, usize)> {
        ControlFlow::Continue((chess, 0))
    }

    fn begin_variation(&mut self, _: &mut (Chess, usize)) -> ControlFlow<usize, pgn_reader::Skip> {
        ControlFlow::Continue(pgn_reader::Skip(true))
    }

    fn comment(
        &mut self,
        _: &mut (Chess, usize),
        comment: pgn_reader::RawComment<'_>,
    ) -> ControlFlow<usize> {
        if self.keeps {
            self.text.extend_from_slice(String::from_utf8_lossy(comment.as_bytes()).as_bytes());
        }
        ControlFlow::Continue(())
    }

    fn san(&mut self, game: &mut (Chess, usize), san: SanPlus) -> ControlFlow<usize> {
        match san.san.to_move(&game.0) {
            Ok(mv) => {
                if self.keeps {
                    self.moves.push(mv);
                }
                game.0.play_unchecked(mv);
            }
            Err(_) => return ControlFlow::Break(game.1),
        }
        game.1 += 1;
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, game: (Chess, usize)) -> usize {
        game.1
    }
}

fn their_count(pgn: &[u8], keeps: bool) -> usize {
    let mut reader = Reader::build(pgn).set_supported_comment_length(4096).finish();
    let mut visitor = TheirPlies { keeps, ..TheirPlies::default() };
    let mut plies = 0;
    while let Ok(Some(count)) = reader.read_game(&mut visitor) {
        plies += count;
    }
    plies
}

/// Random games from a fixed seed, in export format.
fn random_games() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut out = Vec::new();
    for number in 0..GAMES {
        let mut builder = GameBuilder::new();
        let tags = [("Event", "Random games"), ("Site", "?"), ("Date", "2024.01.01")];
        for (name, value) in tags {
            builder.set_tag(name, value).expect("a tag");
        }
        builder.set_tag("Round", &number.to_string()).expect("a tag");
        for _ in 0..PLIES {
            let moves = builder.replay().expect("playable").playable().legal_moves();
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let Some(mv) = moves.get((state >> 33) as usize % moves.len().max(1)) else { break };
            builder.play(*mv).expect("legal");
        }
        format(builder.game(), &PgnFormatOptions::default(), &mut out).expect("ASCII");
    }
    out
}

fn sizes(pgn: &[u8], pgc: &[u8], games: usize) {
    let mut export = Vec::with_capacity(pgn.len());
    each_game(pgn, |game| {
        format(game, &PgnFormatOptions::default(), &mut export).expect("UTF-8 says all");
    });
    let per_game = |bytes: usize| bytes as f64 / games.max(1) as f64;
    println!("{:<44} {:>10}", "", "bytes/game");
    let row = |name: &str, bytes: Option<usize>| match bytes {
        Some(bytes) => println!("{name:<44} {:>10.1}", per_game(bytes)),
        None => println!("{name:<44} {:>10}", "no xz here"),
    };
    row("PGN as given", Some(pgn.len()));
    row("PGN in export format", Some(export.len()));
    row("PGC", Some(pgc.len()));
    row("gzip -9 of the export", Some(gzip(&export)));
    row("zstd -19 of the export", Some(zstd(&export)));
    row("xz -9e of the export", xz(&export));
    row("zstd -19 of PGC", Some(zstd(pgc)));
    row("xz -9e of PGC", xz(pgc));
}

fn gzip(bytes: &[u8]) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail").len()
}

fn zstd(bytes: &[u8]) -> usize {
    zstd::encode_all(bytes, 19).expect("memory does not fail").len()
}

/// Size under the program xz, if it is installed.
fn xz(bytes: &[u8]) -> Option<usize> {
    let mut child = Command::new("xz")
        .args(["-9e", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    output.status.success().then_some(output.stdout.len())
}
