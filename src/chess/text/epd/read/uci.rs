//! Words of UCI and of test files before or after a position: `position startpos moves e2e4`,
//! `epd …`.

use super::reader::{Placed, Reader};
use super::segment::{Segment, split_operands};
use crate::model::rules::Playable;
use crate::model::{EpdRecord, Opcode};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::Profile;
use crate::text::scan::{Word, is_blank};
use crate::text::{codes, san};

/// The words before the fields of a position, or instead of the fields.
#[derive(Copy, Clone)]
pub(super) struct Begin {
    /// The place of the first word in the line.
    pub(super) at: usize,
    /// True if there is a word that is not part of a record, such as `position`.
    pub(super) has_words: bool,
    /// True if the last word is `startpos`, which replaces the fields.
    pub(super) is_start_array: bool,
}

/// Words that may precede the fields.
const WORDS: [&[u8]; 3] = [b"position", b"fen", b"epd"];

impl Reader<'_, '_> {
    /// Skips the words before a position (lenient only).
    pub(super) fn skip_words<'a>(&mut self, line: Word<'a>) -> (Begin, Word<'a>) {
        let mut rest = line;
        let mut begin = Begin { at: line.at, has_words: false, is_start_array: false };
        // Few piece placements begin with one of these letters, so this check is quick for most
        // lines.
        while self.is_lenient()
            && matches!(
                rest.text.first().map(u8::to_ascii_lowercase),
                Some(b'e' | b'f' | b'p' | b's')
            )
        {
            let ends = |&byte: &u8| is_blank(byte) || byte == b';';
            let end = rest.text.iter().position(ends).unwrap_or(rest.text.len());
            let word = &rest.text[..end];
            let behind = rest.part(end, rest.text.len());
            if word.eq_ignore_ascii_case(b"startpos") {
                return (Begin { has_words: true, is_start_array: true, ..begin }, behind);
            }
            if !is_word_before_position(word) {
                break;
            }
            begin.has_words = true;
            rest = behind.trimmed_start();
        }
        (begin, rest)
    }

    /// Reads `moves e2e4 e7e5` after a position. Plays the moves, so that the record has the
    /// position after them. If the options ask for it, the moves are kept as `pv` instead. If a
    /// semicolon or a quote follows and the line did not begin with words of UCI, `moves` is an
    /// opcode.
    pub(super) fn read_moves_behind<'a>(
        &mut self,
        record: &mut EpdRecord,
        begin: Begin,
        rest: Word<'a>,
    ) -> Result<Word<'a>, Diagnostic> {
        if !self.is_lenient() {
            return Ok(rest);
        }
        let (word, behind) = rest.split_word();
        if word.text != b"moves" {
            return Ok(rest);
        }
        let end = memchr::memchr2(b';', b'"', behind.text);
        let moves = behind.part(0, end.unwrap_or(behind.text.len())).trimmed();
        if !begin.has_words && (end.is_some() || moves.text.is_empty()) {
            return Ok(rest);
        }
        let all = Word { at: word.at, text: &rest.text[word.at - rest.at..moves.end() - rest.at] };
        if self.options.keep_moves {
            self.keep_moves(record, all, moves)?;
        } else {
            self.play_moves(record, all, moves)?;
        }
        Ok(behind.part(end.unwrap_or(behind.text.len()), behind.text.len()))
    }

    fn play_moves(
        &mut self,
        record: &mut EpdRecord,
        all: Word,
        moves: Word,
    ) -> Result<(), Diagnostic> {
        let counters = std::mem::take(&mut self.operations);
        let counters = counters.into_iter().map(|one| one.operation).collect();
        let mut current = record.clone().with_operations(counters);
        let mut count = 0;
        let mut rest = moves;
        loop {
            let (word, behind) = rest.split_word();
            if word.text.is_empty() {
                break;
            }
            current = play(&current, word)?;
            count += 1;
            rest = behind;
        }
        let placed = |operation| Placed { operation, at: all.at };
        self.operations.extend(current.operations().iter().cloned().map(placed));
        *record = EpdRecord::new(*current.position());
        record.set_dialect(current.dialect());
        record.set_fen_counters(current.fen_counters());
        let message = format!("{count} moves played; the record is of the position after them");
        self.repaired(codes::W_LEN_MOVES, all.at, message, all.text, b"");
        Ok(())
    }

    fn keep_moves(&mut self, record: &EpdRecord, all: Word, moves: Word) -> Result<(), Diagnostic> {
        let opcode = Opcode::PV;
        self.repaired(codes::W_LEN_MOVES, all.at, "moves kept as pv", b"moves", b"pv");
        let mut raws = Vec::new();
        split_operands(moves, self.is_lenient(), &mut raws);
        let taken =
            self.read_segment(record.position(), &Segment { opcode, text: all, raws: &raws })?;
        match raws.get(taken) {
            None => Ok(()),
            Some(raw) => {
                let message = "expected a move here, not the name of an operation";
                Err(Diagnostic::error(codes::E_MOVE_SYNTAX, raw.at() + 1, message))
            }
        }
    }
}

/// Whether a word may precede a position and is not part of the record.
pub(in crate::text) fn is_word_before_position(word: &[u8]) -> bool {
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Plays a move: returns the record of the position after it.
fn play(record: &EpdRecord, word: Word) -> Result<EpdRecord, Diagnostic> {
    let refuse = |code, why: &str| {
        Diagnostic::error(code, word.column(), format!("{}: {why}", shown(word.text)))
    };
    let unplayable = || refuse(codes::E_MOVE_ILLEGAL, "no moves can be made in this position");
    let playable = Playable::new(record.position()).map_err(|_| unplayable())?;
    let read = san::parse(&playable, word.text, Profile::Lenient)
        .map_err(|error| refuse(error.code, error.message))?;
    record.play(read.mv).ok_or_else(unplayable)
}
