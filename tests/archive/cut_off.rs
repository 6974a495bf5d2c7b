//! A file that is cut off while its archive is open: every answer is right, or an error that says so.
//! No signal ends the process.

use std::fs::{self, File, OpenOptions};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use epdb_chess::codec::kept_game;
use epdb_chess::model::Position;

use super::kept_games::game;
use super::*;
use crate::random_positions::positions;

type Answer = Result<Vec<u8>, ArchiveError>;

const RECORDS: usize = 3000;

static POSITIONS: LazyLock<Vec<Position>> = LazyLock::new(|| positions(RECORDS));

/// Positions of games, in which some have operations, and some are repeated.
fn lines() -> Vec<EpdRecord> {
    let mut lines = String::new();
    for (number, position) in POSITIONS.iter().enumerate() {
        let fen = String::from_utf8(epdb_chess::format_epd(&EpdRecord::new(*position))).unwrap();
        lines += &match number % 5 {
            0 => format!("{fen} ce {number}; id \"number {number}\";\n"),
            1 => format!("{fen}\n{fen}\n"),
            _ => format!("{fen}\n"),
        };
    }
    records(&lines)
}

fn archives() -> Vec<(&'static str, Vec<u8>)> {
    let lines = lines();
    let options = |level| PackOptions { level, ..Default::default() };
    [
        ("fast", options(Level::Fast)),
        ("sorted", PackOptions { sorted: true, ..options(Level::Fast) }),
        ("default", options(Level::Default)),
        ("sorted default", PackOptions { sorted: true, ..options(Level::Default) }),
        ("without index", PackOptions { index: false, ..options(Level::Default) }),
        ("verbatim", PackOptions { verbatim: true, ..options(Level::Default) }),
    ]
    .map(|(name, options)| {
        let is_verbatim = name == "verbatim";
        let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
        if is_verbatim {
            writer.begin_file("a.epd").unwrap();
        }
        for record in &lines {
            if is_verbatim {
                writer.push_line(record, &text_of(std::slice::from_ref(record))).unwrap()
            } else {
                writer.push(record).unwrap()
            }
        }
        (0..100).for_each(|nth| writer.keep_game(&game(nth)).unwrap());
        (name, writer.finish().unwrap())
    })
    .into()
}

type Ask = fn(&Archive) -> Answer;

/// Every way of reading, with a name. The answers are bytes, so that they can be compared.
fn questions() -> Vec<(&'static str, Ask)> {
    vec![
        ("matches", |archive| {
            let mut out = Vec::new();
            for position in POSITIONS.iter().step_by(97) {
                for found in archive.matches(position) {
                    found?.write_text(&FormatOptions::default(), &mut out)?;
                }
                out.push(b'\n');
            }
            Ok(out)
        }),
        ("records of matches", |archive| {
            let mut out = Vec::new();
            for position in POSITIONS.iter().skip(13).step_by(211) {
                out.extend(matches(archive, position)?.iter().flat_map(|(number, record)| {
                    [number.to_string().into_bytes(), epdb_chess::format_epd(record)].concat()
                }));
            }
            Ok(out)
        }),
        ("bytes of matches", |archive| {
            let mut out = Vec::new();
            for position in POSITIONS.iter().step_by(205) {
                for found in archive.matches(position) {
                    out.extend(found?.bytes()?.unwrap_or_default());
                }
            }
            Ok(out)
        }),
        ("batch", |archive| {
            let positions: Vec<_> = POSITIONS.iter().step_by(31).collect();
            let mut found_lines = vec![Vec::new(); positions.len()];
            archive.get_batch(positions, |place, found| {
                found.write_text(&FormatOptions::default(), &mut found_lines[place])?;
                Ok::<_, ArchiveError>(ControlFlow::Continue(()))
            })?;
            Ok(found_lines.concat())
        }),
        ("record", |archive| {
            let numbers = (0..archive.len()).step_by(501);
            let records = numbers.map(|number| archive.record(number));
            Ok(text_of(&records.collect::<Result<Vec<_>, _>>()?))
        }),
        ("iter", |archive| Ok(text_of(&archive.iter(0..u64::MAX).collect::<Result<Vec<_>, _>>()?))),
        ("text", |archive| {
            let mut out = Vec::new();
            archive.write_text(0..u64::MAX, &mut out)?;
            Ok(out)
        }),
        ("verify", |archive| archive.verify().map(|()| Vec::new())),
        ("kept games", |archive| {
            let mut out = Vec::new();
            archive.each_kept_game(&mut |_, game| {
                out.extend_from_slice(game);
                Ok::<_, ArchiveError>(())
            })?;
            Ok(out)
        }),
        ("kept game", |archive| {
            let mut out = Vec::new();
            for nth in [0, 77, 99] {
                out.extend(archive.kept_game(kept_game::id_of(&game(nth)))?.unwrap_or_default());
            }
            Ok(out)
        }),
        ("restore", |archive| {
            let mut out = Vec::new();
            if archive.is_verbatim() {
                archive.restore(|piece| {
                    out.extend_from_slice(format!("{piece:?}").as_bytes());
                    Ok::<_, ArchiveError>(())
                })?;
            }
            Ok(out)
        }),
    ]
}

fn cut(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// The answer, unless it is an error that a cut file may give.
fn checked(answer: Answer, what: &str) -> Option<Vec<u8>> {
    match answer {
        Ok(bytes) => Some(bytes),
        Err(ArchiveError::CutOff { .. }) => None,
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn no_answer_of_a_file_that_was_cut_off_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epa");
    for (name, bytes) in archives() {
        let whole = Archive::from_bytes(bytes.clone()).unwrap();
        let size = bytes.len() as u64;
        for (question, ask) in questions() {
            let expected = ask(&whole).unwrap();
            let (mut cut_off, mut answered) = (0, 0);
            // Before the first answer, and after one, when caches are filled and checks are done.
            for is_warm in [false, true] {
                for len in
                    [0, 4096, size / 3, (size / 2) & !4095, size.saturating_sub(5000), size - 1]
                {
                    fs::write(&path, &bytes).unwrap();
                    let archive = Archive::open(&path).unwrap();
                    if is_warm {
                        archive.record(0).unwrap();
                        assert_eq!(ask(&archive).unwrap(), expected);
                    }
                    cut(&path, len);
                    let what = format!("{name}, {question}, {len} of {size} bytes");
                    match checked(ask(&archive), &what) {
                        None => cut_off += 1,
                        Some(answer) => {
                            assert!(answer == expected, "{what}");
                            answered += 1;
                        }
                    }
                    drop(archive);
                    fs::remove_file(&path).unwrap();
                }
            }
            println!("{name}, {question}: {cut_off} errors, {answered} answers");
        }
    }
}

/// The message names the first byte that is missing.
#[test]
fn the_error_says_where_the_file_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epa");
    for (name, bytes) in archives() {
        fs::write(&path, &bytes).unwrap();
        let archive = Archive::open(&path).unwrap();
        let len = (bytes.len() as u64 / 2) & !4095;
        cut(&path, len);
        let error = archive.verify().unwrap_err().to_string();
        let expected = format!("the file was cut off at byte {len} while");
        assert!(error.starts_with(&expected), "{name}: {error}");
        fs::remove_file(&path).unwrap();
    }
}

/// The file is cut off at any moment of the lookups of several threads.
#[test]
fn a_file_may_be_cut_off_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in archives() {
        let whole = Archive::from_bytes(bytes.clone()).unwrap();
        let asked: Vec<_> = questions().into_iter().filter(|(name, _)| *name != "verify").collect();
        let expected: Vec<_> = asked.iter().map(|(_, ask)| ask(&whole).unwrap()).collect();
        for nth in 0..2 {
            let path = folder.path().join(format!("{nth}.epa"));
            fs::write(&path, &bytes).unwrap();
            let archive = Archive::open(&path).unwrap();
            let is_cut = AtomicBool::new(false);
            thread::scope(|scope| {
                for shift in 0..2 {
                    let (asked, expected, archive) = (&asked, &expected, &archive);
                    let is_cut = &is_cut;
                    scope.spawn(move || {
                        for place in (0..asked.len()).cycle().skip(shift * 5) {
                            let was_cut = is_cut.load(Ordering::SeqCst);
                            let (question, ask) = asked[place];
                            if let Some(answer) = checked(ask(archive), name) {
                                assert!(answer == expected[place], "{name}, {question}");
                            }
                            if was_cut {
                                break;
                            }
                        }
                    });
                }
                for part in (0..8).rev() {
                    cut(&path, bytes.len() as u64 * part / 8);
                    thread::yield_now();
                }
                is_cut.store(true, Ordering::SeqCst);
            });
        }
    }
}

/// A map of another file is left to the handler that was there before.
#[cfg(unix)]
#[test]
fn other_faults_end_the_process_as_before() {
    use std::os::unix::process::ExitStatusExt;

    const FOLDER: &str = "EPDB_TEST_FOLDER";
    let Some(folder) = std::env::var_os(FOLDER) else {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("map"), vec![1; 10_000]).unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["cut_off::other_faults_end_the_process_as_before", "--exact"]);
        let done = command.env(FOLDER, folder.path()).output().unwrap();
        assert_eq!(done.status.signal(), Some(rustix::process::Signal::BUS.as_raw()), "{done:?}");
        return;
    };
    let path = Path::new(&folder).join("a.epa");
    fs::write(&path, pack(&records(LINES), &PackOptions::default())).unwrap();
    let archive = Archive::open(&path).unwrap();
    archive.verify().unwrap();
    let other = Path::new(&folder).join("map");
    // SAFETY: the bytes are only read, after the file is cut off on purpose.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(&File::open(&other).unwrap()).unwrap() };
    cut(&other, 0);
    println!("{}", map[5000]);
}
