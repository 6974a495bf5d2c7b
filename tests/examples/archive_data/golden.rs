//! The samples of archives, valid and invalid.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

use epdb_archive::{About, Archive, ArchiveWriter, Level, PackOptions, Packed};
use epdb_chess::codec::key::position_key;
use epdb_chess::codec::ordinal;
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Position};
use epdb_chess::text::{FormatOptions, epd, san};

#[allow(dead_code, reason = "the tests of damage use all of it")]
#[allow(clippy::unwrap_used, reason = "what it changes was written just before")]
#[path = "../../archive/forged.rs"]
mod forged;

#[allow(clippy::unwrap_used, reason = "samples are what the tests say they are")]
#[path = "../../support/samples.rs"]
mod samples;

use super::library;
use forged::{FLAGS, FOOTER, FOOTER_FLAGS, Forged, KIND, SEGMENT_FLAGS};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(crate) fn make(folder: &Path) -> Result<()> {
    let default = PackOptions { block_records: Some(64), ..Default::default() };
    let fast = PackOptions { level: Level::Fast, ..default.clone() };
    let segments = |options: &PackOptions| PackOptions { segment_records: 150, ..options.clone() };
    let repeated: Vec<String> = (0..300).map(repeated_line).collect();
    fs::write(folder.join("repeated.epd"), repeated.concat())?;
    let crowded: Vec<String> = (0..200).map(crowded_line).collect();
    fs::write(folder.join("crowded.epd"), crowded.concat())?;
    let kings: Vec<String> = (0..KINGS).map(kings_line).collect();
    fs::write(folder.join("kings.epd"), kings.concat())?;
    fs::write(folder.join("annotated.epd"), annotated()?)?;
    fs::write(folder.join("openings.epd"), openings(600)?)?;
    fs::write(folder.join("operations.epd"), operations()?)?;
    fs::write(folder.join("inner_rooks.epd"), INNER_ROOKS)?;
    let verbatim = PackOptions { verbatim: true, ..default.clone() };
    let blocks = PackOptions { block_records: Some(16), ..default.clone() };
    let no_index = PackOptions { index: false, ..default.clone() };
    let fast_no_index = PackOptions { index: false, ..fast.clone() };
    let small_blocks = PackOptions { block_records: Some(16), ..no_index.clone() };
    let sorted = PackOptions { sorted: true, ..segments(&fast) };
    let unsorted = ["lines", "crowded", "games"].map(|name| folder.join(format!("{name}.epd")));
    let unsorted = unsorted.map(fs::read_to_string).into_iter().collect::<io::Result<String>>()?;
    // Many keys in the first line of the directory: more than have marks, and more than are counted.
    let below = |text: &str, part: u64| -> String {
        let is_low = |line: &&str| {
            epdb_chess::parse_epd(line.as_bytes())
                .is_ok_and(|record| position_key(record.position()) < u64::MAX / part)
        };
        text.lines().filter(is_low).map(|line| format!("{line}\n")).collect()
    };
    let near_keys = below(&unsorted, 8);
    let very_near_keys = below(&scattered_lines(4000), 10);
    let one_segment = PackOptions { sorted: true, ..fast.clone() };
    for (name, text, options, rows) in [
        ("fast_sorted", &unsorted, &sorted, 0..=47),
        ("fast_near_keys", &near_keys, &one_segment, 65..=254),
        ("fast_very_near_keys", &very_near_keys, &one_segment, 255..=255),
    ] {
        let bytes = pack(text, options, &[], &About::default())?;
        // The end of the last bucket of the first line.
        if !rows.contains(&bytes[Forged::new(&bytes).section(18).start + 15]) {
            return Err(format!("the first line of {name}.epa has other rows").into());
        }
        let archive = Archive::from_bytes(bytes)?;
        let mut in_order = Vec::new();
        archive.write_text(0..archive.len(), &mut in_order)?;
        fs::write(folder.join(name).with_extension("epd"), in_order)?;
    }
    let games: Vec<Vec<u8>> =
        samples::samples("kept_games").valid.iter().map(samples::Case::bytes).collect();
    let mut facts = About::default();
    for fact in ["licence=CC0", "licence=PDDL", "name=Zeilen, die ein Test übt"] {
        facts.join(fact.parse()?);
    }
    let mut valid = Vec::new();
    for (file, text, options, name) in [
        ("default", "lines", &default, "Level default"),
        ("fast", "lines", &fast, "Level fast"),
        ("fast_no_index", "lines", &fast_no_index, "Level fast without a position index"),
        ("inner_rooks", "inner_rooks", &default, "Castling with rooks that are not the outermost"),
        (
            "verbatim",
            "lines",
            &verbatim,
            "Verbatim: the canonical lines of `lines.epd`, a line `# lines` in front, all with CR LF",
        ),
        (
            "games",
            "games",
            &default,
            "Positions of games, with the moves that lead from one to the next",
        ),
        (
            "annotated",
            "annotated",
            &default,
            "Positions of a game with its moves, lines, scores and results",
        ),
        ("segments", "games", &segments(&default), "Several segments"),
        ("fast_segments", "games", &segments(&fast), "Several segments at level fast"),
        ("no_index", "lines", &no_index, "Level default without a position index"),
        ("repeated", "repeated", &default, "Text under zstd"),
        ("sorted", "kings", &default, "Sorted rows, whose order is kept"),
        ("flipped", "openings", &small_blocks, "Flipped rows, in more than 32 blocks"),
        (
            "operations",
            "operations",
            &blocks,
            "Operands of all kinds, typed ones too, and texts of all forms; the first block has no operations",
        ),
        (
            "fast_sorted",
            "fast_sorted",
            &sorted,
            "Level fast, sorted, with several segments and records in the heap",
        ),
        (
            "fast_near_keys",
            "fast_near_keys",
            &one_segment,
            "Level fast, sorted, with a line of the row directory that has more records than marks",
        ),
        (
            "fast_very_near_keys",
            "fast_very_near_keys",
            &one_segment,
            "Level fast, sorted, with a line of the row directory that has no marks",
        ),
        ("crowded", "crowded", &fast, "Two hundred records of one position"),
        ("facts", "lines", &default, "Facts about the data"),
        (
            "kept_games",
            "lines",
            &default,
            "Level default with kept games, those of kept_games.json",
        ),
    ] {
        let games = if file == "kept_games" { &games[..] } else { &[] };
        let lines = fs::read_to_string(folder.join(format!("{text}.epd")))?;
        let about = if file == "facts" { facts.clone() } else { About::default() };
        let bytes = pack(&lines, options, games, &about)?;
        fs::write(folder.join(format!("{file}.epa")), bytes)?;
        valid.push(format!(
            "    {{\n      \"name\": {name:?},\n      \"text_file\": \"archive/{text}.epd\",\n      \
             \"file\": \"archive/{file}.epa\"\n    }}"
        ));
    }
    let fast = Forged::new(&fs::read(folder.join("fast.epa"))?);
    let spare = fast.with_ends(|bytes| {
        let footer = bytes.len() - FOOTER;
        bytes[12..20].fill(0);
        bytes[20..28].fill(0xff);
        bytes[footer + 24..footer + 28].fill(0xff);
    });
    fs::write(folder.join("fast_spare.epa"), spare)?;
    valid.push(
        "    {\n      \"name\": \"No id in the header, and spare bytes that a reader ignores\",\n      \
         \"text_file\": \"archive/lines.epd\",\n      \"file\": \"archive/fast_spare.epa\",\n      \
         \"written\": false\n    }"
            .to_string(),
    );
    valid.extend(library::make(folder)?);
    let flipped = Forged::new(&fs::read(folder.join("flipped.epa"))?);
    if flipped.segment_flags() != 2 {
        return Err("the rows of flipped.epa are not flipped".into());
    }
    let invalid = make_invalid(folder)?;
    let with_needs = |sample: &String| with_needs(folder, sample.as_str());
    let list = |samples: &[String]| -> io::Result<String> {
        Ok(samples.iter().map(with_needs).collect::<io::Result<Vec<_>>>()?.join(",\n"))
    };
    let json = format!(
        "{{\n  \"format\": \"archive\",\n  \"version\": 1,\n  \"page\": \"archive.md\",\n  \
         \"note\": \"An invalid one is refused when it is opened or when all of it is verified.\",\n  \
         \"valid\": [\n{}\n  ],\n  \"invalid\": [\n{}\n  ]\n}}\n",
        list(&valid)?,
        list(&invalid)?
    );
    Ok(fs::write(folder.with_extension("json"), json)?)
}

/// A sample that also says what a reader needs to read all of its archive. Nothing is said of an archive
/// that is refused when it is opened.
fn with_needs(folder: &Path, sample: &str) -> io::Result<String> {
    let Some((start, rest)) = sample.split_once("\"file\": \"archive/") else {
        return Ok(sample.to_string());
    };
    let name = rest.split('"').next().unwrap_or_default();
    let bytes = fs::read(folder.join(name))?;
    let Ok(archive) = Archive::from_bytes(bytes.clone()) else { return Ok(sample.to_string()) };
    let mut needs = BTreeSet::new();
    let outside = ["header", "footer", "section table", "segment table", "segment head"];
    needs.extend(archive.parts().iter().map(|part| part.name).filter(|it| !outside.contains(it)));
    let file = Forged::new(&bytes);
    for segment in file.segments().step_by(32) {
        match bytes[segment + 28] {
            2 => _ = needs.insert("shipped model"),
            3 => _ = needs.insert("text"),
            _ => {}
        }
        match bytes[segment + SEGMENT_FLAGS] {
            1 => _ = needs.insert("operations"),
            2 => _ = needs.insert("flipped rows"),
            _ => {}
        }
    }
    let needs: Vec<String> = needs.iter().map(|need| format!("{need:?}")).collect();
    Ok(format!("{start}\"needs\": [{}],\n      \"file\": \"archive/{rest}", needs.join(", ")))
}

/// Positions whose castling rights X-FEN writes with the file of the rook.
const INNER_ROOKS: &str = "\
4k3/8/8/8/8/8/8/R1R1K3 w C -
r1r1k3/8/8/8/8/8/8/4K1RR b Gc -
1r1rk1r1/8/8/8/8/8/8/RR2KR1R w FBd - 3 20
rr2kr1r/8/8/8/8/8/8/R3K2R b KQfb -
4k1rr/8/8/8/8/8/8/RR2K3 w Bg - 0 9
";

/// Lines that a general compressor packs best.
fn repeated_line(number: u32) -> String {
    let again = "so it is, ".repeat(12);
    format!(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - \
         c0 \"one thing said again and again, word for word: {again}\"; c1 \"record {}\";\n",
        number % 10
    )
}

const KINGS: u32 = 480;

/// Lines in no order that helps: a king on all squares of four ranks, a pawn on all of fifteen.
fn kings_line(number: u32) -> String {
    let mixed = number * 271 % KINGS;
    let on_rank = |file: u32, piece| match file {
        0 => format!("{piece}7"),
        7 => format!("7{piece}"),
        file => format!("{file}{piece}{}", 7 - file),
    };
    let (king, pawn) = (mixed % 32, mixed / 32);
    let mut ranks = ["8", "8", "8", "8", "8", "8", "8", "8"].map(str::to_string);
    ranks[0] = "7k".into();
    ranks[2 + pawn as usize / 8] = on_rank(pawn % 8, 'p');
    ranks[4 + king as usize / 8] = on_rank(king % 8, 'K');
    format!("{} w - - 0 {}\n", ranks.join("/"), number % 3 + 1)
}

/// Lines of positions whose squares say little of each other: with counters or without, of both kinds
/// of castling letters, with operations, and one with two kings.
fn scattered_lines(count: usize) -> String {
    let mut state = 1u64;
    let mut below = |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut text = String::new();
    for number in 0..count {
        let mut board = [[b'.'; 8]; 8];
        (board[0], board[7]) = (*b"r..qk..r", *b"R..QK..R");
        (0..8).for_each(|file: usize| {
            let steps = [below(3) as usize, below(3) as usize];
            (board[1 + steps[0]][file], board[6 - steps[1]][file]) = (b'p', b'P');
        });
        for piece in *b"nnbbNNBB" {
            let (rank, file) = (below(8) as usize, below(8) as usize);
            if board[rank][file] == b'.' {
                board[rank][file] = piece;
            }
        }
        if number == 77 {
            board[2][2] = b'K';
        }
        let ranks = board.map(|rank| String::from_utf8_lossy(&rank).into_owned());
        let mut placement = ranks.join("/");
        (1..=8)
            .rev()
            .for_each(|run| placement = placement.replace(&".".repeat(run), &run.to_string()));
        let turn = ["w", "b"][below(2) as usize];
        let rights = ["KQkq", "KQkq", "Kq", "-", "HAha"][below(5) as usize];
        let rest = match number % 97 {
            0..50 => format!(" {} {}", below(3), below(9) + 20),
            50 => format!(" hmvc 1; id \"scattered {number}\";"),
            51 => " 4294967295 4294967295".to_string(),
            _ => String::new(),
        };
        text.push_str(&format!("{placement} {turn} {rights} -{rest}\n"));
    }
    text
}

/// Positions without operations, then positions of a game with operands of all kinds.
fn operations() -> Result<String> {
    let mut lines: String = (0..16).map(crowded_line).collect();
    // Text cannot say the letters of this one.
    lines += "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - id \"game 001\";\n";
    let mut playable = Playable::new(&Position::START)?;
    for ply in 0..64_u32 {
        if ordinal::count(&playable) < 4 {
            playable = Playable::new(&Position::START)?;
        }
        let fen = String::from_utf8(epdb_chess::format_epd(&EpdRecord::new(*playable.position())))?;
        let moves = ordinal::list(&playable);
        let mut sans: Vec<_> =
            moves.iter().map(|&mv| san::format(&playable, mv).to_string()).collect();
        let ucis: Vec<_> = moves.iter().map(|&mv| san::uci(&playable, mv).to_string()).collect();
        let mv = moves[(ply * 7 % moves.len() as u32) as usize];
        let played = san::format(&playable, mv);
        let few = 2 + ply as usize % 3;
        let points: Vec<String> =
            (0..few).map(|nth| (90 - 7 * nth as u32 + ply).to_string()).collect();
        let pairs: Vec<String> =
            sans.iter().zip(&points).map(|(san, points)| format!("{san}={points}")).collect();
        let (list, own) = (sans[..few].join(" "), ucis[..few].join(" "));
        sans.truncate(few);
        sans.sort();
        let best = sans.join(" ");
        let sign = if ply % 2 == 0 { "" } else { "-" };
        lines += &match ply % 8 {
            0 => format!(
                "{fen} acn 18446744073709551615; c0 \"epdb:40000:AQI=\"; ce {sign}12; pv {played}; x_{ply};\n"
            ),
            1 => format!(
                "{fen} bm {best}; c0 \"{}\"; c7 \"{list}\"; c8 \"{}\"; c9 \"{own}\";\n",
                pairs.join(", "),
                points.join(" ")
            ),
            2 => format!(
                "{fen} c1 \"epdb:65535:\"; id \"game {ply:03}\"; noop 1 -7 \"two\" word 9x \"\";\n"
            ),
            3 => format!(
                "{fen} c2 \"{sign}1\"; c8 \"3 5 9 12 4294967295 0\"; id \"game {ply:03}\"; pm {played};\n"
            ),
            4 => format!(
                "{fen} c1 \"said again\"; c2 \"{sign}1\"; id \"game {ply:03}\"; sm {played};\n"
            ),
            5 => format!(
                "{fen} c1 \"said again\"; c2 \"{sign}1\"; id \"game {ply:03}\"; longest_opcode1 {ply};\n"
            ),
            6 => format!(
                "{fen} c2 \"{sign}1\"; fmvn 4294967296; hmvc 4294967297; id \"game 999\";\n"
            ),
            _ => format!(
                "{fen} c2 \"{sign}1\"; id \"game 1000\"; resign; sv {played}; tcri \"2+1\" \"x\";\n"
            ),
        };
        playable = playable.after(mv);
    }
    Ok(lines)
}

/// The positions of a game that goes on by ordinals, each with its move, a line of two moves, and a
/// score and a result of the side to move. The last has none of them.
fn annotated() -> Result<String> {
    let mut position = Position::START;
    let mut lines = String::new();
    let mut numbers = (1..).map(|number: u32| number.wrapping_mul(0x9e37_79b1) >> 16);
    for ply in 0..300_u16 {
        let playable = Playable::new(&position)?;
        let fen = String::from_utf8(epdb_chess::format_epd(&EpdRecord::new(position)))?;
        let mut moves = numbers.next().into_iter().filter_map(|number| {
            let count = u32::from(ordinal::count(&playable));
            ordinal::move_at(&playable, number.checked_rem(count)? as u16)
        });
        let Some(mv) = moves.next() else {
            lines += &format!("{fen}\n");
            break;
        };
        let next = playable.after(mv);
        let reply = ordinal::move_at(&next, ply % 7).map(|reply| san::format(&next, reply));
        let reply = reply.map_or(String::new(), |reply| format!(" {reply}"));
        let sign = if ply % 2 == 0 { 1 } else { -1 };
        let score = sign * (i32::from(ply) * i32::from(ply) % 90 + i32::from(ply));
        let played = san::format(&playable, mv);
        lines += &format!(
            "{fen} c9 \"{sign}\"; ce {score}; nps_ {ply}; pv {played}{reply}; sm {played};\n"
        );
        position = *next.position();
    }
    Ok(lines)
}

/// Positions after two moves of each side, in the order of their lines.
fn openings(count: usize) -> Result<String> {
    let mut lines = BTreeSet::new();
    for seed in 1.. {
        let mut playable = Playable::new(&Position::START)?;
        for ply in 0..4 {
            let mixed = ((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (16 * ply)) & 0xffff;
            let nth = mixed % u64::from(ordinal::count(&playable));
            let mv = ordinal::move_at(&playable, nth as u16).ok_or("an ordinal")?;
            playable = playable.after(mv);
        }
        let fen = epdb_chess::format_epd(&EpdRecord::new(playable.position().identity()));
        lines.insert(format!("{} 0 3\n", String::from_utf8(fen)?));
        if lines.len() == count {
            break;
        }
    }
    Ok(lines.into_iter().collect())
}

/// Lines of one position.
fn crowded_line(number: u32) -> String {
    format!("4k3/8/8/8/8/8/4P3/4K3 w - - {} {}\n", number % 50, number + 1)
}

fn records(text: &str) -> Result<Vec<EpdRecord>> {
    Ok(text
        .lines()
        .map(|line| epdb_chess::parse_epd(line.as_bytes()))
        .collect::<std::result::Result<_, _>>()?)
}

/// An archive of lines; a verbatim one is of a file with a comment in front and CR LF as line ends.
fn pack(text: &str, options: &PackOptions, games: &[Vec<u8>], about: &About) -> Result<Vec<u8>> {
    let mut writer = ArchiveWriter::new(Vec::new(), options.clone())?;
    writer.begin_file("lines.epd")?;
    writer.push_aside(b"# lines\r\n")?;
    for record in records(text)? {
        let mut raw = Vec::new();
        epd::format(&record, &FormatOptions::default(), &mut raw);
        raw.extend_from_slice(b"\r\n");
        writer.push_line(&record, &raw)?;
    }
    games.iter().try_for_each(|game| writer.keep_game(game))?;
    writer.set_about(about.clone());
    Ok(whole(writer.finish_packed()?))
}

/// The bytes of an archive with the id in its header.
pub(crate) fn whole(mut packed: Packed<Vec<u8>>) -> Vec<u8> {
    packed.out[..packed.header.len()].copy_from_slice(&packed.header);
    packed.out
}

fn make_invalid(folder: &Path) -> Result<Vec<String>> {
    let read = |name: &str| fs::read(folder.join(name)).map(|bytes| Forged::new(&bytes));
    let (default, fast, segments) =
        (read("default.epa")?, read("fast.epa")?, read("segments.epa")?);
    let (no_index, unindexed) = (read("no_index.epa")?, read("fast_no_index.epa")?);
    let (verbatim, crowded) = (read("verbatim.epa")?, read("crowded.epa")?);
    let (sorted, kings) = (read("fast_sorted.epa")?, read("sorted.epa")?);
    // Parts under checks that hold, coded by a program that had only the pages.
    let by_hand = |name: &str| fs::read(folder.join(format!("invalid/{name}.epa")));
    let footer = |file: &Forged| file.footer().start;
    let row = |number: usize| unindexed.section(5).start + 32 * number;
    let index = default.entry(7).start;
    let facts = read("facts.epa")?;
    let about = facts.section(20);
    let all = default.changed(|_| {});
    fs::create_dir_all(folder.join("invalid"))?;
    let mut samples = Vec::new();
    let forged: Vec<_> = FORGED
        .iter()
        .map(|&(file, name)| Ok((file, name, by_hand(file)?)))
        .collect::<io::Result<_>>()?;
    let cases = [
        ("version", "A later version", default.with_ends(|bytes| bytes[8] = 2)),
        ("version_0", "Version 0", default.with_ends(|bytes| bytes[8] = 0)),
        (
            "footer_version",
            "A later version in the footer",
            default.with_ends(|bytes| bytes[footer(&default) + 38] = 2),
        ),
        (
            "header_flag",
            "A flag of the header that there is not",
            default.with_ends(|bytes| bytes[11] = 0x80),
        ),
        (
            "header_id",
            "A header with the id of another file",
            default.with_ends(|bytes| bytes[12] ^= 1),
        ),
        (
            "table_id",
            "An id that is not that of the section table",
            default.with_ends(|bytes| {
                bytes[12] ^= 1;
                bytes[footer(&default) + 16] ^= 1;
            }),
        ),
        ("truncated", "The last byte is missing", all[..all.len() - 1].to_vec()),
        (
            "footer_flag",
            "A flag of the footer that there is not",
            default.with(footer(&default) + FOOTER_FLAGS, |flags| flags | 0x10),
        ),
        (
            "footer_records",
            "The footer counts a record more than the segments",
            default.with(footer(&default) + 8, |records| records + 1),
        ),
        (
            "segment_flag",
            "A flag of a segment that there is not",
            no_index.with(no_index.segments().start + SEGMENT_FLAGS, |flags| flags | 4),
        ),
        (
            "flipped_operations",
            "Flipped rows in a segment with operations",
            no_index.with(no_index.segments().start + SEGMENT_FLAGS, |flags| flags | 2),
        ),
        (
            "flipped_sorted",
            "Flipped rows in a segment with separators",
            kings.with(kings.segments().start + SEGMENT_FLAGS, |flags| flags | 2),
        ),
        (
            "segment_coder",
            "A coder that there is not",
            default.with(default.segments().start + 28, |_| 9),
        ),
        (
            "reserved_coder",
            "The reserved coder",
            default.with(default.segments().start + 28, |_| 4),
        ),
        (
            "segment_records",
            "A segment of more records than rows",
            fast.changed(|bytes| {
                bytes[fast.segments().start + 16] += 1;
                bytes[footer(&fast) + 8] += 1;
            }),
        ),
        (
            "section_flag",
            "A flag of a section that there is not",
            default.with(index + FLAGS, |flags| flags | 2),
        ),
        (
            "section_needed",
            "A kind of section that there is not and that is needed",
            default.changed(|bytes| {
                bytes[index + KIND] = 200;
                bytes[index + FLAGS] = 0;
            }),
        ),
        (
            "section_place",
            "A section that begins inside the one before",
            default.with(index + 16, |offset| offset - 1),
        ),
        (
            "rows_exchanged",
            "Two rows exchanged",
            unindexed.changed(|bytes| exchange(bytes, row(3), row(4), 32)),
        ),
        (
            "row_counters",
            "A row with numbers and no counters",
            fast.with_row(3, |row| row[24 + 3] &= !1),
        ),
        (
            "row_class",
            "A row that says a longer record in the heap",
            fast.with_row(6, |row| row[28] += 1),
        ),
        (
            "row_dialect",
            "A row in Shredder's letters without a right",
            crowded.with_row(0, |row| row[24 + 3] |= 2),
        ),
        (
            "row_identity",
            "A row whose board is that of no identity",
            unindexed.with_row(3, |row| {
                // The pawn of e4 as one whose double step can be answered by a capture.
                row[15] = row[15] & 0x0f | 12 << 4;
                row[27] &= 3;
            }),
        ),
        (
            "row_behind",
            "A row with a byte behind its board",
            crowded.with_row(0, |row| row[10] = 1),
        ),
        (
            "row_nibble",
            "A row whose board has a code behind its last piece",
            crowded.with_row(0, |row| row[9] |= 0x10),
        ),
        (
            "row_kings",
            "A row with a king to move beside one of the same side that waits",
            crowded.with_row(0, |row| row[8] |= 0xf0),
        ),
        (
            "row_right",
            "A row with a castling right and no king",
            crowded.with_row(0, |row| row[8] = row[8] & 0xf0 | 13),
        ),
        (
            "row_right_edge",
            "A row with a castling right of a king on the h-file",
            crowded.with_row(0, |row| {
                row[..24].fill(0);
                row[..10].copy_from_slice(&[0x88, 0, 0, 0, 0, 0, 0, 0x10, 0xbd, 0x0a]);
            }),
        ),
        (
            "operations_missing",
            "A row with operations in a segment without them",
            by_hand("operations_missing")?,
        ),
        (
            "line_exchanged",
            "Two lines of the position index exchanged",
            fast.changed(|bytes| {
                let lines = fast.section(8).start;
                exchange(bytes, lines, lines + 64, 64);
            }),
        ),
        (
            "directory_mark",
            "A line of a row directory with another mark",
            sorted.with_line(0, |line| line[16] ^= 1),
        ),
        (
            "directory_end",
            "A line of a row directory with a bucket that ends before it begins",
            sorted.with_line(0, |line| line[9] = line[8] - 1),
        ),
        (
            "directory_byte",
            "A changed byte in a line of a row directory",
            sorted.with(sorted.section(18).start + 10, |byte| byte ^ 1),
        ),
        (
            "guide_shift",
            "A row guide that leads elsewhere",
            sorted.with(sorted.section(19).start + 2, |byte| byte ^ 1),
        ),
        (
            "directory_of_unsorted",
            "A row directory where the footer does not say that records are sorted",
            sorted.with(footer(&sorted) + FOOTER_FLAGS, |flags| flags & !1),
        ),
        (
            "row_further",
            "A row that says of further records, of an archive that is not sorted",
            fast.with_row(2, |row| row[28] |= 0x40),
        ),
        (
            "bucket",
            "A changed bit in a bucket of the position index",
            default.with(default.section(7).start + 5, |bits| bits ^ 1),
        ),
        (
            "blocks_exchanged",
            "Forty bytes of blocks exchanged",
            segments.changed(|bytes| {
                let blocks = segments.section(4).start;
                exchange(bytes, blocks, blocks + 40, 40);
            }),
        ),
        (
            "model",
            "A model of a segment that has none",
            default.with(default.entry(4).start + KIND, |_| 2),
        ),
        (
            "about_order",
            "Facts about the data that do not ascend",
            facts.with(about.start + 8, |_| b'Z'),
        ),
        (
            "about_key",
            "A fact whose key has a capital",
            facts.with(about.start, |byte| byte.to_ascii_uppercase()),
        ),
        (
            "about_end",
            "Facts without a line feed at their end",
            facts.with(about.end - 1, |_| b'0'),
        ),
        (
            "segment_head",
            "A segment head with another number of records than the segment table",
            segments.with_head(|head| head[8 + 16] -= 1),
        ),
        (
            "file_name",
            "A name of a file that is not UTF-8",
            verbatim.with(verbatim.section(10).start + 5, |_| 0xff),
        ),
    ];
    for (file, name, bytes) in cases.into_iter().chain(forged) {
        let refused = Archive::from_bytes(bytes.clone()).and_then(|archive| archive.verify());
        let error = refused.err().ok_or_else(|| format!("{name} is accepted"))?.to_string();
        fs::write(folder.join(format!("invalid/{file}.epa")), bytes)?;
        samples.push(format!(
            "    {{\n      \"name\": {name:?},\n      \"refused\": [{error:?}],\n      \
             \"file\": \"archive/invalid/{file}.epa\"\n    }}"
        ));
    }
    Ok(samples)
}

/// Invalid archives that `tests/independent/forge.py` writes: their parts are coded anew, so that
/// all checks match.
const FORGED: [(&str, &str); 74] = [
    ("digests_entry", "Digests with another hash in the entry of their last group"),
    ("digests_group", "Digests with another checksum of their last group"),
    ("digests_table", "Digests with another checksum of their table"),
    ("kept_games_entry", "Kept games with another id in the entry of their block"),
    ("kept_games_block", "Kept games with another checksum of their block"),
    ("section_twice", "Two block directories of one segment"),
    ("guide_length", "A row guide that is not as long as its directory"),
    ("start_lists", "A start of operations with more opcodes than there may be"),
    ("text_two_frames", "Text in two frames"),
    ("text_frame_behind", "A frame without content after the text"),
    ("text_skippable", "A skippable frame before the text"),
    ("text_byte_behind", "A byte after the frame of a text"),
    ("text_without_size", "A frame of a text that does not say its size"),
    ("text_blanks", "Text with two blanks between fields"),
    ("text_cr", "Text with a carriage return"),
    ("text_order", "Text with operations in another order"),
    ("text_shredder", "Text with Shredder's letters"),
    ("text_castling", "Text with castling rights in another order"),
    ("text_quotes", "Text with a string without its quotes"),
    ("text_twice", "Text with an operation twice"),
    ("text_lenient", "Text that only the profile lenient takes"),
    ("text_comment", "Text with a comment"),
    ("text_line_missing", "Text with a line fewer than records"),
    ("text_end_missing", "Text whose last line has no end"),
    ("order_twice", "An order with a number twice"),
    ("order_beyond", "An order with a number above the last"),
    ("order_bits", "An order with a bit after the last number"),
    ("order_byte", "An order with a byte after the last number"),
    ("order_missing", "An order with fewer numbers than records"),
    ("order_ends", "An order whose end of a piece is cut"),
    ("order_empty", "An order without bytes"),
    ("order_check", "An order whose piece has another checksum"),
    ("block_directory_byte", "A block directory whose lengths have other bytes than it says"),
    ("separators_columns", "A separator of ten columns"),
    ("separators_above", "A separator above the first row of its block"),
    ("separators_order", "Two separators exchanged"),
    ("separators_byte", "Separators with a byte after the last"),
    ("separators_missing", "Separators for a block fewer"),
    ("separators_last", "Separators whose end is the last board"),
    ("operations_text_form", "A text in the form 7"),
    ("operations_text_form_15", "A text in the form 15"),
    ("operations_text_no_digits", "A text of form 2 without digits before it"),
    ("operations_text_no_moves", "A text of form 5 without a move list"),
    ("operations_text_no_pairs", "A text of form 6 without lists"),
    ("operations_text_one_move", "A move list of one move"),
    ("operations_text_moves", "A move list of more moves than are legal"),
    ("operations_text_one_number", "A number list of one number"),
    ("operations_text_number_below", "A number list with a number below 0"),
    ("operations_operand_kind", "An operand of kind 6"),
    ("operations_operand_tally", "A tally of an opcode that has none"),
    ("operations_operand_move", "A move of an opcode that takes none"),
    ("operations_shape_index", "An index above the number of shapes"),
    ("operations_shape_empty", "A record with operations that has none"),
    ("operations_shape_order", "Opcodes that do not ascend"),
    ("operations_shape_twice", "An opcode twice in a shape"),
    ("operations_opcode_number", "An opcode entry that there is not"),
    ("operations_opcode_empty", "A new opcode without letters"),
    ("operations_opcode_digit", "A new opcode that begins with a digit"),
    ("operations_opcode_known", "A new opcode that has an entry"),
    ("operations_moves_order", "Moves of `bm` that do not ascend"),
    ("operations_moves_twice", "A move of `bm` twice"),
    ("operations_counter_operation", "An operation that is a counter of the row"),
    ("operations_cost", "Operations that cost more than their bytes pay for"),
    ("operations_empty", "No operations where records have them"),
    ("operations_end", "Operations that end early"),
    ("operations_of_none", "Operations in a block whose records have none"),
    ("model_flag", "A model that mirrors twice"),
    ("model_contexts", "A model with five contexts of a column"),
    ("model_context", "A model with a context that there is not"),
    ("model_values", "A model with more values than a dictionary has"),
    ("model_code", "A model with a rank of a code that there is not"),
    ("model_value_twice", "A model with a value twice in a dictionary"),
    ("model_symbol", "A model with a symbol that there is not"),
    ("model_end", "A model that ends early"),
];

fn exchange(bytes: &mut [u8], a: usize, b: usize, len: usize) {
    (0..len).for_each(|nth| bytes.swap(a + nth, b + nth));
}
