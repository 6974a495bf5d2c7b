//! Statistics of records and games.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::ordered::changed;
use super::sample::random_from_bytes;
use epdb_base::spill::Sorter;
use epdb_chess::codec::packed;
use epdb_chess::codec::pgc::{self, PgcEncodeOptions};
use epdb_chess::codec::record::{self, PlainRecord};
use epdb_chess::error::{Error, Place, Result};
use epdb_chess::model::rules::legality;
use epdb_chess::model::{
    Castling, Color, Element, EpdRecord, Game, GameResult, Opcode, Position, PositionError, Side,
};
use epdb_chess::text::pgn::{self, PgnFormatOptions};
use epdb_source::Encode;

/// Counts records exactly, in bounded memory.
///
/// Each record becomes one key of 47 bytes (64 for boards that do not fit the usual packed form).
/// The key has these fields in this order: board, side to move, castling, legal en passant square,
/// given en passant square, counters. In sorted keys, positions that agree in the first fields are
/// adjacent, so that one pass counts the different positions at every level.
///
/// ```
/// use epdb_library::census::Census;
/// let mut census = Census::new(std::env::temp_dir(), 1 << 20);
/// for line in [
///     "4k3/8/8/8/4P3/8/8/4K3 b - - 0 1",
///     "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1",
///     "4k3/8/8/8/4P3/8/8/4K3 w - - bm Kf2;",
/// ] {
///     census.add(&epdb_chess::parse_epd(line.as_bytes())?)?;
/// }
/// let tally = census.finish()?;
/// assert_eq!(tally.records, 3);
/// assert_eq!(tally.unique.without_counters, 3);
/// assert_eq!(tally.unique.positions, 2);
/// assert_eq!(tally.unique.boards, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Census {
    tally: CensusTally,
    keys: Sorter,
    /// The hashes of `id`.
    ids: Sorter,
}

/// The result of a [`Census`]. Its text in JSON is what `epdb stats --json` prints.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CensusTally {
    /// All records.
    pub records: u64,
    /// Records with White to move.
    pub white_to_move: u64,
    /// Records with Black to move.
    pub black_to_move: u64,
    /// Records with a halfmove clock or a fullmove number, as fields or as operations.
    pub with_counters: u64,
    /// Records with an en passant square where no en passant capture is legal.
    pub superfluous_en_passant: u64,
    /// Records with a castling right of Chess960.
    pub chess960: u64,
    /// Records of illegal positions.
    pub illegal: u64,
    /// Number of records whose `id` another record has already.
    pub repeated_ids: u64,
    /// Number of different records.
    #[serde(flatten)]
    pub unique: Unique,
    /// Bytes of all records in binary form.
    #[serde(skip)]
    pub encoded_bytes: u64,
    /// Records by the number of pieces on the board, 0 to 64.
    #[serde(skip)]
    pub pieces: [u64; 65],
    /// Number of records with each opcode, for at most 65,536 different opcodes.
    pub opcodes: BTreeMap<Opcode, u64>,
    /// Number of operations that are not counted in `opcodes`, because `opcodes` is full.
    #[serde(skip)]
    pub other_operations: u64,
}

/// Numbers of different positions. Each field compares fewer parts of a position than the previous
/// field.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Unique {
    /// Number of positions if counters are compared too. A position without counters is different
    /// from the same position with `0 1`.
    #[serde(rename = "unique_with_counters")]
    pub with_counters: u64,
    /// Number of positions if the first four fields are compared as given. Different letters for
    /// the same castling rights are equal.
    #[serde(rename = "unique_without_counters")]
    pub without_counters: u64,
    /// Number of different positions. Superfluous en passant squares make no difference.
    #[serde(rename = "unique_positions")]
    pub positions: u64,
    /// Number of positions if only board, side to move and castling rights are compared.
    #[serde(rename = "unique_without_en_passant")]
    pub without_en_passant: u64,
    /// Number of positions if only board and side to move are compared.
    #[serde(rename = "unique_boards_and_sides")]
    pub boards_and_sides: u64,
    /// Number of positions if only the board is compared.
    #[serde(rename = "unique_boards")]
    pub boards: u64,
}

impl Unique {
    /// Number of positions (four fields) that differ from another position only in a superfluous en
    /// passant square.
    pub const fn hidden_by_en_passant(&self) -> u64 {
        self.without_counters - self.positions
    }
}

impl CensusTally {
    /// Maximum number of opcodes that are counted one by one, to bound the memory.
    const MAX_OPCODES: usize = 1 << 16;
}

impl Default for CensusTally {
    fn default() -> CensusTally {
        CensusTally {
            records: 0,
            unique: Unique::default(),
            white_to_move: 0,
            black_to_move: 0,
            with_counters: 0,
            superfluous_en_passant: 0,
            chess960: 0,
            illegal: 0,
            repeated_ids: 0,
            encoded_bytes: 0,
            pieces: [0; 65],
            opcodes: BTreeMap::new(),
            other_operations: 0,
        }
    }
}

impl Census {
    /// A census that uses about `memory_bytes` of memory, and a temporary file in `directory` for
    /// the rest; see [`Sorter::new`].
    pub fn new(directory: impl Into<PathBuf>, memory_bytes: usize) -> Census {
        let directory = directory.into();
        Census {
            tally: CensusTally::default(),
            keys: Sorter::new(directory.clone(), memory_bytes / 2),
            ids: Sorter::new(directory, memory_bytes / 2),
        }
    }

    /// Counts one record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord) -> Result<()> {
        let mut facts = Vec::new();
        push_facts(record, &mut facts)?;
        self.add_encoded(&facts)
    }

    /// Counts one record that [`CensusEncode`] encoded.
    ///
    /// # Errors
    /// The errors of [`Census::add`].
    pub fn add_encoded(&mut self, facts: &[u8]) -> Result<()> {
        let Some(([flags, pieces, key_len, len @ ..], rest)) = facts.split_first_chunk::<7>()
        else {
            return Err(changed());
        };
        let (key, rest) = rest.split_at_checked(usize::from(*key_len)).ok_or_else(changed)?;
        let id_len = if flags & flag::ID != 0 { 8 } else { 0 };
        let (id, opcodes) = rest.split_at_checked(id_len).ok_or_else(changed)?;
        if !id.is_empty() {
            self.ids.push(id, b"")?;
        }
        let tally = &mut self.tally;
        let has = |flag| u64::from(flags & flag != 0);
        tally.records += 1;
        tally.white_to_move += 1 - has(flag::BLACK_TO_MOVE);
        tally.black_to_move += has(flag::BLACK_TO_MOVE);
        tally.with_counters += has(flag::COUNTERS);
        tally.superfluous_en_passant += has(flag::SUPERFLUOUS_EN_PASSANT);
        tally.chess960 += has(flag::CHESS960);
        tally.illegal += has(flag::ILLEGAL);
        tally.encoded_bytes += u64::from(u32::from_be_bytes(*len));
        tally.pieces[usize::from(*pieces).min(64)] += 1;
        opcodes
            .split(|byte| *byte == b' ')
            .filter_map(|name| Opcode::new(name).ok())
            .for_each(|opcode| tally.count(opcode));
        Ok(self.keys.push(key, b"")?)
    }

    /// Ends the census, and returns its counts.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn finish(self) -> Result<CensusTally> {
        let Census { mut tally, keys, ids } = self;
        let mut ids = ids.finish()?;
        let mut last_id = Vec::new();
        while let Some((id, _)) = ids.next_entry()? {
            tally.repeated_ids += u64::from(last_id == id);
            last_id.clear();
            last_id.extend_from_slice(id);
        }
        let mut keys = keys.finish()?;
        let unique = &mut tally.unique;
        let mut last = Vec::new();
        while let Some((key, _)) = keys.next_entry()? {
            let same = last.iter().zip(key).take_while(|(a, b)| a == b).count();
            // The fields of a key; see `key`.
            let board_end = packed::len_of(key)?;
            let turn_end = board_end + 1;
            let castling_end = turn_end + 2;
            let legal_en_passant_end = castling_end + 1;
            let en_passant_end = legal_en_passant_end + 1;
            let is_new = |field_end: usize| u64::from(same < field_end);
            unique.boards += is_new(board_end);
            unique.boards_and_sides += is_new(turn_end);
            unique.without_en_passant += is_new(castling_end);
            unique.positions += is_new(legal_en_passant_end);
            unique.without_counters += is_new(en_passant_end);
            unique.with_counters += is_new(key.len());
            last.clear();
            last.extend_from_slice(key);
        }
        Ok(tally)
    }
}

/// Encodes the facts of records that a [`Census`] counts, and of games that a [`GameCensus`] counts.
#[derive(Copy, Clone, Debug)]
pub struct CensusEncode;

impl Encode for CensusEncode {
    fn encode(&self, record: &EpdRecord, _: &Place, out: &mut Vec<u8>) -> Result<()> {
        push_facts(record, out)
    }

    fn encode_plain(&self, plain: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        let Ok((identity, _)) = packed::decode(plain.board) else { return false };
        let given = plain.en_passant.or(identity.en_passant());
        let Ok(position) = identity.with_en_passant(given) else { return false };
        let mut record = EpdRecord::new(position);
        record.set_fen_counters(plain.counters);
        push_facts(&record, out).is_ok()
    }

    /// Appends the counts of the game, and the names of its tags with blanks between them.
    fn encode_game(&self, game: &Game, out: &mut Vec<u8>) -> bool {
        let mut one = GameCensus::of_game(game, out);
        for count in one.counts() {
            out.extend_from_slice(&count.to_le_bytes());
        }
        for name in tag_names(game) {
            out.extend_from_slice(name.as_bytes());
            out.push(b' ');
        }
        true
    }
}

/// Flags of a record, in one byte.
mod flag {
    pub(super) const BLACK_TO_MOVE: u8 = 1;
    pub(super) const COUNTERS: u8 = 1 << 1;
    pub(super) const SUPERFLUOUS_EN_PASSANT: u8 = 1 << 2;
    pub(super) const CHESS960: u8 = 1 << 3;
    pub(super) const ILLEGAL: u8 = 1 << 4;
    pub(super) const ID: u8 = 1 << 5;
}

/// Appends the facts of a record: flags, number of pieces, length of the key, length of the binary
/// form in four bytes, the key, a hash of `id` in eight bytes if the record has it, and the opcodes with blanks
/// between them.
fn push_facts(record: &EpdRecord, out: &mut Vec<u8>) -> Result<()> {
    let position = record.position();
    let identity = position.identity();
    let counters = counters(record);
    let id = record.text_of(Opcode::ID);
    let flags = [
        (position.turn() == Color::Black, flag::BLACK_TO_MOVE),
        (counters != [None, None], flag::COUNTERS),
        (identity.en_passant() != position.en_passant(), flag::SUPERFLUOUS_EN_PASSANT),
        (position.is_chess960(), flag::CHESS960),
        (!legality(position).is_legal(), flag::ILLEGAL),
        (id.is_some(), flag::ID),
    ];
    let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
    let key = key(position, &identity, counters).map_err(Error::from_cause)?;
    let start = out.len();
    // The record is encoded only to find its length.
    record::encode(record, out)?;
    let len = (out.len() - start) as u32;
    out.truncate(start);
    out.extend_from_slice(&[
        flags,
        position.board().occupied().count() as u8,
        // A key has at most 64 bytes.
        key.len() as u8,
    ]);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&key);
    if let Some(id) = id {
        out.extend_from_slice(&random_from_bytes(0, &id).to_be_bytes());
    }
    for operation in record.operations() {
        out.extend_from_slice(operation.opcode.as_bytes());
        out.push(b' ');
    }
    Ok(())
}

impl CensusTally {
    fn count(&mut self, opcode: Opcode) {
        if let Some(count) = self.opcodes.get_mut(&opcode) {
            *count += 1;
        } else if self.opcodes.len() < CensusTally::MAX_OPCODES {
            self.opcodes.insert(opcode, 1);
        } else {
            self.other_operations += 1;
        }
    }
}

/// The key of a record: its fields from the board to the counters. The length of a field follows
/// from the fields before it.
fn key(
    position: &Position,
    identity: &Position,
    counters: [Option<u64>; 2],
) -> Result<Vec<u8>, PositionError> {
    let bare = Position::new(*position.board(), Color::White, Castling::NONE, None)?;
    let mut key = packed::encode(&bare).as_bytes().to_vec();
    key.push(position.turn() as u8);
    let castling = position.castling();
    // No file has the number 8, and no square the number 64.
    for color in Color::ALL {
        let [king, queen] = Side::ALL.map(|side| castling.rook(color, side).unwrap_or(8));
        key.push(king << 4 | queen);
    }
    for square in [identity.en_passant(), position.en_passant()] {
        key.push(square.map_or(64, |square| square.index() as u8));
    }
    for counter in counters {
        key.push(u8::from(counter.is_some()));
        key.extend_from_slice(&counter.unwrap_or(0).to_be_bytes());
    }
    Ok(key)
}

/// Halfmove clock and fullmove number, as fields of FEN or as operations. Operations can hold
/// larger values than fields.
fn counters(record: &EpdRecord) -> [Option<u64>; 2] {
    match record.fen_counters() {
        Some(fields) => {
            [fields.halfmove_clock, fields.fullmove_number].map(|value| Some(value.into()))
        }
        None => {
            [Opcode::HMVC, Opcode::FMVN].map(|opcode| u64::try_from(record.integer(opcode)?).ok())
        }
    }
}

/// Maximum number of tag names, to bound the memory.
const MAX_NAMES: usize = 10_000;

/// Statistics of games. Their text in JSON is what `epdb stats --json` prints.
#[derive(Clone, Default, Debug, Serialize)]
pub struct GameCensus {
    /// All games.
    pub games: u64,
    /// Games by result, in the order of [`GameResult::ALL`].
    #[serde(flatten, serialize_with = "named_results")]
    pub results: [u64; 4],
    /// Games with a FEN tag.
    pub set_up: u64,
    /// Games with a start of Chess960.
    pub chess960: u64,
    /// Moves of main lines, null moves included.
    pub plies: u64,
    /// Moves of the longest main line.
    pub longest: u64,
    /// Variations, including those inside other variations.
    pub variations: u64,
    /// Moves in variations.
    pub variation_plies: u64,
    /// Null moves, including those in variations.
    pub null_moves: u64,
    /// Number of NAGs (Numeric Annotation Glyphs).
    pub nags: u64,
    /// Number of comments.
    pub comments: u64,
    /// Bytes of the comments in UTF-8.
    pub comment_bytes: u64,
    /// Number of `%` lines.
    pub escapes: u64,
    /// Number of games with each tag, for at most 10,000 different names.
    pub tags: BTreeMap<String, u64>,
    /// Number of tags with names beyond that limit.
    pub other_tags: u64,
    /// Games that PGC cannot express.
    pub not_in_pgc: u64,
    /// Bytes of the files, if the caller knows them.
    pub file_bytes: Option<u64>,
    /// Bytes in export format.
    pub pgn_bytes: u64,
    /// Bytes in PGC, escape records included, of the games that PGC can express.
    pub pgc_bytes: u64,
    /// Moves of the games that PGC can express, variations included.
    pub pgc_moves: u64,
    #[serde(skip)]
    buffer: Vec<u8>,
}

fn named_results<S: Serializer>(results: &[u64; 4], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(["white_wins", "black_wins", "draws", "unknown"].iter().zip(results))
}

const COUNT_BYTES: usize = 19 * size_of::<u64>();

impl GameCensus {
    /// Counts a game.
    pub fn add(&mut self, game: &Game) {
        let one = GameCensus::of_game(game, &mut self.buffer);
        self.add_one(one, tag_names(game));
    }

    /// Counts a game that [`CensusEncode`] encoded.
    ///
    /// # Errors
    /// The bytes are not those of a game.
    pub fn add_encoded(&mut self, facts: &[u8]) -> Result<()> {
        let (counts, names) = facts.split_first_chunk::<COUNT_BYTES>().ok_or_else(changed)?;
        let names = std::str::from_utf8(names).map_err(|_| changed())?;
        let mut one = GameCensus::default();
        for (count, bytes) in one.counts().into_iter().zip(counts.as_chunks().0) {
            *count = u64::from_le_bytes(*bytes);
        }
        self.add_one(one, names.split_terminator(' '));
        Ok(())
    }

    /// Adds the counts of one game, and the names of its tags.
    fn add_one<'n>(&mut self, mut one: GameCensus, names: impl Iterator<Item = &'n str>) {
        self.longest = self.longest.max(one.plies);
        for (sum, count) in self.counts().into_iter().zip(one.counts()) {
            *sum += *count;
        }
        for name in names {
            let is_full = self.tags.len() >= MAX_NAMES;
            match self.tags.get_mut(name) {
                Some(count) => *count += 1,
                None if is_full => self.other_tags += 1,
                None => {
                    self.tags.insert(name.to_owned(), 1);
                }
            }
        }
    }

    /// The counts that are added up, except those of tags.
    const fn counts(&mut self) -> [&mut u64; COUNT_BYTES / 8] {
        let [white_wins, black_wins, draws, unfinished] = &mut self.results;
        [
            &mut self.games,
            &mut self.plies,
            &mut self.null_moves,
            &mut self.set_up,
            &mut self.chess960,
            white_wins,
            black_wins,
            draws,
            unfinished,
            &mut self.variations,
            &mut self.variation_plies,
            &mut self.comments,
            &mut self.comment_bytes,
            &mut self.nags,
            &mut self.escapes,
            &mut self.pgn_bytes,
            &mut self.pgc_bytes,
            &mut self.pgc_moves,
            &mut self.not_in_pgc,
        ]
    }

    /// The counts of one game, without those of tags. The end of `buffer` is used as memory.
    fn of_game(game: &Game, buffer: &mut Vec<u8>) -> GameCensus {
        let mut one = GameCensus {
            games: 1,
            set_up: u64::from(game.tag("FEN").is_some()),
            chess960: u64::from(game.start().position.is_chess960()),
            results: GameResult::ALL.map(|result| u64::from(result == game.result())),
            ..GameCensus::default()
        };
        one.count_elements(game);
        one.measure(game, buffer);
        one
    }

    fn count_elements(&mut self, game: &Game) {
        let mut depth = 0;
        for element in game.elements() {
            self.null_moves += u64::from(element == Element::NullMove);
            match element {
                Element::Move(_) | Element::NullMove if depth == 0 => self.plies += 1,
                Element::Move(_) | Element::NullMove => self.variation_plies += 1,
                Element::Nag(_) => self.nags += 1,
                Element::Comment(text) => {
                    self.comments += 1;
                    self.comment_bytes += text.len() as u64;
                }
                Element::Escape(_) => self.escapes += 1,
                Element::VariationBegin => {
                    self.variations += 1;
                    depth += 1;
                }
                Element::VariationEnd => depth -= 1,
            }
        }
    }

    /// Encodes the game only to find its lengths.
    fn measure(&mut self, game: &Game, buffer: &mut Vec<u8>) {
        let start = buffer.len();
        // This cannot fail, because UTF-8 can express every game.
        pgn::format(game, &PgnFormatOptions::default(), buffer).ok();
        self.pgn_bytes = (buffer.len() - start) as u64;
        buffer.truncate(start);
        match pgc::encode(game, &PgcEncodeOptions::EXTENDED, buffer) {
            Ok(_) => {
                self.pgc_bytes = (buffer.len() - start) as u64;
                self.pgc_moves = self.plies + self.variation_plies;
            }
            Err(_) => self.not_in_pgc = 1,
        }
        buffer.truncate(start);
    }
}

fn tag_names(game: &Game) -> impl Iterator<Item = &str> {
    game.tags().map(|(name, _)| name).filter(|name| game.has_tag(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::{Operand, Operation};

    fn record(line: &str) -> EpdRecord {
        epdb_chess::parse_epd(line.as_bytes()).unwrap()
    }

    fn tally(records: &[EpdRecord], memory_bytes: usize) -> CensusTally {
        let mut census = Census::new(std::env::temp_dir(), memory_bytes);
        records.iter().for_each(|record| census.add(record).unwrap());
        let tally = census.finish().unwrap();
        let sizes = records.iter().map(|it| {
            let mut bytes = Vec::new();
            record::encode(it, &mut bytes).unwrap();
            bytes.len() as u64
        });
        assert_eq!(tally.encoded_bytes, sizes.sum::<u64>());
        tally
    }

    #[test]
    fn every_tier_counts_what_it_should_also_through_a_file() {
        let records = [
            "4k3/8/8/8/p3P3/8/8/4K3 b - e3 0 1",
            "4k3/8/8/8/p3P3/8/8/4K3 b - e3 0 2",
            "4k3/8/8/8/p3P3/8/8/4K3 b - e3",
            "4k3/8/8/8/p3P3/8/8/4K3 b - -",
            "4k3/8/8/8/p3P3/8/8/4K3 w - -",
            "4k3/8/8/8/p3P3/8/8/4K3 w - -",
            "4k3/8/8/8/3pP3/8/8/4K3 b - e3",
            "4k3/8/8/8/3pP3/8/8/4K3 b - -",
        ]
        .map(record);
        let unique = Unique {
            with_counters: 7,
            without_counters: 5,
            positions: 4,
            without_en_passant: 3,
            boards_and_sides: 3,
            boards: 2,
        };
        for memory_bytes in [1 << 20, 100] {
            let tally = tally(&records, memory_bytes);
            assert_eq!(tally.unique, unique);
            assert_eq!(tally.unique.hidden_by_en_passant(), 1);
            assert_eq!((tally.records, tally.white_to_move, tally.black_to_move), (8, 2, 6));
            assert_eq!((tally.with_counters, tally.superfluous_en_passant), (2, 3));
            assert_eq!((tally.pieces[4], tally.pieces.iter().sum::<u64>()), (8, 8));
        }
    }

    #[test]
    fn castling_rights_count_but_not_their_letters() {
        let with = record("4k3/8/8/8/8/8/8/R3K3 w Q -");
        let without = record("4k3/8/8/8/8/8/8/R3K3 w - -");
        let mut shredder = with.clone();
        shredder.set_dialect(epdb_chess::model::CastlingDialect::Shredder);
        let unique = tally(&[with, without, shredder], 1 << 20).unique;
        assert_eq!((unique.with_counters, unique.without_en_passant), (2, 2));
        assert_eq!(unique.boards_and_sides, 1);
    }

    #[test]
    fn counters_count_alike_as_fields_and_as_operations() {
        let fields = record("4k3/8/8/8/3pP3/8/8/4K3 w - - 3 9");
        let mut operations = fields.clone();
        let noop = Opcode::NOOP;
        operations.set(Operation { opcode: noop, operands: vec![Operand::token("x")] });
        assert_eq!(operations.fen_counters(), None);
        let tally = tally(&[fields, operations], 1 << 20);
        assert_eq!((tally.with_counters, tally.unique.with_counters), (2, 1));
        let counts: Vec<_> = tally.opcodes.iter().map(|(op, n)| (op.to_string(), *n)).collect();
        let expected = ["fmvn", "hmvc", "noop"].map(|name| (name.to_owned(), 1));
        assert_eq!(counts, expected);
    }

    #[test]
    fn no_halfmove_clock_differs_from_a_clock_of_zero() {
        let both = record("4k3/8/8/8/8/8/8/4K3 w - - 0 1");
        let mut one = EpdRecord::new(*both.position());
        let fmvn = Opcode::FMVN;
        one.set(Operation { opcode: fmvn, operands: vec![Operand::Integer(1)] });
        assert_eq!(tally(&[both, one], 1 << 20).unique.with_counters, 2);
    }

    #[test]
    fn illegal_positions_are_counted() {
        let records = ["4k3/8/8/8/8/8/8/4K3 w - -", "4k3/4Q3/8/8/8/8/8/4K3 w - -"].map(record);
        assert_eq!(tally(&records, 1 << 20).illegal, 1);
    }

    #[test]
    fn opcodes_beyond_the_most_are_counted_together() {
        let mut full = CensusTally::default();
        for number in 0..CensusTally::MAX_OPCODES + 3 {
            full.count(Opcode::new(format!("x{number}").as_bytes()).unwrap());
        }
        full.count(Opcode::new(b"x0").unwrap());
        assert_eq!((full.opcodes.len(), full.other_operations), (CensusTally::MAX_OPCODES, 3));
        assert_eq!(full.opcodes[&Opcode::new(b"x0").unwrap()], 2);
    }
}
