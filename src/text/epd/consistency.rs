//! The rules between opcodes (OP-01 to OP-03, CE-10, section 6).

use super::Placed;
use crate::model::rules::Playable;
use crate::model::score::mates_in;
use crate::model::{Operand, Position, Role};
use crate::text::codes;
use crate::text::diagnostic::Diagnostic;
use crate::text::options::ReadOptions;

pub(super) fn check(
    options: &ReadOptions,
    position: &Position,
    operations: &[Placed],
    warnings: &mut Vec<Diagnostic>,
) {
    let find = |name: &str| operations.iter().find(|one| one.operation.opcode.is(name));
    let has = |name| find(name).is_some();
    let first = |name| find(name).and_then(|one| one.operation.operands.first());
    let mut report = |name: &str, code, message: String| {
        let at = find(name).map_or(0, |one| one.at);
        warnings.push(Diagnostic::warning(code, at + 1, message));
    };

    if let (Some(am), Some(bm)) = (find("am"), find("bm")) {
        let both = am.operation.operands.iter().find(|&operand| {
            matches!(operand, Operand::Move { .. }) && bm.operation.operands.contains(operand)
        });
        if let Some(both) = both {
            let text = String::from_utf8_lossy(&both.text()).into_owned();
            report("bm", codes::W_CONS_AMBM, format!("`{text}` stands in am and in bm"));
        }
    }
    let lines = [("pm", "pv", codes::W_CONS_PMPV), ("sm", "sv", codes::W_CONS_SMSV)];
    for (name, line, code) in lines {
        let known = line == "pv" || !options.revision_1994;
        if known
            && let (Some(one), Some(begin)) = (first(name), first(line))
            && one != begin
        {
            report(name, code, format!("`{name}` is not the first move of `{line}`"));
        }
    }
    if has("draw_offer") && !has("sm") {
        report("draw_offer", codes::W_CONS_OFFERSM, "draw_offer without sm".into());
    }
    if has("draw_claim") && !has("sm") && !is_bare(position) {
        report("draw_claim", codes::W_CONS_CLAIMSM, "draw_claim without sm".into());
    }
    if !options.revision_1994 {
        if has("draw_accept") && has("draw_reject") {
            report("draw_accept", codes::W_CONS_ACCREJ, "draw_accept beside draw_reject".into());
        }
        if has("draw_claim") && has("draw_offer") {
            report("draw_claim", codes::W_CONS_CLAIMOFFER, "draw_claim beside draw_offer".into());
        }
        let draws = ["draw_accept", "draw_claim", "draw_offer", "draw_reject"];
        if has("resign")
            && let Some(draw) = draws.into_iter().find(|&name| has(name))
        {
            report("resign", codes::W_CONS_RESIGN, format!("resign beside {draw}"));
        }
    }
    let Some(Operand::Integer(ce)) = first("ce") else { return };
    if let Some(&Operand::Integer(dm)) = first("dm") {
        let fitting = u32::try_from(dm).ok().and_then(|moves| mates_in(moves).ok());
        if *ce > 32000 && fitting.map(i128::from) != Some(*ce) {
            report("dm", codes::W_CONS_DMCE, format!("dm {dm} does not fit ce {ce}"));
        }
    }
    if *ce == -32767 && !Playable::new(position).is_some_and(|playable| playable.is_checkmate()) {
        let message = "ce -32767 says that the mover is checkmated, and he is not";
        report("ce", codes::W_CONS_MATED, message.into());
    }
}

/// Whether neither side can mate with what it has: a draw may be claimed at once (DIS-08).
fn is_bare(position: &Position) -> bool {
    let board = position.board();
    let heavy = board.role(Role::Pawn) | board.role(Role::Rook) | board.role(Role::Queen);
    let light = board.role(Role::Knight) | board.role(Role::Bishop);
    heavy == 0 && light.count_ones() <= 1
}
