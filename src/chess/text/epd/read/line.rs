//! The reading of a whole line: the position, the counters, and then the operations.

use super::reader::Reader;
use super::uci::Begin;
use crate::model::{Counters, EpdRecord, Opcode, Position};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::epd::write::format;
use crate::text::lines::{SPEC_LINE_LIMIT, too_long};
use crate::text::options::{FormatOptions, Profile};
use crate::text::scan::{
    BYTE_ORDER_MARK, illegal_position, is_comment, is_control, refuse_control_bytes,
    refuse_other_than,
};
use crate::text::scan::{Word, is_blank};
use crate::text::{codes, fields};

/// The content of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// The line has only white space.
    Blank,
    /// A comment: `# …`, `% …`, `; …`, `// …` or `{…}` (in the lenient profile only).
    Comment,
    /// A record.
    Record(EpdRecord),
}

const RANKS: usize = 8;

impl Reader<'_, '_> {
    pub(super) fn line(mut self, line: &[u8]) -> Result<Line, Diagnostic> {
        let rest = self.check_bytes(line)?.trimmed();
        if rest.text.is_empty() {
            return self.blank(line);
        }
        if is_comment(rest.text) {
            return self.comment(rest);
        }
        let (begin, rest) = self.skip_words(rest);
        let parted = self.without_underscores(rest);
        let rest = parted.as_deref().map_or(rest, |text| Word { text, ..rest });
        let (mut record, at, rest) = self.read_position(begin, rest)?;
        let rest = self.read_moves_behind(&mut record, begin, rest)?;
        let position = *record.position();
        let counters = record.fen_counters();
        record.set_fen_counters(None);
        self.read_tail(&position, rest)?;
        self.resolve_choices();
        if let Some(counters) = counters {
            // A FEN record has no operations, and only the lenient profile reads FEN records.
            let is_fen =
                self.operations.is_empty() && self.salvaged.is_empty() && self.is_lenient();
            if is_fen {
                record.set_fen_counters(Some(counters));
            } else {
                self.add_counters(counters, at);
            }
        }
        if !self.operations.is_empty() || !self.salvaged.is_empty() {
            self.convert_mate_targets();
            let operations = self.sort_operations(&position)?;
            self.check_consistency(&position, &operations)?;
            record = record.with_operations(operations.into_iter().map(|p| p.operation).collect());
        }
        if self.options.profile == Profile::Strict {
            refuse_other_than_canonical(&record, line)?;
        }
        Ok(Line::Record(record))
    }

    /// Reports bytes that are not allowed in lines, and lines that are too long. Returns the line without a byte
    /// order mark. Control bytes stay in it; what reads it takes them for blanks.
    fn check_bytes<'a>(&mut self, line: &'a [u8]) -> Result<Word<'a>, Diagnostic> {
        let whole = Word { at: 0, text: line };
        if line.len() > SPEC_LINE_LIMIT {
            match self.options.profile {
                Profile::Strict => return Err(too_long(SPEC_LINE_LIMIT)),
                Profile::Standard => {}
                Profile::Lenient => self.warn(
                    codes::W_LEN_LINELEN,
                    SPEC_LINE_LIMIT,
                    format!("the line has {} bytes, more than {SPEC_LINE_LIMIT}", line.len()),
                ),
            }
        }
        let unusual = line.iter().fold(false, |found, byte| found | !(b' '..=b'~').contains(byte));
        if !unusual {
            return Ok(whole);
        }
        if !self.is_lenient() {
            refuse_control_bytes(line)?;
            return Ok(whole);
        }
        let start = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let whole = whole.part(start, line.len());
        let kept = whole.trimmed();
        let tail = &line[kept.end()..];
        if let Some(place) = tail.iter().position(|&byte| is_control(byte)) {
            self.repaired(
                codes::W_LEN_CTRLEND,
                kept.end() + place,
                "control bytes at the end of the line dropped",
                tail,
                b"",
            );
        }
        let body = &line[..kept.end()];
        let mut controls = (0..body.len()).filter(|&place| is_control(body[place]));
        if let Some(first) = controls.next() {
            let after: Vec<u8> =
                body.iter().map(|&byte| if is_control(byte) { b' ' } else { byte }).collect();
            let message = match controls.count() + 1 {
                1 => "1 control byte read as a blank".to_string(),
                count => format!("{count} control bytes read as blanks"),
            };
            self.repaired(codes::W_LEN_CTRL, first, message, body, &after);
        }
        Ok(whole)
    }

    fn blank(self, line: &[u8]) -> Result<Line, Diagnostic> {
        if self.options.profile == Profile::Strict {
            refuse_other_than(b"", line, codes::E_EPD_NONCANON)?;
        }
        Ok(Line::Blank)
    }

    fn comment(self, rest: Word) -> Result<Line, Diagnostic> {
        if !self.is_lenient() {
            let message = "a comment, and EPD has none";
            return Err(Diagnostic::error(codes::E_EPD_FIELDS, rest.column(), message));
        }
        Ok(Line::Comment)
    }

    /// Reads the position and the counters after it. Returns the record with the counters as
    /// fields, the place of the counters, and the rest of the line.
    fn read_position<'a>(
        &mut self,
        begin: Begin,
        rest: Word<'a>,
    ) -> Result<(EpdRecord, usize, Word<'a>), Diagnostic> {
        if begin.is_start_array {
            let mut record = EpdRecord::new(Position::START);
            record.set_fen_counters(Some(Counters::default()));
            return Ok((record, begin.at, rest));
        }
        let (words, rest) = self.split_fields(rest)?;
        let (position, dialect) = fields::read(words, self.options.profile, self.warnings)?;
        self.warnings.extend(illegal_position(&position, words[0].at));
        let (counters, rest) = self.read_counters(rest)?;
        let mut record = EpdRecord::new(position);
        record.set_dialect(dialect);
        record.set_fen_counters(counters.map(|(counters, _)| counters));
        Ok((record, counters.map_or(0, |(_, at)| at), rest))
    }

    /// Splits off the four fields. Returns them and the rest of the line. In the lenient profile,
    /// or if perft counts are read, a semicolon or a comma also ends the fourth field.
    fn split_fields<'a>(
        &mut self,
        line: Word<'a>,
    ) -> Result<([Word<'a>; 4], Word<'a>), Diagnostic> {
        let (placement, rest) = line.split_word();
        let (turn, rest) = rest.split_word();
        let (castling, rest) = rest.split_word();
        let rest = rest.trimmed_start();
        let takes_glued = self.is_lenient() || self.options.perft;
        let ends = |&byte: &u8| is_blank(byte) || (takes_glued && matches!(byte, b';' | b','));
        let end = rest.text.iter().position(ends).unwrap_or(rest.text.len());
        let end = self.end_of_en_passant(rest.part(0, end));
        let en_passant = rest.part(0, end);
        let fields = [placement, turn, castling, en_passant];
        let count = fields.iter().take_while(|field| !field.text.is_empty()).count();
        if count < 4
            && let Some(fields) = self.fill_fields(line, fields, count)
        {
            return Ok((fields, line.part(line.text.len(), line.text.len())));
        }
        if count < 4 {
            let message = format!(
                "{} has {count} of the four fields placement, side to move, castling, en passant",
                shown(line.text)
            );
            return Err(Diagnostic::error(codes::E_EPD_FIELDS, line.column(), message));
        }
        Ok((fields, rest.part(end, rest.text.len())))
    }

    /// Replaces underscores between the fields by blanks (in the lenient profile only), because web
    /// addresses have underscores there. `None` if the line has no such underscores.
    fn without_underscores(&mut self, line: Word) -> Option<Vec<u8>> {
        if !self.is_lenient() || memchr::memchr(b'_', line.text).is_none() {
            return None;
        }
        let (first, _) = line.split_word();
        let parts: Vec<&[u8]> = first.text.split(|byte| *byte == b'_').collect();
        // Web addresses may also have underscores instead of slashes between ranks.
        let ranks = if first.text.contains(&b'/') { 1 } else { RANKS };
        if parts.len() < ranks.max(2) {
            return None;
        }
        let placement = parts[..ranks].join(&b'/');
        if !fields::is_placement(&placement) {
            return None;
        }
        let (_, behind) = line.text.split_at(first.end() - line.at);
        let after = [&[&*placement], &parts[ranks..]].concat().join(&b' ');
        let message = format!("underscores in {} read as blanks", shown(first.text));
        self.repaired(codes::W_LEN_UNDERSCORE, first.at, message, first.text, &after);
        Some([&after[..], behind].concat())
    }

    /// Fills in the missing fields of a line that ends after one to three valid fields (in the
    /// lenient profile only).
    fn fill_fields<'a>(
        &mut self,
        line: Word<'a>,
        mut fields: [Word<'a>; 4],
        count: usize,
    ) -> Option<[Word<'a>; 4]> {
        const DEFAULTS: [&[u8]; 4] = [b"", b"w", b"-", b"-"];
        let [placement, turn, castling, _] = fields.map(|field| field.text);
        let is_position = fields::is_placement(placement)
            && (count < 2 || matches!(turn, b"w" | b"b"))
            && (count < 3
                || castling.iter().all(|letter| b"-KQkqABCDEFGHabcdefgh".contains(letter)));
        if !is_position || !self.is_lenient() {
            return None;
        }
        for (field, text) in fields.iter_mut().zip(DEFAULTS).skip(count) {
            *field = Word { at: line.trimmed().end(), text };
        }
        let missing = DEFAULTS[count..].join(&b' ');
        let message = format!(
            "{count} of the four fields; read with `{}` for the others",
            String::from_utf8_lossy(&missing)
        );
        self.repaired(codes::W_LEN_FIELDS, line.at, message, b"", &missing);
        Some(fields)
    }

    /// Inserts the counters of fields 5 and 6 as operations before the operations of the line.
    fn add_counters(&mut self, counters: Counters, at: usize) {
        let own = std::mem::take(&mut self.operations);
        self.add_integer(Opcode::HMVC, counters.halfmove_clock.into(), at);
        self.add_integer(Opcode::FMVN, counters.fullmove_number.into(), at);
        self.operations.extend(own);
    }
}

fn refuse_other_than_canonical(record: &EpdRecord, line: &[u8]) -> Result<(), Diagnostic> {
    let mut canonical = Vec::with_capacity(line.len());
    format(record, &FormatOptions::default(), &mut canonical);
    refuse_other_than(&canonical, line, codes::E_EPD_NONCANON)
}
