//! Repairs of games: lines that cannot be played to their end, and termination markers without a
//! blank after a move.

use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::tokens::{glued_marker, marker_length, symbol};
use super::{Extras, Stop};
use crate::text::diagnostic::shown;
use crate::text::{Profile, codes};

impl<R: Read> GameReader<R> {
    /// Handles a place at which a line cannot be played further. In a variation, the rest of the
    /// variation becomes comments. In the main line, the rest of the game becomes comments if the
    /// game may be cut short; otherwise the game is refused.
    pub(super) fn give_up_line(
        &mut self,
        code: &'static str,
        at: usize,
        message: String,
    ) -> Result<(), Stop> {
        let is_lenient = self.options.profile == Profile::Lenient;
        if self.assumes_start && self.builder.depth() == 0 {
            self.source.at = at;
            let message = message + "; the game has no FEN tag with its first position";
            return Err(self.refused_move(codes::E_PGN_SETUP, at, message));
        }
        match self.builder.depth() {
            0 if self.may_cut_short() => {
                self.is_truncated = true;
                let message = message + "; the rest of the game is kept as a comment";
                self.keep_rest(codes::W_PGN_TRUNCATED, at, message)
            }
            1.. if is_lenient || self.may_cut_short() => {
                let message = message + "; the rest of the variation is kept as a comment";
                self.keep_rest(codes::W_PGN_VARIATION, at, message)
            }
            _ => {
                // `skip_game` continues here, so a marker without a blank after this move still
                // ends the game.
                self.source.at = at;
                Err(self.refused_move(code, at, message))
            }
        }
    }

    pub(super) fn may_cut_short(&self) -> bool {
        self.options.cuts_short(self.builder.game().plies().next().is_some())
    }

    /// Turns the rest of a line into comments. Comments and `%` lines in it stay what they are.
    fn keep_rest(&mut self, code: &'static str, at: usize, message: String) -> Result<(), Stop> {
        let ply = self.builder.replay().map(|replay| replay.ply() + 1);
        let from = self.start_of_number(at);
        let mut kept = Vec::new();
        self.source.at = at;
        let mut piece = from;
        let mut depth = 0;
        // What would be moves in it is text now.
        let may_have_moves = false;
        while let Some(byte) = self.next_of_rest(&mut depth)? {
            let here = self.source.at;
            self.keep_piece(piece..here, &mut kept)?;
            match byte {
                b'%' => self.escape(Extras::Keep)?,
                b'{' => self.brace_comment(may_have_moves)?,
                _ => self.line_comments()?,
            }
            piece = self.source.at;
            if byte != b'%' {
                put_word(&mut kept, self.source.slice(here..piece).trim_ascii_end());
            }
        }
        self.keep_piece(piece..self.source.at, &mut kept)?;
        let rest = self.source.slice(from..self.source.at).trim_ascii_end().len();
        self.change(code, from..from + rest, kept, message)?;
        if let Some(warning) = self.warnings.last_mut() {
            warning.ply = ply;
        }
        self.end_empty_variation()
    }

    /// Advances to the next comment or escape in the rest of a line. Returns its first byte; `None`
    /// at the end of the line. `depth` counts the open brackets.
    fn next_of_rest(&mut self, depth: &mut u32) -> Result<Option<u8>, Stop> {
        let in_variation = self.builder.depth() > 0;
        loop {
            self.source.want_token()?;
            let at = self.source.at;
            let Some(&byte) = self.source.rest().first() else { return Ok(None) };
            match byte {
                b'%' if self.is_line_start(at) => return Ok(Some(byte)),
                b'{' | b';' => return Ok(Some(byte)),
                b'[' if self.begins_next_game()? => return Ok(None),
                b')' if in_variation && *depth == 0 => return Ok(None),
                b'(' => *depth += 1,
                b')' => *depth = depth.saturating_sub(1),
                b'1' if !in_variation && *depth == 0 && self.counts_from_one_again() => {
                    return Ok(None);
                }
                _ => {
                    let rest = self.source.rest();
                    let text = symbol(rest);
                    let marker = marker_length(rest);
                    let length = marker.unwrap_or(text.len()).max(1);
                    let glued = if marker.is_none() { glued_marker(text) } else { None };
                    let head = glued.unwrap_or_default();
                    let is_marker = marker.or(glued).is_some();
                    self.source.at += length;
                    if is_marker && self.ends_the_game(in_variation || *depth > 0)? {
                        self.source.at = at + head;
                        return Ok(None);
                    }
                    self.source.at = at + length - 1;
                }
            }
            self.source.at += 1;
        }
    }

    /// Whether a termination marker that ends here ends the game. In a variation, a marker just
    /// before the end of the variation does not end the game.
    fn ends_the_game(&mut self, in_variation: bool) -> Result<bool, Stop> {
        Ok(!in_variation || self.next_byte(Extras::Skip)? != Some(b')'))
    }

    fn keep_piece(&mut self, place: Range<usize>, kept: &mut Vec<u8>) -> Result<(), Stop> {
        let text = self.source.slice(place.clone()).trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        put_word(kept, &[b"{", text, b"}"].concat());
        self.add_comment(place)
    }

    /// Returns the place of the number before a move, or of the move if it has no number.
    pub(super) fn start_of_number(&self, at: usize) -> usize {
        let between = self.source.slice(self.number_at..at.max(self.number_at));
        let is_number = between.first().is_some_and(u8::is_ascii_digit)
            && between
                .iter()
                .all(|byte| byte.is_ascii_digit() || *byte == b'.' || byte.is_ascii_whitespace());
        if is_number { self.number_at } else { at }
    }

    /// Removes a variation without moves. Its comments become comments of the move that the
    /// variation would replace.
    fn end_empty_variation(&mut self) -> Result<(), Stop> {
        if self.builder.depth() == 0 || self.builder.has_move() {
            return Ok(());
        }
        let at = self.source.at;
        let dissolved = self.builder.dissolve_variation();
        self.built(at, dissolved)?;
        if self.source.rest().first() == Some(&b')') {
            self.source.at += 1;
        }
        Ok(())
    }

    /// Splits a symbol into a move of `length` bytes and a termination marker. The move is played;
    /// the marker is read next.
    pub(super) fn split_marker(&mut self, place: Range<usize>, length: usize) -> Result<(), Stop> {
        let (head, marker) = self.source.slice(place.clone()).split_at(length);
        let message =
            format!("no blank between a move and the termination marker {}; split", shown(marker));
        let after = [head, b" ", marker].concat();
        let at = place.start;
        self.change(codes::W_PGN_GLUED, place, after, message)?;
        self.play(at..at + length)
    }
}

/// Appends a blank, if the text is not empty, and a word.
fn put_word(text: &mut Vec<u8>, word: &[u8]) {
    if !text.is_empty() {
        text.push(b' ');
    }
    text.extend_from_slice(word);
}
