//! Options of sources.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::encoding::{TextCharset, TextEncoding};
use super::format::FileFormat;
use super::item::Filter;
use super::streams::Streams;
use epdb_chess::codec::record::{self, PlainRecord};
use epdb_chess::error::{Place, Result};
use epdb_chess::model::{EpdRecord, Game};
use epdb_chess::text::pgn::{GamePosition, PgnReadOptions, PositionOptions};
use epdb_chess::text::{ParseOptions, Profile, lines};

/// An encoder of records and games, which runs on the threads that read them.
pub trait Encode: Send + Sync {
    /// Appends the bytes of a record.
    ///
    /// # Errors
    /// The record cannot be encoded; reading ends.
    fn encode(&self, record: &EpdRecord, place: &Place, out: &mut Vec<u8>) -> Result<()>;

    /// Appends the bytes of a record that is given by its parts. Returns false if the encoder
    /// cannot do this. The record is then built and passed to [`Encode::encode`].
    fn encode_plain(&self, record: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        let _ = (record, out);
        false
    }

    /// Does the same as [`Encode::encode_plain`], for a record from a canonical line. `text` is the
    /// line without its line end.
    fn encode_canonical(&self, record: &PlainRecord<'_>, text: &[u8], out: &mut Vec<u8>) -> bool {
        let _ = text;
        self.encode_plain(record, out)
    }

    /// Whether [`Encode::encode_plain`] can encode a record. If false, the readers never call it,
    /// and pass each record to [`Encode::encode`] instead.
    fn takes_plain(&self) -> bool {
        true
    }

    /// If true, only records that are read as a [`PlainRecord`] are encoded. Other records are
    /// returned decoded, and [`Encode::encode`] is never called.
    fn only_plain(&self) -> bool {
        false
    }

    /// Appends the bytes of a game. Returns false if the encoder cannot do this. The game then has
    /// no encoded bytes, and the appended bytes are ignored.
    fn encode_game(&self, game: &Game, out: &mut Vec<u8>) -> bool {
        let _ = (game, out);
        false
    }
}

/// Records in their binary form, as [`record::encode`] writes it.
#[derive(Copy, Clone, Debug)]
pub struct BinaryRecords {
    /// If true, only records that are read as a [`PlainRecord`] are encoded. Other records are
    /// returned decoded.
    pub only_plain: bool,
}

impl Encode for BinaryRecords {
    fn encode(&self, record: &EpdRecord, _: &Place, out: &mut Vec<u8>) -> Result<()> {
        Ok(record::encode(record, out)?)
    }

    fn encode_plain(&self, record: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        record::encode_plain(record, out);
        true
    }

    fn only_plain(&self) -> bool {
        self.only_plain
    }
}

const STORE_MEMORY: usize = 64 << 20;

/// Options of sources. By default all records are taken, text is read in the lenient profile, and
/// games are read as games.
///
/// ```
/// use epdb_source::{FileFormat, SourceOptions};
/// use epdb_chess::text::{Profile, ParseOptions};
/// let options = SourceOptions {
///     text: ParseOptions::new(Profile::Strict),
///     format: Some(FileFormat::Fen),
///     deny_warnings: true,
///     ..SourceOptions::default()
/// };
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct SourceOptions {
    /// The format of sources. If it is given, their names are ignored, and a source whose first bytes
    /// show another format is refused.
    pub format: Option<FileFormat>,
    /// Options of lines of text.
    pub text: ParseOptions,
    /// The maximum length of a line in bytes, not counting the line end. Longer lines are rejected.
    /// The default is [`lines::default_limit`].
    pub max_line: Option<usize>,
    /// Options of games. The limit of bytes in them also applies to PGC.
    pub games: PgnReadOptions,
    /// If they are given, the positions of games are read instead of the games.
    pub positions: Option<PositionOptions>,
    /// True if lines and games with warnings are rejected.
    pub deny_warnings: bool,
    /// The character set of text, which is converted to UTF-8. If it is `None`, UTF-8 or Latin-1,
    /// nothing is converted here: the readers of lines and games decide ([`ParseOptions::charset`],
    /// [`PgnReadOptions::charset`]).
    pub encoding: Option<TextEncoding>,
    /// The filter of records and games.
    pub filter: Option<Arc<dyn Filter>>,
    /// True if every record that the filter excludes is decoded and becomes an
    /// [`Item::LeftOut`](super::Item::LeftOut). Otherwise records whose positions exclude them are only
    /// counted, by [`Item::LeftOutMany`](super::Item::LeftOutMany).
    pub keep_left_out: bool,
    /// The encoder of records that are lines of text, and of games in PGN and PGC. If several threads read the
    /// lines, the records become [`Item::Encoded`](super::Item::Encoded). If several threads read the
    /// games, each [`Item::Game`](super::Item::Game) also has its encoded bytes, unless the source has a
    /// filter. Other sources, and all iterators, return only decoded records and games.
    pub encode: Option<Arc<dyn Encode>>,
    /// The approximate memory for reading a store or a Parquet file; the default is 64 MiB.
    pub memory_bytes: usize,
    /// True if all bytes of a Parquet file of epdb are checked when it is opened. Otherwise only the
    /// columns that are read are checked, when they are read.
    pub check_all: bool,
    /// True if reading continues after a damaged part of an archive or a stream, which becomes
    /// [`Item::Damaged`](super::Item::Damaged). Otherwise the damage is an error.
    pub skip_damage: bool,
    /// A counter of the bytes that are read from files, for a progress bar.
    pub bytes_read: Option<Arc<AtomicU64>>,
    /// Streams that were opened before and stay open. By default there are none.
    pub streams: Option<Streams>,
    /// True if pipes and devices are refused, except for standard input. Opening a source then never
    /// waits.
    pub regular_files: bool,
}

impl Default for SourceOptions {
    fn default() -> SourceOptions {
        SourceOptions {
            format: None,
            text: ParseOptions::default(),
            max_line: None,
            games: PgnReadOptions::default(),
            positions: None,
            deny_warnings: false,
            encoding: None,
            filter: None,
            keep_left_out: false,
            encode: None,
            memory_bytes: STORE_MEMORY,
            check_all: false,
            skip_damage: false,
            bytes_read: None,
            streams: None,
            regular_files: false,
        }
    }
}

impl SourceOptions {
    /// Sets the character set of text, in these options and in those of lines and games.
    pub fn set_charset(&mut self, charset: Option<TextCharset>) {
        let plain = charset.and_then(TextCharset::charset);
        self.text.charset = plain;
        self.games.charset = plain;
        self.encoding = charset.and_then(TextCharset::encoding);
    }

    /// Whether the positions of games are read instead of the games.
    pub const fn reads_positions(&self) -> bool {
        self.positions.is_some()
    }

    pub(super) fn without_encoding(mut self) -> SourceOptions {
        self.encode = None;
        self
    }

    /// The encoder of lines. `None` if there is no encoder, or if one record may come from several
    /// lines.
    pub(super) fn encode_lines(&self) -> Option<&dyn Encode> {
        if self.text.perft { None } else { self.encode.as_deref() }
    }

    /// True if a plain line (a line with only the fields of a position) is a record.
    fn takes_plain_lines(&self) -> bool {
        self.text.profile == Profile::Lenient && !self.text.labels && !self.text.perft
    }

    /// The filter of plain lines, if it decides about positions; `None` if lines are only read whole.
    pub(super) fn judge_plain(&self) -> Option<&dyn Filter> {
        if self.takes_plain_lines() { self.pushed_down() } else { None }
    }

    /// The encoder of plain lines; `None` if anything else has to be done with the records.
    pub(super) fn encode_plain(&self) -> Option<&dyn Encode> {
        let needs_record = self.filter.is_some() && self.pushed_down().is_none();
        let is_usual = self.takes_plain_lines() && !needs_record;
        self.encode.as_deref().filter(|encode| is_usual && encode.takes_plain())
    }

    /// The encoder of games. `None` if there is no encoder, if positions are read, or if the filter
    /// decides about games only later, in order.
    pub(super) fn encode_games(&self) -> Option<&dyn Encode> {
        let is_decided_early = self.filter.is_none() || self.game_filter().is_some();
        if self.positions.is_none() && is_decided_early { self.encode.as_deref() } else { None }
    }

    /// The filter of games that any thread can call. `None` if positions are read, or if the filter looks at
    /// the places of games.
    pub(super) fn game_filter(&self) -> Option<&dyn Filter> {
        self.filter.as_deref().filter(|filter| self.positions.is_none() && !filter.needs_place())
    }

    /// Checks that the filter can select what a source of this format has.
    pub(super) fn check_filter(&self, format: FileFormat) -> Result<()> {
        let of_games = format.is_of_games() && self.positions.is_none();
        match &self.filter {
            Some(filter) => filter.check(of_games),
            None => Ok(()),
        }
    }

    /// The filter, if it decides about positions before records are decoded.
    pub(super) fn pushed_down(&self) -> Option<&dyn Filter> {
        self.filter.as_deref().filter(|it| it.judges_positions() && !self.keep_left_out)
    }

    pub(super) fn line_limit(&self) -> usize {
        self.max_line.unwrap_or(lines::default_limit(self.text.profile))
    }

    pub(super) fn takes(
        &self,
        record: &EpdRecord,
        game: Option<GamePosition<'_>>,
        place: &Place,
    ) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.takes(record, game, place))
    }

    pub(super) fn takes_game(&self, game: &Game, place: &Place) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.takes_game(game, place))
    }
}

impl fmt::Debug for SourceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceOptions")
            .field("format", &self.format)
            .field("text", &self.text)
            .field("max_line", &self.max_line)
            .field("games", &self.games)
            .field("positions", &self.positions)
            .field("deny_warnings", &self.deny_warnings)
            .field("encoding", &self.encoding)
            .field("filter", &self.filter.is_some())
            .field("encode", &self.encode.is_some())
            .field("memory", &self.memory_bytes)
            .finish_non_exhaustive()
    }
}
