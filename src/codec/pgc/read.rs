//! Reading games.

use std::io::{self, Read};

use super::error::{PgcError, PgcErrorKind};
use super::extension;
use super::record::{Located, Record, RecordError, Records};
use crate::codec::ordinal;
use crate::model::{BuildError, Game, GameBuilder, GameResult, ROSTER};
use crate::text::pgn::{SetUpError, from_latin1, set_up};

/// A game of the stream, or why there is none.
#[derive(Debug)]
pub struct PgcRead<'a> {
    /// The number of the game in the stream, from 1; games that are refused count.
    pub number: u64,
    /// The offset of its first record.
    pub offset: u64,
    /// The game, or the first thing that is wrong with it. The next one can be read all the same,
    /// unless the error [ends the stream](PgcErrorKind::ends_the_stream).
    pub game: Result<&'a Game, PgcError>,
    /// Its records as they stand in the stream, escapes before it included, 0x00 left out; of a
    /// game over the limit as many as the limit allows.
    pub raw: &'a [u8],
}

/// Reads a stream of games one by one. Memory does not grow with the number of games.
///
/// ```
/// use epdb::codec::pgc::PgcReader;
/// let mut reader = PgcReader::new(&b"\x05\x03\x02\x0d\x0c\x06"[..], 1 << 20);
/// let read = reader.next_game()?.expect("a game");
/// assert_eq!(read.game.expect("a good one").main_line().count(), 2);
/// assert!(reader.next_game()?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PgcReader<R> {
    records: Records<R>,
    limit: usize,
    builder: GameBuilder,
    raw: Vec<u8>,
    number: u64,
    /// A general game has begun and not ended.
    is_open: bool,
    /// The reader does not know where the next record begins.
    is_lost: bool,
}

/// Why the reading of a game stops.
enum Stop {
    Io(io::Error),
    Refused(PgcError),
}

impl From<RecordError> for Stop {
    fn from(error: RecordError) -> Stop {
        match error {
            RecordError::Io(error) => Stop::Io(error),
            RecordError::Pgc(error) => Stop::Refused(error),
        }
    }
}

/// A game that is being put together.
struct Assembly<'b> {
    builder: &'b mut GameBuilder,
    in_movetext: bool,
    /// A comment that more may follow of.
    comment: Vec<u8>,
}

impl<R: Read> PgcReader<R> {
    /// Reads games of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> PgcReader<R> {
        PgcReader {
            records: Records::new(input),
            limit,
            builder: GameBuilder::new(),
            raw: Vec::new(),
            number: 0,
            is_open: false,
            is_lost: false,
        }
    }

    /// The next game, or `None` at the end of the stream and behind an error that ends it.
    ///
    /// # Errors
    /// What the stream reports.
    pub fn next_game(&mut self) -> io::Result<Option<PgcRead<'_>>> {
        if self.is_lost {
            return Ok(None);
        }
        self.builder.reset();
        self.raw.clear();
        let mut offset = self.records.offset();
        let game = match self.read_game(&mut offset) {
            Ok(false) => return Ok(None),
            Ok(true) => Ok(()),
            Err(Stop::Io(error)) => return Err(error),
            Err(Stop::Refused(error)) => {
                self.skip_game(&error)?;
                Err(error)
            }
        };
        self.number += 1;
        let game = game.map(|()| self.builder.game());
        Ok(Some(PgcRead { number: self.number, offset, game, raw: &self.raw }))
    }

    /// Reads a game into the builder; false when there is none any more. `offset` becomes that of
    /// its first record.
    fn read_game(&mut self, offset: &mut u64) -> Result<bool, Stop> {
        let mut game =
            Assembly { builder: &mut self.builder, in_movetext: false, comment: Vec::new() };
        loop {
            let end = self.records.offset();
            let Some(Located { offset: at, record, bytes }) = self.records.next_record()? else {
                return if self.is_open {
                    Err(refused(end, PgcErrorKind::NoEnd))
                } else {
                    Ok(false)
                };
            };
            let fail = |kind| refused(at, kind);
            let is_game = matches!(record, Record::GameBegin | Record::ReducedGame { .. });
            if !(self.is_open && is_game) && record != Record::Noop {
                self.raw.extend_from_slice(bytes);
            }
            if !matches!(record, Record::Escape(_) | Record::Noop) {
                game.end_comment().map_err(fail)?;
            }
            if self.raw.len() > self.limit {
                return Err(fail(PgcErrorKind::TooLong(self.limit)));
            }
            if !self.is_open && !matches!(record, Record::Noop | Record::Escape(_)) {
                *offset = at;
            }
            match (self.is_open, record) {
                (_, Record::Noop) => {}
                (_, Record::Escape(text)) => game.escape(text).map_err(fail)?,
                (false, Record::GameBegin) => self.is_open = true,
                (false, Record::ReducedGame { roster, moves }) => {
                    game.roster(roster).map_err(fail)?;
                    game.moves(moves, at + (bytes.len() - moves.len()) as u64)?;
                    return Ok(true);
                }
                (false, _) => {
                    let marker = bytes.first().copied().unwrap_or_default();
                    return Err(fail(PgcErrorKind::Outside(marker)));
                }
                (true, Record::GameBegin | Record::ReducedGame { .. }) => {
                    return Err(fail(PgcErrorKind::Nested));
                }
                (true, Record::Moves(moves)) => {
                    game.begin_movetext().map_err(fail)?;
                    game.moves(moves, at + (bytes.len() - moves.len()) as u64)?;
                }
                (true, Record::GameEnd) => {
                    self.is_open = false;
                    game.end().map_err(fail)?;
                    return Ok(true);
                }
                (true, record) => game.piece(&record).map_err(fail)?,
            }
        }
    }

    /// Goes on to where the next game may begin. What is no record ends this; it is met again when
    /// the next game is read.
    fn skip_game(&mut self, error: &PgcError) -> io::Result<()> {
        self.is_lost = error.kind.ends_the_stream();
        let outside = matches!(error.kind, PgcErrorKind::Outside(_));
        if error.kind == PgcErrorKind::Nested {
            // A game that begins here is read next.
            self.records.put_back();
        }
        while (self.is_open || outside) && !self.is_lost {
            let Located { record, bytes, .. } = match self.records.next_record() {
                Ok(Some(located)) => located,
                Ok(None) | Err(RecordError::Pgc(_)) => break,
                Err(RecordError::Io(error)) => return Err(error),
            };
            let begins = matches!(record, Record::GameBegin)
                || outside && matches!(record, Record::ReducedGame { .. });
            if begins {
                self.records.put_back();
                break;
            }
            if self.raw.len() <= self.limit {
                self.raw.extend_from_slice(bytes);
            }
            if matches!(record, Record::GameEnd) && self.is_open {
                break;
            }
        }
        self.is_open = false;
        Ok(())
    }
}

fn refused(offset: u64, kind: PgcErrorKind) -> Stop {
    Stop::Refused(PgcError { offset, kind })
}

impl Assembly<'_> {
    /// The values of a reduced game.
    fn roster(&mut self, values: [&[u8]; 7]) -> Result<(), PgcErrorKind> {
        for (name, value) in ROSTER.into_iter().zip(values) {
            self.set_tag(name, value)?;
        }
        Ok(())
    }

    fn set_tag(&mut self, name: &str, value: &[u8]) -> Result<(), PgcErrorKind> {
        if name == "Result" && GameResult::from_text(value).is_none() {
            return Err(PgcErrorKind::Result);
        }
        match self.builder.add_tag(name, &from_latin1(value)).map_err(PgcErrorKind::Build)? {
            true => Ok(()),
            false => Err(PgcErrorKind::TagDuplicate),
        }
    }

    fn tag(&mut self, name: &[u8], value: &[u8]) -> Result<(), PgcErrorKind> {
        if self.in_movetext {
            return Err(PgcErrorKind::TagOrder);
        }
        self.set_tag(&from_latin1(name), value)
    }

    /// Sets the game up once all tags are known.
    fn begin_movetext(&mut self) -> Result<(), PgcErrorKind> {
        if !std::mem::replace(&mut self.in_movetext, true) {
            set_up(self.builder).map_err(|error| match error {
                SetUpError::Build(error) => PgcErrorKind::Build(error),
                error => PgcErrorKind::SetUp(error),
            })?;
        }
        Ok(())
    }

    fn moves(&mut self, ordinals: &[u8], at: u64) -> Result<(), Stop> {
        for (offset, &ordinal) in (at..).zip(ordinals) {
            let built = match self.builder.replay() {
                None => Err(BuildError::NotPlayable),
                Some(replay) => match ordinal::move_at(&replay.playable(), ordinal.into()) {
                    Some(mv) => self.builder.play_legal(mv),
                    None => {
                        let legal = ordinal::count(&replay.playable());
                        return Err(refused(offset, PgcErrorKind::Ordinal { ordinal, legal }));
                    }
                },
            };
            built.map_err(|error| refused(offset, PgcErrorKind::Build(error)))?;
        }
        Ok(())
    }

    /// A record inside a general game that holds no moves.
    fn piece(&mut self, record: &Record) -> Result<(), PgcErrorKind> {
        if let Record::Tag { name, value } = record {
            return self.tag(name, value);
        }
        self.begin_movetext()?;
        match record {
            Record::Nag(nag) => self.builder.add_nag(*nag),
            Record::VariationBegin => self.builder.begin_variation(),
            Record::VariationEnd => self.builder.end_variation(),
            _ => Ok(()),
        }
        .map_err(PgcErrorKind::Build)
    }

    fn end(&mut self) -> Result<(), PgcErrorKind> {
        self.begin_movetext()?;
        match self.builder.depth() {
            0 => Ok(()),
            _ => Err(PgcErrorKind::Build(BuildError::VariationOpen)),
        }
    }

    /// An escape, or one that carries a comment or a part of it (PGC-24).
    fn escape(&mut self, text: &[u8]) -> Result<(), PgcErrorKind> {
        if let Some(more) = text.strip_prefix(extension::MORE).filter(|_| !self.comment.is_empty())
        {
            self.comment.extend_from_slice(more);
            return Ok(());
        }
        self.end_comment()?;
        let comment = text
            .strip_prefix(extension::COMMENT)
            .or_else(|| text.strip_prefix(extension::COMMENT_BEFORE));
        if let Some(comment) = comment {
            self.comment.extend_from_slice(comment);
            return Ok(());
        }
        let text = match text.strip_prefix(extension::PREFIX) {
            Some(inner) if inner.starts_with(extension::PREFIX) => inner,
            _ => text,
        };
        self.builder.add_escape(&from_latin1(text)).map_err(PgcErrorKind::Build)
    }

    fn end_comment(&mut self) -> Result<(), PgcErrorKind> {
        if self.comment.is_empty() {
            return Ok(());
        }
        let comment = from_latin1(&self.comment);
        self.comment.clear();
        self.builder.add_comment(&comment).map_err(PgcErrorKind::Build)
    }
}
