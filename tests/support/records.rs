//! Records to test with.

use epdb_chess::codec::ordinal;
use epdb_chess::codec::record::{decode, encode};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{
    CastlingDialect, Cell, Counters, EpdRecord, GameCounts, MoveTally, Opcode, Operand, Operands,
    Operation, Ratings, StandardOpcode, Tally, TallyPart, TypedOperand,
};
use epdb_chess::text::san;
use proptest::prelude::*;

use crate::positions::{anything, playouts};

/// A move operand by ordinal, where there is one.
pub(crate) fn move_operand(playable: &Playable, nth: u16) -> Option<Operand> {
    let mv = ordinal::move_at(playable, nth.checked_rem(ordinal::count(playable))?)?;
    Some(Operand::Move { mv, san: san::format(playable, mv) })
}

#[derive(Clone, Debug)]
enum Draft {
    Integer(i128),
    Str(Vec<u8>),
    Token(Vec<u8>),
    Moves(Vec<u16>),
    Typed(TypedOperand),
}

fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let byte = prop_oneof![b' '..=b'!', b'#'..=b'~', 0x80u8..];
    let token_byte = prop_oneof![Just(b'!'), b'#'..=b':', b'<'..=b'~'];
    let integer = prop_oneof![
        (-300i64..300).prop_map(i128::from),
        any::<i64>().prop_map(i128::from),
        any::<u64>().prop_map(i128::from),
        (any::<u64>(), 0..64).prop_map(|(value, shift)| i128::from(value >> shift)),
        (any::<i64>(), 0..63).prop_map(|(value, shift)| i128::from(value >> shift)),
    ];
    let typed = (1u16.., prop::collection::vec(any::<u8>(), 0..300))
        .prop_map(|(number, bytes)| Draft::Typed(TypedOperand::new(number, bytes).unwrap()));
    let draft = prop_oneof![
        1 => typed,
        2 => integer.prop_map(Draft::Integer),
        3 => prop::collection::vec(byte, 0..12).prop_map(Draft::Str),
        1 => Just(Draft::Str(vec![b'-'; 300])),
        3 => prop::collection::vec(token_byte, 1..12).prop_map(Draft::Token),
        6 => prop::collection::vec(any::<u16>(), 1..6).prop_map(Draft::Moves),
    ];
    prop::collection::vec(draft, 0..4)
}

fn opcodes() -> impl Strategy<Value = Opcode> {
    prop_oneof![
        3 => prop::sample::select(StandardOpcode::ALL).prop_map(|entry| entry.opcode),
        2 => prop::sample::select(vec!["am", "bm", "pv", "sv", "pm", "sm", "ce", "id", "noop", "tally"])
            .prop_map(|name| Opcode::new(name.as_bytes()).unwrap()),
        2 => "[A-Za-z][A-Za-z0-9_]{0,14}".prop_map(|name| Opcode::new(name.as_bytes()).unwrap()),
    ]
}

/// A tally of these moves, whose counts follow from the choices.
fn tally(playable: &Playable, choices: &[u16]) -> Option<Operand> {
    let mut parts = Vec::new();
    for (nth, cell) in
        [Cell::default(), Cell { year: Some(2024), ..Cell::default() }].iter().enumerate()
    {
        let mut part = TallyPart { cell: *cell, reached: u64::from(choices[0]), moves: Vec::new() };
        for &choice in &choices[nth.min(choices.len() - 1)..] {
            let Operand::Move { mv, san } = move_operand(playable, choice)? else { return None };
            let games = u64::from(choice % 7) + 1;
            let rated = games.min(u64::from(choice % 4));
            let elo = Ratings { games: rated, sum: rated * u64::from(choice % 3000 + 1) };
            let opponents = Ratings { games, sum: games * 2500 + games / 2 };
            let years = (choice % 3 > 0).then_some((1990 + choice % 9, 1999 + choice % 2));
            let counts = match choice % 3 {
                0 => GameCounts { white: games, ..GameCounts::default() },
                1 => GameCounts { draws: games, elo, opponents, years, ..GameCounts::default() },
                _ => {
                    GameCounts { black: 1, unknown: games - 1, elo, years, ..GameCounts::default() }
                }
            };
            part.moves.push(MoveTally { mv, san, counts });
        }
        parts.push(part);
        if choices.len().is_multiple_of(2) {
            break;
        }
    }
    Some(Operand::tally(Tally::new(parts)?))
}

fn operands(opcode: Opcode, root: Option<&Playable>, drafts: Vec<Draft>) -> Vec<Operand> {
    if let (Opcode::TALLY, Some(root), Some(Draft::Moves(choices))) = (opcode, root, drafts.first())
        && let Some(tally) = tally(root, choices)
    {
        return vec![tally];
    }
    let form = opcode.standard().map(|entry| entry.operands);
    let mut now = root.copied();
    let mut operands = Vec::new();
    for draft in drafts {
        match draft {
            Draft::Integer(value) => operands.push(Operand::Integer(value)),
            Draft::Str(bytes) => operands.push(Operand::string(bytes)),
            Draft::Token(bytes) => operands.push(Operand::token(bytes)),
            Draft::Typed(operand) => operands.push(Operand::typed(&operand)),
            Draft::Moves(choices) => {
                for choice in choices {
                    let Some(playable) = now else { break };
                    let Some(operand) = move_operand(&playable, choice) else { break };
                    if let (Some(Operands::MoveLine), Operand::Move { mv, .. }) = (form, &operand) {
                        now = Some(playable.after(*mv));
                    }
                    operands.push(operand);
                }
            }
        }
    }
    operands
}

/// Records as reading gives them: moves, integers and text each where their opcode has them.
pub(crate) fn records() -> impl Strategy<Value = EpdRecord> {
    records_by_hand().prop_filter_map("a text that is a legal move", |record| {
        let mut bytes = Vec::new();
        encode(&record, &mut bytes).ok()?;
        Some(decode(&bytes).expect("what was encoded").0)
    })
}

/// Records with operands of any kind in any opcode.
pub(crate) fn records_by_hand() -> impl Strategy<Value = EpdRecord> {
    let position = prop_oneof![
        3 => (playouts(), any::<prop::sample::Index>())
            .prop_map(|(positions, place)| positions[place.index(positions.len())]),
        1 => anything(),
    ];
    let counters = prop::option::of((any::<u32>(), 0u32..32, 1u32.., 0u32..32));
    let operations = prop_oneof![
        1 => Just(Vec::new()),
        4 => prop::collection::vec((opcodes(), drafts()), 0..8),
    ];
    (position, any::<bool>(), counters, operations).prop_map(
        |(position, shredder, counters, operations)| {
            let mut record = EpdRecord::new(position);
            if shredder {
                record.set_dialect(CastlingDialect::Shredder);
            }
            record.set_fen_counters(counters.map(|(clock, a, number, b): (u32, u32, u32, u32)| {
                Counters { halfmove_clock: clock >> a, fullmove_number: (number >> b).max(1) }
            }));
            let root = Playable::new(&position).ok();
            for (opcode, drafts) in operations {
                let operands = operands(opcode, root.as_ref(), drafts);
                record.set(Operation { opcode, operands });
            }
            record
        },
    )
}
