//! Moves, numbers, NAGs, variations.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::blanks::trim_blanks;
use super::report::{COMMA, Codes, DETACHED, NAG, RAV, TOKEN, UNICODE};
use super::rereading::MAX_ODD;
use super::tokens::{
    annotation_signs, glued_marker, is_symbol, markup_length, may_be_move, null_move, number,
    plain_symbol, symbol,
};
use super::{Step, Stop};
use crate::model::{BuildError, Color, GameBuilder, Replay};
use crate::text::diagnostic::shown;
use crate::text::pgn::ending::Spelled;
use crate::text::pgn::language::Language;
use crate::text::pgn::source::MAX_TOKEN;
use crate::text::typography::{Typographic, character_length, shown_character};
use crate::text::{Profile, codes, san};

impl<R: Read> GameReader<R> {
    /// Reads moves, numbers and short comments in export format. [`GameReader::step`] reads
    /// everything else. It could read these tokens too, but more slowly.
    pub(super) fn usual_moves(&mut self) -> Result<(), Stop> {
        if !self.in_movetext || self.options.language != Language::ENGLISH {
            return Ok(());
        }
        loop {
            let taken = self.usual_tokens();
            self.built(self.source.at, taken)?;
            if self.source.rest().first() != Some(&b'{') || !self.short_comment()? {
                return Ok(());
            }
        }
    }

    /// Reads moves, move numbers and plain comments in export format. Stops before any other token.
    fn usual_tokens(&mut self) -> Result<(), BuildError> {
        let GameReader { source, builder, number_at, .. } = self;
        let Some(replay) = builder.replay() else { return Ok(()) };
        let turn = replay.position().turn();
        let number = MoveNumber::new(replay.fullmove_number());
        let mut tokens = UsualTokens { text: source.rest(), at: 0, number_at: None, number };
        let taken = tokens.take(turn, builder);
        let UsualTokens { at, number_at: last_number, .. } = tokens;
        if let Some(place) = last_number {
            *number_at = source.at + place;
        }
        source.at += at;
        taken
    }

    pub(super) fn movetext(&mut self, byte: u8, at: usize) -> Result<Step, Stop> {
        self.begin_movetext()?;
        if let Some(step) = self.marker(at)? {
            return Ok(step);
        }
        if let Some(length) = null_move(self.source.rest()) {
            self.null_move(at..at + length)?;
            return Ok(Step::GoOn);
        }
        match byte {
            b'.' => self.source.at += 1,
            b'(' if self.source.rest().starts_with(b"(e.p.)") => self.en_passant_note(at)?,
            b'(' => self.begin_variation(at)?,
            b')' => self.end_variation(at)?,
            b'$' => self.nag(at)?,
            b'!' | b'?' => self.suffix(at)?,
            b'1' if self.begins_game_by_number() => {
                let message = "move numbers begin again after a blank line; read as another game";
                self.lenient_only(codes::E_PGN_MOVENUM, at, message)?;
                self.warn(codes::W_PGN_NEXT, at, message)?;
                return Ok(Step::End(None));
            }
            b'0'..=b'9' if self.move_number(at)? => {}
            0x80.. if let Some(periods) = typographic_periods(self.source.rest()) => {
                self.typographic_periods(at, &periods)?;
            }
            _ if is_symbol(byte) => self.symbol(at)?,
            b'<' | b'&' if let Some(length) = markup_length(self.source.rest()) => {
                self.source.at += length;
                self.repair(TOKEN, at..at + length, " ", "markup of a web page; dropped")?;
            }
            b',' => {
                self.source.at += 1;
                self.repair(COMMA, at..at + 1, "", "a comma between moves; dropped")?;
            }
            b'[' | b'<' if let Some(length) = command_length(self.source.rest()) => {
                self.source.at += length;
                let message = "a command or markup outside of a comment; kept as a comment";
                self.keep_as_comment(TOKEN, at, message)?;
            }
            b'@' if self.source.rest().starts_with(b"@@") => {
                let message = "`@@` may be a null move, which is `@@@@`".to_owned();
                self.give_up_line(codes::E_PGN_TOKEN, at, message)?;
            }
            _ => {
                self.source.at += 1;
                self.drop_sign(at)?;
            }
        }
        Ok(Step::GoOn)
    }

    pub(super) fn en_passant_note(&mut self, at: usize) -> Result<(), Stop> {
        self.source.at += b"(e.p.)".len();
        let message = "`(e.p.)` is separate from its move; dropped";
        self.repair(DETACHED, at..self.source.at, "", message)
    }

    pub(super) fn begin_variation(&mut self, at: usize) -> Result<(), Stop> {
        if self.builder.depth() == 0 {
            self.variation_at = at;
        }
        self.source.at += 1;
        match self.builder.begin_variation() {
            Err(BuildError::VariationPlace) => {
                let message = "a variation before any move of its line; `(` dropped";
                self.repair(RAV, at..at + 1, "", message)
            }
            result => self.built(at, result),
        }
    }

    pub(super) fn end_variation(&mut self, at: usize) -> Result<(), Stop> {
        self.source.at += 1;
        let message = match self.builder.end_variation() {
            Err(BuildError::VariationEnd) => "no variation is open; `)` dropped",
            Err(BuildError::VariationEmpty) => {
                let dissolved = self.builder.dissolve_variation();
                self.built(at, dissolved)?;
                "a variation without a move; dropped"
            }
            result => return self.built(at, result),
        };
        self.repair(RAV, at..at + 1, "", message)
    }

    pub(super) fn nag(&mut self, at: usize) -> Result<(), Stop> {
        let digits =
            self.source.rest()[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.source.at += 1 + digits;
        let text = self.source.slice(at + 1..at + 1 + digits).to_vec();
        let Some(nag) = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()) else {
            let message =
                format!("a NAG is `$0` to `$255`, not {}; kept as a comment", shown(&text));
            return self.keep_as_comment(NAG, at, &message);
        };
        if nag == 0 {
            self.warn(codes::W_PGN_NAG, at, "the NAG $0 means nothing; kept")?;
        }
        self.add_nag(at, nag)
    }

    /// Reads `!`, `?!` and the like after a move.
    pub(super) fn suffix(&mut self, at: usize) -> Result<(), Stop> {
        let rest = self.source.rest();
        let marks = rest.iter().take_while(|byte| matches!(byte, b'!' | b'?')).count();
        let (nag, known) = match &rest[..marks] {
            b"!" => (1, 1),
            b"?" => (2, 1),
            [b'!', b'!', ..] => (3, 2),
            [b'?', b'?', ..] => (4, 2),
            [b'!', ..] => (5, 2),
            _ => (6, 2),
        };
        self.source.at += marks;
        if marks > known {
            let message = format!("{marks} annotation marks together; the first {known} taken");
            let taken = self.source.slice(at..at + known).to_vec();
            self.repair(NAG, at..at + marks, taken, message)?;
        }
        self.add_nag(at, nag)
    }

    pub(super) fn add_nag(&mut self, at: usize, nag: u8) -> Result<(), Stop> {
        match self.builder.add_nag(nag) {
            Err(BuildError::NagPlace) => {
                let message = "a NAG before any move of its line; kept as a comment";
                self.keep_as_comment(NAG, at, message)
            }
            result => self.built(at, result),
        }
    }

    /// Keeps the text that ends here as a comment.
    pub(super) fn keep_as_comment(
        &mut self,
        codes: Codes,
        at: usize,
        message: &str,
    ) -> Result<(), Stop> {
        let place = at..self.source.at;
        let after = [b"{", self.source.slice(place.clone()), b"}"].concat();
        self.repair(codes, place.clone(), after, message)?;
        self.add_comment(place)
    }

    /// Reads a move, or a symbol in the place of a move.
    pub(super) fn symbol(&mut self, at: usize) -> Result<(), Stop> {
        let text = symbol(self.source.rest());
        let place = at..at + text.len();
        match plain_symbol(text) {
            Cow::Owned(plain) => self.typographic_move(place, &plain),
            Cow::Borrowed(_) => self.play(place),
        }
    }

    /// Reads a move with typographic characters in it, such as hyphens.
    fn typographic_move(&mut self, place: Range<usize>, plain: &[u8]) -> Result<(), Stop> {
        let is_null = null_move(plain) == Some(plain.len());
        if !is_null && !self.is_move(plain) {
            return self.play(place);
        }
        let message =
            format!("{} in place of {}", unicode(self.source.slice(place.clone())), shown(plain));
        self.repair(UNICODE, place.clone(), plain, message)?;
        if is_null {
            return self.null_move(place);
        }
        self.source.at = place.end;
        let Some(replay) = self.builder.replay() else { return self.play(place) };
        let english = self.options.language.to_english(plain);
        let Ok(found) = san::find(&replay.playable(), &english, Profile::Lenient) else {
            return self.play(place);
        };
        let played = self.builder.play_legal(found.mv);
        self.built(place.start, played)
    }

    /// Reads `…`, which means periods.
    fn typographic_periods(&mut self, at: usize, periods: &Typographic) -> Result<(), Stop> {
        self.source.at += periods.len;
        let name = shown_character(periods.character);
        let message = format!("{name} in place of `{}`", periods.ascii);
        self.repair(UNICODE, at..self.source.at, periods.ascii, message)
    }

    /// Reads a move number with its periods. False if the digits belong to something else.
    pub(super) fn move_number(&mut self, at: usize) -> Result<bool, Stop> {
        let rest = self.source.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_zero = rest[..digits].iter().all(|digit| *digit == b'0');
        match rest.get(digits) {
            // No move has the number 0: these digits are the zeros of castling, as in `0-0`.
            next if is_zero && (digits > 1 || next != Some(&b'.')) => return Ok(false),
            Some(b'-' | b'/' | b'=' | b'+' | b'#' | b':') => return Ok(false),
            _ if Typographic::at_start(&rest[digits..]).is_some_and(|it| it.ascii == "-") => {
                return Ok(false);
            }
            _ => {}
        }
        let number = number(&rest[..digits]);
        let periods = rest[digits..].iter().take_while(|byte| **byte == b'.').count();
        self.number_at = at;
        self.source.at += digits + periods;
        let expected = self.builder.replay().map(Replay::fullmove_number);
        if let Some(expected) = expected.filter(|expected| number != Some(*expected)) {
            let message = format!("the number of this move is {expected}");
            if self.options.profile == Profile::Strict {
                return Err(self.refused(codes::E_PGN_MOVENUM, at, message));
            }
            self.change(codes::W_PGN_MOVENUM, at..at + digits, expected.to_string(), message)?;
        }
        Ok(true)
    }

    pub(super) fn play(&mut self, place: Range<usize>) -> Result<(), Stop> {
        let at = place.start;
        self.source.at = place.end;
        if !self.is_whole_castling(place.clone())? && self.reread(place.clone())? {
            return Ok(());
        }
        let Some(replay) = self.builder.replay() else {
            let message = BuildError::NotPlayable.to_string();
            return Err(self.refused(codes::E_PGN_SETUP, at, message));
        };
        let text = self.source.slice(place.clone());
        let is_english = self.options.language == Language::ENGLISH;
        let token = if is_english { san::Token::new(text) } else { None };
        let found = token.and_then(|token| san::quick(situation(replay), token));
        if let Some((mv, role)) = found {
            let played = self.builder.put_move(mv, role);
            return self.built(at, played);
        }
        let playable = replay.playable();
        let found = if is_english {
            san::find(&playable, text, Profile::Lenient)
        } else {
            san::find(&playable, &self.options.language.to_english(text), Profile::Lenient)
        };
        match found {
            Ok(found) => {
                if found.false_capture {
                    let message = "a capture mark on a move that captures nothing; dropped";
                    let mut without = text.to_vec();
                    without.retain(|byte| !matches!(byte, b'x' | b'X' | b':'));
                    self.change(codes::W_SAN_CAPTURE, place, without, message)?;
                }
                let played = self.builder.play_legal(found.mv);
                self.built(at, played)
            }
            Err(error) => self.no_move(at, error),
        }
    }

    /// Reads a null move, which the standard does not have.
    fn null_move(&mut self, place: Range<usize>) -> Result<(), Stop> {
        let at = place.start;
        self.source.at = place.end;
        if self.options.profile != Profile::Lenient {
            let message = "a null move, which no game of the standard has";
            return self.give_up_line(codes::E_MOVE_SYNTAX, at, message.to_owned());
        }
        match self.builder.play_null_move() {
            Err(error @ BuildError::NullMoveInCheck) => {
                self.give_up_line(codes::E_MOVE_ILLEGAL, at, error.to_string())
            }
            played => self.built(at, played),
        }
    }

    /// Whether exactly one legal move fits a text.
    pub(super) fn is_move(&self, text: &[u8]) -> bool {
        let Some(replay) = self.builder.replay() else { return false };
        let text = self.options.language.to_english(text);
        san::find(&replay.playable(), &text, Profile::Lenient).is_ok()
    }

    /// Whether the number here begins another game that has no tags.
    fn begins_game_by_number(&self) -> bool {
        let has_begun = self.is_truncated || self.builder.game().plies().next().is_some();
        has_begun && self.builder.depth() == 0 && self.counts_from_one_again()
    }

    /// Reads a symbol that is not a move. It may be a mark that is detached from its move, or a
    /// move in an odd spelling.
    pub(super) fn no_move(&mut self, at: usize, error: san::MoveError) -> Result<(), Stop> {
        let place = at..self.source.at;
        let text = self.source.slice(place.clone());
        let has_move = self.builder.has_move();
        let is_detached = has_move && (matches!(text, b"ep" | b"e.p.") || san::is_mark(text));
        let nags = if has_move && !is_detached { annotation_signs(text) } else { None };
        let is_sign = is_detached || nags.is_some();
        let is_letter = matches!(text, [letter] if letter.is_ascii_alphabetic());
        let is_lenient = self.options.profile == Profile::Lenient;
        let may_be_move = may_be_move(&self.options.language.to_english(text));
        if is_lenient {
            if let Some(length) = self.letters_before_number(place.clone()) {
                self.source.at = at + length;
                return self.keep_as_comment(TOKEN, at, "not a move; kept as a comment");
            }
            let was_reread = if !is_sign {
                self.reread(place.clone())?
            } else {
                is_letter && self.reread_sign(place.clone())?
            };
            if was_reread {
                return Ok(());
            }
        }
        let text = self.source.slice(place.clone());
        if let Some(nags) = nags {
            let after = nags.iter().map(|nag| format!("${nag}")).collect::<Vec<_>>().join(" ");
            let message = format!("a sign in place of a NAG; read as {after}");
            let codes = (codes::E_PGN_TOKEN, codes::W_PGN_NAG);
            self.repair(codes, place, after, message)?;
            return nags.into_iter().try_for_each(|nag| self.add_nag(at, nag));
        }
        if is_detached {
            let message = format!("{} is separate from its move; dropped", shown(text));
            return self.repair(DETACHED, place, "", message);
        }
        let message = format!("{}: {}", shown(text), error.message);
        if !is_lenient {
            return self.give_up_line(error.code, at, message);
        }
        let head = glued_marker(text).filter(|length| self.is_move(&text[..*length]));
        if let Some(length) = head {
            return self.split_marker(place, length);
        }
        if let Some(length) = self.move_before_signs(text) {
            // The signs are the next symbol.
            return self.play(at..at + length);
        }
        if may_be_move || self.builder.game().plies().next().is_none() {
            return self.give_up_line(error.code, at, message);
        }
        if text.iter().all(u8::is_ascii_punctuation) {
            return self.drop_sign(at);
        }
        self.words(at)
    }

    /// Length of the move at the start of a symbol, if all that follows it are signs. If the move
    /// gives check, a `+` after it belongs to the move.
    fn move_before_signs(&self, text: &[u8]) -> Option<usize> {
        if text.len() > MAX_ODD {
            return None;
        }
        let playable = self.builder.replay()?.playable();
        let is_move = |head: &[u8]| {
            let english = self.options.language.to_english(head);
            let Ok(found) = san::find(&playable, &english, Profile::Lenient) else { return false };
            let has_mark = head.ends_with(b"+") || head.ends_with(b"#");
            !has_mark || playable.after(found.mv).is_check()
        };
        let is_known = |tail: &[u8]| annotation_signs(tail).is_some();
        let is_sign = |tail: &[u8]| !tail.iter().any(u8::is_ascii_alphanumeric);
        // Known signs come first: `Qh5+-` is a move and `+-`, not `Qh5+` and a hyphen.
        let lengths = || (2..text.len()).rev();
        lengths()
            .find(|&length| is_known(&text[length..]) && is_move(&text[..length]))
            .or_else(|| lengths().find(|&at| is_sign(&text[at..]) && is_move(&text[..at])))
    }

    /// Length of the letters at the start of a symbol such as `aa4`, if the rest is the number of
    /// the next move, and the move follows after a period. A symbol after a number is a move.
    fn letters_before_number(&self, place: Range<usize>) -> Option<usize> {
        let text = self.source.slice(place.clone());
        let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let behind = self.source.slice(place.end..place.end + MAX_TOKEN).strip_prefix(b".")?;
        let expected = self.builder.replay()?.fullmove_number();
        let is_number = number(&text[letters..]) == Some(expected) && letters < text.len();
        let is_first = self.start_of_number(place.start) == place.start;
        let before_move = is_number && is_first && self.is_move(symbol(trim_blanks(behind)));
        before_move.then_some(letters)
    }

    /// Drops a sign without a meaning, which ends here.
    fn drop_sign(&mut self, at: usize) -> Result<(), Stop> {
        let message =
            format!("{} has no meaning here", shown(self.source.slice(at..self.source.at)));
        // Without tags and moves before it, this may be any text.
        if self.tags_end == 0 && self.builder.game().plies().next().is_none() {
            return self.give_up_line(codes::E_PGN_TOKEN, at, message);
        }
        self.repair(TOKEN, at..self.source.at, "", message + "; dropped")
    }

    /// Keeps the last symbol, which cannot be a move, and such symbols after it in the line as a
    /// comment.
    fn words(&mut self, at: usize) -> Result<(), Stop> {
        self.source.want_token()?;
        self.source.at = at + word_length(self.source.slice(at..at + MAX_TOKEN));
        loop {
            let rest = self.source.rest();
            let rest = &rest[..rest.len().min(MAX_TOKEN)];
            let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let word = symbol(&rest[blanks..]);
            let is_whole = blanks + word.len() < rest.len();
            if blanks == 0 || !is_whole || !self.is_word(&rest[blanks..], word) {
                break;
            }
            self.source.at += blanks + word_length(&rest[blanks..]);
            self.source.want_token()?;
        }
        self.keep_as_comment(TOKEN, at, "not a move; kept as a comment")
    }

    /// Whether a symbol at the start of a text has no meaning in a game.
    fn is_word(&self, text: &[u8], word: &[u8]) -> bool {
        word.first().is_some_and(|byte| !byte.is_ascii_digit() && !byte.is_ascii_punctuation())
            && Spelled::at_start(text).is_none()
            && null_move(text).is_none()
            && annotation_signs(word).is_none()
            && !san::is_mark(word)
            && !may_be_move(&self.options.language.to_english(word))
    }
}

/// Length of the word at the start of a text, with apostrophes and the like. They end it if a move
/// may follow them.
fn word_length(text: &[u8]) -> usize {
    let is_of_word = |byte: &&u8| is_symbol(**byte) || matches!(**byte, b'\'' | b'"' | b',' | b'.');
    let word = &text[..text.iter().take_while(is_of_word).count()];
    if word.iter().any(u8::is_ascii_digit) { symbol(text).len() } else { word.len() }
}

/// Length of a command such as `[%clk 0:03:00]`, or of markup such as `<b class=x>`, at the start of
/// a text.
fn command_length(text: &[u8]) -> Option<usize> {
    let text = &text[..text.len().min(MAX_TOKEN)];
    let close = match text {
        [b'[', b'%', ..] => b']',
        [b'<', next, ..] if next.is_ascii_alphabetic() => b'>',
        _ => return None,
    };
    let end = memchr::memchr3(close, b'\n', b'\r', text)?;
    (text[end] == close).then_some(end + 1)
}

/// Moves, numbers and plain comments in export format. At most one blank or line end precedes each of them.
struct UsualTokens<'t> {
    text: &'t [u8],
    /// End of the tokens read so far.
    at: usize,
    /// Place of the last number.
    number_at: Option<usize>,
    number: MoveNumber,
}

/// Maximum length of a blank, a number with its periods, a blank and a move, all together.
const WINDOW: usize = 32;

impl UsualTokens<'_> {
    /// Reads moves, move numbers and plain comments in export format. Stops before any other token.
    fn take(&mut self, turn: Color, builder: &mut GameBuilder) -> Result<(), BuildError> {
        // Each side has a call (and so a copy) of `ply`, which lets the processor predict where
        // numbers are.
        let mut is_white = turn == Color::White;
        while (!is_white || self.ply(builder)?) && self.ply(builder)? {
            is_white = true;
            self.number.advance();
        }
        if let [b' ' | b'\n', b'{', ..] = self.text[self.at..] {
            self.at += 1;
        }
        Ok(())
    }

    /// Reads a number, if there is one, the move after it, and the comments on the move. False if no move follows,
    /// and if only [`GameReader::step`] can tell: near the end of the text, or if a token is unusual.
    #[inline(always)]
    fn ply(&mut self, builder: &mut GameBuilder) -> Result<bool, BuildError> {
        let start = self.at;
        let Some(window) = self.text[start..].first_chunk::<WINDOW>() else { return Ok(false) };
        let Some(replay) = builder.replay() else { return Ok(false) };
        let mut place = blank_length(window, 0);
        if window[place].is_ascii_digit() {
            let Some(length) = self.number.length_at(window, place) else { return Ok(false) };
            self.number_at = Some(start + place);
            place += length;
            self.at = start + place;
            place += blank_length(window, place);
        }
        let Some(text) = window[place..].first_chunk() else { return Ok(false) };
        let Some(token) = san::Token::before_blank(*text) else { return Ok(false) };
        let Some((mv, role)) = san::quick(situation(replay), token) else { return Ok(false) };
        let end = place + token.len();
        if window.get(end..end + 2) == Some(b" -") {
            // This may be the first half of `O-O -O`.
            return Ok(false);
        }
        self.at = start + end;
        builder.put_move(mv, role)?;
        while let [b' ' | b'\n', b'{', text @ ..] = &self.text[self.at..]
            && let Some(comment) = plain_comment(text)
            && builder.add_plain_comment(comment)?
        {
            self.at += 2 + comment.len() + 1;
        }
        Ok(true)
    }
}

/// The comment at the start of a text, without its braces. `None` if no brace closes it in the text, if it is not
/// ASCII, or if it may go on after the brace.
#[inline]
fn plain_comment(text: &[u8]) -> Option<&str> {
    let brace = memchr::memchr2(b'{', b'}', text)?;
    let comment = &text[..brace];
    if text[brace] == b'{' || comment.ends_with(b"\\") || !comment.is_ascii() {
        return None;
    }
    std::str::from_utf8(comment).ok()
}

/// Length of the blank or line end at a place. 0 for another byte, or if a `%` line follows.
#[inline(always)]
fn blank_length(window: &[u8; WINDOW], place: usize) -> usize {
    match window[place..] {
        [b' ', ..] => 1,
        [b'\n', next, ..] if next != b'%' => 1,
        [b'\r', b'\n', next, ..] if next != b'%' => 2,
        _ => 0,
    }
}

/// A move number and its text.
struct MoveNumber {
    value: u32,
    /// The digits of the number and a period, the first in the lowest byte.
    text: u64,
    len: usize,
}

impl MoveNumber {
    fn new(value: u32) -> MoveNumber {
        let mut text = u64::from(b'.');
        let mut len = 1;
        let mut rest = value;
        while len < 8 {
            text = text << 8 | u64::from(b'0' + (rest % 10) as u8);
            len += 1;
            rest /= 10;
            if rest == 0 {
                return MoveNumber { value, text, len };
            }
        }
        // The number is too long, so its text matches nothing.
        MoveNumber { value, text: u64::MAX, len: 8 }
    }

    /// Advances to the next number.
    #[inline(always)]
    fn advance(&mut self) {
        let last_digit = 8 * (self.len - 2);
        self.value = self.value.saturating_add(1);
        if self.text >> last_digit & 0xff < u64::from(b'9') {
            self.text += 1 << last_digit;
        } else {
            *self = MoveNumber::new(self.value);
        }
    }

    /// Length of this number with its periods at a place of the window. `None` if the text is not
    /// this number, or if it has no period or too many.
    #[inline(always)]
    fn length_at(&self, window: &[u8; WINDOW], place: usize) -> Option<usize> {
        let text = u64::from_le_bytes(*window[place..].first_chunk()?);
        if (text ^ self.text) << (64 - 8 * self.len) != 0 {
            return None;
        }
        let behind = &window[place + self.len..];
        let more = behind.iter().take_while(|byte| **byte == b'.').count();
        (more < 4).then_some(self.len + more)
    }
}

fn typographic_periods(text: &[u8]) -> Option<Typographic> {
    Typographic::at_start(text).filter(Typographic::is_period)
}

/// Names the code points of the typographic characters of a word, for messages.
fn unicode(text: &[u8]) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let found = Typographic::at_start(rest);
        names.extend(found.map(|found| shown_character(found.character)));
        rest = &rest[character_length(rest)..];
    }
    names.dedup();
    names.join(", ")
}

fn situation(replay: &Replay) -> san::Situation<'_> {
    san::Situation { position: replay.position(), may_be_check: replay.may_be_check() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(text: &str) -> [u8; WINDOW] {
        let mut window = [b' '; WINDOW];
        window[1..=text.len()].copy_from_slice(text.as_bytes());
        window
    }

    #[test]
    fn plain_comments_end_at_their_first_brace() {
        for (text, comment) in [
            ("a} b}", Some("a")),
            (" [%clk 0:01:00] } 1... e5 {b}", Some(" [%clk 0:01:00] ")),
            ("}", Some("")),
            ("a", None),
            ("a {b} c}", None),
            ("a \\} b}", None),
            ("\u{e9}}", None),
        ] {
            assert_eq!(plain_comment(text.as_bytes()), comment, "{text}");
        }
    }

    #[test]
    fn numbers_are_known_by_their_text() {
        let mut number = MoveNumber::new(0);
        for value in 0..12_345_u32 {
            let text = value.to_string();
            let length = |text: &str| number.length_at(&window(text), 1);
            assert_eq!(length(&format!("{text}.e4")), Some(text.len() + 1));
            assert_eq!(length(&format!("{text}... e5")), Some(text.len() + 3));
            assert_eq!(length(&text), None);
            assert_eq!(length(&format!("{text}0.")), None);
            assert_eq!(length(&format!("{}.", value + 1)), None);
            assert_eq!(length(&format!("{text}........")), None);
            number.advance();
        }
        for value in [9_999_998, 9_999_999, 10_000_000, u32::MAX] {
            let mut number = MoveNumber::new(value);
            let is_known = number.length_at(&window(&format!("{value}. e4")), 1).is_some();
            assert_eq!(is_known, value < 10_000_000, "{value}");
            number.advance();
            assert_eq!(number.value, value.saturating_add(1));
        }
        let mut number = MoveNumber::new(9_999_999);
        number.advance();
        assert_eq!(number.length_at(&window("9999999. e4"), 1), None);
    }
}
