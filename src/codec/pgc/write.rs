//! Writing games in canonical form (PGC-20).

use super::error::PgcWriteError;
use super::{extension, marker};
use crate::codec::item::PutItems;
use crate::codec::ordinal;
use crate::model::{Element, Game, ROSTER, Replay, Start};
use crate::text::pgn::{GameLosses, put_latin1};

/// What becomes of comments, which PGC has no record for (PGC-24).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Comments {
    /// A game with comments is refused.
    #[default]
    Refuse,
    /// They are left out, and counted.
    Drop,
    /// Escape records carry them. Readers that do not know of this pass them over.
    Carry,
}

/// How games are written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct PgcWriteOptions {
    /// What becomes of comments.
    pub comments: Comments,
    /// Keep `%` lines, which archives drop (PGC-22).
    pub escapes: bool,
    /// Write `?` for characters that Latin-1 does not have, instead of refusing.
    pub translit: bool,
}

/// Appends a game in canonical form and tells what was left out of it.
///
/// # Errors
/// [`PgcWriteError`]; nothing is appended then.
///
/// ```
/// use epdb::codec::pgc::{PgcWriteOptions, encode};
/// use epdb::text::pgn::{GameReader, PgnReadOptions};
/// let mut reader = GameReader::new(&b"1. f3 e5 2. g4 Qh4# 0-1"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let mut bytes = Vec::new();
/// encode(read.game.expect("a good one"), &PgcWriteOptions::default(), &mut bytes)
///     .expect("no comments");
/// assert!(bytes.ends_with(b"\x030-1\x04\x00\x0e\x0c\x10\x0e"));
/// assert_eq!(bytes.len(), 32);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn encode(
    game: &Game,
    options: &PgcWriteOptions,
    out: &mut Vec<u8>,
) -> Result<GameLosses, PgcWriteError> {
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
    options: &'a PgcWriteOptions,
    out: &'a mut Vec<u8>,
    /// Ordinals that no record has been made of yet.
    moves: Vec<u8>,
    losses: GameLosses,
}

impl Writer<'_> {
    fn write(&mut self) -> Result<(), PgcWriteError> {
        self.write_leading_escapes()?;
        if self.is_reduced() { self.write_reduced() } else { self.write_general() }
    }

    /// Whether one record says the game (PGN-49).
    fn is_reduced(&self) -> bool {
        let mut leading = true;
        let mut plies = 0usize;
        let is_plain = self.game.elements().all(|element| match element {
            Element::Move(_) => {
                leading = false;
                plies += 1;
                true
            }
            Element::Comment(_) => self.options.comments != Comments::Carry,
            Element::Escape(_) => leading || !self.options.escapes,
            Element::Nag(_) | Element::VariationBegin | Element::VariationEnd => false,
        });
        is_plain
            && plies <= usize::from(u16::MAX)
            && *self.game.start() == Start::ARRAY
            && self.game.tags().count() == ROSTER.len()
    }

    /// Escapes before the first move stand before the game, so that it may be a reduced one.
    fn write_leading_escapes(&mut self) -> Result<(), PgcWriteError> {
        for element in self.game.elements() {
            match element {
                Element::Escape(text) => self.write_escape(text)?,
                Element::Comment(_) => {}
                _ => break,
            }
        }
        Ok(())
    }

    fn write_reduced(&mut self) -> Result<(), PgcWriteError> {
        self.out.push(marker::REDUCED_GAME);
        for (name, value) in self.game.tags() {
            self.write_string(name, value)?;
        }
        self.write_elements()?;
        // The number of plies was checked.
        self.out.put_sized_2(&self.moves).map_err(|_| PgcWriteError::EscapeLength)
    }

    fn write_general(&mut self) -> Result<(), PgcWriteError> {
        self.out.push(marker::GAME_BEGIN);
        for (name, value) in self.game.tags() {
            self.out.push(marker::TAG);
            self.write_string(name, name)?;
            self.write_string(name, value)?;
        }
        self.write_elements()?;
        self.flush_moves();
        self.out.push(marker::GAME_END);
        Ok(())
    }

    fn write_elements(&mut self) -> Result<(), PgcWriteError> {
        let mut replay = Replay::new(self.game.start());
        let (mut leading, mut before_move) = (true, true);
        for element in self.game.elements() {
            match element {
                Element::Move(mv) => {
                    let Some(replay) = &mut replay else { continue };
                    // A move of a game is legal.
                    let ordinal = ordinal::ordinal(&replay.playable(), mv).unwrap_or(u16::MAX);
                    let ply = replay.ply() + 1;
                    let byte = u8::try_from(ordinal)
                        .map_err(|_| PgcWriteError::Ordinal255 { ply, ordinal })?;
                    self.moves.push(byte);
                    replay.play(mv);
                    (leading, before_move) = (false, false);
                }
                Element::Nag(nag) => {
                    self.flush_moves();
                    self.out.extend_from_slice(&[marker::NAG, nag]);
                }
                Element::Comment(text) => self.write_comment(text, before_move)?,
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

    /// Makes records of the moves that wait (PGC-20).
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

    fn write_string(&mut self, name: &str, text: &str) -> Result<(), PgcWriteError> {
        let bytes = self.latin1(text)?;
        self.out.put_sized_1(&bytes).map_err(|_| PgcWriteError::StringLength(name.to_owned()))
    }

    fn write_comment(&mut self, text: &str, before_move: bool) -> Result<(), PgcWriteError> {
        match self.options.comments {
            Comments::Refuse => return Err(PgcWriteError::Comment),
            Comments::Drop => {
                self.losses.comments += 1;
                return Ok(());
            }
            Comments::Carry => self.flush_moves(),
        }
        let bytes = self.latin1(text)?;
        let mut prefix = if before_move { extension::COMMENT_BEFORE } else { extension::COMMENT };
        for part in bytes.chunks(usize::from(u16::MAX) - prefix.len()) {
            self.write_escape_record(&[prefix, part].concat())?;
            prefix = extension::MORE;
        }
        Ok(())
    }

    fn write_escape(&mut self, text: &str) -> Result<(), PgcWriteError> {
        if !self.options.escapes {
            self.losses.escapes += 1;
            return Ok(());
        }
        self.flush_moves();
        let mut bytes = self.latin1(text)?;
        if bytes.starts_with(extension::PREFIX) {
            bytes.splice(0..0, extension::PREFIX.iter().copied());
        }
        self.write_escape_record(&bytes)
    }

    fn write_escape_record(&mut self, bytes: &[u8]) -> Result<(), PgcWriteError> {
        self.out.push(marker::ESCAPE);
        self.out.put_sized_2(bytes).map_err(|_| PgcWriteError::EscapeLength)
    }

    fn latin1(&self, text: &str) -> Result<Vec<u8>, PgcWriteError> {
        let mut bytes = Vec::with_capacity(text.len());
        put_latin1(text, self.options.translit, &mut bytes)?;
        Ok(bytes)
    }
}
