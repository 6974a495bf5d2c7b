//! A player that sees captures and little more, which is enough for positions that look like those
//! of games. All of it is arithmetic of whole numbers.

use std::error::Error;

use epdb_chess::model::rules::{Move, Playable, is_zeroing};
use epdb_chess::model::{
    Bitboard, Color, Counters, EpdRecord, Opcode, Operand, Operation, Position, Role, Square,
};
use epdb_chess::text::{Profile, san};
use rayon::prelude::*;

const GAMES: u64 = 3000;
/// Plies of the longest game, openings included.
const PLIES: usize = 130;
/// One of this many positions is kept.
const STEP: u64 = 3;
/// Captures that follow each other when a move is weighed.
const DEPTH: u32 = 4;

/// The positions of all games, half of them in the form of suites, half in that of books.
pub(crate) fn records(openings: &str) -> Result<Vec<EpdRecord>, Box<dyn Error>> {
    let lines: Vec<Vec<Playable>> =
        openings.lines().filter(|line| !line.is_empty()).map(line).collect::<Result<_, _>>()?;
    let game = |number: u64| game(number, &lines[number as usize % lines.len()]);
    let games: Vec<Vec<EpdRecord>> = (0..GAMES).into_par_iter().map(game).collect();
    Ok(games.into_iter().flatten().collect())
}

/// The positions of a line of moves.
fn line(text: &str) -> Result<Vec<Playable>, Box<dyn Error>> {
    let mut now = Playable::new(&Position::START)?;
    let mut positions = vec![now];
    for word in text.split_whitespace() {
        let read = san::parse(&now, word.as_bytes(), Profile::Strict);
        now = read.map_err(|error| format!("{text}: {word}: {error}"))?.after;
        positions.push(now);
    }
    Ok(positions)
}

/// Numbers without pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn game(number: u64, opening: &[Playable]) -> Vec<EpdRecord> {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..8).for_each(|_| _ = random.below(2));
    let book = 1 + random.below(opening.len() as u64) as usize;
    let mut records = Vec::new();
    let mut now = opening[0];
    let (mut clock, mut ply) = (0, 0);
    while ply < PLIES && clock < 60 {
        if random.below(STEP) == 0 {
            records.push(record(now.position(), clock, ply, &mut random));
        }
        let next = match opening[..book].get(ply + 1) {
            Some(next) => Some((*next, ply < 2)),
            None => choose(&now, if ply < 16 { 50 } else { 25 }, &mut random),
        };
        let Some((next, is_zeroing)) = next else { break };
        clock = if is_zeroing { 0 } else { clock + 1 };
        (now, ply) = (next, ply + 1);
    }
    records
}

/// One in four as a line of a book, with counters; the others as those of suites, with operations.
fn record(position: &Position, clock: u32, ply: usize, random: &mut Random) -> EpdRecord {
    let mut record = EpdRecord::new(*position);
    if random.below(4) == 0 {
        record.set_fen_counters(Some(Counters {
            halfmove_clock: clock,
            fullmove_number: ply as u32 / 2 + 1,
        }));
    } else {
        record
            .set(Operation { opcode: Opcode::ID, operands: vec![Operand::string(b"x".to_vec())] });
    }
    record
}

/// The best move, weighed with an error of up to `error` hundredths of a pawn.
fn choose(now: &Playable, error: u64, random: &mut Random) -> Option<(Playable, bool)> {
    let weigh = |mv: Move| {
        let next = now.after(mv);
        let value = -quiet_value(&next, -30_000, 30_000, DEPTH) + random.below(error + 1) as i32;
        (value, mv, next)
    };
    let best = now.legal_moves().into_iter().map(weigh).max_by_key(|(value, ..)| *value)?;
    Some((best.2, is_zeroing(now.position(), best.1)))
}

/// Value of a position for the side to move, by a search of captures.
fn quiet_value(now: &Playable, mut low: i32, high: i32, depth: u32) -> i32 {
    let still = value(now.position());
    low = low.max(still);
    if low >= high || depth == 0 {
        return low;
    }
    let mut captures: Vec<(i32, Move)> = Vec::new();
    now.each_move(|mv| {
        if now.is_capture(mv) {
            let taken = now.position().board().role_at(mv.to).map_or(100, worth);
            let by = now.position().board().role_at(mv.from).map_or(0, worth);
            captures.push((by - 16 * taken, mv));
        }
        true
    });
    captures.sort_by_key(|(order, mv)| (*order, mv.from.index(), mv.to.index()));
    for (_, mv) in captures {
        low = low.max(-quiet_value(&now.after(mv), -high, -low, depth - 1));
        if low >= high {
            break;
        }
    }
    low
}

const fn worth(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 320,
        Role::Bishop => 335,
        Role::Rook => 500,
        Role::Queen => 950,
        Role::King => 0,
    }
}

/// Value of a position for the side to move.
fn value(position: &Position) -> i32 {
    let board = position.board();
    let queens = !board.role(Role::Queen).is_empty();
    let side = |color: Color| {
        let pieces = Role::ALL.into_iter().flat_map(|role| {
            board.pieces(color, role).into_iter().map(move |square| (role, square))
        });
        let pieces: i32 =
            pieces.map(|(role, at)| worth(role) + place(role, color, at, queens)).sum();
        let bishops = board.pieces(color, Role::Bishop).count();
        let pawns = board.pieces(color, Role::Pawn);
        let files = (0..8)
            .filter(|file| !(pawns & Bitboard(0x0101_0101_0101_0101 << file)).is_empty())
            .count();
        let doubled = pawns.count() as i32 - files as i32;
        pieces + if bishops > 1 { 30 } else { 0 } - 12 * doubled
    };
    let value = side(Color::White) - side(Color::Black);
    if position.turn() == Color::White { value } else { -value }
}

/// Value of a square for a piece.
fn place(role: Role, color: Color, at: Square, queens: bool) -> i32 {
    let rank = if color == Color::White { at.rank() } else { 7 - at.rank() };
    let (rank, file) = (i32::from(rank), i32::from(at.file()));
    let centre = file.min(7 - file) + rank.min(7 - rank);
    let undeveloped = if rank == 0 { -15 } else { 0 };
    match role {
        Role::Pawn => {
            (rank - 1) * (rank - 1) * 2 + if rank > 2 { 5 * file.min(7 - file) } else { 0 }
        }
        Role::Knight => 8 * centre - 20 + undeveloped,
        Role::Bishop => 5 * centre + undeveloped,
        Role::Rook => 3 * file.min(7 - file) + if rank == 6 { 20 } else { 0 },
        Role::Queen => 2 * centre,
        Role::King if queens => {
            let castled = rank == 0 && !(3..=5).contains(&file);
            -12 * centre + if castled { 35 } else { 0 }
        }
        Role::King => 8 * centre,
    }
}
