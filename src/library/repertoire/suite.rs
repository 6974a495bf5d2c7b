//! Records of suites as games.

use super::graph::Evaluation;
use super::records::number;
use super::tree::begin;
use epdb_chess::model::rules::Move;
use epdb_chess::model::{
    BuildError, Counters, EpdRecord, Game, GameBuilder, Opcode, Operand, Operation, Start,
};

/// A record as a game.
#[derive(Clone, Debug)]
pub struct SuiteGame {
    /// The game.
    pub game: Game,
    /// Number of operations that are not in the game, or only in part.
    pub left_out: u64,
}

/// Writes a record as a game from its position. The main line is `pv` or, without it, the first move of
/// `bm`; the other moves of `bm` are variations. `id` and `eco` are the tags `Event` and `ECO`. `ce` with
/// `acd`, `am`, `dm`, and `c0` to `c9` are comments before the first move.
///
/// ```
/// use epdb_library::repertoire::suite_game;
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e3 e4; id \"A.01\"; acn 9;")?;
/// let written = suite_game(&record)?;
/// assert_eq!(written.game.tag("Event"), Some("A.01"));
/// assert_eq!((written.game.main_line().count(), written.left_out), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The game would be too large.
pub fn suite_game(record: &EpdRecord) -> Result<SuiteGame, BuildError> {
    let mut game = GameBuilder::new();
    let (halfmove_clock, fullmove_number) = record.counters();
    let counters = Counters {
        halfmove_clock: halfmove_clock.unwrap_or(0),
        fullmove_number: fullmove_number.unwrap_or(1),
    };
    begin(&mut game, &Start { position: *record.position(), counters }, &[])?;
    for (opcode, tag) in [(Opcode::ID, "Event"), (Opcode::ECO, "ECO")] {
        if let Some(text) = record.text_of(opcode) {
            game.set_tag(tag, &String::from_utf8_lossy(&text))?;
        }
    }
    add_comments(&mut game, record)?;
    let mut best = moves(record, Opcode::BM);
    let mut line = moves(record, Opcode::PV);
    if line.is_empty() {
        line.extend(best.first());
    }
    best.retain(|mv| line.first() != Some(mv));
    for (ply, mv) in line.into_iter().enumerate() {
        game.play(mv)?;
        if ply == 0 {
            for &other in &best {
                game.begin_variation()?;
                game.play(other)?;
                game.end_variation()?;
            }
        }
    }
    let left_out = record.operations().iter().filter(|it| !is_written(record, it)).count() as u64;
    Ok(SuiteGame { game: game.finish()?, left_out })
}

fn add_comments(game: &mut GameBuilder, record: &EpdRecord) -> Result<(), BuildError> {
    if let Some(evaluation) = evaluation(record) {
        game.add_comment(&evaluation.command(record.position().turn()))?;
    }
    for Operation { opcode, operands } in record.operations() {
        let texts: Vec<_> = operands.iter().map(Operand::text).collect();
        let text = String::from_utf8_lossy(&texts.join(&b' ')).into_owned();
        match *opcode {
            Opcode::AM | Opcode::DM => game.add_comment(&format!("{opcode} {text}"))?,
            opcode if is_comment(opcode) => game.add_comment(&text)?,
            _ => {}
        }
    }
    Ok(())
}

fn is_comment(opcode: Opcode) -> bool {
    (Opcode::C0..=Opcode::C9).contains(&opcode)
}

fn evaluation(record: &EpdRecord) -> Option<Evaluation> {
    let ce = i32::try_from(record.integer(Opcode::CE)?).ok()?;
    let depth = record.text_of(Opcode::ACD).and_then(|depth| number(&depth));
    Some(Evaluation { ce, depth })
}

/// The legal moves of an operation, up to the first operand that is not a move.
fn moves(record: &EpdRecord, opcode: Opcode) -> Vec<Move> {
    record.operands(opcode).unwrap_or_default().iter().map_while(as_move).collect()
}

fn as_move(operand: &Operand) -> Option<Move> {
    match operand {
        Operand::Move { mv, .. } => Some(*mv),
        _ => None,
    }
}

/// Whether the game has the whole operation.
fn is_written(record: &EpdRecord, operation: &Operation) -> bool {
    match operation.opcode {
        Opcode::BM | Opcode::PV => operation.operands.iter().all(|it| as_move(it).is_some()),
        Opcode::CE | Opcode::ACD => evaluation(record).is_some(),
        Opcode::ID | Opcode::ECO | Opcode::AM | Opcode::DM | Opcode::HMVC | Opcode::FMVN => true,
        opcode => is_comment(opcode),
    }
}
