//! Tag pairs: how they are spelled, and where those of a game end. What their values mean, and
//! which of them must agree, stands in [`tags`].

use std::borrow::Cow;
use std::io::Read;

use super::GameReader;
use super::blanks::has_blank_line;
use super::report::{STRING, TAG};
use super::stop::Stop;
use super::tokens::SPEC_LENGTH;
use crate::model::{BuildError, GameBuilder, SEVEN_TAG_ROSTER, is_tag_name, is_tag_name_byte};
use crate::text::pgn::charset::{Charset, decode};
use crate::text::pgn::tags::{self, TagRepair};
use crate::text::pgn::write;
use crate::text::{Profile, codes};

impl<R: Read> GameReader<R> {
    /// Whether the `[` here belongs to the next game: movetext came before it, or the tags of this
    /// one ended at a blank line or have this tag already.
    pub(super) fn begins_next_game(&mut self) -> Result<bool, Stop> {
        let may_begin = if self.in_movetext {
            self.is_first_in_line(self.source.at)
        } else {
            self.look_for_blank_line();
            self.after_blank_line && !self.has_event_alone() || self.repeats_roster_tag()
        };
        Ok(may_begin && is_tag_like(self.source.rest()))
    }

    /// Looks between the last tag and here.
    pub(super) fn look_for_blank_line(&mut self) {
        if !self.in_movetext && self.tags_end > 0 {
            let gap = self.source.slice(self.tags_end..self.source.at);
            self.after_blank_line |= has_blank_line(gap);
        }
    }

    /// Whether the tag here is one of the seven and the game has it.
    pub(super) fn repeats_roster_tag(&self) -> bool {
        let text = self.source.rest()[1..].trim_ascii_start();
        let name = &text[..text.iter().take_while(|byte| is_tag_name_byte(**byte)).count()];
        let roster = SEVEN_TAG_ROSTER.into_iter().find(|other| other.as_bytes() == name);
        roster.is_some_and(|name| self.builder.game().has_tag(name))
    }

    /// Whether `Event` is the only tag so far: ChessBase leaves a line blank behind it.
    pub(super) fn has_event_alone(&self) -> bool {
        let game = self.builder.game();
        game.tags()
            .filter(|(name, _)| game.has_tag(name))
            .eq([("Event", game.tag("Event").unwrap_or_default())])
    }

    /// Remembers where a tag ended.
    pub(super) fn end_tag(&mut self) {
        self.tags_end = self.source.at;
        self.after_blank_line = false;
    }

    /// Applies the rules for tags once all are known.
    pub(super) fn begin_movetext(&mut self) -> Result<(), Stop> {
        if std::mem::replace(&mut self.in_movetext, true) {
            return Ok(());
        }
        let at = self.source.at;
        let repairs = match tags::apply_rules(&mut self.builder) {
            Ok(repairs) => repairs,
            Err(error) => return Err(self.refused(error.code(), at, error.to_string())),
        };
        for repair in repairs {
            let (codes, message) = match repair {
                TagRepair::LenientFen => (
                    (codes::E_PGN_SETUP, codes::W_PGN_SETUP),
                    "the FEN tag is no canonical FEN; the position was read leniently",
                ),
            };
            self.keep(codes, at, message)?;
        }
        Ok(())
    }

    /// Takes tags as long as each begins the game or stands in the line behind the one before, spelled
    /// as the export format has them, with a name of its own. All else is left to
    /// [`GameReader::tag`].
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

    /// `[Name "value"]`.
    pub(super) fn tag(&mut self) -> Result<(), Stop> {
        let open = self.source.at;
        if let Some((name, value)) = plain_tag(self.source.rest()) {
            let length = name.len() + value.len() + 5;
            let value_at = open + name.len() + 3..open + length - 2;
            let name = std::str::from_utf8(name).unwrap_or_default();
            let value = decode(value, self.options.charset);
            let recoded = matches!(value, Cow::Owned(_));
            let added = self.builder.add_tag(name, &value);
            self.source.at += length;
            self.end_tag();
            self.tag_added(open, added)?;
            return if recoded { self.note_latin1(value_at) } else { Ok(()) };
        }
        self.source.at += 1;
        self.next_byte(true)?;
        let name = self.tag_name(open)?;
        if self.next_byte(true)? != Some(b'"') {
            return Err(self.refused(codes::E_PGN_TAG, open, "a tag is `[Name \"value\"]`"));
        }
        let value = self.tag_value()?;
        let end = self.source.at;
        if self.next_byte(true)? == Some(b']') {
            self.source.at += 1;
        } else {
            let closed = [self.source.slice(open..end), b"]"].concat();
            self.repair(TAG, open..end, closed, "the tag is not closed with `]`")?;
        }
        self.end_tag();
        let added = self.builder.add_tag(&name, &value);
        self.tag_added(open, added)
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

    pub(super) fn tag_name(&mut self, open: usize) -> Result<String, Stop> {
        let rest = self.source.rest();
        let len = rest.iter().take_while(|byte| is_tag_name_byte(**byte)).count();
        let name = String::from_utf8_lossy(&rest[..len]).into_owned();
        if !is_tag_name(&name) {
            return Err(self.refused(codes::E_PGN_TAG, open, "a tag is `[Name \"value\"]`"));
        }
        if name.bytes().any(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')) {
            let message = "the name of a tag has letters, digits and underscores only; kept";
            self.keep(TAG, self.source.at, message)?;
        }
        self.source.at += len;
        Ok(name)
    }

    /// A string, which ends in its line.
    pub(super) fn tag_value(&mut self) -> Result<String, Stop> {
        let open = self.source.at;
        let end_of_line = self.source.end_of_line(open)?;
        let line = self.source.slice(open + 1..end_of_line);
        let (text, end, repaired) = match closing_quote(line) {
            Some(place) if !has_stray_quote(&line[place + 1..]) => {
                (&line[..place], place + 1, None)
            }
            Some(place) => {
                let place = quote_before_bracket(line).unwrap_or(place);
                let message = "a quote inside the string without a backslash; kept";
                (&line[..place], place + 1, Some(message))
            }
            None => {
                let text = line.trim_ascii_end();
                let without = text.strip_suffix(b"]").unwrap_or(text);
                let value = without.strip_suffix(b"\"").unwrap_or(without);
                (value, without.len(), Some("the string is not closed; closed here"))
            }
        };
        let length = text.len();
        let value = unescape(text);
        let value = decode(&value, self.options.charset);
        let recoded = matches!(value, Cow::Owned(_));
        let value = value.into_owned();
        self.source.at = open + 1 + end;
        let place = open..self.source.at;
        if recoded {
            self.note_latin1(open + 1..open + 1 + length)?;
        }
        if let Some(message) = repaired {
            self.repair(STRING, place.clone(), write::quoted(&value), message)?;
        }
        if value.chars().count() > SPEC_LENGTH {
            self.keep(STRING, open, "the string is longer than 255 characters; kept")?;
        }
        if value.contains(|c: char| c.is_ascii_control()) {
            let value = value.replace(|c: char| c.is_ascii_control(), " ");
            let message = "a control character in the string; read as a blank";
            self.repair(STRING, place, write::quoted(&value), message)?;
            return Ok(value);
        }
        Ok(value)
    }

    /// Passes a tag of a game that was refused; that the game has it counts.
    pub(super) fn skip_tag(&mut self) -> Result<(), Stop> {
        if let Some((name, _)) = plain_tag(self.source.rest()) {
            let name = std::str::from_utf8(name).unwrap_or_default();
            // The game is refused already: what is wrong with a further tag is not reported.
            self.builder.add_tag(name, "").ok();
        }
        self.source.at = self.source.end_of_line(self.source.at)?;
        self.end_tag();
        Ok(())
    }
}

/// So many bytes of tags are looked at together.
const TAGS_AT_ONCE: usize = 512;

/// The first bytes as far as they are one text in UTF-8 and in the declared character set.
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

/// Takes tags from the start of a text, and gives the length of what was taken.
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

/// Whether text begins like a tag pair.
fn is_tag_like(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"[").unwrap_or_default().trim_ascii_start();
    let name = text.iter().take_while(|byte| is_tag_name_byte(**byte)).count();
    name > 0 && text[name..].trim_ascii_start().starts_with(b"\"")
}

/// Name and value of a tag pair that stands as export format has it, without backslashes.
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

/// The bytes that stand for themselves in the value of a tag.
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

/// The place of the quote that ends a string, behind the opening one.
fn closing_quote(line: &[u8]) -> Option<usize> {
    let mut escaped = false;
    line.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Whether what follows a string shows that its last quote was not the last: text, and then a
/// quote and a bracket.
fn has_stray_quote(behind: &[u8]) -> bool {
    let next = behind.trim_ascii_start().first();
    !matches!(next, None | Some(b']' | b'[' | b'{' | b';'))
        && quote_before_bracket(behind).is_some()
}

/// The place of the first quote that a bracket follows.
fn quote_before_bracket(line: &[u8]) -> Option<usize> {
    (0..line.len()).find(|&place| {
        line[place] == b'"' && line[place + 1..].trim_ascii_start().starts_with(b"]")
    })
}

/// Takes the backslashes off quotes and backslashes; others stay.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'\\', [second @ (b'"' | b'\\'), behind @ ..]) => {
                out.push(*second);
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    out
}
