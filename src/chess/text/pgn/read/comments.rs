//! Comments and `%` lines of games, and repairs of their text.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::blanks::is_white_space;
use super::{Extras, Stop};
use crate::text::charset::{Charset, decode};
use crate::text::{Profile, codes};

impl<R: Read> GameReader<R> {
    /// Reads a comment; `byte` is its first byte.
    pub(super) fn comment(&mut self, byte: u8) -> Result<(), Stop> {
        self.look_for_blank_line();
        let may_have_moves = true;
        match byte {
            b'{' => self.brace_comment(may_have_moves)?,
            _ => self.line_comments()?,
        }
        self.end_comment_of_tags();
        Ok(())
    }

    /// Skips a comment; `byte` is its first byte.
    pub(super) fn skip_comment(&mut self, byte: u8) -> Result<(), Stop> {
        self.look_for_blank_line();
        let at = self.source.at;
        self.source.at = match byte {
            b'{' => self.end_of_comment(at)?.end,
            _ => self.source.end_of_line(at)?,
        };
        self.end_comment_of_tags();
        Ok(())
    }

    /// Ends a comment. If the comment is among tags, `tags_end` moves to the end of the comment. So
    /// blank lines inside the comment do not count as blank lines between tags.
    fn end_comment_of_tags(&mut self) {
        if self.tags_end > 0 {
            self.tags_end = self.source.at;
        }
    }

    /// Reads the comments after the termination marker, which still belong to this game. A comment
    /// that is not closed is left to the next game, so that game is refused and not this one.
    pub(super) fn trailing_comments(&mut self, extras: Extras) -> Result<(), Stop> {
        let may_have_moves = false;
        loop {
            let before = self.source.at;
            let next = self.next_byte(Extras::Skip)?;
            let is_whole_comment = match next {
                Some(b'{') => match self.end_of_comment(self.source.at) {
                    Ok(_) => true,
                    Err(Stop::Refused(_)) => false,
                    Err(broken) => return Err(broken),
                },
                next => next == Some(b';'),
            };
            self.source.at = before;
            if !is_whole_comment {
                return Ok(());
            }
            // Only now are `%` lines before the comment kept.
            self.next_byte(extras)?;
            match next {
                Some(byte) if extras == Extras::Skip => self.skip_comment(byte)?,
                Some(b'{') => self.brace_comment(may_have_moves)?,
                _ => self.line_comments()?,
            }
        }
    }

    /// Reads a comment `{ … }`. `%` lines in the comment are escapes, but in the lenient profile
    /// they are text. A comment that is not closed cuts the game short, unless it is known that no moves follow.
    pub(super) fn brace_comment(&mut self, may_have_moves: bool) -> Result<(), Stop> {
        if self.short_comment()? {
            return Ok(());
        }
        let open = self.source.at;
        let CommentEnd { close, end, fault } = self.end_of_comment(open)?;
        self.source.at = end;
        match fault {
            None => {}
            Some(Fault::Braces) => {
                let message = "braces in a comment; kept with the text between them";
                self.warn(codes::W_PGN_COMMENT, open, message)?;
            }
            Some(Fault::Open) if may_have_moves && self.may_cut_short() => {
                self.is_truncated = true;
                let message = "the comment is not closed; the rest of the game is kept in it";
                self.warn(codes::W_PGN_TRUNCATED, open, message)?;
            }
            Some(Fault::Open) => {
                let message = "the comment is not closed; it ends where the game does";
                self.warn(codes::W_PGN_COMMENT, open, message)?;
            }
        }
        let text = self.source.slice(open + 1..close);
        let is_lenient = self.options.profile == Profile::Lenient;
        if is_lenient || !text.windows(2).any(|pair| matches!(pair, [b'\n' | b'\r', b'%'])) {
            return self.add_comment(open + 1..close);
        }
        let mut kept = Vec::with_capacity(text.len());
        let mut escapes = Vec::new();
        for (number, line) in text.split(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
            match line.strip_prefix(b"%") {
                Some(escape) if number > 0 => escapes.push(escape.to_vec()),
                _ => {
                    kept.extend_from_slice(line);
                    kept.push(b'\n');
                }
            }
        }
        for escape in escapes {
            self.add_escape(&escape, open)?;
        }
        self.add_comment_text(&kept, open + 1..close)
    }

    /// Reads a comment within one line, as most are. Returns false for any other comment.
    pub(super) fn short_comment(&mut self) -> Result<bool, Stop> {
        let open = self.source.at;
        let rest = self.source.rest();
        let end = memchr::memchr3(b'}', b'\n', b'\r', rest).filter(|end| rest[*end] == b'}');
        let Some(end) = end.filter(|end| !may_go_on(&rest[1..*end])) else { return Ok(false) };
        self.source.at += end + 1;
        self.add_comment(open + 1..open + end)?;
        Ok(true)
    }

    /// Finds the end of a comment. If another game begins before the comment is closed, the comment
    /// was left open. In the lenient profile it ends there; the other profiles refuse the game.
    pub(super) fn end_of_comment(&mut self, open: usize) -> Result<CommentEnd, Stop> {
        let is_lenient = self.options.profile == Profile::Lenient;
        let mut close = self.source.find(open + 1, b'}', b'}')?;
        while !is_lenient && self.is_brace(close) && self.is_in_escape(open, close) {
            let line_end = self.source.end_of_line(close)?;
            close = self.source.find(line_end, b'}', b'}')?;
        }
        let next_game = self.source.find_first_tag(open, close);
        let closed = self.is_brace(close);
        if next_game.is_none() && closed {
            let nested = if is_lenient && may_go_on(self.source.slice(open + 1..close)) {
                self.nested_close(open)?.filter(|nested| *nested != close)
            } else {
                None
            };
            let fault = nested.map(|_| Fault::Braces);
            let close = nested.unwrap_or(close);
            return Ok(CommentEnd { close, end: close + 1, fault });
        }
        let end = next_game.unwrap_or(close);
        if is_lenient {
            let text = self.source.slice(open + 1..end).trim_ascii_end().len();
            return Ok(CommentEnd { close: open + 1 + text, end, fault: Some(Fault::Open) });
        }
        self.source.at = end;
        Err(self.refused(codes::E_PGN_TOKEN, open, "the comment is not closed"))
    }

    fn is_brace(&self, place: usize) -> bool {
        self.source.slice(place..place + 1) == b"}"
    }

    /// Whether a place in a comment is in a `%` line.
    fn is_in_escape(&self, open: usize, at: usize) -> bool {
        let text = self.source.slice(open..at);
        let line = memchr::memrchr2(b'\n', b'\r', text).map(|end| &text[end + 1..]);
        line.is_some_and(|line| line.first() == Some(&b'%'))
    }

    /// Finds the brace that closes a comment with nested braces. Each nested brace must be closed
    /// within the comment or follow a backslash.
    fn nested_close(&mut self, open: usize) -> Result<Option<usize>, Stop> {
        let mut depth = 1;
        let mut from = open + 1;
        for _ in 0..MAX_BRACES {
            let place = self.source.find(from, b'{', b'}')?;
            match self.source.slice(place..place + 1) {
                b"{" => depth += 1,
                b"}" if self.source.before(place) == b'\\' => {}
                b"}" => depth -= 1,
                _ => return Ok(None),
            }
            if depth == 0 {
                let is_of_game = self.source.find_first_tag(open, place).is_none();
                return Ok(if is_of_game { Some(place) } else { None });
            }
            from = place + 1;
        }
        Ok(None)
    }

    /// Reads `; …` up to the end of the line. If the next line is such a comment too, both are read
    /// as one comment, because the writer splits long comments in this way.
    pub(super) fn line_comments(&mut self) -> Result<(), Stop> {
        let open = self.source.at;
        let mut text = Vec::new();
        loop {
            let from = self.source.at + 1;
            let end = self.source.end_of_line(from)?;
            text.extend_from_slice(self.source.slice(from..end));
            text.push(b' ');
            self.source.at = end;
            self.source.want_token()?;
            let rest = self.source.rest();
            let ends = match rest {
                [b'\r', b'\n', ..] => 2,
                [] => 0,
                _ => 1,
            };
            let blanks =
                rest[ends..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            if rest.get(ends + blanks) != Some(&b';') {
                break;
            }
            self.source.at += ends + blanks;
        }
        self.add_comment_text(&text, open + 1..self.source.at)
    }

    pub(super) fn add_comment(&mut self, place: Range<usize>) -> Result<(), Stop> {
        let raw = self.source.slice(place.clone());
        let text = decode(raw, self.options.charset);
        let is_recoded = matches!(text, Cow::Owned(_));
        if !is_recoded && !has_control(raw) {
            let added = self.builder.add_comment(&text);
            return self.built(place.start, added);
        }
        let raw = raw.to_vec();
        self.add_comment_text(&raw, place)
    }

    /// Adds a comment with the text `raw`, which was read from the range `place`.
    fn add_comment_text(&mut self, raw: &[u8], place: Range<usize>) -> Result<(), Stop> {
        let text = decode(raw, self.options.charset);
        let added = self.builder.add_comment(&text);
        self.built(place.start, added)?;
        if matches!(text, Cow::Owned(_)) {
            self.note_windows_1252(place.clone())?;
        }
        if raw.iter().any(is_control) {
            let whole = self.source.slice(place.clone());
            let first = whole.iter().position(is_control).unwrap_or_default();
            let after: Vec<u8> =
                whole.iter().map(|byte| if is_control(byte) { b' ' } else { *byte }).collect();
            let message = format!("control byte 0x{:02X} read as a blank", whole[first]);
            // The message names the first control character; the repair covers the whole comment.
            let codes = (codes::E_PGN_TOKEN, codes::W_LEN_CTRL);
            self.repair_at(codes, place.start + first, place, after, message)?;
        }
        Ok(())
    }

    /// Reads the `%` line that begins here, without its line end.
    pub(super) fn escape(&mut self, extras: Extras) -> Result<(), Stop> {
        let from = self.source.at + 1;
        let end = self.source.end_of_line(from)?;
        self.source.at = end;
        if extras == Extras::Keep {
            let text = self.source.slice(from..end).to_vec();
            self.add_escape(&text, from)?;
        }
        Ok(())
    }

    fn add_escape(&mut self, raw: &[u8], at: usize) -> Result<(), Stop> {
        let text = decode(raw, self.options.charset);
        let added = self.builder.add_escape(&text.replace('\0', " "));
        self.built(at, added)?;
        match text {
            Cow::Owned(_) => self.note_windows_1252(at..at + raw.len()),
            Cow::Borrowed(_) => Ok(()),
        }
    }

    /// Reports text that was read as Windows-1252 because it is not UTF-8. Nothing is reported in
    /// the stricter profiles, because the standard allows such text. Nothing is reported either if
    /// the file is declared to be Latin-1.
    pub(super) fn note_windows_1252(&mut self, place: Range<usize>) -> Result<(), Stop> {
        let is_declared = self.options.charset == Some(Charset::Latin1);
        if is_declared || self.options.profile != Profile::Lenient {
            return Ok(());
        }
        let after = decode(self.source.slice(place.clone()), None).into_owned();
        let message = "not UTF-8; read as Windows-1252, and written in UTF-8";
        self.change(codes::W_LEN_LATIN1, place, after, message)
    }
}

pub(super) struct CommentEnd {
    /// The end of the text of the comment.
    close: usize,
    /// The end of the comment, with its brace.
    pub(super) end: usize,
    fault: Option<Fault>,
}

/// A difference of a comment from those of the standard.
enum Fault {
    /// It has braces in it.
    Braces,
    /// It is not closed.
    Open,
}

/// Maximum number of braces that are examined to find the end of a comment with nested braces.
const MAX_BRACES: usize = 64;

/// True if a comment may continue after its first closing brace. `text` is the comment up to this
/// brace. The comment may continue if `text` has another opening brace, or a backslash at its end.
fn may_go_on(text: &[u8]) -> bool {
    text.last() == Some(&b'\\') || memchr::memchr(b'{', text).is_some()
}

/// Whether a text has control characters other than white space.
fn has_control(raw: &[u8]) -> bool {
    // The loop has no early exit, so the compiler can use vectors.
    let control = raw.iter().fold(false, |any, byte| any | (*byte < b' ') | (*byte == 0x7f));
    control && raw.iter().any(is_control)
}

fn is_control(byte: &u8) -> bool {
    byte.is_ascii_control() && !is_white_space(*byte)
}
