//! Tag pairs: their spelling, and the end of the tags of a game. The rules for their values are in
//! [`tags`].

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::blanks::{has_blank_line, trim_blanks};
use super::report::TAG;
use super::tag_strings::{MAX_LINES, begins_with_quote};
use super::tokens::{SPEC_LENGTH, marker_length, null_move};
use super::{Extras, Stop};
use crate::model::{
    BuildError, GameBuilder, SEVEN_TAG_ROSTER, is_tag_name, is_tag_name_byte, is_well_known_tag,
    without_signs,
};
use crate::text::charset::{Charset, decode};
use crate::text::diagnostic::shown;
use crate::text::pgn::tag_values;
use crate::text::pgn::tags::{self, TagRepair};
use crate::text::{Profile, codes, san};

impl<R: Read> GameReader<R> {
    /// Whether a tag pair begins here. It begins with `[`; among tags it may also begin with a
    /// known name that lacks the bracket.
    pub(super) fn is_tag(&self, byte: u8) -> bool {
        let may_lack_bracket = !self.in_movetext && byte.is_ascii_uppercase();
        byte == b'['
            || may_lack_bracket
                && self.is_first_in_line(self.source.at)
                && lacks_bracket(self.source.rest())
    }

    /// Whether the tag here belongs to the next game. After movetext, it does if it is at the start
    /// of a line and looks like a tag pair. After a blank line, it does if it is repeated, or if it
    /// is the tag `Event`. Among tags without a blank line, only a repeated tag `Event` does, if the
    /// game has all tags of the roster and another tag of the roster follows.
    pub(super) fn begins_next_game(&mut self) -> Result<bool, Stop> {
        if self.in_movetext {
            return Ok(self.is_first_in_line(self.source.at) && is_tag_like(self.source.rest()));
        }
        self.look_for_blank_line();
        let text = self.source.rest();
        let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
        let Some((_, name)) = read_name(text) else { return Ok(false) };
        let game = self.builder.game();
        let is_event = name == SEVEN_TAG_ROSTER[0];
        if self.after_blank_line {
            return Ok(game.has_tag(&name) || is_event && game.has_tags());
        }
        let has_roster = is_event && SEVEN_TAG_ROSTER.iter().all(|name| game.has_tag(name));
        Ok(has_roster && self.roster_goes_on()?)
    }

    /// Whether a tag of the roster follows the `Event` tag that begins here, without a blank line
    /// between them.
    fn roster_goes_on(&mut self) -> Result<bool, Stop> {
        let mut at = self.source.at;
        // Many `Event` tags in a row would search the same lines over and over.
        if at < self.roster_ended {
            return Ok(false);
        }
        loop {
            let end = self.source.end_of_line(at)?;
            if has_roster_tag(self.source.slice(at..end)) {
                return Ok(true);
            }
            self.roster_ended = end;
            let Some(line) = self.next_line(end)? else { return Ok(false) };
            let first = self.source.slice(line.clone()).trim_ascii_start().first();
            if !matches!(first, Some(b'[' | b'%' | b';')) {
                return Ok(false);
            }
            at = line.start;
        }
    }

    /// Returns the end of lines of text that begin here, if they are between two tags of one game
    /// and have nothing that may be movetext.
    pub(super) fn end_of_text_between_tags(&mut self) -> Result<Option<usize>, Stop> {
        let at = self.source.at;
        if self.in_movetext || self.tags_end == 0 || !self.is_first_in_line(at) {
            return Ok(None);
        }
        let mut line = at..self.source.end_of_line(at)?;
        let mut text_end = line.end;
        for _ in 0..MAX_LINES {
            let text = self.source.slice(line.clone()).trim_ascii();
            if text.starts_with(b"[") {
                let name = read_name(text[1..].trim_ascii_start()).map(|(_, name)| name);
                let goes_on = is_tag_like(text)
                    && name.is_some_and(|name| {
                        name != SEVEN_TAG_ROSTER[0] && !self.builder.game().has_tag(&name)
                    });
                return Ok(if goes_on { Some(text_end) } else { None });
            }
            if may_be_movetext(text) {
                return Ok(None);
            }
            if !text.is_empty() {
                text_end = line.end;
            }
            let Some(next) = self.next_line(line.end)? else { return Ok(None) };
            line = next;
        }
        Ok(None)
    }

    /// Keeps text between tags, up to `end`, as a comment.
    pub(super) fn text_between_tags(&mut self, end: usize) -> Result<(), Stop> {
        let at = self.source.at;
        self.look_for_blank_line();
        self.source.at = end;
        self.tags_end = end;
        self.keep_as_comment(TAG, at, "text between tags; kept as a comment")
    }

    /// Looks for a blank line between the last tag and this place.
    pub(super) fn look_for_blank_line(&mut self) {
        if !self.in_movetext && self.tags_end > 0 {
            let gap = self.source.slice(self.tags_end..self.source.at);
            self.after_blank_line |= has_blank_line(gap);
        }
    }

    /// Remembers that a tag ends here.
    pub(super) fn end_tag(&mut self) {
        self.tags_end = self.source.at;
        self.after_blank_line = false;
    }

    /// Applies the rules for tags when all of them are read.
    pub(super) fn begin_movetext(&mut self) -> Result<(), Stop> {
        if self.in_movetext {
            return Ok(());
        }
        self.in_movetext = true;
        let at = self.source.at;
        let repairs = match tags::apply_rules(&mut self.builder) {
            Ok(repairs) => repairs,
            Err(error) => return Err(self.refused(error.code(), at, error.to_string())),
        };
        for repair in repairs {
            let (codes, message) = match repair {
                TagRepair::LenientFen => (
                    (codes::E_PGN_SETUP, codes::W_PGN_SETUP),
                    "the FEN tag is not a canonical FEN; the position was read leniently",
                ),
                TagRepair::NoFen => {
                    self.assumes_start = true;
                    let message =
                        "SetUp \"1\" needs a FEN tag with a position; the start array assumed";
                    ((codes::E_PGN_SETUP, codes::W_PGN_SETUP), message)
                }
            };
            self.keep(codes, at, message)?;
        }
        self.check_tag_values(at)
    }

    /// Warns about invalid values of tags that become fields. If the options ask for it, all
    /// standard tags are checked.
    fn check_tag_values(&mut self, at: usize) -> Result<(), Stop> {
        let mut found = Vec::new();
        for (name, value) in self.builder.game().tags() {
            let is_checked = self.options.check_tags || tag_values::is_field(name);
            if is_checked && let Some(expected) = tag_values::expected(name, value) {
                found.push(format!("{name} is {}; expected {expected}", shown(value.as_bytes())));
            }
        }
        found.into_iter().try_for_each(|message| self.warn(codes::W_PGN_TAGVALUE, at, message))
    }

    /// Reads tags in export format from the start of the game. Each tag has its own line, with
    /// nothing between the lines, and each name occurs only once. [`GameReader::tag`] reads
    /// everything else.
    pub(super) fn usual_tags(&mut self) {
        while self.tags_end == self.source.at && !self.in_movetext {
            let text = utf8_prefix(self.source.rest(), self.options.charset);
            let is_first = self.source.at == 0;
            let taken = take_usual_tags(text, is_first, &mut self.builder);
            if taken == 0 {
                return;
            }
            self.source.at += taken;
            self.end_tag();
        }
    }

    /// Reads `[Name "value"]`.
    pub(super) fn tag(&mut self) -> Result<(), Stop> {
        let open = self.source.at;
        if let Some((name, value)) = plain_tag(self.source.rest()) {
            let value_start = open + "[".len() + name.len() + " \"".len();
            let value_at = value_start..value_start + value.len();
            let end = value_at.end + "\"]".len();
            let name = std::str::from_utf8(name).unwrap_or_default();
            let value = decode(value, self.options.charset);
            let recoded = matches!(value, Cow::Owned(_));
            let added = self.builder.add_tag(name, &value);
            self.source.at = end;
            self.end_tag();
            self.tag_added(open, added)?;
            return if recoded { self.note_windows_1252(value_at) } else { Ok(()) };
        }
        if self.source.rest().first() == Some(&b'[') {
            self.source.at += 1;
        } else {
            self.repair(TAG, open..open, "[", "the tag does not begin with `[`")?;
        }
        self.next_byte(Extras::Keep)?;
        let Some(name) = self.tag_name()? else { return self.drop_tag(open) };
        let Some(value) = self.tag_value(&name)? else { return self.drop_tag(open) };
        if !self.close_tag(open, &name)? {
            return self.drop_tag(open);
        }
        self.end_tag();
        let added = self.builder.add_tag(&name, &value);
        self.tag_added(open, added)
    }

    /// Reads the `]` after the value. Other text before the `]` is dropped if the tag name is
    /// known. If the name is not known, this is not a tag, and the result is false.
    fn close_tag(&mut self, open: usize, name: &str) -> Result<bool, Stop> {
        let end = self.source.at;
        if self.next_byte(Extras::Keep)? == Some(b']') {
            self.source.at += 1;
        } else {
            let line_end = self.source.end_of_line(end)?;
            let other = other_text_length(self.source.slice(end..line_end));
            let message = match other {
                0 => "the tag is not closed with `]`",
                _ if !is_well_known_tag(name) => return Ok(false),
                _ => "other text between the string and the end of the tag; dropped",
            };
            let closed = [self.source.slice(open..end), b"]"].concat();
            self.source.at = self.source.at.max(end + other);
            self.repair(TAG, open..end + other, closed, message)?;
        }
        Ok(true)
    }

    /// Reads a `]` after a tag that is closed already.
    pub(super) fn second_bracket(&mut self) -> Result<(), Stop> {
        let at = self.source.at;
        self.source.at += 1;
        self.end_tag();
        self.repair(TAG, at..at + 1, "", "the tag is closed already; `]` dropped")
    }

    /// Skips text in brackets that is not a tag pair.
    fn drop_tag(&mut self, open: usize) -> Result<(), Stop> {
        self.source.at = self.end_of_brackets(open)?;
        self.end_tag();
        let message = "not a tag pair, which is `[Name \"value\"]`; dropped";
        self.repair(TAG, open..self.source.at, "", message)
    }

    /// Finds the end of text in brackets. If the line has a `]`, the last `]` of the line ends the
    /// text; but the first `]` ends it if another opening bracket follows. If the line has no `]`,
    /// a `]` in the next lines ends the text, unless an empty line comes first. Otherwise the text
    /// ends with the line.
    fn end_of_brackets(&mut self, open: usize) -> Result<usize, Stop> {
        let line_end = self.source.end_of_line(open)?;
        let line = self.source.slice(open..line_end);
        if let Some(first) = line.iter().position(|byte| *byte == b']') {
            let is_followed = line[first + 1..].trim_ascii_start().starts_with(b"[");
            if is_followed {
                return Ok(open + first + 1);
            }
            let last = line.iter().rposition(|byte| *byte == b']');
            return Ok(open + last.unwrap_or(first) + 1);
        }
        let mut end = line_end;
        for _ in 0..MAX_LINES {
            let Some(line) = self.next_line(end)? else { break };
            end = line.end;
            let text = self.source.slice(line.clone());
            match text.iter().position(|byte| matches!(byte, b'[' | b']')) {
                Some(place) if text[place] == b']' => return Ok(line.start + place + 1),
                None if !text.trim_ascii().is_empty() => {}
                _ => break,
            }
        }
        Ok(line_end)
    }

    /// Returns the range of the line after a line end; `None` at the end of the stream.
    pub(super) fn next_line(&mut self, line_end: usize) -> Result<Option<Range<usize>>, Stop> {
        let start = match self.source.slice(line_end..line_end + 2) {
            [b'\r', b'\n'] => line_end + 2,
            _ => line_end + 1,
        };
        let end = self.source.end_of_line(start)?;
        Ok((end >= start).then_some(start..end))
    }

    pub(super) fn tag_added(
        &mut self,
        open: usize,
        added: Result<bool, BuildError>,
    ) -> Result<(), Stop> {
        if added == Ok(false) {
            let message = "a second tag of this name; the first counts";
            if self.options.profile == Profile::Strict {
                return Err(self.refused(codes::E_PGN_TAGDUP, open, message));
            }
            self.change(codes::W_PGN_TAGDUP, open..self.source.at, "", message)?;
        }
        self.built(open, added.map(drop))
    }

    /// Reads the name of a tag; `None` if no name is here.
    fn tag_name(&mut self) -> Result<Option<String>, Stop> {
        let at = self.source.at;
        let Some((length, name)) = read_name(self.source.rest()) else { return Ok(None) };
        let place = at..at + length;
        self.source.at = place.end;
        if name.as_bytes() != self.source.slice(place.clone()) {
            let message = format!("an unusual spelling of the tag `{name}`");
            self.repair(TAG, place, name.as_str(), message)?;
        } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let message = "the name of a tag has letters, digits and underscores only; kept";
            self.keep(TAG, at, message)?;
        }
        Ok(Some(name))
    }

    /// Skips a tag of a refused game, but notes that the game has this tag.
    pub(super) fn skip_tag(&mut self) -> Result<(), Stop> {
        match self.tag() {
            // The game is refused already, so faults of further tags are not reported.
            Err(Stop::Refused(_)) => {
                self.source.at = self.source.end_of_line(self.source.at)?;
                self.end_tag();
                Ok(())
            }
            passed => passed,
        }
    }
}

/// Maximum number of bytes in which [`GameReader::usual_tags`] reads tags at once.
const TAGS_AT_ONCE: usize = 512;

/// Returns the longest prefix that is valid UTF-8 and has the same meaning in the declared
/// character set.
fn utf8_prefix(bytes: &[u8], declared: Option<Charset>) -> &str {
    let bytes = &bytes[..bytes.len().min(TAGS_AT_ONCE)];
    if declared == Some(Charset::Latin1) && !bytes.is_ascii() {
        return "";
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Reads tags from the start of a text. Returns the number of bytes that were read.
fn take_usual_tags(text: &str, is_first: bool, builder: &mut GameBuilder) -> usize {
    let mut taken = 0;
    loop {
        let rest = &text[taken..];
        let end_of_line = match rest.as_bytes() {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => 0,
        };
        let begins = is_first && taken == 0;
        let Some((name, value)) = plain_tag(&rest.as_bytes()[end_of_line..]) else { return taken };
        if (end_of_line == 0) != begins {
            return taken;
        }
        let name = end_of_line + 1..end_of_line + 1 + name.len();
        let value = name.end + 2..name.end + 2 + value.len();
        let length = value.end + 2;
        if builder.add_checked_tag(&rest[name], &rest[value]) != Ok(true) {
            return taken;
        }
        taken += length;
    }
}

/// Whether a text begins like a tag pair.
fn is_tag_like(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"[").unwrap_or_default().trim_ascii_start();
    read_name(text).is_some_and(|(length, name)| {
        begins_with_quote(trim_blanks(&text[length..])) || SEVEN_TAG_ROSTER.contains(&name.as_str())
    })
}

/// Whether a line, or the rest of it, has a tag of the roster other than `Event`.
fn has_roster_tag(line: &[u8]) -> bool {
    memchr::memchr_iter(b'[', line).any(|open| {
        let before = line[..open].trim_ascii_end();
        let name = || read_name(line[open + 1..].trim_ascii_start()).map(|(_, name)| name);
        (before.is_empty() || before.ends_with(b"]"))
            && name().is_some_and(|name| SEVEN_TAG_ROSTER[1..].contains(&name.as_str()))
    })
}

/// Whether a line has a word that may be of movetext: a move, the number of a move, a termination
/// marker, or the beginning of a comment, a NAG or a variation.
fn may_be_movetext(line: &[u8]) -> bool {
    let is_square = |pair: &[u8; 2]| matches!(pair, [b'a'..=b'h', b'1'..=b'8']);
    line.split(u8::is_ascii_whitespace).any(|word| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && word.get(digits) == Some(&b'.')
            || matches!(word.first(), Some(b'{' | b';' | b'(' | b'$' | b'*'))
            || marker_length(word).is_some()
            || null_move(word).is_some()
            || word.array_windows().any(is_square)
            || san::circles(word).is_some_and(|circles| circles > 1)
    })
}

/// Whether a line is a tag pair that lacks its opening bracket.
fn lacks_bracket(text: &[u8]) -> bool {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    read_name(line).is_some_and(|(length, name)| {
        is_well_known_tag(&name)
            && begins_with_quote(trim_blanks(&line[length..]))
            && line.trim_ascii_end().ends_with(b"]")
    })
}

/// Reads the tag name at the start of a text. Returns the length of its spelling and the name. A
/// known name may have blanks and signs in it, such as `Black Elo`; another name must have the
/// spelling of the standard.
fn read_name(text: &[u8]) -> Option<(usize, String)> {
    let word = text.iter().take_while(|byte| is_tag_name_byte(**byte)).count();
    let known = [words_before_quote(text), word].into_iter().find_map(|length| {
        let name = &text[..length];
        let as_it_is = || std::str::from_utf8(name).ok().map(str::to_owned);
        let name = without_signs(name).or_else(as_it_is)?;
        is_well_known_tag(&name).then_some((length, name))
    });
    let as_it_is = || {
        let name = std::str::from_utf8(&text[..word]).ok().filter(|name| is_tag_name(name))?;
        Some((word, name.to_owned()))
    };
    known.or_else(as_it_is)
}

/// Length of the words before a quote in the same line; 0 if no quote follows words.
fn words_before_quote(text: &[u8]) -> usize {
    let is_word = |byte: &&u8| is_tag_name_byte(**byte) && **byte != b'\'' || **byte == b' ';
    let length = text.iter().take_while(is_word).count();
    if begins_with_quote(&text[length..]) { text[..length].trim_ascii_end().len() } else { 0 }
}

/// Length of the text that is dropped after the string of a tag. The text goes up to the `]`, or to the end
/// of the line if there is no `]`. The length is 0 if the text may be movetext or another tag, because such
/// text is not dropped.
fn other_text_length(line: &[u8]) -> usize {
    let text = line.trim_ascii();
    if matches!(text.first(), None | Some(b'[' | b'{' | b';' | b'(' | b'*' | b'0'..=b'9')) {
        return 0;
    }
    let other_bracket = |byte: &u8| matches!(byte, b'[' | b'{' | b']');
    match line.iter().position(other_bracket) {
        Some(place) if line[place] == b']' => place + 1,
        Some(_) => 0,
        None => line.len(),
    }
}

/// Returns name and value of a tag pair that is in export format and has no backslashes.
fn plain_tag(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"[")?;
    let is_name_byte = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (name, text) = text.split_at(text.iter().take_while(|byte| is_name_byte(byte)).count());
    let text = text.strip_prefix(b" \"")?;
    let (value, text) =
        text.split_at(text.iter().take_while(|byte| VALUE_BYTES[usize::from(**byte)]).count());
    let fits = (1..=SPEC_LENGTH).contains(&name.len()) && value.len() <= SPEC_LENGTH;
    (fits && text.starts_with(b"\"]")).then_some((name, value))
}

/// Bytes that need no escape in the value of a tag.
static VALUE_BYTES: [bool; 256] = value_bytes();

const fn value_bytes() -> [bool; 256] {
    let mut table = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = !matches!(byte as u8, b'"' | b'\\' | 0x7f | ..b' ');
        byte += 1;
    }
    table
}
