//! The writer of games in canonical form.

use std::borrow::Cow;

use super::error::PgcEncodeError;
use super::{extension, marker};
use crate::codec::item::PutItems;
use crate::codec::ordinal;
use crate::model::{Element, Game, Replay, SEVEN_TAG_ROSTER, Start};
use crate::text::pgn::{GameLosses, put_latin1};

/// Options for writing games. The default is the form of the standard; a game that this form cannot
/// express is refused.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct PgcEncodeOptions {
    /// True if escape records carry data for which PGC has no record. These are comments, null
    /// moves, text beyond Latin-1, long tags and escapes, and a checksum of each game.
    ///
    /// Readers that do not know these escape records skip them. They see `?` for characters beyond
    /// Latin-1, and the first 255 characters of a tag. They refuse a game with null moves.
    pub extended: bool,
    /// True if comments are left out if no escape record can carry them. Otherwise a game with such
    /// a comment is refused.
    pub drop_comments: bool,
    /// True if `%` lines are written. By default they are left out, as archives require.
    pub escapes: bool,
    /// True if `?` is written for characters that Latin-1 lacks and no escape record carries.
    /// Otherwise a game with such a character is refused.
    pub translit: bool,
    /// True if the checksum of extended games is left out, because other data proves that the bytes
    /// are right.
    pub no_checksum: bool,
}

impl PgcEncodeOptions {
    /// Options that express everything in a game of PGN, except `%` lines, and write a checksum of
    /// each game.
    pub const EXTENDED: PgcEncodeOptions = PgcEncodeOptions {
        extended: true,
        drop_comments: false,
        escapes: false,
        translit: false,
        no_checksum: false,
    };
}

/// Size in bytes of the two checksum records.
const CHECKSUMS: usize = 2 * (3 + extension::CHECKSUM.len() + 8);

/// Appends a game in canonical form. Returns counts of the parts that were left out.
///
/// # Errors
/// [`PgcEncodeError`]; then nothing is appended.
///
/// ```
/// use epdb_chess::codec::pgc::{PgcEncodeOptions, encode};
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. f3 e5 2. g4 Qh4# 0-1"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let mut bytes = Vec::new();
/// encode(read.game.expect("a good one"), &PgcEncodeOptions::default(), &mut bytes)
///     .expect("no comments");
/// assert!(bytes.ends_with(b"\x030-1\x04\x00\x0e\x0c\x10\x0e"));
/// assert_eq!(bytes.len(), 32);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn encode(
    game: &Game,
    options: &PgcEncodeOptions,
    out: &mut Vec<u8>,
) -> Result<GameLosses, PgcEncodeError> {
    let start = out.len();
    let mut writer =
        Writer { game, options, out, moves: Vec::new(), losses: GameLosses::default() };
    let written = writer.write();
    let losses = writer.losses;
    if written.is_err() {
        out.truncate(start);
    }
    written.map(|()| losses)
}

struct Writer<'a> {
    game: &'a Game,
    options: &'a PgcEncodeOptions,
    out: &'a mut Vec<u8>,
    /// Ordinals of moves that are not in a record yet.
    moves: Vec<u8>,
    losses: GameLosses,
}

impl Writer<'_> {
    fn write(&mut self) -> Result<(), PgcEncodeError> {
        let start = self.out.len();
        let has_checksum = self.options.extended && !self.options.no_checksum;
        if has_checksum {
            self.write_checksums(0)?;
        }
        self.write_leading_escapes()?;
        if self.is_reduced() {
            self.write_reduced()?
        } else {
            self.write_general()?
        }
        if has_checksum {
            let checked = start + CHECKSUMS;
            let checksum = crc32c::crc32c(&self.out[checked..]);
            let end = self.out.len();
            self.write_checksums(checksum)?;
            self.out.copy_within(end.., start);
            self.out.truncate(end);
        }
        Ok(())
    }

    fn write_checksums(&mut self, checksum: u32) -> Result<(), PgcEncodeError> {
        let text = format!("{checksum:08X}");
        let record = [extension::CHECKSUM, text.as_bytes()].concat();
        self.write_escape_record(&record)?;
        self.write_escape_record(&record)
    }

    /// Whether a single record can express the game.
    fn is_reduced(&self) -> bool {
        let mut leading = true;
        let mut plies = 0usize;
        let is_plain = self.game.elements().all(|element| match element {
            Element::Move(_) => {
                leading = false;
                plies += 1;
                true
            }
            Element::Comment(_) => !self.options.extended,
            Element::Escape(_) => leading || !self.options.escapes,
            Element::NullMove
            | Element::Nag(_)
            | Element::VariationBegin
            | Element::VariationEnd => false,
        });
        is_plain
            && plies <= usize::from(u16::MAX)
            && *self.game.start() == Start::ARRAY
            && self.game.tags().count() == SEVEN_TAG_ROSTER.len()
            && !(self.options.extended && self.game.tags().any(|(_, value)| !fits(value)))
    }

    /// Writes the escapes before the first move and before the first carried comment. They are
    /// written before the game, so that the game can have the reduced form.
    fn write_leading_escapes(&mut self) -> Result<(), PgcEncodeError> {
        for element in self.game.elements() {
            match element {
                Element::Escape(text) => self.write_escape(text)?,
                Element::Comment(_) if !self.options.extended => {}
                _ => break,
            }
        }
        Ok(())
    }

    fn write_reduced(&mut self) -> Result<(), PgcEncodeError> {
        self.out.push(marker::REDUCED_GAME);
        for (name, value) in self.game.tags() {
            self.write_string(name, value)?;
        }
        self.write_elements()?;
        // Cannot fail, because the number of plies was checked.
        self.out.put_sized_2(&self.moves).map_err(|_| PgcEncodeError::EscapeLength)
    }

    fn write_general(&mut self) -> Result<(), PgcEncodeError> {
        self.out.push(marker::GAME_BEGIN);
        for (name, value) in self.game.tags() {
            self.out.push(marker::TAG);
            self.write_string(name, name)?;
            if self.options.extended && !fits(value) {
                self.write_long_value(name, value)?;
            } else {
                self.write_string(name, value)?;
            }
        }
        self.write_elements()?;
        self.flush_moves();
        self.out.push(marker::GAME_END);
        Ok(())
    }

    fn write_elements(&mut self) -> Result<(), PgcEncodeError> {
        let mut replay = Replay::new(self.game.start());
        let mut leading = true;
        let mut before_move = true;
        for element in self.game.elements() {
            match element {
                Element::Move(mv) => {
                    let Some(replay) = &mut replay else { continue };
                    // The moves of a game are legal, so the ordinal exists.
                    let ordinal = ordinal::ordinal(&replay.playable(), mv).unwrap_or(u16::MAX);
                    self.put_ordinal(replay.ply() + 1, ordinal)?;
                    replay.play(mv);
                    (leading, before_move) = (false, false);
                }
                Element::NullMove => {
                    let Some(replay) = &mut replay else { continue };
                    let ply = replay.ply() + 1;
                    if !self.options.extended {
                        return Err(PgcEncodeError::NullMove { ply });
                    }
                    self.flush_moves();
                    self.write_escape_record(extension::NULL_MOVE)?;
                    self.put_ordinal(ply, ordinal::count(&replay.playable()))?;
                    replay.play_null_move();
                    (leading, before_move) = (false, false);
                }
                Element::Nag(nag) => {
                    self.flush_moves();
                    self.out.extend_from_slice(&[marker::NAG, nag]);
                }
                Element::Comment(text) => {
                    leading &= !self.options.extended;
                    self.write_comment(text, before_move)?;
                }
                Element::Escape(_) if leading => {}
                Element::Escape(text) => self.write_escape(text)?,
                Element::VariationBegin => {
                    self.flush_moves();
                    self.out.push(marker::VARIATION_BEGIN);
                    replay.iter_mut().for_each(Replay::begin_variation);
                    before_move = true;
                }
                Element::VariationEnd => {
                    self.flush_moves();
                    self.out.push(marker::VARIATION_END);
                    replay.iter_mut().for_each(Replay::end_variation);
                }
            }
        }
        Ok(())
    }

    fn put_ordinal(&mut self, ply: u32, ordinal: u16) -> Result<(), PgcEncodeError> {
        let byte = u8::try_from(ordinal);
        self.moves.push(byte.map_err(|_| PgcEncodeError::Ordinal255 { ply, ordinal })?);
        Ok(())
    }

    /// Writes the moves that are not in a record yet.
    fn flush_moves(&mut self) {
        for moves in self.moves.chunks(u16::MAX.into()) {
            match u8::try_from(moves.len()) {
                Ok(count) => self.out.extend_from_slice(&[marker::SHORT_MOVES, count]),
                Err(_) => {
                    self.out.push(marker::LONG_MOVES);
                    self.out.put_int_2(moves.len() as u16);
                }
            }
            self.out.extend_from_slice(moves);
        }
        self.moves.clear();
    }

    fn write_string(&mut self, name: &str, text: &str) -> Result<(), PgcEncodeError> {
        let bytes = self.latin1(text)?;
        self.out.put_sized_1(&bytes).map_err(|_| PgcEncodeError::StringLength(name.to_owned()))
    }

    /// Writes the part of a value that fits into the tag record, and then the whole value as
    /// carried text.
    fn write_long_value(&mut self, name: &str, value: &str) -> Result<(), PgcEncodeError> {
        let short = extension::latin1_of(value);
        self.out.put_sized_1(&short).map_err(|_| PgcEncodeError::StringLength(name.to_owned()))?;
        self.write_carried(extension::TAG, value.as_bytes())
    }

    fn write_comment(&mut self, text: &str, before_move: bool) -> Result<(), PgcEncodeError> {
        if !self.options.extended {
            self.losses.comments += 1;
            return if self.options.drop_comments { Ok(()) } else { Err(PgcEncodeError::Comment) };
        }
        self.flush_moves();
        match latin1(text) {
            None => self.write_carried(extension::COMMENT_UTF8, text.as_bytes()),
            Some(bytes) if before_move => self.write_carried(extension::COMMENT_BEFORE, &bytes),
            Some(bytes) => self.write_carried(extension::COMMENT, &bytes),
        }
    }

    /// Writes text in as many escape records as necessary. All but the last are full.
    fn write_carried(&mut self, prefix: &[u8], text: &[u8]) -> Result<(), PgcEncodeError> {
        let mut prefix = prefix;
        for part in text.chunks(usize::from(u16::MAX) - prefix.len()) {
            self.write_escape_record(&[prefix, part].concat())?;
            prefix = extension::MORE;
        }
        Ok(())
    }

    fn write_escape(&mut self, text: &str) -> Result<(), PgcEncodeError> {
        if !self.options.escapes {
            self.losses.escapes += 1;
            return Ok(());
        }
        self.flush_moves();
        let bytes = match latin1(text) {
            None if self.options.extended => None,
            None => Some(Cow::Owned(self.latin1(text)?)),
            bytes => bytes,
        };
        let plain = bytes.map(|bytes| {
            if bytes.starts_with(extension::PREFIX) {
                [extension::PREFIX, &bytes].concat()
            } else {
                bytes.into_owned()
            }
        });
        match plain {
            Some(plain) if plain.len() <= usize::from(u16::MAX) || !self.options.extended => {
                self.write_escape_record(&plain)
            }
            _ => self.write_carried(extension::ESCAPE, text.as_bytes()),
        }
    }

    fn write_escape_record(&mut self, bytes: &[u8]) -> Result<(), PgcEncodeError> {
        self.out.push(marker::ESCAPE);
        self.out.put_sized_2(bytes).map_err(|_| PgcEncodeError::EscapeLength)
    }

    fn latin1(&mut self, text: &str) -> Result<Vec<u8>, PgcEncodeError> {
        let mut bytes = Vec::with_capacity(text.len());
        self.losses.characters += put_latin1(text, self.options.translit, &mut bytes)?;
        Ok(bytes)
    }
}

/// Converts text to Latin-1, if Latin-1 has all its characters.
fn latin1(text: &str) -> Option<Cow<'_, [u8]>> {
    if text.is_ascii() {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>().map(Cow::Owned)
}

/// Whether a value fits into a tag record.
fn fits(value: &str) -> bool {
    if value.is_ascii() {
        value.len() <= 255
    } else {
        value.chars().count() <= 255 && value.chars().all(|c| u8::try_from(c).is_ok())
    }
}
