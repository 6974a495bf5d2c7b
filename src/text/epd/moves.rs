//! Move operands: sets, lines and single moves (OP-am, OP-bm, OP-pv, OP-pm; section 17).

use std::borrow::Cow;

use super::Reader;
use super::operation::{Raw, Segment, Taken, token};
use crate::model::rules::Playable;
use crate::model::score::{mate_target, mated_in, mates_in};
use crate::model::{Opcode, Operand, Operands, Position, Role};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::MateTargets;
use crate::text::scan::Word;
use crate::text::{codes, san};

/// Marks are joined to texts shorter than this; no text of a move is longer.
const LONGEST_JOINED: usize = 16;

/// The text of one move, joined or split where it had to be.
struct MoveText<'a> {
    at: usize,
    text: Cow<'a, [u8]>,
    /// The operand it begins in.
    operand: usize,
}

impl MoveText<'_> {
    fn word(&self) -> Word<'_> {
        Word { at: self.at, text: &self.text }
    }
}

impl Reader<'_, '_> {
    pub(super) fn read_moves(
        &mut self,
        position: &Position,
        segment: &Segment,
        wanted: &Operands,
    ) -> Result<Taken, Diagnostic> {
        let (mut texts, mut count) = self.move_texts(segment)?;
        let more = match wanted {
            Operands::Move if self.is_lenient() => texts.split_off(texts.len().min(1)),
            _ => Vec::new(),
        };
        let mut playable = self.playable(position);
        let mut operands = Vec::with_capacity(texts.len());
        for text in &texts {
            match self.read_move(&mut playable, text, *wanted == Operands::MoveLine)? {
                Some(operand) => operands.push(operand),
                None => {
                    count = text.operand;
                    break;
                }
            }
        }
        if *wanted == Operands::Move && operands.len() != 1 {
            return Err(segment.arity("one move"));
        }
        if !more.is_empty() {
            // More moves are a line whose first it is (section 17).
            let why = format!("`{}` has several moves; the first is taken", segment.opcode);
            self.salvage(codes::W_LEN_PM, segment.text_before(count), &why);
        }
        Ok(Taken { operands, count })
    }

    /// Reads one move, and in a line plays it; `None` when a register stands in its place. After a
    /// move of a line that is kept as text the position is not known any more.
    fn read_move(
        &mut self,
        playable: &mut Option<Playable>,
        text: &MoveText,
        in_line: bool,
    ) -> Result<Option<Operand>, Diagnostic> {
        if self.is_lenient() && mate_target(&text.text).is_some() {
            return Ok(Some(Operand::token(text.text.as_ref())));
        }
        let Some(current) = &playable else { return token(text.word()).map(Some) };
        let error = match san::read(current, &text.text, self.options.profile) {
            Ok(read) => {
                self.report_marks(text, &read);
                if in_line {
                    *playable = Some(read.after);
                }
                return Ok(Some(Operand::Move { mv: read.mv, san: read.san }));
            }
            Err(error) => error,
        };
        if !self.is_lenient() {
            let message = format!("{}: {error}", shown(&text.text));
            return Err(Diagnostic::error(error.code, text.at + 1, message));
        }
        if matches!(text.text.as_ref(), b"c2" | b"c7") {
            return Ok(None);
        }
        let message = format!("{}: {error}; kept as text", shown(&text.text));
        self.warn(codes::W_LEN_MOVE, text.at, message);
        if in_line {
            *playable = None;
        }
        token(text.word()).map(Some)
    }

    fn report_marks(&mut self, text: &MoveText, read: &san::SanRead) {
        if read.nag.is_some() && self.is_lenient() {
            let message = format!("annotation mark of {} dropped", shown(&text.text));
            let after = read.san.as_bytes();
            self.repaired(codes::W_LEN_MARKS, text.at, message, &text.text, after);
        }
        if read.false_capture {
            let message = format!("{} captures nothing; `x` dropped", shown(&text.text));
            let after = read.san.as_bytes();
            self.repaired(codes::W_SAN_CAPTURE, text.at, message, &text.text, after);
        }
    }

    /// The texts of the moves, and the number of operands up to where a semicolon is missing.
    fn move_texts<'a>(
        &mut self,
        segment: &Segment<'a, '_>,
    ) -> Result<(Vec<MoveText<'a>>, usize), Diagnostic> {
        let mut texts: Vec<MoveText> = Vec::with_capacity(segment.raws.len());
        let mut has_commas = false;
        for (operand, raw) in segment.raws.iter().enumerate() {
            let Raw::Token(word) = raw else {
                if self.is_lenient()
                    && let Some(last) = texts.pop_if(|last| is_register_or_square(&last.text))
                {
                    self.report_commas(segment, has_commas, last.operand);
                    return Ok((texts, last.operand));
                }
                let message = format!(
                    "`{}` takes moves without quotes; a semicolon may be missing",
                    segment.opcode
                );
                return Err(Diagnostic::error(codes::E_EPD_TYPE, raw.at() + 1, message));
            };
            if !self.is_lenient() {
                texts.push(MoveText { at: word.at, text: Cow::Borrowed(word.text), operand });
                continue;
            }
            if self.begins_operation(word.text) {
                self.report_commas(segment, has_commas, operand);
                return Ok((texts, operand));
            }
            if self.join_to_last(&mut texts, *word) {
                continue;
            }
            if self.is_list(word.text) {
                has_commas = true;
                split_at_commas(*word, operand, &mut texts);
            } else {
                texts.push(MoveText { at: word.at, text: Cow::Borrowed(word.text), operand });
            }
        }
        self.report_commas(segment, has_commas, segment.raws.len());
        Ok((texts, segment.raws.len()))
    }

    /// Whether a token is a known opcode and cannot be the text of a move.
    fn begins_operation(&self, text: &[u8]) -> bool {
        !is_register_or_square(text)
            && Opcode::new(text).is_some_and(|opcode| self.standard(opcode).is_some())
    }

    /// Whether a token is moves with commas between them. One with the name of an operation in it
    /// stays whole: apart it would be read as that operation.
    fn is_list(&self, text: &[u8]) -> bool {
        let is_name = |part: &[u8]| self.begins_operation(part) || matches!(part, b"c2" | b"c7");
        text.contains(&b',') && !text.split(|&byte| byte == b',').any(is_name)
    }

    fn report_commas(&mut self, segment: &Segment, has_commas: bool, operands: usize) {
        if has_commas {
            let before = segment.text_before(operands);
            let after: Vec<u8> =
                before.text.iter().map(|&b| if b == b',' { b' ' } else { b }).collect();
            let message = "commas between moves; split";
            self.repaired(codes::W_LEN_COMMA, segment.at(), message, before.text, &after);
        }
    }

    /// Joins a mark that stands apart to the move before it: `Qd1 +`, `f8 = Q`.
    fn join_to_last(&mut self, texts: &mut [MoveText], mark: Word) -> bool {
        let Some(last) = texts.last_mut().filter(|last| last.text.len() < LONGEST_JOINED) else {
            return false;
        };
        let is_mark = |byte: &u8| matches!(byte, b'+' | b'#' | b'!' | b'?');
        let is_piece = |byte: &u8| {
            Role::from_letter(byte.to_ascii_uppercase())
                .is_some_and(|role| !matches!(role, Role::Pawn | Role::King))
        };
        let joins = match mark.text {
            b"=" | b"e.p." | b"ep" => true,
            [b'=', piece, rest @ ..] => is_piece(piece) && rest.iter().all(is_mark),
            [piece, rest @ ..] if last.text.ends_with(b"=") => {
                is_piece(piece) && rest.iter().all(is_mark)
            }
            marks => marks.iter().all(is_mark),
        };
        if joins {
            let mut joined = last.text.to_vec();
            let before = [&joined, mark.text].join(&b' ');
            joined.extend_from_slice(mark.text);
            let message = format!("{} joined to its move", shown(mark.text));
            let warning = Diagnostic::warning(codes::W_LEN_DETACHED, mark.column(), message)
                .with_repair(before, joined.as_slice());
            self.warnings.push(warning);
            last.text = Cow::Owned(joined);
        }
        joins
    }

    /// Writes `bm #5` as `dm` or `ce` where that is asked for; not beside an operation that says
    /// something else.
    pub(super) fn convert_mate_targets(&mut self) {
        let name = match self.options.mates {
            MateTargets::Keep => return,
            MateTargets::Dm => "dm",
            MateTargets::Ce => "ce",
        };
        let mut bm =
            self.operations.iter().enumerate().filter(|(_, one)| one.operation.opcode.is("bm"));
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
        let taken = self.operations.iter().any(|one| one.operation.opcode.is(name));
        let (Some(value), false) = (value, taken) else { return };
        let operands = &mut self.operations[place].operation.operands;
        operands.retain(|operand| mate_target(&operand.text()).is_none());
        if operands.is_empty() {
            self.operations.remove(place);
        }
        self.add_integer(name, value.into(), at);
    }
}

/// Registers whose names can be moves of a pawn. A string behind one shows that it is a register;
/// `c2` and `c7`, where pawns seldom step, are registers unless they are legal.
fn is_register_or_square(text: &[u8]) -> bool {
    matches!(text, [b'c', b'2'..=b'7'])
}

fn split_at_commas<'a>(word: Word<'a>, operand: usize, texts: &mut Vec<MoveText<'a>>) {
    let mut from = 0;
    for part in word.text.split(|&byte| byte == b',') {
        if !part.is_empty() {
            texts.push(MoveText { at: word.at + from, text: Cow::Borrowed(part), operand });
        }
        from += part.len() + 1;
    }
}
