//! The reader of games.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

use super::error::{PgcError, PgcErrorKind};
use super::extension;
use super::record::{self, Located, Record, RecordError, Records};
use crate::codec::item::Cursor;
use crate::codec::ordinal;
use crate::model::{BuildError, Game, GameBuilder, SEVEN_TAG_ROSTER};
use crate::simd::{InstructionSet, Kernel};
use crate::text::pgn::tags::TagRepair;
use crate::text::pgn::{TagError, from_latin1, tags};

/// A game of the stream, or the error for which it is refused.
#[derive(Debug)]
pub struct PgcRead<'a> {
    /// The number of the game in the stream, from 1. Refused games are counted too.
    pub number: u64,
    /// The offset of the first record of the game.
    pub offset: u64,
    /// The game, or its first error. The next game can be read even after an error, unless the
    /// error [ends the stream](PgcErrorKind::ends_the_stream).
    pub game: Result<&'a Game, PgcError>,
    /// True if the game has a checksum and the checksum is right. Without a checksum, damage is
    /// found only if it breaks the rules of the format or of chess.
    pub has_checksum: bool,
    /// The bytes of the game's records in the stream. The escapes before the game are included; the
    /// records 0x00 are left out. A game over the limit has as many records here as the limit
    /// allows.
    pub raw: &'a [u8],
}

/// Reads a stream of games one by one. Memory does not grow with the number of games.
///
/// ```
/// use epdb_chess::codec::pgc::PgcReader;
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
    /// True if a general game has begun and not ended.
    is_open: bool,
    checksum: Checksum,
    /// True after the first checksum. Every later game must have one too; a game without a checksum
    /// is then a piece of a damaged game.
    needs_checksum: bool,
    /// True if a checksum has been read and its game has not begun.
    is_announced: bool,
    /// The name of the tag in the previous record.
    tag_name: Vec<u8>,
    /// True if the reader does not know where the next record begins.
    is_lost: bool,
}

impl<R> fmt::Debug for PgcReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgcReader").field("number", &self.number).finish_non_exhaustive()
    }
}

/// State of the checksum in the records before a game.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Checksum {
    /// No checksum record has been read.
    Absent,
    /// One checksum record has been read.
    Once(u32),
    /// Both checksum records have been read. The bytes to which the checksum applies begin at
    /// `from`.
    Twice { expected: u32, from: usize },
    /// The checksum records are not valid.
    Damaged,
}

impl Checksum {
    /// Takes a checksum record, which ends at the place `end`.
    fn take(&mut self, text: &[u8], end: usize) {
        let value = checksum_value(text);
        *self = match (*self, value) {
            (Checksum::Absent, Some(value)) => Checksum::Once(value),
            (Checksum::Once(first), Some(value)) if first == value => {
                Checksum::Twice { expected: value, from: end }
            }
            _ => Checksum::Damaged,
        };
    }

    /// Takes another record. None may stand between the two checksum records.
    fn pass(&mut self) {
        if matches!(self, Checksum::Once(_)) {
            *self = Checksum::Damaged;
        }
    }

    /// Compares the checksum with the bytes of the game. `is_needed` says whether a game without a
    /// checksum is refused.
    fn check(self, raw: &[u8], is_needed: bool) -> Result<(), PgcErrorKind> {
        match self {
            Checksum::Absent if is_needed => Err(PgcErrorKind::NoChecksum),
            Checksum::Absent => Ok(()),
            Checksum::Once(_) | Checksum::Damaged => Err(PgcErrorKind::ChecksumForm),
            Checksum::Twice { expected, from } => match crc32c::crc32c(&raw[from..]) {
                found if found == expected => Ok(()),
                found => Err(PgcErrorKind::Checksum { expected, found }),
            },
        }
    }
}

/// Reads a checksum of eight upper-case hexadecimal digits.
fn checksum_value(text: &[u8]) -> Option<u32> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
    let text = std::str::from_utf8(text).ok()?;
    let is_value = text.len() == 8 && text.as_bytes().iter().all(is_digit);
    u32::from_str_radix(text, 16).ok().filter(|_| is_value)
}

/// The games at the start of some bytes of a stream.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct WholeGames {
    /// Number of bytes up to the last record that ends a game.
    pub bytes: usize,
    /// True if one of these records is a checksum.
    pub have_checksums: bool,
}

impl WholeGames {
    /// Looks at records up to one that is not valid, not complete, or [`Record::Noop`]. The games themselves
    /// may still be refused.
    pub fn at_start(bytes: &[u8]) -> WholeGames {
        let mut games = WholeGames { bytes: 0, have_checksums: false };
        let mut have_checksums = false;
        let mut cursor = Cursor::new(bytes);
        while let Ok(record) = record::parse(&mut cursor) {
            match record {
                Record::Noop => break,
                Record::GameEnd | Record::ReducedGame { .. } => {
                    games = WholeGames { bytes: cursor.offset(), have_checksums };
                }
                record => have_checksums |= checksum_text(&record).is_some(),
            }
        }
        games
    }
}

/// Returns the text of a record if it is a checksum.
fn checksum_text<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    match record {
        Record::Escape(text) => text.strip_prefix(extension::CHECKSUM),
        _ => None,
    }
}

/// The reason why reading a game stops.
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

/// A game that is being built from its records.
struct Assembly<'b> {
    builder: &'b mut GameBuilder,
    in_movetext: bool,
    /// The name of the tag in the previous record; empty if that record was not a tag.
    tag_name: &'b mut Vec<u8>,
    /// Kind of the text in the previous record. The text may continue.
    carried: Option<Carried>,
    text: Vec<u8>,
    /// True if the previous record announces a null move.
    announces_null_move: bool,
}

/// Kinds of text that escape records carry.
#[derive(Copy, Clone, Debug)]
enum Carried {
    /// A comment in Latin-1.
    Comment,
    /// A comment in UTF-8.
    CommentUtf8,
    /// The value of the tag in the previous record.
    Tag,
    /// A real escape (the text of a `%` line) in UTF-8.
    Escape,
}

/// Prefixes of carried text. The prefix of a carried tag value is accepted only directly after a
/// tag pair.
const CARRIED: [(&[u8], Carried); 5] = [
    (extension::COMMENT, Carried::Comment),
    (extension::COMMENT_BEFORE, Carried::Comment),
    (extension::COMMENT_UTF8, Carried::CommentUtf8),
    (extension::TAG, Carried::Tag),
    (extension::ESCAPE, Carried::Escape),
];

impl<R: Read> PgcReader<R> {
    /// Creates a reader of games of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> PgcReader<R> {
        PgcReader {
            records: Records::new(input),
            limit,
            builder: GameBuilder::new(),
            raw: Vec::new(),
            number: 0,
            is_open: false,
            checksum: Checksum::Absent,
            needs_checksum: false,
            is_announced: false,
            tag_name: Vec::new(),
            is_lost: false,
        }
    }

    /// Reads the next game; `None` at the end of the stream, and after an error that ends it.
    ///
    /// # Errors
    /// Errors of the input.
    pub fn next_game(&mut self) -> io::Result<Option<PgcRead<'_>>> {
        if self.is_lost {
            return Ok(None);
        }
        self.builder.reset();
        self.raw.clear();
        self.checksum = Checksum::Absent;
        self.is_announced = false;
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
        let has_checksum = game.is_ok() && self.checksum != Checksum::Absent;
        let game = game.map(|()| self.builder.game());
        Ok(Some(PgcRead { number: self.number, offset, game, has_checksum, raw: &self.raw }))
    }

    /// Reads a game into the builder; false at the end of the stream. Sets `offset` to the offset
    /// of the game's first record.
    fn read_game(&mut self, offset: &mut u64) -> Result<bool, Stop> {
        self.tag_name.clear();
        let mut game = Assembly {
            builder: &mut self.builder,
            in_movetext: false,
            tag_name: &mut self.tag_name,
            carried: None,
            text: Vec::new(),
            announces_null_move: false,
        };
        loop {
            let end = self.records.offset();
            let Some(Located { offset: at, record, bytes }) = self.records.next_record()? else {
                if self.is_open || self.is_announced {
                    return Err(refused(end, PgcErrorKind::NoEnd));
                }
                return game.end_carried().map(|()| false).map_err(|kind| refused(end, kind));
            };
            let fail = |kind| refused(at, kind);
            if record == Record::Noop {
                continue;
            }
            let checksum = checksum_text(&record);
            let is_game = matches!(record, Record::GameBegin | Record::ReducedGame { .. });
            if self.is_open && (is_game || checksum.is_some()) {
                return Err(fail(PgcErrorKind::Nested));
            }
            self.raw.extend_from_slice(bytes);
            if self.raw.len() > self.limit {
                return Err(fail(PgcErrorKind::TooLong(self.limit)));
            }
            if let Some(text) = checksum {
                self.checksum.take(text, self.raw.len());
                (self.is_announced, self.needs_checksum) = (true, true);
                continue;
            }
            self.checksum.pass();
            if is_game {
                self.is_announced = false;
            }
            let has_null_move = matches!(record, Record::Moves([_, ..]))
                && std::mem::take(&mut game.announces_null_move);
            if !matches!(record, Record::Escape(_)) {
                game.end_carried().map_err(fail)?;
            }
            if !self.is_open && !matches!(record, Record::Escape(_)) {
                *offset = at;
            }
            match (self.is_open, record) {
                (_, Record::Escape(text)) => game.escape(text).map_err(fail)?,
                (false, Record::GameBegin) => self.is_open = true,
                (false, Record::ReducedGame { roster, moves }) => {
                    game.roster(roster).map_err(fail)?;
                    game.moves(moves, at + (bytes.len() - moves.len()) as u64)?;
                    self.checksum.check(&self.raw, self.needs_checksum).map_err(fail)?;
                    return Ok(true);
                }
                (false, _) => {
                    let marker = bytes.first().copied().unwrap_or_default();
                    return Err(fail(PgcErrorKind::Outside(marker)));
                }
                (true, Record::Moves(mut moves)) => {
                    game.begin_movetext().map_err(fail)?;
                    let mut at = at + (bytes.len() - moves.len()) as u64;
                    if let Some((&ordinal, rest)) = moves.split_first().filter(|_| has_null_move) {
                        game.null_move(ordinal).map_err(|kind| refused(at, kind))?;
                        (moves, at) = (rest, at + 1);
                    }
                    game.moves(moves, at)?;
                }
                (true, Record::GameEnd) => {
                    self.is_open = false;
                    game.end().map_err(fail)?;
                    let checked = self.checksum.check(&self.raw, self.needs_checksum);
                    checked.map_err(|kind| refused(*offset, kind))?;
                    return Ok(true);
                }
                (true, record) => game.piece(&record).map_err(fail)?,
            }
        }
    }

    /// Skips records to the place where the next game may begin. Stops at bytes that are not a
    /// record; they are reported when the next game is read.
    fn skip_game(&mut self, error: &PgcError) -> io::Result<()> {
        self.is_lost = error.kind.ends_the_stream();
        let outside = matches!(error.kind, PgcErrorKind::Outside(_));
        let mut announced = self.is_announced && !outside;
        if error.kind == PgcErrorKind::Nested {
            // The game that begins here is read next.
            self.records.put_back();
        }
        while (self.is_open || outside || announced) && !self.is_lost {
            let Located { record, bytes, .. } = match self.records.next_record() {
                Ok(Some(located)) => located,
                Ok(None) | Err(RecordError::Pgc(_)) => break,
                Err(RecordError::Io(error)) => return Err(error),
            };
            let is_game = matches!(record, Record::GameBegin | Record::ReducedGame { .. });
            if is_game && !announced || checksum_text(&record).is_some() {
                self.records.put_back();
                break;
            }
            if self.raw.len() <= self.limit {
                self.raw.extend_from_slice(bytes);
            }
            match record {
                Record::GameBegin => (self.is_open, announced) = (true, false),
                Record::ReducedGame { .. } => break,
                Record::GameEnd if self.is_open => break,
                _ => {}
            }
        }
        self.is_open = false;
        Ok(())
    }
}

/// A reader that continues a stream after a game that ends at this offset. `has_checksums` says whether a game
/// before has a checksum.
pub fn reader_from<R: Read>(
    input: R,
    limit: usize,
    offset: u64,
    has_checksums: bool,
) -> PgcReader<R> {
    let mut reader = PgcReader::new(input, limit);
    reader.records.set_offset(offset);
    reader.needs_checksum = has_checksums;
    reader
}

/// Exchanges the game that was read last for another one, whose memory is reused for the next game.
pub const fn swap_game<R>(reader: &mut PgcReader<R>, game: &mut Game) {
    reader.builder.swap_game(game);
}

fn refused(offset: u64, kind: PgcErrorKind) -> Stop {
    Stop::Refused(PgcError { offset, kind })
}

/// Moves to be played, by their ordinals.
struct PlayOrdinals<'b> {
    builder: &'b mut GameBuilder,
    ordinals: &'b [u8],
}

impl Kernel for PlayOrdinals<'_> {
    /// The error has the place of the ordinal.
    type Output = Result<(), (usize, PgcErrorKind)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        for (place, &ordinal) in self.ordinals.iter().enumerate() {
            let Some(replay) = self.builder.replay() else {
                return Err((place, PgcErrorKind::Build(BuildError::NotPlayable)));
            };
            let playable = replay.playable();
            let Some((mv, role)) = ordinal::move_in(&playable, ordinal.into()) else {
                let legal = ordinal::count(&playable);
                return Err((place, PgcErrorKind::Ordinal { ordinal, legal }));
            };
            let built = self.builder.put_move(mv, role);
            built.map_err(|error| (place, PgcErrorKind::Build(error)))?;
        }
        Ok(())
    }
}

impl Assembly<'_> {
    /// Adds the tags of a reduced game.
    fn roster(&mut self, values: [&[u8]; 7]) -> Result<(), PgcErrorKind> {
        for (name, value) in SEVEN_TAG_ROSTER.into_iter().zip(values) {
            self.set_tag(name, value)?;
        }
        Ok(())
    }

    fn set_tag(&mut self, name: &str, value: &[u8]) -> Result<(), PgcErrorKind> {
        tags::check_value(name, value).map_err(PgcErrorKind::Tags)?;
        if self.builder.add_tag(name, &from_latin1(value)).map_err(PgcErrorKind::Build)? {
            Ok(())
        } else {
            Err(PgcErrorKind::TagDuplicate)
        }
    }

    fn tag(&mut self, name: &[u8], value: &[u8]) -> Result<(), PgcErrorKind> {
        if self.in_movetext {
            return Err(PgcErrorKind::TagOrder);
        }
        self.set_tag(&from_latin1(name), value)?;
        self.tag_name.clear();
        self.tag_name.extend_from_slice(name);
        Ok(())
    }

    /// Applies the rules for tags when all tags are known.
    fn begin_movetext(&mut self) -> Result<(), PgcErrorKind> {
        if !std::mem::replace(&mut self.in_movetext, true) {
            let found = self.builder.game().tag("FEN").map(str::to_owned);
            let repairs = tags::apply_rules(self.builder).map_err(|error| match error {
                TagError::Build(error) => PgcErrorKind::Build(error),
                error => PgcErrorKind::Tags(error),
            })?;
            if repairs.contains(&TagRepair::NoFen) {
                return Err(PgcErrorKind::Tags(TagError::NoFen));
            }
            let fen = self.builder.game().tag("FEN");
            if let Some((found, expected)) = found.zip(fen).filter(|(found, fen)| found != fen) {
                let found = found.chars().take(120).collect();
                return Err(PgcErrorKind::Fen { found, expected: expected.to_owned() });
            }
        }
        Ok(())
    }

    fn moves(&mut self, ordinals: &[u8], at: u64) -> Result<(), Stop> {
        let played =
            InstructionSet::fastest().run(PlayOrdinals { builder: self.builder, ordinals });
        played.map_err(|(place, kind)| refused(at + place as u64, kind))
    }

    fn null_move(&mut self, ordinal: u8) -> Result<(), PgcErrorKind> {
        if let Some(replay) = self.builder.replay() {
            let legal = ordinal::count(&replay.playable());
            if legal != u16::from(ordinal) {
                return Err(PgcErrorKind::NullMove { ordinal, legal });
            }
        }
        self.builder.play_null_move().map_err(PgcErrorKind::Build)
    }

    /// Adds a record of a general game that has no moves.
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

    /// Adds an escape record. It is a real escape, or it begins or continues carried text.
    fn escape(&mut self, text: &[u8]) -> Result<(), PgcErrorKind> {
        if let (Some(more), Some(_)) = (text.strip_prefix(extension::MORE), self.carried) {
            self.text.extend_from_slice(more);
            return Ok(());
        }
        let after_tag = self.carried.is_none() && !self.tag_name.is_empty();
        self.end_text()?;
        let carried = CARRIED.into_iter().find_map(|(prefix, carried)| {
            let may_stand = after_tag || !matches!(carried, Carried::Tag);
            text.strip_prefix(prefix).filter(|_| may_stand).map(|text| (text, carried))
        });
        if let Some((text, carried)) = carried {
            self.text.extend_from_slice(text);
            self.carried = Some(carried);
            return Ok(());
        }
        self.tag_name.clear();
        if text == extension::NULL_MOVE {
            self.announces_null_move = true;
            return Ok(());
        }
        let text = match text.strip_prefix(extension::PREFIX) {
            Some(inner) if inner.starts_with(extension::PREFIX) => inner,
            _ => text,
        };
        self.builder.add_escape(&from_latin1(text)).map_err(PgcErrorKind::Build)
    }

    /// Ends the carried text before a record that carries none.
    fn end_carried(&mut self) -> Result<(), PgcErrorKind> {
        self.end_text()?;
        self.tag_name.clear();
        Ok(())
    }

    /// Takes the carried text, which is complete. If a null move was announced and did not follow,
    /// the announcement is a real escape.
    fn end_text(&mut self) -> Result<(), PgcErrorKind> {
        if std::mem::take(&mut self.announces_null_move) {
            let text = from_latin1(extension::NULL_MOVE);
            return self.builder.add_escape(&text).map_err(PgcErrorKind::Build);
        }
        let Some(carried) = self.carried.take() else { return Ok(()) };
        let bytes = std::mem::take(&mut self.text);
        let text = match carried {
            Carried::Comment => from_latin1(&bytes),
            _ => Cow::Owned(String::from_utf8(bytes).map_err(|_| PgcErrorKind::NotUtf8)?),
        };
        match carried {
            Carried::Comment | Carried::CommentUtf8 => self.builder.add_comment(&text),
            Carried::Escape => self.builder.add_escape(&text),
            Carried::Tag => {
                let name = from_latin1(self.tag_name);
                let short = extension::latin1_of(&text);
                if self.builder.game().tag(&name) != Some(&*from_latin1(&short)) {
                    return Err(PgcErrorKind::TagMismatch);
                }
                self.builder.set_tag(&name, &text)
            }
        }
        .map_err(PgcErrorKind::Build)
    }
}
