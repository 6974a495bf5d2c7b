//! Positions of games in order: a move tells each from the one before.

use epdb::codec::ordinal;
use epdb::model::rules::{Playable, en_passant_is_legal, is_zeroing};
use epdb::model::{Counters, Position};

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
            fullmove_number += u32::from(position.turn() == epdb::model::Color::Black);
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
            let options = PackOptions::new().index(false);
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

/// Games with gaps, repeated lines, and lines of other kinds between.
#[test]
fn what_no_move_leads_to_stands_between_moves() {
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
        let options = PackOptions::new().block_records(block_records);
        assert_holds(&Archive::from_bytes(pack(&mixed, &options)).unwrap(), &mixed);
    }
}
