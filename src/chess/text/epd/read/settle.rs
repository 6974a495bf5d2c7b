//! Final steps after all operations of a line are read.

use super::consistency;
use super::reader::{Choice, Placed, Reader};
use crate::model::score::{mate_target, mated_in, mates_in};
use crate::model::{Opcode, Operand, Operands, Operation, Position};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::text::options::{MateTargets, Profile};
use crate::text::scan::Word;

impl Reader<'_, '_> {
    /// Sorts the operations, resolves duplicates and adds the salvaged texts.
    pub(super) fn sort_operations(
        &mut self,
        position: &Position,
    ) -> Result<Vec<Placed>, Diagnostic> {
        let mut kept = std::mem::take(&mut self.operations);
        kept.sort_by_key(|one| one.operation.opcode);
        let mut error = None;
        kept.dedup_by(|next, last| {
            if last.operation.opcode == next.operation.opcode {
                let dropped = self.drop_duplicate(next, last.operation == next.operation);
                error = error.take().or(dropped.err());
                return true;
            }
            // In the written record, the move would directly follow the operation; reading it
            // again would join the move to the operation.
            self.joins_operation(position, last, next)
        });
        if let Some(error) = error {
            return Err(error);
        }
        if self.is_lenient() {
            self.salvage_loose_marks(&mut kept);
        }
        self.add_salvaged(&mut kept);
        Ok(kept)
    }

    fn drop_duplicate(&mut self, second: &Placed, is_same: bool) -> Result<(), Diagnostic> {
        let opcode = second.operation.opcode;
        let mut text = Vec::new();
        second.operation.write_to(&mut text);
        if is_same {
            let message = format!("operation `{opcode}` is repeated; one is kept");
            self.repaired(codes::W_EPD_DUP, second.at, message, &text, b"");
            return Ok(());
        }
        let message = format!("opcode `{opcode}` is repeated with different operands");
        if !self.is_lenient() {
            return Err(Diagnostic::error(codes::E_EPD_DUP, second.at + 1, message));
        }
        let text = text.strip_suffix(b";").unwrap_or(&text);
        self.salvage(codes::W_LEN_DUP, Word { at: second.at, text }, &message);
        Ok(())
    }

    /// Appends all salvaged texts to the operands of one `noop`, in the order of the line.
    fn add_salvaged(&mut self, operations: &mut Vec<Placed>) {
        if self.salvaged.is_empty() {
            return;
        }
        let mut salvaged = std::mem::take(&mut self.salvaged);
        salvaged.sort_by_key(|(at, _)| *at);
        let at = salvaged.first().map_or(0, |(at, _)| *at);
        let operands = salvaged.into_iter().map(|(_, operand)| operand);
        let place = operations.iter().position(|one| one.operation.opcode == Opcode::NOOP);
        if let Some(noop) = place.and_then(|place| operations.get_mut(place)) {
            noop.operation.operands.extend(operands);
        } else {
            let operation = Operation { opcode: Opcode::NOOP, operands: operands.collect() };
            operations.push(Placed { operation, at });
        }
    }

    /// Settles operations that should have one move and have several. The move with which the line
    /// in `pv` or `sv` begins is kept. All the moves are also salvaged as text.
    pub(super) fn resolve_choices(&mut self) {
        for Choice { opcode, at, text, moves } in std::mem::take(&mut self.choices) {
            let line = if opcode == Opcode::SM { Opcode::SV } else { Opcode::PV };
            let begin = self.operations.iter().find(|one| one.operation.opcode == line);
            let begin = begin.and_then(|line| line.operation.operands.first()).cloned();
            let chosen = begin
                .filter(|begin| matches!(begin, Operand::Move { .. }) && moves.contains(begin));
            let which =
                if chosen.is_some() { "the one that begins" } else { "none of them begins" };
            let why = format!("`{opcode}` has several moves, {which} `{line}`");
            self.salvage(codes::W_LEN_PM, Word { at, text: &text }, &why);
            if let Some(chosen) = chosen {
                self.add(opcode, vec![chosen], at);
            }
        }
    }

    /// Salvages operations with marks that belong to no move. If they were written as they are,
    /// reading the record again would join the marks to other words.
    pub(super) fn salvage_loose_marks(&mut self, operations: &mut Vec<Placed>) {
        let is_loose = |one: &Placed| {
            let wanted = self.standard(one.operation.opcode).map(|entry| &entry.operands);
            matches!(wanted, Some(Operands::Move | Operands::MoveSet | Operands::MoveLine))
                && !self.stay_apart(&one.operation.operands)
        };
        if !operations.iter().any(is_loose) {
            return;
        }
        let (loose, kept): (Vec<_>, Vec<_>) =
            std::mem::take(operations).into_iter().partition(is_loose);
        *operations = kept;
        for Placed { operation, at } in loose {
            let mut text = Vec::new();
            operation.write_to(&mut text);
            text.pop();
            let why = format!("`{}` has marks that belong to no move", operation.opcode);
            self.salvage(codes::W_LEN_SALVAGED, Word { at, text: &text }, &why);
        }
    }

    /// True if the operands stay separate: written one after another and then read again, they are
    /// the same operands.
    fn stay_apart(&self, operands: &[Operand]) -> bool {
        if operands.iter().all(|operand| matches!(operand, Operand::Move { .. })) {
            return true;
        }
        let texts: Vec<Vec<u8>> = operands.iter().map(Operand::text).collect();
        texts.iter().all(|text| self.list_separator(text).is_none())
            && texts.windows(2).all(|pair| !self.joins(&pair[0], &pair[1]))
    }

    /// Converts `bm #5` to `dm` or `ce` as the options ask, unless another operation contradicts
    /// it.
    pub(super) fn convert_mate_targets(&mut self) {
        let opcode = match self.options.mates {
            MateTargets::Keep => return,
            MateTargets::Dm => Opcode::DM,
            MateTargets::Ce => Opcode::CE,
        };
        let mut bm = self
            .operations
            .iter()
            .enumerate()
            .filter(|(_, one)| one.operation.opcode == Opcode::BM);
        let (Some((place, one)), None) = (bm.next(), bm.next()) else { return };
        let at = one.at;
        let mut targets =
            one.operation.operands.iter().filter_map(|operand| mate_target(&operand.text()));
        let (Some(target), None) = (targets.next(), targets.next()) else { return };
        let value = match self.options.mates {
            MateTargets::Ce if target > 0 => mates_in(target.unsigned_abs()).ok(),
            MateTargets::Ce => mated_in(target.unsigned_abs()).ok(),
            _ => Some(target),
        };
        let Some(value) = value else { return };
        if self.operations.iter().any(|one| one.operation.opcode == opcode) {
            return;
        }
        let operands = &mut self.operations[place].operation.operands;
        operands.retain(|operand| mate_target(&operand.text()).is_none());
        if operands.is_empty() {
            self.operations.remove(place);
        }
        self.add_integer(opcode, value.into(), at);
    }

    /// Reports violations of rules about several operations: as warnings, but in the strict profile
    /// as an error.
    pub(super) fn check_consistency(
        &mut self,
        position: &Position,
        operations: &[Placed],
    ) -> Result<(), Diagnostic> {
        let before = self.mark();
        consistency::check(self.options, position, operations, self.warnings);
        if self.options.profile == Profile::Strict
            && let Some(first) = self.warnings.drain(before..).next()
        {
            return Err(Diagnostic { severity: Severity::Error, ..first });
        }
        Ok(())
    }
}
