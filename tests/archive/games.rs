//! Positions of games in order: each row follows from the one before by a move.

use epdb_chess::codec::ordinal;
use epdb_chess::model::rules::{Move, Playable, en_passant_is_legal, is_zeroing};
use epdb_chess::model::{Counters, Position};
use epdb_chess::text::san;

use super::damage::Random;
use super::*;

/// Which en passant squares the lines have.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Squares {
    AfterDoubleSteps,
    Legal,
    Never,
}

const STARTS: [&str; 3] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "bqnrkrnb/pppppppp/8/8/8/8/PPPPPPPP/BQNRKRNB w FDfd - 0 1",
    "4k3/2P5/8/3pP3/8/8/p7/4K2R w K d6 0 31",
];

/// Positions of random games, with counters or without.
pub(super) fn positions(games: usize, squares: Squares, has_counters: bool) -> Vec<EpdRecord> {
    let mut random = Random(games as u64);
    let mut found = Vec::new();
    for game in 0..games {
        let start = &records(STARTS[game % STARTS.len()])[0];
        let Counters { mut halfmove_clock, mut fullmove_number } = start.fen_counters().unwrap();
        let mut position = *start.position();
        for _ in 0..120 {
            let mut record = EpdRecord::new(as_written(&position, squares));
            if has_counters {
                record.set_fen_counters(Some(Counters { halfmove_clock, fullmove_number }));
            }
            found.push(record);
            let playable = Playable::new(&position).unwrap();
            let moves = ordinal::list(&playable);
            if moves.is_empty() {
                break;
            }
            let mv = moves[random.below(moves.len())];
            halfmove_clock = if is_zeroing(&position, mv) { 0 } else { halfmove_clock + 1 };
            fullmove_number += u32::from(position.turn() == epdb_chess::model::Color::Black);
            position = *playable.after(mv).position();
        }
    }
    found
}

fn as_written(position: &Position, squares: Squares) -> Position {
    let keeps = match squares {
        Squares::AfterDoubleSteps => true,
        Squares::Legal => en_passant_is_legal(position),
        Squares::Never => false,
    };
    if keeps { *position } else { position.with_en_passant(None).unwrap() }
}

#[test]
fn positions_of_games_take_little_more_than_their_moves() {
    for squares in [Squares::AfterDoubleSteps, Squares::Legal, Squares::Never] {
        for has_counters in [false, true] {
            let records = positions(60, squares, has_counters);
            let options = PackOptions { index: false, ..Default::default() };
            let bytes = pack(&records, &options);
            let size = bytes.len() as f64 / records.len() as f64;
            assert!(size < 2.5, "{size} bytes a position, {squares:?}");
            let archive = Archive::from_bytes(bytes).unwrap();
            assert_holds(&archive, &records);
            for number in (0..archive.len()).step_by(97) {
                assert_eq!(archive.record(number).unwrap(), records[number as usize]);
            }
        }
    }
}

/// Positions of random games with what an engine says of them: the move played or another, a line
/// that the game follows for a while, a score and a result of the side to move.
pub(super) fn annotated(games: usize) -> Vec<EpdRecord> {
    let mut random = Random(7 * games as u64);
    let positions = positions(games, Squares::AfterDoubleSteps, true);
    let lines = positions.iter().enumerate().map(|(number, record)| {
        let mut line = String::from_utf8(epdb_chess::format_epd(record)).unwrap();
        let turn = if number % 2 == 0 { 1 } else { -1 };
        let score = turn * (number as i64 / 60 * 37 % 500) + random.below(40) as i64;
        let mut now = Playable::new(record.position()).unwrap();
        let mut moves = Vec::new();
        for next in positions[number + 1..].iter().take(random.below(4)) {
            let moves_now = ordinal::list(&now);
            let leads = |mv: &Move| now.after(*mv).position().board() == next.position().board();
            let Some(&mv) = moves_now.iter().find(|mv| leads(mv)) else { break };
            moves.push(san::format(&now, mv));
            now = now.after(mv);
        }
        let other = ordinal::move_at(&now, random.below(9) as u16);
        moves.extend(other.filter(|_| random.below(2) == 0).map(|mv| san::format(&now, mv)));
        line += &format!(" acd {}; c9 \"{}\"; ce {score}; zz {};", 20 + number % 3, turn, number);
        let list = moves.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        match (random.below(20), moves.first()) {
            (0, _) => return record.clone(),
            (_, Some(first)) => line += &format!(" sm {first}; pv {list};"),
            (_, None) => {}
        }
        records(&line)[0].clone()
    });
    lines.collect()
}

/// Analysis of games round-trips, even of records in the middle of a block.
#[test]
fn operations_of_games_come_back() {
    let all = annotated(20);
    for (count, block_records) in [(1, 64), (30, 7), (2000, 1), (2000, 3), (2000, 64), (2000, 999)]
    {
        let given = &all[..count.min(all.len())];
        let options = PackOptions { block_records: Some(block_records), ..Default::default() };
        let archive = Archive::from_bytes(pack(given, &options)).unwrap();
        assert_holds(&archive, given);
        for number in (0..archive.len()).step_by(61) {
            assert_eq!(archive.record(number).unwrap(), given[number as usize]);
        }
        archive.verify().unwrap();
    }
}

/// A move of a game is stored once; scores are near the scores before.
#[test]
fn operations_that_follow_from_the_row_before_cost_little() {
    let all = annotated(60);
    let options = PackOptions { index: false, block_records: Some(64), ..Default::default() };
    let size = |keep: &dyn Fn(&epdb_chess::model::Operation) -> bool| {
        let only = |record: &EpdRecord| {
            let mut kept = record.clone();
            for operation in record.operations().iter().filter(|operation| !keep(operation)) {
                kept.remove(operation.opcode);
            }
            kept
        };
        let records: Vec<EpdRecord> = all.iter().map(only).collect();
        pack(&records, &options).len() as f64 / all.len() as f64
    };
    let bare = size(&|_| false);
    let score = size(&|operation| operation.opcode.as_bytes() == b"ce") - bare;
    assert!(score < 1.2, "{score} bytes a score");
}

/// Games with gaps, repeated lines, and lines of other kinds between.
#[test]
fn rows_without_a_move_stand_between_moves() {
    let games = positions(40, Squares::AfterDoubleSteps, true);
    let mut mixed: Vec<EpdRecord> = Vec::new();
    for (number, record) in games.into_iter().enumerate() {
        match number % 11 {
            3 => continue,
            5 => mixed.extend([record.clone(), record]),
            7 => mixed.extend(records(LINES).into_iter().skip(number % 9).take(1).chain([record])),
            _ => mixed.push(record),
        }
    }
    for block_records in [1, 2, 64] {
        let options = PackOptions { block_records: Some(block_records), ..Default::default() };
        assert_holds(&Archive::from_bytes(pack(&mixed, &options)).unwrap(), &mixed);
    }
}
