//! The codec compared with shakmaty, as ratios of one run: `cargo bench --bench codec`.
//!
//! Each pair of contestants takes turns over the same positions. They are timed in pieces, and the best round of
//! each piece counts, so that other load of the machine affects both alike or neither. The positions are from
//! random games of a fixed seed, or from the lines of a file that is given as argument.
//!
//! Code that depends on the instructions of the processor has a line for each set of them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use epdb_chess::codec::identity::InstructionSet;
use epdb_chess::codec::packed::PackedBoard;
use epdb_chess::codec::{identity, key, ordinal, packed, record};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Counters, EpdRecord, Position};
use shakmaty::fen::{Epd, Fen};
use shakmaty::packed::PackedSetup;
use shakmaty::san::SanPlus;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position as _, Setup};

const SAMPLES: usize = 10_000;
const ROUNDS: u32 = 40;
/// Positions that are timed at once: few enough that a piece is seldom interrupted.
const PIECE: usize = 500;

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let lines = match file {
        Some(path) => lines_of(&path),
        None => lines_of_games(),
    };
    let samples: Vec<Sample> = lines.into_iter().filter_map(Sample::new).take(SAMPLES).collect();
    println!("{} positions, best of {ROUNDS} rounds of each {PIECE}", samples.len());
    println!("{:<46} {:>9} {:>9} {:>7}", "", "epdb ns", "peer ns", "ratio");
    read(&samples);
    write(&samples);
    ordinals(&samples);
    packing(&samples);
}

struct Sample {
    line: Vec<u8>,
    position: Position,
    playable: Playable,
    chess: Chess,
    /// One of the legal moves, in both forms.
    mv: Move,
    their_move: shakmaty::Move,
    ordinal: u16,
}

impl Sample {
    fn new(line: Vec<u8>) -> Option<Sample> {
        let identity = identity::read_fields(&line)?;
        let (position, _) = packed::decode(identity.board.as_bytes()).ok()?;
        let playable = Playable::new(&position).ok()?;
        let fen = Fen::from_ascii(&line).ok()?;
        let chess: Chess = fen.into_position(CastlingMode::Standard).ok()?;
        let moves = chess.legal_moves();
        let their_move = *moves.get(line.len() * 7 % moves.len().max(1))?;
        let mv = Move::try_from(&their_move).ok()?;
        let ordinal = ordinal::ordinal(&playable, mv)?;
        Some(Sample { line, position, playable, chess, mv, their_move, ordinal })
    }
}

fn lines_of(path: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read(path).expect("a file of EPD or FEN lines");
    text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn lines_of_games() -> Vec<Vec<u8>> {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 33) as usize
    };
    let mut lines = Vec::with_capacity(SAMPLES);
    while lines.len() < SAMPLES {
        let mut chess = Chess::default();
        for _ in 0..10 + next() % 60 {
            let moves = chess.legal_moves();
            let Some(&mv) = moves.get(next() % moves.len().max(1)) else { break };
            chess.play_unchecked(mv);
        }
        lines.push(Fen::from_position(&chess, EnPassantMode::Always).to_string().into_bytes());
    }
    lines
}

/// Runs two ways of one work in turns, each over its own compact array, and prints nanoseconds a
/// position and their ratio.
fn compare<X, Y, A, B>(
    name: &str,
    (our_items, ours): (&[X], impl Fn(&X) -> A),
    (their_items, theirs): (&[Y], impl Fn(&Y) -> B),
) {
    let mut our_best = vec![Duration::MAX; our_items.len().div_ceil(PIECE)];
    let mut their_best = our_best.clone();
    for _ in 0..ROUNDS {
        time(our_items, &ours, &mut our_best);
        time(their_items, &theirs, &mut their_best);
    }
    let per_position = |best: &[Duration]| {
        best.iter().sum::<Duration>().as_nanos() as f64 / our_items.len() as f64
    };
    let (ours, theirs) = (per_position(&our_best), per_position(&their_best));
    println!("{name:<46} {ours:>9.1} {theirs:>9.1} {:>6.1}x", theirs / ours);
}

/// Lowers the best times of the pieces to what they take now.
fn time<X, T>(items: &[X], work: impl Fn(&X) -> T, best: &mut [Duration]) {
    for (piece, best) in items.chunks(PIECE).zip(best) {
        let start = Instant::now();
        for item in piece {
            black_box(work(black_box(item)));
        }
        *best = start.elapsed().min(*best);
    }
}

fn each<T>(samples: &[Sample], part: impl Fn(&Sample) -> T) -> Vec<T> {
    samples.iter().map(part).collect()
}

fn read(samples: &[Sample]) {
    let lines = each(samples, |sample| sample.line.clone());
    let their_fen = |line: &Vec<u8>| Fen::from_ascii(line).unwrap();
    let their_key = |line: &Vec<u8>| {
        let chess: Chess = their_fen(line).into_position(CastlingMode::Standard).unwrap();
        chess.zobrist_hash::<Zobrist64>(EnPassantMode::Legal)
    };
    let our_fields = |line: &Vec<u8>| identity::read_fields(line).unwrap();
    let name = "EPD line -> packed board + key / Fen + Zobrist";
    compare(name, (&lines, our_fields), (&lines, their_key));
    for &set in InstructionSet::supported() {
        let ours = |line: &Vec<u8>| identity::read_fields_with(set, line).unwrap();
        compare(&format!("  {}", set.name()), (&lines, ours), (&lines, their_key));
    }
    let name = "EPD line -> packed board + key / Fen alone";
    compare(name, (&lines, our_fields), (&lines, their_fen));
    let their_hash = |chess: &Chess| chess.zobrist_hash::<Zobrist64>(EnPassantMode::Legal);
    let positions = each(samples, |sample| sample.position);
    let chess = each(samples, |sample| sample.chess.clone());
    compare("position -> key / Zobrist", (&positions, key::position_key), (&chess, their_hash));
}

fn write(samples: &[Sample]) {
    let our_buffer = RefCell::new(Vec::with_capacity(128));
    let their_buffer = RefCell::new(Vec::with_capacity(128));
    let our_text = |board: &PackedBoard| {
        let mut out = our_buffer.borrow_mut();
        out.clear();
        identity::write_fields(board.as_bytes(), &mut out).unwrap();
        out.len()
    };
    let their_text = |epd: &Epd| {
        let mut out = their_buffer.borrow_mut();
        out.clear();
        epd.append_ascii_to(&mut out);
        out.len()
    };
    let boards = each(samples, |sample| packed::encode(&sample.position));
    let epds = each(samples, |sample| Epd::from_position(&sample.chess, EnPassantMode::Legal));
    let name = "packed board -> EPD fields / Epd formatter";
    compare(name, (&boards, our_text), (&epds, their_text));
    for &set in InstructionSet::supported() {
        let ours = |board: &PackedBoard| {
            let mut out = our_buffer.borrow_mut();
            out.clear();
            identity::write_fields_with(set, board.as_bytes(), &mut out).unwrap();
            out.len()
        };
        compare(&format!("  {}", set.name()), (&boards, ours), (&epds, their_text));
    }
}

fn ordinals(samples: &[Sample]) {
    let sorted = |chess: &Chess| {
        let mut moves: Vec<(String, shakmaty::Move)> = chess
            .legal_moves()
            .into_iter()
            .map(|mv| (SanPlus::from_move(chess.clone(), mv).to_string(), mv))
            .collect();
        moves.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        moves
    };
    let theirs = each(samples, |sample| (sample.chess.clone(), sample.their_move, sample.ordinal));
    let their_ordinal = |(chess, mv, _): &(Chess, shakmaty::Move, u16)| {
        let san = SanPlus::from_move(chess.clone(), *mv).to_string();
        sorted(chess).binary_search_by(|(other, _)| other.cmp(&san)).unwrap()
    };
    let their_move =
        |(chess, _, ordinal): &(Chess, shakmaty::Move, u16)| sorted(chess)[usize::from(*ordinal)].1;
    let ours = each(samples, |sample| (sample.playable, sample.mv, sample.ordinal));
    compare(
        "move -> ordinal / sorted SANs",
        (&ours, |(playable, mv, _): &(Playable, Move, u16)| ordinal::ordinal(playable, *mv)),
        (&theirs, their_ordinal),
    );
    compare(
        "ordinal -> move / sorted SANs",
        (&ours, |(playable, _, nth): &(Playable, Move, u16)| ordinal::move_at(playable, *nth)),
        (&theirs, their_move),
    );
    compare(
        "position + move -> ordinal / sorted SANs",
        (&each(samples, |sample| (sample.position, sample.mv)), |(position, mv)| {
            ordinal::ordinal(&Playable::new(position).unwrap(), *mv)
        }),
        (&theirs, their_ordinal),
    );
}

/// The packed forms beside each other; a record is a packed board with counters around it.
fn packing(samples: &[Sample]) {
    let setups = each(samples, |sample| sample.chess.to_setup(EnPassantMode::Always));
    let their_pack = |setup: &Setup| PackedSetup::pack_standard(setup).unwrap();
    let their_packed: Vec<PackedSetup> = setups.iter().map(their_pack).collect();
    let their_unpack = |packed: &PackedSetup| packed.unpack_standard().unwrap();
    let positions = each(samples, |sample| sample.position);
    let boards: Vec<PackedBoard> = positions.iter().map(packed::encode).collect();
    let records = each(samples, |sample| {
        let mut record = EpdRecord::new(sample.position);
        record.set_fen_counters(Some(Counters::default()));
        let mut bytes = Vec::new();
        record::encode(&record, &mut bytes).unwrap();
        bytes
    });
    compare(
        "position -> packed board / PackedSetup",
        (&positions, packed::encode),
        (&setups, their_pack),
    );
    compare(
        "packed board -> position / PackedSetup",
        (&boards, |board: &PackedBoard| packed::decode(board.as_bytes()).unwrap()),
        (&their_packed, their_unpack),
    );
    compare(
        "record -> position, counters / PackedSetup",
        (&records, |bytes: &Vec<u8>| record::decode(bytes).unwrap()),
        (&their_packed, their_unpack),
    );
}
