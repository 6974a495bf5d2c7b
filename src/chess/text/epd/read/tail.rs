//! The rest of a line after four fields: counters, labels of training sets, perft counts,
//! operations.

use super::operands::integer;
use super::reader::Reader;
use crate::model::rules::Playable;
use crate::model::{Color, Counters, Opcode, Operand, Position};
use crate::text::codes;
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::epd::write::SALVAGED_COUNTERS;
use crate::text::fields::read_counters;
use crate::text::options::{Profile, ScoreView, Setting};
use crate::text::scan::{Word, is_blank};

impl Reader<'_, '_> {
    /// Reads the counters after field 4. Returns the counters, the place of the first counter, and
    /// the rest of the line.
    pub(super) fn read_counters<'a>(
        &mut self,
        rest: Word<'a>,
    ) -> Result<(Option<(Counters, usize)>, Word<'a>), Diagnostic> {
        let rest = rest.trimmed_start();
        if !rest.text.first().is_some_and(begins_number) {
            return match self.unreadable_clock(rest) {
                Some([clock, number]) => {
                    let counters = self.take_counters(clock, number);
                    Ok((counters, rest.part(rest.text.len(), rest.text.len())))
                }
                None => Ok((None, rest)),
            };
        }
        let (numbers, count, behind) = self.counter_words(rest);
        match (numbers, count) {
            ([clock, number], 2) if self.is_lenient() => {
                Ok((self.take_counters(clock, number), behind))
            }
            ([clock, number], 2) => {
                let counters = read_counters(clock, number)?;
                let message = "FEN counters; read as hmvc and fmvn";
                self.warn(codes::W_EPD_FENFIELDS, clock.at, message);
                Ok((Some((counters, clock.at)), behind))
            }
            ([clock, _], 1) if self.is_lenient() => match last_character(behind) {
                Some(number) => {
                    let end = behind.part(behind.text.len(), behind.text.len());
                    Ok((self.take_counters(clock, number), end))
                }
                None => Ok((self.read_clock_alone(clock), behind)),
            },
            (_, 0) if self.is_lenient() => Ok((None, behind)),
            _ => Ok((None, rest)),
        }
    }

    /// Length of field 4 in a word. In the lenient profile, counters may follow without a blank.
    pub(super) fn end_of_en_passant(&mut self, word: Word) -> usize {
        let all = word.text.len();
        let (end, glued) = match word.text {
            [b'-', glued @ ..] => (1, glued),
            [b'a'..=b'h', b'1'..=b'8', glued @ ..] => (2, glued),
            _ => return all,
        };
        if glued.is_empty() || !glued.iter().all(u8::is_ascii_digit) || !self.is_lenient() {
            return all;
        }
        let message =
            format!("{}: no blank between field 4 and a counter; split", shown(word.text));
        let after = [&word.text[..end], glued].join(&b' ');
        self.repaired(codes::W_LEN_GLUED, word.at, message, word.text, &after);
        end
    }

    /// Splits `x 39` at the end of a line: a single character that is not a counter, then a number
    /// (in the lenient profile only).
    fn unreadable_clock<'a>(&self, rest: Word<'a>) -> Option<[Word<'a>; 2]> {
        let (clock, behind) = rest.split_word();
        let (number, behind) = behind.split_word();
        let are_counters = self.is_lenient()
            && clock.text.len() == 1
            && integer(number.text).is_some()
            && behind.trimmed().text.is_empty();
        are_counters.then_some([clock, number])
    }

    /// Keeps each valid counter; the others become an operand of `noop`. Returns both counters,
    /// with their place, if both are valid. A single valid counter becomes an operation.
    fn take_counters(&mut self, clock: Word, number: Word) -> Option<(Counters, usize)> {
        let halfmove_clock = counter(clock);
        let fullmove_number = counter(number).map(|number| number.max(1));
        if counter(number) == Some(0) {
            let message = "a fullmove number of 0 read as 1";
            self.repaired(codes::W_LEN_COUNTERS, number.at, message, number.text, b"1");
        }
        if let (Some(halfmove_clock), Some(fullmove_number)) = (halfmove_clock, fullmove_number) {
            return Some((Counters { halfmove_clock, fullmove_number }, clock.at));
        }
        let values =
            [(Opcode::HMVC, clock, halfmove_clock), (Opcode::FMVN, number, fullmove_number)];
        let mut bad = Vec::new();
        for (opcode, word, value) in values {
            match value {
                Some(value) => self.add_integer(opcode, value.into(), word.at),
                None => bad.push(word),
            }
        }
        self.salvage_counters(&bad);
        None
    }

    /// Reads up to two integers. Returns them, their number, and the rest. In the lenient profile
    /// dashes between them are dropped.
    fn counter_words<'a>(&mut self, rest: Word<'a>) -> ([Word<'a>; 2], usize, Word<'a>) {
        let mut numbers = [rest.part(0, 0); 2];
        let mut count = 0;
        let mut dashes: Option<Word> = None;
        let mut behind = rest;
        loop {
            let start = behind.trimmed_start();
            let ends = |&byte: &u8| is_blank(byte) || matches!(byte, b';' | b',');
            let end = start.text.iter().position(ends).unwrap_or(start.text.len());
            let end = if count == 1 { self.end_of_number(start.part(0, end)) } else { end };
            let word = start.part(0, end);
            if self.is_lenient() && !word.text.is_empty() && word.text.iter().all(|&b| b == b'-') {
                dashes.get_or_insert(word);
            } else if count < 2 && integer(word.text).is_some() {
                numbers[count] = word;
                count += 1;
            } else {
                break;
            }
            behind = start.part(end, start.text.len());
        }
        if let Some(dash) = dashes {
            let message = "dashes after the four fields dropped";
            self.repaired(codes::W_LEN_DASHES, dash.at, message, dash.text, b"");
        }
        (numbers, count, behind)
    }

    /// Length of a fullmove number in a word. In the lenient profile, text may follow at once.
    fn end_of_number(&mut self, word: Word) -> usize {
        let digits = word.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_glued = digits > 0 && matches!(word.text.get(digits), Some(b':' | b'|' | b'['));
        if !is_glued || !self.is_lenient() {
            return word.text.len();
        }
        let message = format!("{}: no blank between a counter and text; split", shown(word.text));
        let after = [&word.text[..digits], &word.text[digits..]].join(&b' ');
        self.repaired(codes::W_LEN_GLUED, word.at, message, word.text, &after);
        digits
    }

    /// Reads a fifth field without a sixth, or with the sixth attached to it: `01`.
    fn read_clock_alone(&mut self, clock: Word) -> Option<(Counters, usize)> {
        if let [b'0', number @ ..] = clock.text
            && !matches!(number, [] | [b'0', ..])
            && let Some(fullmove_number) = counter(clock)
        {
            let message = format!("{}: two counters; taken apart", shown(clock.text));
            let after = [b"0", number].join(&b' ');
            self.repaired(codes::W_LEN_GLUED, clock.at, message, clock.text, &after);
            return Some((Counters { halfmove_clock: 0, fullmove_number }, clock.at));
        }
        match counter(clock) {
            Some(value) => {
                let message = "a halfmove clock without a fullmove number; read as hmvc";
                let after = format!("hmvc {value};");
                self.repaired(codes::W_LEN_HMVC, clock.at, message, clock.text, after.as_bytes());
                self.add_integer(Opcode::HMVC, value.into(), clock.at);
            }
            None => self.salvage_counters(&[clock]),
        }
        None
    }

    fn salvage_counters(&mut self, counters: &[Word]) {
        let mut text = SALVAGED_COUNTERS.to_vec();
        for counter in counters {
            text.push(b' ');
            text.extend_from_slice(counter.text);
        }
        let at = counters.first().map_or(0, |word| word.at);
        let why = "a counter must be an integer from 0 to 4294967295";
        self.salvage(codes::W_LEN_COUNTERS, Word { at, text: &text }, why);
    }

    /// Reads labels, perft counts or operations.
    pub(super) fn read_tail(&mut self, position: &Position, rest: Word) -> Result<(), Diagnostic> {
        let is_strict = self.options.profile == Profile::Strict;
        let has_labels = self.options.labels && !is_strict;
        let rest = if has_labels && !self.options.perft {
            self.take_score_behind(rest.trimmed_start())
        } else {
            rest.trimmed_start()
        };
        match rest.text.first() {
            None => Ok(()),
            Some(b'[' | b'|') if has_labels => self.read_labels(position, rest),
            Some(_) if has_labels && bare_label(rest).is_some() => {
                self.read_bare_label(position, rest)
            }
            Some(b'[' | b'|') if self.is_lenient() => {
                let message =
                    format!("{} looks like the label of a training set", shown(rest.text));
                let error = Diagnostic::error(codes::E_EPD_LABEL, rest.column(), message);
                Err(error.with_setting(Setting::Labels))
            }
            Some(b',' | b';') if (self.is_lenient() || self.options.perft) && !is_strict => {
                match perft_counts(rest) {
                    Some(counts) => self.read_perft(position, rest, &counts),
                    None => self.read_operations(position, rest),
                }
            }
            Some(_) => self.read_operations(position, rest),
        }
    }

    /// Reads a score at the end of the line in the style of chessdb, `; 23;` or
    /// `; cdb eval: 23, ply: 5;`. Returns the text before it. The score is from the view of the
    /// side to move.
    fn take_score_behind<'a>(&mut self, rest: Word<'a>) -> Word<'a> {
        let line = rest.trimmed();
        let Some(body) = line.text.strip_suffix(b";") else { return rest };
        let Some(begin) = memchr::memrchr(b';', body) else { return rest };
        let is_in_string = memchr::memchr_iter(b'"', &body[..begin]).count() % 2 == 1;
        if is_in_string {
            return rest;
        }
        let label = line.part(begin + 1, body.len()).trimmed();
        let Some((ce, ply)) = score_of_chessdb(label.text) else { return rest };
        self.add_integer(Opcode::CE, ce, label.at);
        if let (Some(ply), Ok(opcode)) = (ply, Opcode::new(b"cdb_ply")) {
            self.add(opcode, vec![Operand::token(ply)], label.at);
        }
        let before = line.part(0, begin + 1);
        if before.text == b";" { before.part(0, 0) } else { before }
    }

    /// Reads labels without brackets: ` 1-0`, `; 0.5`, `,23,0.5`.
    fn read_bare_label(&mut self, position: &Position, rest: Word) -> Result<(), Diagnostic> {
        let Some((score, result)) = bare_label(rest) else { return Ok(()) };
        self.add_label(position, score, result, rest)
    }

    /// Reads labels of training sets: `[0.5]`, `| 0.5`, `| 23 | 0.5`. The result is from White's
    /// view; the score is from the view that the options name.
    fn read_labels(&mut self, position: &Position, rest: Word) -> Result<(), Diagnostic> {
        let refuse = |column, what: &str| refused_label(rest, column, what);
        let line = rest.trimmed();
        let (score, result) = if line.text.starts_with(b"[") {
            let Some(end) = line.text.iter().position(|&byte| byte == b']') else {
                return refuse(line.column(), "a label without `]`");
            };
            let behind = line.part(end + 1, line.text.len()).trimmed();
            (Some(behind).filter(|score| !score.text.is_empty()), line.part(1, end).trimmed())
        } else {
            let behind = line.part(1, line.text.len());
            match behind.text.iter().position(|&byte| byte == b'|') {
                Some(bar) => {
                    let result = behind.part(bar + 1, behind.text.len());
                    (Some(behind.part(0, bar).trimmed()), result.trimmed())
                }
                None => (None, behind.trimmed()),
            }
        };
        self.add_label(position, score, result, rest)
    }

    /// Adds the operations for a result and a score. `whole` is the label's text, for messages.
    fn add_label(
        &mut self,
        position: &Position,
        score: Option<Word>,
        result: Word,
        whole: Word,
    ) -> Result<(), Diagnostic> {
        let refuse = |column, what: &str| refused_label(whole, column, what);
        let Some(text) = result_text(result.text) else {
            return refuse(result.column(), "a label must be a result such as `0.5` or `1-0`");
        };
        if let Some(score) = score {
            let Some(view) = self.options.score_view else {
                return refuse(score.column(), "it is not said whose score it is")
                    .map_err(|error| error.with_setting(Setting::ScoreView));
            };
            let Some(value) = integer(score.text).flatten().filter(|v| v.abs() <= 32000) else {
                return refuse(score.column(), "a score must be an integer from -32000 to 32000");
            };
            let swap = view == ScoreView::White && position.turn() == Color::Black;
            self.add_integer(Opcode::CE, if swap { -value } else { value }, score.at);
        }
        self.add(Opcode::C9, vec![Operand::string(text)], result.at);
        Ok(())
    }

    /// Reads perft counts for depth 1, 2, …: `,20,400`, `;20;400`.
    fn read_perft(
        &mut self,
        position: &Position,
        rest: Word,
        counts: &[Word],
    ) -> Result<(), Diagnostic> {
        let refuse =
            |message: String| Err(Diagnostic::error(codes::E_EPD_PERFT, rest.column(), message));
        if !self.options.perft {
            return refuse(format!("{} looks like perft counts", shown(rest.text)))
                .map_err(|error| error.with_setting(Setting::Perft));
        }
        if let [count] = counts {
            let moves = Playable::new(position).ok().map(|playable| playable.legal_moves().len());
            if moves.map(|moves| moves.to_string().into_bytes()).as_deref() != Some(count.text) {
                return refuse(format!(
                    "the depth of the one perft count {} is not said, and it is not the number of \
                     legal moves",
                    shown(count.text)
                ));
            }
        }
        for (index, count) in counts.iter().enumerate() {
            let name = format!("D{}", index + 1);
            if let Ok(opcode) = Opcode::new(name.as_bytes()) {
                self.add(opcode, vec![Operand::token(count.text)], count.at);
            }
        }
        Ok(())
    }

    /// Maps `perft3` to `D3` if perft counts are read.
    pub(super) fn perft_depth(&self, opcode: Opcode) -> Opcode {
        if !self.options.perft {
            return opcode;
        }
        match opcode.as_bytes().strip_prefix(b"perft") {
            Some(depth) if !depth.is_empty() && depth.iter().all(u8::is_ascii_digit) => {
                Opcode::new(&[b"D", depth].concat()).unwrap_or(opcode)
            }
            _ => opcode,
        }
    }
}

/// Whether a counter may begin with a byte.
const fn begins_number(byte: &u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+')
}

/// Reads a counter in the range of its field; also a fullmove number of 0.
fn counter(word: Word) -> Option<u32> {
    integer(word.text).flatten().and_then(|value| u32::try_from(value).ok())
}

/// Returns the only character of a text, not counting blanks. `None` if there are several
/// characters, or if it is a semicolon.
fn last_character(rest: Word) -> Option<Word> {
    let word = rest.trimmed();
    (word.text.len() == 1 && word.text != b";").then_some(word)
}

/// Reads the counts of a text that consists of integers with commas between them, or with
/// semicolons between them. `None` for any other text.
fn perft_counts(rest: Word) -> Option<Vec<Word>> {
    let separator = *rest.text.first()?;
    let mut counts = Vec::new();
    let mut from = 0;
    for part in rest.text.split(|&byte| byte == separator) {
        let word = rest.part(from, from + part.len()).trimmed();
        from += part.len() + 1;
        if word.text.is_empty() {
            continue;
        }
        if !word.text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        counts.push(word);
    }
    (!counts.is_empty()).then_some(counts)
}

/// Reads a score of chessdb. Returns the `ce` and, if the label has it, the number of plies from
/// the start array to the position. The score may be a number of centipawns, 30000 minus the number
/// of plies to a mate, a mate in plies such as `M9` or `-M10`, `#`, or `mated`.
fn score_of_chessdb(label: &[u8]) -> Option<(i128, Option<&[u8]>)> {
    let label = label.strip_prefix(b"cdb eval: ").unwrap_or(label);
    let (score, ply) = match memchr::memchr(b',', label) {
        Some(comma) => (&label[..comma], Some(label[comma..].strip_prefix(b", ply: ")?)),
        None => (label, None),
    };
    let is_count = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_distance = |plies: &i128| (1..=766).contains(plies);
    let mate = |text| integer(text).flatten().filter(|plies| is_count(text) && is_distance(plies));
    let ce = match score {
        b"#" | b"mated" => -32767,
        [b'M', plies @ ..] => 32767 - mate(plies)?,
        [b'-', b'M', plies @ ..] => mate(plies)? - 32767,
        number => match integer(number).flatten()? {
            -30_000 => -32767,
            value @ 29_001..30_000 => 32767 - Some(30_000 - value).filter(is_distance)?,
            value @ -29_999..-29_000 => Some(30_000 + value).filter(is_distance)? - 32767,
            value => Some(value).filter(|value| value.abs() <= 32000)?,
        },
    };
    if ply.is_some_and(|ply| !is_count(ply)) { None } else { Some((ce, ply)) }
}

fn refused_label(whole: Word, column: usize, what: &str) -> Result<(), Diagnostic> {
    let message = format!("{what}, in {}", shown(whole.text));
    Err(Diagnostic::error(codes::E_EPD_LABEL, column, message))
}

/// Reads a label without brackets that is the whole rest of the line. Returns the score, if any,
/// and the result. The forms are ` 1-0`, `; 0.5` and `,23,0.5`.
fn bare_label(rest: Word) -> Option<(Option<Word>, Word)> {
    let line = rest.trimmed();
    let separator = line.text.first().copied().filter(|first| matches!(first, b',' | b';'));
    let text = line.part(usize::from(separator.is_some()), line.text.len());
    let split = separator.and_then(|it| text.text.iter().position(|byte| *byte == it));
    let (score, result) = match split {
        Some(at) => (Some(text.part(0, at).trimmed()), text.part(at + 1, text.text.len())),
        None => (None, text),
    };
    let is_label = result_text(result.trimmed().text).is_some()
        && score.is_none_or(|score| integer(score.text).is_some());
    is_label.then_some((score, result.trimmed()))
}

/// Returns the EPD spelling of the result in a label.
fn result_text(label: &[u8]) -> Option<&'static [u8]> {
    match label {
        b"1" | b"1.0" | b"1-0" => Some(b"1-0"),
        b"0" | b"0.0" | b"0-1" => Some(b"0-1"),
        b"0.5" | b"1/2" | b"1/2-1/2" => Some(b"1/2-1/2"),
        _ => None,
    }
}
