//! Second reading of a symbol that is not a move. It may be a part of a move, two moves without a
//! blank, or a move in an odd notation. It is read only if exactly one reading is possible.

use std::fmt;
use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::Stop;
use super::blanks::{has_blank_line, trim_blanks};
use super::tokens::{marker_length, symbol};
use crate::model::rules::{Move, Playable};
use crate::model::{Position, San};
use crate::text::diagnostic::shown;
use crate::text::pgn::source::MAX_TOKEN;
use crate::text::{Profile, codes, san};

/// Maximum number of parts of a move, as in `e x d 8 = Q`.
const MAX_PARTS: usize = 6;

/// Maximum length of a symbol that is compared with odd spellings of moves.
pub(super) const MAX_ODD: usize = 32;

/// A possible reading of a symbol that is not a move.
pub(super) struct Reading {
    mv: Move,
    san: San,
    form: Form,
}

enum Form {
    /// The move has blanks in it. It ends at this place.
    Parts(usize),
    /// The move has an odd spelling.
    Odd,
    /// Another move follows without a blank. The number is the length of the first move in bytes.
    Pair(usize),
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Pair(_) => write!(f, "`{}` with another move behind it", self.san),
            _ => write!(f, "`{}`", self.san),
        }
    }
}

impl<R: Read> GameReader<R> {
    /// Reads a symbol that is not a move, with the symbols after it that belong to the same move.
    /// Returns false if the symbol has no possible reading. A symbol with several readings is
    /// treated as a move that cannot be played.
    pub(super) fn reread(&mut self, place: Range<usize>) -> Result<bool, Stop> {
        if place.len() > MAX_ODD {
            return Ok(false);
        }
        let readings = self.readings(place.clone())?;
        match &readings[..] {
            [] => Ok(false),
            [reading] => self.take_reading(place, reading).map(|()| true),
            [first, second, ..] => {
                let others = format!("{first} and as {second}");
                self.give_up_ambiguous(place, &others).map(|()| true)
            }
        }
    }

    /// Reads a letter that is either a sign of printed annotation or the piece letter of the next
    /// move. Returns false if it is the sign. After a move number it cannot be the sign, because
    /// there is no move to annotate.
    pub(super) fn reread_sign(&mut self, place: Range<usize>) -> Result<bool, Stop> {
        let parts = self.in_parts(place.clone())?;
        let next = self.parts_behind(place.end).into_iter().next();
        let next = next.map(|next| self.source.slice(next).to_vec()).unwrap_or_default();
        let is_behind_number = self.start_of_number(place.start) != place.start;
        match &parts[..] {
            [] if is_behind_number && is_end_of_move(&next) => {
                let message = format!(
                    "{}: no legal move with what follows it",
                    shown(self.source.slice(place.clone()))
                );
                self.give_up_line(codes::E_MOVE_ILLEGAL, place.start, message)?;
            }
            [] => return Ok(false),
            [part] if is_behind_number || !self.is_move(&next) => self.take_reading(place, part)?,
            [part, ..] => {
                let others = format!("{part} and as a sign before {}", shown(&next));
                self.give_up_ambiguous(place, &others)?;
            }
        }
        Ok(true)
    }

    fn give_up_ambiguous(&mut self, place: Range<usize>, readings: &str) -> Result<(), Stop> {
        let text = shown(self.source.slice(place.clone()));
        let message = format!("{text} can be read as {readings}");
        self.give_up_line(codes::E_MOVE_AMBIG, place.start, message)
    }

    fn take_reading(&mut self, place: Range<usize>, reading: &Reading) -> Result<(), Stop> {
        let at = place.start;
        let Reading { mv, san, form } = reading;
        match *form {
            Form::Parts(end) => {
                let message = format!("a blank inside a move; read as `{san}`");
                self.change(codes::W_PGN_SPLIT, at..end, san.as_bytes(), message)?;
                self.source.at = end;
            }
            Form::Odd => {
                let message =
                    format!("{} read as `{san}`", shown(self.source.slice(place.clone())));
                self.change(codes::W_LEN_SPELLING, place, san.as_bytes(), message)?;
            }
            Form::Pair(length) => {
                let (head, tail) = self.source.slice(place.clone()).split_at(length);
                let after = [head, b" ", tail].concat();
                let message = "two moves without a blank between them; split";
                self.change(codes::W_PGN_PAIR, place.clone(), after, message)?;
                self.play(at..at + length)?;
                return self.play(at + length..place.end);
            }
        }
        let played = self.builder.play_legal(*mv);
        self.built(at, played)
    }

    fn readings(&mut self, place: Range<usize>) -> Result<Vec<Reading>, Stop> {
        let mut readings = self.in_parts(place.clone())?;
        let Some(replay) = self.builder.replay() else { return Ok(readings) };
        let playable = replay.playable();
        let text = self.source.slice(place.clone());
        let bare = san::without_notes(text);
        let mut castles = san::castling_of_circles(&playable, text);
        if castles.is_some() && !self.leaves_castlings(bare, place.end) {
            castles = None;
        }
        let odd = if san::circles(text).is_some() {
            Vec::new()
        } else {
            san::odd(&playable, &self.options.language.to_english(bare))
        };
        for mv in odd.into_iter().chain(castles) {
            readings.push(Reading { mv, san: san::format(&playable, mv), form: Form::Odd });
        }
        for length in 1..text.len() {
            let (head, tail) = text.split_at(length);
            let Some(mv) = self.usual_move(&playable, head) else { continue };
            if self.usual_move(&playable.after(mv), tail).is_some() {
                let form = Form::Pair(length);
                readings.push(Reading { mv, san: san::format(&playable, mv), form });
            }
        }
        Ok(readings)
    }

    /// Joins this symbol and the symbols after it to one move that was written with blanks in it.
    /// Collects all ways to do so.
    fn in_parts(&mut self, place: Range<usize>) -> Result<Vec<Reading>, Stop> {
        self.source.want_token()?;
        let mut readings = Vec::new();
        let Some(replay) = self.builder.replay() else { return Ok(readings) };
        let playable = replay.playable();
        let mut text = self.source.slice(place.clone()).to_vec();
        for part in self.parts_behind(place.end) {
            text.extend_from_slice(self.source.slice(part.clone()));
            let castles = || san::castling_of_circles(&playable, &text);
            let Some(mv) = self.usual_move(&playable, &text).or_else(castles) else { continue };
            if self.leaves_castlings(san::without_notes(&text), part.end) {
                let form = Form::Parts(part.end);
                readings.push(Reading { mv, san: san::format(&playable, mv), form });
            }
        }
        Ok(readings)
    }

    fn usual_move(&self, playable: &Playable, text: &[u8]) -> Option<Move> {
        san::usual(playable, &self.options.language.to_english(text))
    }

    /// True if a symbol is complete. Castling that continues after a blank, `O-O -O`, is not.
    pub(super) fn is_whole_castling(&mut self, place: Range<usize>) -> Result<bool, Stop> {
        let is_castling = san::circles(self.source.slice(place.clone())) == Some(2);
        if !is_castling || self.options.profile != Profile::Lenient {
            return Ok(true);
        }
        self.source.want_token()?;
        Ok(self.leaves_castlings(self.source.slice(place.clone()), place.end))
    }

    /// True unless circles (letters O or zeros) after the place `end` continue the castling in
    /// `text`. So the result is true if `text` is not castling, if no circles follow it, or if the
    /// circles that follow are another castling move.
    fn leaves_castlings(&self, text: &[u8], end: usize) -> bool {
        let circles = |part: Range<usize>| {
            let part = self.source.slice(part);
            san::circles(part).filter(|count| *count > 0 || part == b"-")
        };
        let behind: usize = self.parts_behind(end).into_iter().map_while(circles).sum();
        san::circles(text).is_none() || matches!(behind, 0 | 2 | 3)
    }

    /// Returns the symbols after the place `end`, in the same paragraph, that may be parts of a
    /// move begun before them.
    fn parts_behind(&self, end: usize) -> Vec<Range<usize>> {
        let known = self.source.slice(self.source.at..self.source.at + MAX_TOKEN);
        let known_end = self.source.at + known.len();
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut end = end;
        while parts.len() < MAX_PARTS {
            let rest = self.source.slice(end..known_end);
            let text = trim_blanks(rest);
            let blanks = &rest[..rest.len() - text.len()];
            let part = symbol(text);
            let is_number = text[part.len()..].starts_with(b".") && is_number(part);
            // A part at the end of the bytes in memory may continue after them.
            let is_whole = part.len() < text.len() || known.len() < MAX_TOKEN;
            let is_marker = marker_length(text).is_some();
            let is_part = !part.is_empty() && !is_number && is_whole;
            if !is_part || blanks.is_empty() || has_blank_line(blanks) || is_marker {
                break;
            }
            let start = end + blanks.len();
            end = start + part.len();
            parts.push(start..end);
        }
        parts
    }

    /// True if a move number 1 here begins another game. That is so after a blank line, if the move
    /// after the number is legal in the start array.
    pub(super) fn counts_from_one_again(&self) -> bool {
        let rest = self.source.rest();
        let [b'1', b'.', behind @ ..] = rest else { return false };
        let text = trim_blanks(&behind[..behind.len().min(MAX_TOKEN - 2)]);
        let before = self.source.slice(0..self.source.at);
        let is_blank = |byte: &u8| byte.is_ascii_whitespace();
        let blanks = before.iter().rev().take_while(|byte| is_blank(byte)).count();
        if !has_blank_line(&before[before.len() - blanks..]) {
            return false;
        }
        let first = symbol(text);
        Playable::new(&Position::START).is_ok_and(|start| {
            self.usual_move(&start, first).is_some()
                || (1..first.len()).any(|length| {
                    let mv = self.usual_move(&start, &first[..length]);
                    mv.is_some_and(|mv| {
                        self.usual_move(&start.after(mv), &first[length..]).is_some()
                    })
                })
        })
    }
}

fn is_number(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

/// Whether a text begins like the part of a move after the piece letter: `f3`, `xd4`, `bd7`.
fn is_end_of_move(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'a'..=b'h' | b'1'..=b'8' | b'x' | b'X' | b':' | b'-'))
}
