//! Rules about several operations of a record, such as `pm` and `pv`.

use super::reader::Placed;
use crate::model::rules::{Playable, is_insufficient_material};
use crate::model::score::mates_in;
use crate::model::{Opcode, Operand, Position};
use crate::text::codes;
use crate::text::diagnostic::Diagnostic;
use crate::text::options::ParseOptions;

/// A rule about several operations of a record.
struct Rule {
    code: &'static str,
    /// Opcode of the operation at which the warning is placed.
    opcode: Opcode,
    /// Whether the standard of 1994 has the rule too.
    in_1994: bool,
    /// Returns a description of the violation if the record breaks the rule.
    broken: fn(&Record) -> Option<String>,
}

const RULES: [Rule; 10] = [
    Rule { code: codes::W_CONS_AMBM, opcode: Opcode::BM, in_1994: true, broken: move_in_am_and_bm },
    Rule {
        code: codes::W_CONS_PMPV,
        opcode: Opcode::PM,
        in_1994: true,
        broken: |record| record.is_not_first_of(Opcode::PM, Opcode::PV),
    },
    Rule {
        code: codes::W_CONS_SMSV,
        opcode: Opcode::SM,
        in_1994: false,
        broken: |record| record.is_not_first_of(Opcode::SM, Opcode::SV),
    },
    Rule {
        code: codes::W_CONS_OFFERSM,
        opcode: Opcode::DRAW_OFFER,
        in_1994: true,
        broken: |record| (!record.has(Opcode::SM)).then(|| "draw_offer without sm".into()),
    },
    Rule {
        code: codes::W_CONS_CLAIMSM,
        opcode: Opcode::DRAW_CLAIM,
        in_1994: true,
        broken: |record| {
            let unfounded =
                !record.has(Opcode::SM) && !is_insufficient_material(record.position.board());
            unfounded.then(|| "draw_claim without sm".into())
        },
    },
    Rule {
        code: codes::W_CONS_ACCREJ,
        opcode: Opcode::DRAW_ACCEPT,
        in_1994: false,
        broken: |record| record.beside(Opcode::DRAW_ACCEPT, &[Opcode::DRAW_REJECT]),
    },
    Rule {
        code: codes::W_CONS_CLAIMOFFER,
        opcode: Opcode::DRAW_CLAIM,
        in_1994: false,
        broken: |record| record.beside(Opcode::DRAW_CLAIM, &[Opcode::DRAW_OFFER]),
    },
    Rule {
        code: codes::W_CONS_RESIGN,
        opcode: Opcode::RESIGN,
        in_1994: false,
        broken: |record| {
            record.beside(
                Opcode::RESIGN,
                &[Opcode::DRAW_ACCEPT, Opcode::DRAW_CLAIM, Opcode::DRAW_OFFER, Opcode::DRAW_REJECT],
            )
        },
    },
    Rule { code: codes::W_CONS_DMCE, opcode: Opcode::DM, in_1994: true, broken: other_mate_in_ce },
    Rule { code: codes::W_CONS_MATED, opcode: Opcode::CE, in_1994: true, broken: not_checkmated },
];

/// Reports each rule that the operations of a position break.
pub(super) fn check(
    options: &ParseOptions,
    position: &Position,
    operations: &[Placed],
    warnings: &mut Vec<Diagnostic>,
) {
    let record = Record { position, operations };
    for rule in RULES.iter().filter(|rule| rule.in_1994 || !options.revision_1994) {
        let Some(operation) = record.find(rule.opcode) else { continue };
        if let Some(message) = (rule.broken)(&record) {
            warnings.push(Diagnostic::warning(rule.code, operation.at + 1, message));
        }
    }
}

/// The position and the operations to which the rules apply.
struct Record<'a> {
    position: &'a Position,
    operations: &'a [Placed],
}

impl<'a> Record<'a> {
    fn find(&self, opcode: Opcode) -> Option<&'a Placed> {
        self.operations.iter().find(|one| one.operation.opcode == opcode)
    }

    fn has(&self, opcode: Opcode) -> bool {
        self.find(opcode).is_some()
    }

    fn first(&self, opcode: Opcode) -> Option<&'a Operand> {
        self.find(opcode)?.operation.operands.first()
    }

    fn integer(&self, opcode: Opcode) -> Option<i128> {
        match self.first(opcode)? {
            Operand::Integer(value) => Some(*value),
            _ => None,
        }
    }

    fn is_not_first_of(&self, one: Opcode, line: Opcode) -> Option<String> {
        let differs = self.first(one)? != self.first(line)?;
        differs.then(|| format!("`{one}` is not the first move of `{line}`"))
    }

    fn beside(&self, opcode: Opcode, others: &[Opcode]) -> Option<String> {
        let other = others.iter().find(|other| self.has(**other))?;
        Some(format!("{opcode} together with {other}"))
    }
}

fn move_in_am_and_bm(record: &Record) -> Option<String> {
    let best = &record.find(Opcode::BM)?.operation.operands;
    let both = record
        .find(Opcode::AM)?
        .operation
        .operands
        .iter()
        .find(|&operand| matches!(operand, Operand::Move { .. }) && best.contains(operand))?;
    Some(format!("`{}` is both in am and in bm", String::from_utf8_lossy(&both.text())))
}

/// Checks that `ce` and `dm` give the same distance to mate. A `ce` above 32000 is a distance to
/// mate.
fn other_mate_in_ce(record: &Record) -> Option<String> {
    let ce = record.integer(Opcode::CE)?;
    let dm = record.integer(Opcode::DM)?;
    let fitting = u32::try_from(dm).ok().and_then(|moves| mates_in(moves).ok());
    let differs = ce > 32000 && fitting.map(i128::from) != Some(ce);
    differs.then(|| format!("dm {dm} does not fit ce {ce}"))
}

fn not_checkmated(record: &Record) -> Option<String> {
    if record.integer(Opcode::CE)? != -32767
        || Playable::new(record.position).is_ok_and(|playable| playable.is_checkmate())
    {
        return None;
    }
    Some("ce -32767 means checkmate, but the side to move is not checkmated".into())
}
