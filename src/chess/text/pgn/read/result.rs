//! The end of a game: its termination marker, its `Result` tag, and variations that were left open.

use std::io::Read;

use super::GameReader;
use super::report::{RAV, RESULT};
use super::tokens::SPEC_LENGTH;
use super::{Extras, Step, Stop};
use crate::model::{BuildError, GameResult};
use crate::text::charset::Charset;
use crate::text::diagnostic::shown;
use crate::text::pgn::ending::{Ending, Spelled};
use crate::text::pgn::tags;
use crate::text::pgn::write::{self, PgnFormatOptions};
use crate::text::{Diagnostic, Profile, codes};

impl<R: Read> GameReader<R> {
    /// Reads the termination marker that begins here, if any. At the end of a variation it is
    /// dropped.
    pub(super) fn marker(&mut self, at: usize) -> Result<Option<Step>, Stop> {
        let Some(spelled) = Spelled::at_start(self.source.rest()) else { return Ok(None) };
        let place = at..at + spelled.len;
        let text = self.source.slice(place.clone());
        let is_canonical = spelled.is_canonical(text);
        let is_known = text == spelled.ending.as_str().as_bytes();
        if spelled.may_be_castling(text) && !self.ends_unplayed(place.end)? {
            return Ok(None);
        }
        self.source.at = place.end;
        if is_known && !is_canonical {
            self.keep(RESULT, at, "not a result of the standard: a loss for both; kept")?;
        } else if !is_canonical {
            let message = "an unusual termination marker";
            self.repair(RESULT, place, spelled.ending.as_str(), message)?;
        }
        self.end_at(at, spelled.ending).map(Some)
    }

    /// True if the text `0-0` that ends at a place is a termination marker and not castling. Two
    /// conditions must hold. Only comments follow in the game; and castling is illegal, or the
    /// `Result` tag is `0-0` too.
    fn ends_unplayed(&mut self, end: usize) -> Result<bool, Stop> {
        if self.builder.depth() > 0 {
            return Ok(false);
        }
        let tag = self.builder.game().tag("Result").unwrap_or_default();
        let is_said = Spelled::parse(tag.as_bytes())
            .is_some_and(|spelled| spelled.ending == Ending::DoubleForfeit);
        if !is_said && self.is_move(b"O-O") {
            return Ok(false);
        }
        let before = self.source.at;
        self.source.at = end;
        let is_end = self.is_end_of_game();
        self.source.at = before;
        match is_end {
            Err(Stop::Refused(_)) => Ok(false),
            is_end => is_end,
        }
    }

    /// Whether only comments follow in the game.
    fn is_end_of_game(&mut self) -> Result<bool, Stop> {
        loop {
            match self.next_byte(Extras::Skip)? {
                None => return Ok(true),
                Some(b'{') => self.source.at = self.end_of_comment(self.source.at)?.end,
                Some(b';') => self.source.at = self.source.end_of_line(self.source.at)?,
                Some(b'1') => return Ok(self.source.rest().starts_with(b"1.")),
                Some(b'[') => return self.begins_next_game(),
                Some(_) => return Ok(false),
            }
        }
    }

    fn end_at(&mut self, at: usize, ending: Ending) -> Result<Step, Stop> {
        if self.builder.depth() == 0 {
            return Ok(Step::End(Some(ending)));
        }
        let end = self.source.at;
        if self.next_byte(Extras::Keep)? == Some(b')') {
            let message = "a termination marker inside a variation; dropped";
            self.repair(RAV, at..end, "", message)?;
            return Ok(Step::GoOn);
        }
        Ok(Step::End(Some(ending)))
    }

    /// Closes variations that were left open, and settles the result.
    pub(super) fn finish(&mut self, marker: Option<Ending>) -> Result<(), Stop> {
        let at = self.source.at;
        self.begin_movetext()?;
        self.close_variations(at)?;
        self.agree_on_result(at, marker)?;
        if marker.is_none() {
            let result = self.builder.game().termination_marker();
            let message = format!("the game has no termination marker; read as {result}");
            self.repair(RESULT, at..at, result, message)?;
        }
        Ok(())
    }

    /// Closes the variations that are open at the end of the game. They may have taken in the rest of the
    /// main line, so they cut the game short.
    fn close_variations(&mut self, at: usize) -> Result<(), Stop> {
        if self.builder.depth() == 0 {
            return Ok(());
        }
        let mut codes = RAV;
        let mut message = "the variation is not closed; it ends where the game does";
        if self.may_cut_short() {
            self.is_truncated = true;
            codes.1 = codes::W_PGN_TRUNCATED;
            message = "the variation is not closed; the rest of the game is kept in it";
        }
        let brackets = ")".repeat(self.builder.depth());
        self.repair_at(codes, self.variation_at, at..at, brackets, message)?;
        while self.builder.depth() > 0 {
            let closed = match self.builder.end_variation() {
                Err(BuildError::VariationEmpty) => self.builder.dissolve_variation(),
                result => result,
            };
            self.built(at, closed)?;
        }
        Ok(())
    }

    /// Combines the Result tag and the marker into one result ([`tags::agreed_result`]).
    pub(super) fn agree_on_result(
        &mut self,
        at: usize,
        marker: Option<Ending>,
    ) -> Result<(), Stop> {
        let game = self.builder.game();
        let value = match game.tag("Result") {
            Some(value) if game.has_tag("Result") => value,
            _ => return self.set_ending(at, marker.unwrap_or(Ending::UNKNOWN)),
        };
        let tag = Spelled::parse(value.as_bytes()).map(|spelled| spelled.ending);
        let marked = marker.unwrap_or(Ending::UNKNOWN).as_str();
        let is_known = tag.is_some_and(|tag| tag.as_str() == value);
        if is_known && marker.is_none_or(|it| Some(it) == tag) {
            return Ok(());
        }
        let value = value.to_owned();
        let ending = tags::agreed_result(tag, marker, || self.proven_result().map(Ending::Result));
        let result = ending.as_str();
        let text = shown(value.as_bytes());
        let message = format!("the Result tag is {text}, the marker `{marked}`; `{result}` counts");
        if value != Ending::UNKNOWN.as_str() {
            self.lenient_only(codes::E_PGN_RESULT, at, &message)?;
        }
        if value != result {
            self.note_result(at, &value, result, message.clone())?;
        }
        if marker.is_some_and(|marker| marker != ending) {
            self.note_result(at, marked, result, message)?;
        }
        self.set_ending(at, ending)
    }

    fn set_ending(&mut self, at: usize, ending: Ending) -> Result<(), Stop> {
        let set = self.builder.set_tag("Result", ending.as_str());
        self.built(at, set)
    }

    /// Reports a result that was changed.
    fn note_result(
        &mut self,
        at: usize,
        before: &str,
        after: &str,
        message: String,
    ) -> Result<(), Stop> {
        let warning = Diagnostic::warning(codes::W_PGN_RESULT, 0, message);
        self.note(warning.with_repair(before, after), at)
    }

    /// Returns the result that the last position proves by checkmate or stalemate, if it does.
    fn proven_result(&self) -> Option<GameResult> {
        if self.is_truncated {
            return None;
        }
        let playable = self.builder.replay()?.playable();
        if playable.has_move() {
            return None;
        }
        let mated = playable.position().turn();
        Some(if playable.is_check() { GameResult::win_of(!mated) } else { GameResult::Draw })
    }
}

impl<R: Read> GameReader<R> {
    /// Refuses the game if it is not in export format.
    pub(super) fn compare_with_export(&mut self) -> Result<(), Stop> {
        let is_utf8 = std::str::from_utf8(self.source.slice(0..self.source.at)).is_ok();
        let latin1 = self.options.charset == Some(Charset::Latin1) || !is_utf8;
        let charset = if latin1 { Charset::Latin1 } else { Charset::Utf8 };
        let options = PgnFormatOptions { escapes: true, charset, ..Default::default() };
        let mut export = Vec::new();
        if let Err(error) = write::format(self.builder.game(), &options, &mut export) {
            return Err(self.refused(codes::E_PGN_NONCANON, 0, error.to_string()));
        }
        let raw = self.source.slice(0..self.source.at);
        if raw == export {
            return Ok(());
        }
        let same = raw.iter().zip(&export).take_while(|(a, b)| a == b).count();
        let message = format!(
            "not in export format: expected {} here",
            shown(&export[same..export.len().min(same + 20)])
        );
        Err(self.refused(codes::E_PGN_NONCANON, same, message))
    }

    /// Reports the first line that is longer than the standard allows. The lenient profile accepts
    /// lines of any length, because most programs write them.
    pub(super) fn check_lines(&mut self) -> Result<(), Stop> {
        if self.options.profile == Profile::Lenient {
            return Ok(());
        }
        match self.source.long_line(SPEC_LENGTH) {
            None => Ok(()),
            Some(line) => {
                let message = "the line is longer than 255 characters; read";
                self.warn(codes::W_PGN_LINELEN, line, message)
            }
        }
    }
}
