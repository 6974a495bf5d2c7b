//! The samples under `formats/golden`, compared with the code in both directions.

use std::io::{self, Read};

use epdb_chess::codec::identity::InstructionSet;
use epdb_chess::codec::polyglot::{Book, BookError, Entry};
use epdb_chess::codec::query::Query;
use epdb_chess::codec::stream::{MAGIC, ReadError, Reader, VERSION, Writer};
use epdb_chess::codec::tally_origin::{GameDigests, KnownGame, TallyOrigin};
use epdb_chess::codec::{identity, kept_game, key, ordinal, packed, polyglot, record};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Opcode, Role, Square};
use epdb_chess::text::{
    CastlingForm, EnPassantForm, FormatOptions, Profile, epd, fen as fen_text, san,
};

use crate::positions::fen;
use crate::samples::{Case, hex, samples, unhex};

/// The error for a sample, with the expected one.
fn assert_refused(case: &Case, error: &str, offset: u64) {
    assert_eq!([error], case.refused[..], "{}", case.name);
    assert_eq!(Some(offset), case.at, "{}", case.name);
}

/// A record as the samples write it: counters, castling letters and en passant as they are kept.
fn line(record: &EpdRecord) -> String {
    String::from_utf8(text(record)).expect("samples are UTF-8")
}

/// The text of a record with nothing changed.
pub(crate) fn text(record: &EpdRecord) -> Vec<u8> {
    let options = FormatOptions { castling: CastlingForm::Keep, ..Default::default() };
    let mut line = Vec::new();
    epd::format(record, &options, &mut line);
    line
}

#[test]
fn valid_packed_boards() {
    for case in samples("packed_board").valid {
        let position = fen(&case.text[0]);
        let bytes = case.bytes();
        assert_eq!(packed::encode(&position).as_bytes(), bytes, "{}", case.name);
        assert_eq!(packed::decode(&bytes), Ok((position, bytes.len())), "{}", case.name);
        let mut text = Vec::new();
        fen_text::format_fields(&position, CastlingForm::XFen, EnPassantForm::Keep, &mut text);
        assert_eq!(text, case.text[0].as_bytes(), "as the page writes it");
    }
}

#[test]
fn invalid_packed_boards() {
    for case in samples("packed_board").invalid {
        let error = packed::decode(&case.bytes()).expect_err(&case.name);
        assert_refused(&case, &error.to_string(), error.offset);
    }
}

#[test]
fn valid_position_keys() {
    for case in samples("position_key").valid {
        let position = fen(&case.text[0]);
        assert_eq!(format!("{:016x}", key::position_key(&position)), case.key, "{}", case.name);
        let polyglot = format!("{:016x}", key::polyglot_key(&position));
        assert_eq!(polyglot, case.polyglot_key, "{}", case.name);
        let locality = format!("{:016x}", key::locality_key(&position));
        assert_eq!(locality, case.locality_key, "{}", case.name);
    }
}

#[test]
fn valid_move_ordinals() {
    for case in samples("move_ordinal").valid {
        let playable = Playable::new(&fen(&case.text[0])).expect(&case.name);
        let text = |mv| san::format(&playable, mv).to_string();
        let sans: Vec<String> = ordinal::list(&playable).into_iter().map(text).collect();
        assert_eq!(sans, case.moves, "{}", case.name);
        for (place, san) in (0..).zip(sans) {
            let mv = ordinal::move_at(&playable, place).expect("a move");
            assert_eq!(text(mv), san);
            assert_eq!(ordinal::ordinal(&playable, mv), Some(place));
        }
        // Only legal moves have ordinals.
        let legal = ordinal::list(&playable);
        let squares = || (0..64).filter_map(Square::new);
        assert_eq!(ordinal::move_at(&playable, ordinal::count(&playable)), None);
        for (from, to) in squares().flat_map(|from| squares().map(move |to| (from, to))) {
            for promotion in [None, Some(Role::Queen), Some(Role::King)] {
                let mv = Move { from, to, promotion };
                let is_legal = ordinal::ordinal(&playable, mv).is_some();
                assert_eq!(is_legal, legal.contains(&mv), "{}: {mv}", case.name);
            }
        }
    }
}

#[test]
fn valid_records() {
    for case in samples("epd_record").valid {
        let bytes = case.bytes();
        let (decoded, len) = record::decode(&bytes).expect(&case.name);
        assert_eq!(len, bytes.len(), "{}", case.name);
        assert_eq!(line(&decoded), case.text[0]);
        let read = epdb_chess::parse_epd(case.text[0].as_bytes()).expect(&case.name);
        assert_eq!(read == decoded, case.from_text, "{}", case.name);
        let mut encoded = Vec::new();
        record::encode(&decoded, &mut encoded).expect(&case.name);
        assert_eq!(encoded, bytes, "{}", case.name);
        assert_eq!(record::len_of(&bytes), Ok(bytes.len()));
    }
}

#[test]
fn invalid_records() {
    for case in samples("epd_record").invalid {
        let bytes = case.bytes();
        let error = record::decode(&bytes).expect_err(&case.name);
        assert_refused(&case, &error.to_string(), error.offset);
        assert_eq!(record::write_text(&bytes, &mut Vec::new()), Err(error), "{}", case.name);
    }
}

/// The bytes, the bytes with one of them changed, and the bytes cut off after each.
fn variants(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let changed = (0..bytes.len()).flat_map(move |place| {
        let change = move |with: u8| {
            let mut changed = bytes.to_vec();
            changed[place] ^= with;
            changed
        };
        [1, 2, 4, 8, 16, 32, 64, 128, 3, 5, 0xf8, 0xff].into_iter().map(change)
    });
    let cut = (0..=bytes.len()).map(|len| bytes[..len].to_vec());
    cut.chain(changed)
}

/// All ways of reading a record agree, whatever its bytes are.
#[test]
fn every_way_of_reading_records_agrees() {
    let samples = samples("epd_record");
    for case in samples.valid.iter().chain(&samples.invalid).filter(|case| case.bytes().len() < 400)
    {
        for bytes in variants(&case.bytes()) {
            let mut text = Vec::new();
            let written = record::write_text(&bytes, &mut text);
            match record::decode(&bytes) {
                Ok((decoded, len)) => {
                    assert_eq!(record::len_of(&bytes), Ok(len), "{}", hex(&bytes));
                    assert_eq!((written, &text), (Ok(()), &epdb_chess::format_epd(&decoded)));
                    let query = Query::from(decoded.position());
                    assert_eq!(record::board_of(&bytes), Ok(query.board().as_bytes()));
                    assert_eq!(key::board_key(query.board().as_bytes()), Ok(query.key()));
                    assert_eq!(identity::parse_line(&text), Ok((*query.board(), query.key())));
                    let games = record::kept_games_of(&bytes).expect("a record");
                    let mut operations = decoded.operations().iter();
                    let has_games = operations.any(|one| one.opcode == Opcode::KEPT_GAMES);
                    assert!(games.is_none() || has_games, "{}", hex(&bytes));
                    let mut encoded = Vec::new();
                    record::encode(&decoded, &mut encoded).expect("it was decoded");
                    assert_eq!(hex(&encoded), hex(&bytes[..len]));
                }
                Err(error) => assert_eq!(written, Err(error), "{}", hex(&bytes)),
            }
        }
    }
}

/// All ways of reading a packed board agree, whatever its bytes are.
#[test]
fn every_way_of_reading_packed_boards_agrees() {
    let samples = samples("packed_board");
    for case in samples.valid.iter().chain(&samples.invalid) {
        for bytes in variants(&case.bytes()) {
            let mut expected = Vec::new();
            let decoded = packed::decode(&bytes);
            if let Ok((position, len)) = &decoded {
                assert_eq!(packed::len_of(&bytes), Ok(*len), "{}", hex(&bytes));
                assert_eq!(hex(packed::encode(position).as_bytes()), hex(&bytes[..*len]));
                let (castling, en_passant) = (CastlingForm::XFen, EnPassantForm::Keep);
                fen_text::format_fields(position, castling, en_passant, &mut expected);
            }
            for &set in InstructionSet::supported() {
                let mut text = Vec::new();
                let written = identity::write_fields_with(set, &bytes, &mut text);
                let expected_result = decoded.clone().map(drop);
                assert_eq!((written, &text), (expected_result, &expected), "{}", hex(&bytes));
            }
        }
    }
}

#[test]
fn valid_streams() {
    for case in samples("epb_stream").valid {
        let bytes = case.bytes();
        let records = Reader::new(&bytes[..]).collect::<Result<Vec<_>, _>>().expect("a stream");
        let mut reader = Reader::new(&bytes[..]);
        for record in &records {
            let encoded = reader.next_encoded().expect("a stream").expect("a record");
            assert_eq!(record::decode(encoded), Ok((record.clone(), encoded.len())));
        }
        assert!(reader.next_encoded().expect("the end").is_none());
        assert_eq!(records.iter().map(line).collect::<Vec<_>>(), case.text, "{}", case.name);
        let mut writer = Writer::new(Vec::new());
        records.iter().for_each(|record| writer.write(record).expect("a vector takes all"));
        let written = writer.finish().expect("a vector takes all");
        assert_eq!(written == bytes, case.written, "{}", case.name);
        for stream in streams(&without_optional_frames(&bytes)) {
            let mut writer = Writer::new(Vec::new());
            for record in Reader::new(stream) {
                writer.write(&record.expect("a record")).expect("a vector takes all");
            }
            assert_eq!(writer.finish().expect("a vector takes all"), stream, "{}", case.name);
        }
    }
}

/// The output of epdb's writer, which has no optional frames.
fn without_optional_frames(mut bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    while let [_, _, _, _, _, kind, a, b, c, d, ..] = *bytes {
        let (frame, rest) = bytes.split_at(26 + u32::from_le_bytes([a, b, c, d]) as usize);
        if kind < 128 {
            kept.extend_from_slice(frame);
        }
        bytes = rest;
    }
    kept
}

/// Cuts after each end frame.
fn streams(mut bytes: &[u8]) -> Vec<&[u8]> {
    let end_frame = [MAGIC.as_slice(), &[VERSION, 1]].concat();
    let mut streams = Vec::new();
    while let Some(place) = bytes.windows(6).position(|window| window == end_frame) {
        let (stream, rest) = bytes.split_at(place + 26);
        streams.push(stream);
        bytes = rest;
    }
    assert!(bytes.is_empty());
    streams
}

#[test]
fn invalid_streams() {
    for case in samples("epb_stream").invalid {
        let bytes = case.bytes();
        let mut reader = Reader::new(&bytes[..]);
        let error = reader.find_map(Result::err).expect(&case.name);
        let ReadError::Decode { error: place, .. } = &error else { panic!("{error}") };
        assert_refused(&case, &error.to_string(), place.offset);
    }
}

/// All ways of reading the fields of a line agree, whatever the line is.
#[test]
fn every_way_of_reading_lines_agrees() {
    for case in samples("packed_board").valid {
        for line in variants(case.text[0].as_bytes()) {
            let parsed = fen_text::parse(&line, Profile::Lenient).ok().map(|record| {
                let query = Query::from(record.position());
                (*query.board(), query.key())
            });
            for &set in InstructionSet::supported() {
                if let Some(read) = identity::read_fields_with(set, &line) {
                    let is_alone = read.len == line.len();
                    let read = Some((read.board, read.key));
                    assert!(!is_alone || read == parsed, "{}", String::from_utf8_lossy(&line));
                }
            }
        }
    }
}

/// Gives the first bytes, then fails.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let len = out.len().min(7);
        self.0.read(&mut out[..len])
    }
}

/// Records before a failure are read, and the failure is not the end of the stream.
#[test]
fn failures_of_the_input_are_reported() {
    for case in samples("epb_stream").valid {
        let bytes = case.bytes();
        for len in (0..=bytes.len()).step_by(bytes.len() / 60 + 1) {
            let mut reader = Reader::new(Failing(&bytes[..len]));
            let lines: Vec<String> =
                reader.by_ref().map_while(Result::ok).map(|one| line(&one)).collect();
            assert!(case.text.starts_with(&lines), "{}", case.name);
            let mut reader = Reader::new(Failing(&bytes[..len]));
            let error = reader.find_map(Result::err).expect("the input fails");
            assert!(matches!(error, ReadError::Io { .. }), "{}: {error}", case.name);
            assert!(matches!(reader.skip_damage(), Err(ReadError::Io { .. })), "{}", case.name);
        }
    }
}

/// Records after damage are read, and those that are lost are counted.
#[test]
fn damaged_streams_are_read_on() {
    let samples = samples("epb_stream");
    for case in samples.valid.iter().filter(|case| case.bytes().len() < 4000) {
        let bytes = case.bytes();
        // Damage in several frames, too.
        let all_over = (2..60).map(|step| {
            let mut changed = bytes.clone();
            changed.iter_mut().step_by(step).for_each(|byte| *byte ^= 0x10);
            changed
        });
        for changed in variants(&bytes).chain(all_over) {
            let mut reader = Reader::new(&changed[..]);
            let (mut lines, mut lost) = (Vec::new(), Some(0));
            loop {
                match reader.next_record() {
                    Ok(Some(record)) => lines.push(line(&record)),
                    Ok(None) => break,
                    Err(_) => {
                        let skipped = reader.skip_damage().expect("a slice is read");
                        assert!(skipped.bytes.end <= changed.len() as u64);
                        lost = lost.zip(skipped.records).map(|(lost, more)| lost + more);
                    }
                }
            }
            let mut all = case.text.iter();
            assert!(lines.iter().all(|line| all.any(|one| one == line)), "{}", case.name);
            let total = case.text.len() as u64;
            let lost = lost.unwrap_or(total - lines.len() as u64);
            assert!(lost + lines.len() as u64 <= total, "{}", case.name);
        }
    }
    for case in samples.invalid {
        let bytes = case.bytes();
        let mut reader = Reader::new(&bytes[..]);
        reader.by_ref().find_map(Result::err).expect(&case.name);
        assert!(reader.next_encoded().expect("nothing follows an error").is_none());
        let skipped = reader.skip_damage().expect("a slice is read");
        assert!(skipped.bytes.end <= bytes.len() as u64, "{}", case.name);
    }
}

fn entry_line(entry: &Entry) -> String {
    let Entry { key, mv, weight, learn } = entry;
    format!("{key:016x} {mv} {weight} {learn}")
}

/// A writer puts the entries of each position in order: the samples say the same in another one.
fn written(book: &Book) -> Vec<u8> {
    let mut writer = polyglot::Writer::new(Vec::new());
    for entries in book.positions() {
        let mut entries: Vec<Entry> = entries.iter().rev().copied().collect();
        writer.write_position(&mut entries).expect("a vector takes all");
    }
    assert_eq!(writer.entries(), book.entries().len() as u64);
    writer.finish().expect("a vector takes all")
}

#[test]
fn valid_books() {
    for case in samples("polyglot").valid {
        let bytes = case.bytes();
        let book = Book::read(&bytes[..]).expect(&case.name);
        let lines: Vec<String> = book.entries().iter().map(entry_line).collect();
        assert_eq!(lines, case.text, "{}", case.name);
        assert_eq!(written(&book) == bytes, case.written, "{}", case.name);
        for entries in book.positions() {
            assert_eq!(book.entries_of(entries[0].key), entries, "{}", case.name);
        }
    }
}

#[test]
fn invalid_books() {
    for case in samples("polyglot").invalid {
        let error = Book::read(&case.bytes()[..]).expect_err(&case.name);
        let BookError::NoBook { offset, .. } = error else { panic!("{error}") };
        assert_refused(&case, &error.to_string(), offset);
    }
}

#[test]
fn valid_origins_of_tallies() {
    for case in samples("tally_origin").valid {
        let bytes = case.bytes();
        let origin = TallyOrigin::from_bytes(&bytes).expect(&case.name);
        assert_eq!([origin.settings.to_string()], case.text[..], "{}", case.name);
        assert_eq!(origin.to_bytes(), bytes, "{}", case.name);
        for len in 0..bytes.len() {
            TallyOrigin::from_bytes(&bytes[..len]).expect_err("it is cut off");
        }
        for changed in variants(&bytes) {
            if let Ok(origin) = TallyOrigin::from_bytes(&changed) {
                assert_eq!(hex(&origin.to_bytes()), hex(&changed), "{}", case.name);
            }
        }
    }
}

#[test]
fn invalid_origins_of_tallies() {
    for case in samples("tally_origin").invalid {
        let error = TallyOrigin::from_bytes(&case.bytes()).expect_err(&case.name);
        assert_refused(&case, &error.to_string(), error.offset);
    }
}

#[test]
fn digests_ascend_and_occur_once() {
    let [one, two] = [[1; 16], [2; 16]];
    let read = |digests: &[[u8; 16]]| GameDigests::from_bytes(&digests.concat());
    assert_eq!(read(&[one, two]).map(|digests| digests.len()), Some(2));
    assert_eq!(read(&[two, one]), None);
    assert_eq!(read(&[one, one]), None);
    // The same hash, with a higher copy rank.
    let more: [u8; 16] = std::array::from_fn(|at| if at < 12 { 1 } else { 9 });
    assert_eq!(read(&[one, more]), None);
    assert_eq!(GameDigests::from_bytes(&one[..15]), None);
    let mut digests = GameDigests::from_bytes(&one).expect("one game");
    assert_eq!(digests.insert(one), KnownGame::Counted);
    assert!(matches!(digests.insert(more), KnownGame::CountedWith(_)));
    assert_eq!(digests.insert(one), KnownGame::Counted);
}

/// A game as the samples write it: PGN without line ends.
fn pgn_of(game: &epdb_chess::model::Game) -> String {
    let mut text = Vec::new();
    epdb_chess::text::pgn::format(game, &Default::default(), &mut text).expect("UTF-8 says all");
    String::from_utf8(text).expect("PGN").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn valid_kept_games() {
    for case in samples("kept_games").valid {
        let bytes = case.bytes();
        let mut reader =
            epdb_chess::text::pgn::GameReader::new(case.text[0].as_bytes(), Default::default());
        let read = reader.next_game().expect("a slice").expect("a game");
        let mut encoded = Vec::new();
        kept_game::encode(read.game.expect(&case.name), &mut encoded).expect(&case.name);
        assert_eq!(hex(&encoded), hex(&bytes), "{}", case.name);
        assert_eq!(kept_game::id_of(&bytes).to_string(), case.key, "{}", case.name);
        let kept = kept_game::decode(&bytes).expect(&case.name);
        assert_eq!(pgn_of(&kept), case.text[1], "{}", case.name);
    }
}

#[test]
fn invalid_kept_games() {
    for case in samples("kept_games").invalid {
        assert!(kept_game::decode(&case.bytes()).is_none(), "{}", case.name);
    }
}

/// The bytes of the dumps of a page below this text, without their explanations.
fn dump_below(page: &str, text: &str) -> Vec<u8> {
    let path = format!("{}/formats/{page}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect(page);
    let (_, rest) = page.split_once(text).expect(text);
    let dump = rest.split("```").nth(1).expect("a dump");
    dump.lines().flat_map(|line| unhex(line.split("  ").next().unwrap_or(""))).collect()
}

#[test]
fn dumps_of_the_pages_are_what_is_written() {
    let record = |line: &str| epdb_chess::parse_epd(line.as_bytes()).expect(line);
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e3 e4; ce -129; dm 7; id \"A.01\"; pv e4 Ke7 Ke2;";
    let mut bytes = Vec::new();
    record::encode(&record(line), &mut bytes).expect(line);
    assert_eq!(dump_below("notes/examples.md", line), bytes);
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - 5 39";
    let mut writer = Writer::new(Vec::new());
    writer.write(&record(line)).expect("a vector takes all");
    let bytes = writer.finish().expect("a vector takes all");
    assert_eq!(dump_below("notes/examples.md", line), bytes);
    let operation = "kept_games \"keep 1, 2701 2019.05.01 0123456789abcdef, - 2021.??.?? \
                     fedcba9876543210\"";
    let mut bytes = Vec::new();
    let line = format!("4k3/8/8/8/8/8/4P3/4K3 w - - {operation};");
    record::encode(&record(&line), &mut bytes).expect(operation);
    assert!(bytes.ends_with(&[&dump_below("notes/examples.md", operation)[..], &[0xff]].concat()));
    let line = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6";
    assert_eq!(dump_below("notes/examples.md", line), packed::encode(&fen(line)).as_bytes());
    let book =
        Book::read(&dump_below("notes/polyglot.md", "With weight 2")[..]).expect("the example");
    assert_eq!(
        book.entries().iter().map(entry_line).collect::<Vec<_>>(),
        ["463b96181691fc9c e2e4 2 0"]
    );
    let line = "Nd5 Kd7 Nf6+";
    let text = format!("4k3/8/8/8/8/2N5/8/4K1N1 w - - pv {line};");
    let mut bytes = Vec::new();
    record::encode(&record(&text), &mut bytes).expect(line);
    let dump = dump_below("notes/examples.md", line);
    assert_eq!(dump, bytes[bytes.len() - 1 - dump.len()..bytes.len() - 1]);
}
