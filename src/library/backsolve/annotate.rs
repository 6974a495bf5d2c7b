//! Operations that document the value of a record.

use super::positions::OwnScore;
use epdb_chess::model::merge::depth;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::score::Score;
use epdb_chess::model::{Color, EpdRecord, Opcode, Operand, Operation, Position};
use epdb_chess::text::san;

/// `ce_own`: the `ce` that the record had before backsolve replaced it by a computed value. If the record
/// had no `ce`, then `ce_own` has no operand. In a record with `ce_own`, `ce` and `pm` are computed.
pub const CE_OWN: Opcode = named("ce_own");
/// `ce_repeats`, without an operand: `ce` is 0 because one side does best by repeating positions.
pub const CE_REPEATS: Opcode = named("ce_repeats");
/// `ce_leaf`: the four fields of the position from which the value of `ce` comes, as a string.
pub const CE_LEAF: Opcode = named("ce_leaf");
/// `ce_plies`: number of plies to the position of `ce_leaf`.
pub const CE_PLIES: Opcode = named("ce_plies");

const fn named(name: &str) -> Opcode {
    match Opcode::new(name.as_bytes()) {
        Ok(opcode) => opcode,
        Err(_) => panic!("not an opcode"),
    }
}

/// The `ce` of a record; `None` if the record has no `ce`, or if no legal position can have this value.
pub(super) fn ce_of(record: &EpdRecord) -> Option<i16> {
    as_ce(record.integer(Opcode::CE)?)
}

fn as_ce(value: i128) -> Option<i16> {
    match Score::from_ce(value) {
        Ok(Score::Illegal) | Err(_) => None,
        Ok(_) => i16::try_from(value).ok(),
    }
}

/// The score that a record has itself, and the depth of this score.
pub(super) fn own_score(record: &EpdRecord) -> OwnScore {
    let Some(ce) = ce_of(record) else { return OwnScore::NONE };
    let depth = depth(record).unwrap_or_default().max(0);
    OwnScore { depth: Some(u32::try_from(depth).unwrap_or(u32::MAX)), ce }
}

/// Restores the `ce` that a record had before an earlier run replaced it by a computed value.
pub(super) fn restore(record: &mut EpdRecord) {
    let own = match record.operands(CE_OWN) {
        Some([]) => None,
        Some([operand]) => {
            let value = String::from_utf8(operand.text()).ok().and_then(|text| text.parse().ok());
            // A user may have an operation of the same name.
            let Some(value) = value.and_then(as_ce) else { return };
            Some(value)
        }
        _ => return,
    };
    for opcode in [CE_OWN, CE_REPEATS, CE_LEAF, CE_PLIES, Opcode::CE, Opcode::PM] {
        record.remove(opcode);
    }
    if let Some(own) = own {
        set(record, Opcode::CE, vec![Operand::Integer(own.into())]);
    }
}

/// Converts a score from White's point of view to the point of view of the side to move.
pub(super) fn turn_view(record: &mut EpdRecord) {
    if let (Color::Black, Some(ce)) = (record.position().turn(), ce_of(record)) {
        set(record, Opcode::CE, vec![Operand::Integer(-i128::from(ce))]);
    }
}

/// The solved value of a position, and where it comes from.
#[derive(Debug)]
pub(super) struct Solved {
    pub(super) value: i16,
    pub(super) best: Option<Move>,
    pub(super) is_repetition: bool,
    /// The position from which the value comes, and the number of plies to it.
    pub(super) leaf: Option<(Position, u32)>,
}

/// Writes the solved value of a position into its record.
pub(super) fn annotate(record: &mut EpdRecord, solved: &Solved) {
    let own = ce_of(record).map(|own| Operand::token(own.to_string())).into_iter();
    set(record, CE_OWN, own.collect());
    set(record, Opcode::CE, vec![Operand::Integer(solved.value.into())]);
    set_best(record, solved.best);
    if solved.is_repetition {
        set(record, CE_REPEATS, Vec::new());
    }
    if let Some((leaf, plies)) = &solved.leaf {
        set(record, CE_LEAF, vec![Operand::string(leaf.to_string())]);
        set(record, CE_PLIES, vec![Operand::token(plies.to_string())]);
    }
    let score = Score::from_ce(solved.value.into()).ok();
    let moves = if solved.value > 0 { score.and_then(Score::full_moves) } else { None };
    if record.integer(Opcode::DM) != moves.map(i128::from) {
        record.remove(Opcode::DM);
    }
}

/// Sets `pm`, and drops a `pv` that begins with another move.
fn set_best(record: &mut EpdRecord, best: Option<Move>) {
    record.remove(Opcode::PM);
    let playable = Playable::new(record.position()).ok();
    if let (Some(mv), Some(playable)) = (best, playable) {
        set(record, Opcode::PM, vec![Operand::Move { mv, san: san::format(&playable, mv) }]);
    }
    if record.operands(Opcode::PV).and_then(<[_]>::first)
        != record.operands(Opcode::PM).and_then(<[_]>::first)
    {
        record.remove(Opcode::PV);
    }
}

fn set(record: &mut EpdRecord, opcode: Opcode, operands: Vec<Operand>) {
    record.set(Operation { opcode, operands });
}
