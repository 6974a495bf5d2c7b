//! Move operands: sets of moves, lines of moves, and single moves.

use std::borrow::Cow;

use super::operands::token;
use super::reader::{Choice, Reader};
use super::segment::{Raw, Segment, Taken, split_operands};
use crate::model::rules::{Move, Playable};
use crate::model::score::mate_target;
use crate::model::{Opcode, Operand, Operands, Operation, Position, Role};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::Profile;
use crate::text::scan::Word;
use crate::text::{codes, san};

/// A mark is joined only to a text that is shorter than this number of bytes, because the text of a
/// move is never longer.
const MAX_JOINED: usize = 16;

/// The text of one move, joined or split if necessary.
pub(super) struct MoveText<'a> {
    at: usize,
    pub(super) text: Cow<'a, [u8]>,
    /// Index of the operand in which the text begins.
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
        if let Some(taken) = self.read_quoted_moves(position, segment, wanted)? {
            return Ok(taken);
        }
        let before = self.mark();
        let mut playable = self.playable(position);
        let in_line = *wanted == Operands::MoveLine;
        let reached = if in_line { None } else { playable.as_ref() };
        let (texts, mut count) = self.move_texts(segment, reached)?;
        let mut operands = Vec::with_capacity(texts.len());
        for text in &texts {
            match self.read_move(&mut playable, text, in_line)? {
                Some(operand) => operands.push(operand),
                None => {
                    count = text.operand;
                    break;
                }
            }
        }
        self.warn_of_illegal_position(position, &texts, &operands);
        if *wanted != Operands::Move || operands.len() == 1 {
            return Ok(Taken::new(operands, count));
        }
        if operands.is_empty() || !self.is_lenient() {
            return Err(segment.arity("one move"));
        }
        self.forget_since(before);
        let text = segment.text_before(count).text.to_vec();
        self.choices.push(Choice {
            opcode: segment.opcode,
            at: segment.at(),
            text,
            moves: operands,
        });
        Ok(Taken { operands: None, count })
    }

    /// Warns of the first move that is kept as text because no move can be played in the position.
    fn warn_of_illegal_position(
        &mut self,
        position: &Position,
        texts: &[MoveText],
        operands: &[Operand],
    ) {
        if !self.is_lenient() || self.playable(position).is_some() {
            return;
        }
        let is_move = |operand: &Operand| mate_target(&operand.text()).is_none();
        if let Some(first) = operands.iter().position(is_move) {
            let text = &texts[first];
            let message = format!(
                "{}: no move is legal in an illegal position; kept as text",
                shown(&text.text)
            );
            self.warn(codes::W_LEN_MOVE, text.at, message);
        }
    }

    /// Reads moves in quotes: `bm "e4"`, `bm "e4 d4"`. `None` if one of them is not a legal move.
    fn read_quoted_moves(
        &mut self,
        position: &Position,
        segment: &Segment,
        wanted: &Operands,
    ) -> Result<Option<Taken>, Diagnostic> {
        let [Raw::Str(inner, true)] = segment.raws else { return Ok(None) };
        if !self.is_lenient() || inner.text.is_empty() {
            return Ok(None);
        }
        let mut raws = Vec::new();
        split_operands(*inner, self.is_lenient(), &mut raws);
        if *wanted == Operands::Move && raws.len() != 1 {
            return Ok(None);
        }
        let plain = Segment { opcode: segment.opcode, text: segment.text, raws: &raws };
        let before = self.mark();
        let taken = self.read_moves(position, &plain, wanted);
        let is_move = |operand: &Operand| matches!(operand, Operand::Move { .. });
        match taken {
            Ok(Taken { operands: Some(operands), count })
                if count == raws.len() && operands.iter().all(is_move) =>
            {
                let mut after = Vec::new();
                Operation { opcode: segment.opcode, operands: operands.clone() }
                    .write_to(&mut after);
                let message = "quotes around moves dropped";
                self.repaired(
                    codes::W_LEN_SPELLING,
                    segment.at(),
                    message,
                    segment.text.text,
                    &after,
                );
                Ok(Some(Taken::new(operands, 1)))
            }
            _ => {
                self.forget_since(before);
                Ok(None)
            }
        }
    }

    /// Reads one move, and plays it if `in_line` is true. Returns `None` if the text is the name of
    /// a register (`c2` or `c7`) and not a legal move. If a move of a line is kept as text,
    /// `playable` becomes `None`, because the position after it is unknown.
    pub(super) fn read_move(
        &mut self,
        playable: &mut Option<Playable>,
        text: &MoveText,
        in_line: bool,
    ) -> Result<Option<Operand>, Diagnostic> {
        if self.is_lenient() {
            if mate_target(&text.text).is_some() {
                return Ok(Some(Operand::token(text.text.as_ref())));
            }
            if let Some(target) = mate_distance(&text.text) {
                let message = format!("{} read as a mate target", shown(&text.text));
                self.repaired(codes::W_LEN_TARGET, text.at, message, &text.text, &target);
                return Ok(Some(Operand::token(target)));
            }
        }
        let Some(current) = &playable else { return token(text.word()).map(Some) };
        let error = match san::parse(current, &text.text, self.options.profile) {
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
        let fitting = self.fitting(current, text);
        let repaired = match (read_misspelt(current, &text.text), fitting.as_deref()) {
            (Some(read), _) => Some((codes::W_LEN_SPELLING, read.mv)),
            (None, Some(&[mv])) => Some((codes::W_LEN_NOTATION, mv)),
            _ => None,
        };
        if let Some((code, mv)) = repaired {
            let san = san::format(current, mv);
            let message = format!("{} read as {san}", shown(&text.text));
            self.repaired(code, text.at, message, &text.text, san.as_bytes());
            if in_line {
                *playable = Some(current.after(mv));
            }
            return Ok(Some(Operand::Move { mv, san }));
        }
        if matches!(text.text.as_ref(), b"c2" | b"c7") {
            return Ok(None);
        }
        let why = match fitting {
            Some(moves) => format!("{} legal moves fit", moves.len()),
            None => error.to_string(),
        };
        let message = format!("{}: {why}; kept as text", shown(&text.text));
        self.warn(codes::W_LEN_MOVE, text.at, message);
        if in_line {
            *playable = None;
        }
        token(text.word()).map(Some)
    }

    /// The legal moves that a text in another notation may mean, if the options allow others.
    fn fitting(&self, playable: &Playable, text: &MoveText) -> Option<Vec<Move>> {
        if self.options.repair_moves { san::fitting(playable, &text.text) } else { None }
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

    /// Collects the texts of the moves. Returns them and the number of operands that they take; a
    /// missing semicolon may end them early.
    pub(super) fn move_texts<'a>(
        &mut self,
        segment: &Segment<'a, '_>,
        playable: Option<&Playable>,
    ) -> Result<(Vec<MoveText<'a>>, usize), Diagnostic> {
        let mut texts: Vec<MoveText> = Vec::with_capacity(segment.raws.len());
        let mut has_commas = false;
        for (operand, raw) in segment.raws.iter().enumerate() {
            let Raw::Token(word) = raw else {
                let whole = |last: &MoveText| match &segment.raws[last.operand] {
                    Raw::Token(word) => *last.text == *word.text,
                    Raw::Str(..) => false,
                };
                if self.is_lenient()
                    && let Some(last) =
                        texts.pop_if(|last| is_register_or_square(&last.text) && whole(last))
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
            let is_move = || is_promotion(word.text, playable, &segment.raws[operand + 1..]);
            if self.begins_operation(word.text) && !is_move() {
                self.report_commas(segment, has_commas, operand);
                return Ok((texts, operand));
            }
            let separator = self.list_separator(word.text);
            has_commas |= separator.is_some();
            let ends = |&byte: &u8| separator == Some(byte);
            let mut from = 0;
            for part in word.text.split(ends) {
                let part = word.part(from, from + part.len());
                from += part.text.len() + 1;
                if !part.text.is_empty() && !self.join_to_last(&mut texts, part) {
                    texts.push(MoveText { at: part.at, text: Cow::Borrowed(part.text), operand });
                }
            }
        }
        self.report_commas(segment, has_commas, segment.raws.len());
        Ok((texts, segment.raws.len()))
    }

    /// Whether a token is a known opcode and cannot be the text of a move.
    fn begins_operation(&self, text: &[u8]) -> bool {
        !is_register_or_square(text)
            && Opcode::new(text).is_ok_and(|opcode| self.standard(opcode).is_some())
    }

    /// The separator of a token that is a list of moves: `e4,d4` or `e4/d4`. If one of its parts is an
    /// opcode, it is no such list: the part would begin a new operation.
    pub(super) fn list_separator(&self, text: &[u8]) -> Option<u8> {
        let is_name = |part: &[u8]| self.begins_operation(part) || matches!(part, b"c2" | b"c7");
        let parts = |separator: u8| text.split(move |&byte| byte == separator);
        if text.contains(&b',') {
            return (!parts(b',').any(is_name)).then_some(b',');
        }
        // `dxe6/ep` is one move, so each part must have the rank of a square, or be a castling.
        let looks_like_move = |part: &[u8]| match part {
            [b'a'..=b'h' | b'K' | b'Q' | b'R' | b'B' | b'N', rest @ ..] => {
                rest.iter().any(|byte| matches!(byte, b'1'..=b'8'))
            }
            part => part.starts_with(b"O-O"),
        };
        let is_list =
            text.contains(&b'/') && parts(b'/').all(|part| looks_like_move(part) && !is_name(part));
        is_list.then_some(b'/')
    }

    fn report_commas(&mut self, segment: &Segment, has_commas: bool, operands: usize) {
        if has_commas {
            let before = segment.text_before(operands);
            let after: Vec<u8> = before
                .text
                .iter()
                .map(|&b| if matches!(b, b',' | b'/') { b' ' } else { b })
                .collect();
            let message = "commas or slashes between moves; split";
            self.repaired(codes::W_LEN_COMMA, segment.at(), message, before.text, &after);
        }
    }

    /// True if a text belongs to the text `last` before it. The text must be a mark (such as `+` or
    /// `=Q`) or a note of an allowed notation.
    pub(super) fn joins(&self, last: &[u8], mark: &[u8]) -> bool {
        joins(last, mark)
            || self.options.repair_moves && last.len() < MAX_JOINED && san::is_note(mark)
    }

    /// Joins a detached mark to the move before it: `Qd1 +`, `f8 = Q`. False for any other text.
    fn join_to_last(&mut self, texts: &mut [MoveText], mark: Word) -> bool {
        let Some(last) = texts.last_mut().filter(|last| self.joins(&last.text, mark.text)) else {
            return false;
        };
        let mut joined = last.text.to_vec();
        let before = [&joined, mark.text].join(&b' ');
        joined.extend_from_slice(mark.text);
        let message = format!("{} joined to its move", shown(mark.text));
        let warning = Diagnostic::warning(codes::W_LEN_DETACHED, mark.column(), message)
            .with_repair(before, joined.as_slice());
        self.warnings.push(warning);
        last.text = Cow::Owned(joined);
        true
    }
}

/// Whether a text is the name of a register, and may also be a pawn move. If a string follows, it
/// is a register. Pawns seldom move to `c2` or `c7`, so these are registers unless they are legal
/// moves.
fn is_register_or_square(text: &[u8]) -> bool {
    matches!(text, [b'c', b'2'..=b'7'])
}

/// Whether a text is a mark (such as `+` or `=Q`) that belongs to the text `last` before it.
fn joins(last: &[u8], mark: &[u8]) -> bool {
    let is_mark = |byte: &u8| matches!(byte, b'+' | b'#' | b'!' | b'?');
    last.len() < MAX_JOINED
        && match mark {
            b"=" | b"e.p." | b"ep" => true,
            [b'=', piece, rest @ ..] => is_promoted(*piece) && rest.iter().all(is_mark),
            [piece, rest @ ..] if last.ends_with(b"=") => {
                is_promoted(*piece) && rest.iter().all(is_mark)
            }
            marks => marks.iter().all(is_mark),
        }
}

fn is_promoted(letter: u8) -> bool {
    Role::from_letter(letter.to_ascii_uppercase())
        .is_some_and(|role| !matches!(role, Role::Pawn | Role::King))
}

/// True if the text `c1` or `c8`, which is also the name of a register, is a pawn move here. It is
/// a move in `c8 = N`. It is also a move if a pawn can go to the square and no string follows.
pub(in crate::text) fn is_promotion(
    text: &[u8],
    playable: Option<&Playable>,
    behind: &[Raw],
) -> bool {
    if !matches!(text, b"c1" | b"c8") {
        return false;
    }
    match behind {
        [Raw::Str(..), ..] => false,
        [Raw::Token(sign), Raw::Token(piece), ..] if sign.text == b"=" => joins(b"=", piece.text),
        [Raw::Token(sign), ..] if sign.text.len() > 1 && sign.text.starts_with(b"=") => {
            joins(text, sign.text)
        }
        _ => playable.is_some_and(|playable| pawn_reaches(playable, text)),
    }
}

/// Whether a pawn can step to `c1` or `c8` and promote.
pub(super) fn pawn_reaches(playable: &Playable, text: &[u8]) -> bool {
    matches!(text, b"c1" | b"c8")
        && san::parse(playable, &[text, b"=Q"].concat(), Profile::Standard).is_ok()
}

/// Reads `M15` and `-M3` as mate targets, `#15` and `#-3`.
fn mate_distance(text: &[u8]) -> Option<Vec<u8>> {
    let (sign, digits) = match text {
        [b'M' | b'm', digits @ ..] | [b'+', b'M' | b'm', digits @ ..] => (&b"#"[..], digits),
        [b'-', b'M' | b'm', digits @ ..] => (&b"#-"[..], digits),
        _ => return None,
    };
    let target = [sign, digits].concat();
    mate_target(&target).is_some().then_some(target)
}

/// Reads unambiguous misspelt moves: `OO`, `OOO`, captures with the `x` inside the square, such as
/// `Bcx3+`, and moves with their number, such as `1.e4`.
pub(super) fn read_misspelt(playable: &Playable, text: &[u8]) -> Option<san::SanRead> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let dots = text[digits..].iter().take_while(|byte| **byte == b'.').count();
    if digits > 0 && dots > 0 {
        return san::parse(playable, &text[digits + dots..], Profile::Lenient).ok();
    }
    let is_mark = |byte: &u8| matches!(byte, b'+' | b'#' | b'!' | b'?');
    let end = text.iter().rposition(|byte| !is_mark(byte)).map_or(0, |last| last + 1);
    let is_o = |byte: &u8| matches!(byte, b'O' | b'o' | b'0');
    let spelt = match &text[..end] {
        [a, b] if is_o(a) && is_o(b) => b"O-O".to_vec(),
        [a, b, c] if is_o(a) && is_o(b) && is_o(c) => b"O-O-O".to_vec(),
        [piece @ (b'N' | b'B' | b'R' | b'Q' | b'K'), file @ b'a'..=b'h', b'x', rank] => {
            vec![*piece, b'x', *file, *rank]
        }
        _ => return None,
    };
    san::parse(playable, &spelt, Profile::Lenient).ok().filter(|read| !read.false_capture)
}
