//! Verbatim archives restore their files byte for byte.

use epdb_archive::{ArchiveError, Restored};
use epdb_chess::text::lines::{LineReader, Next};

use super::*;

fn pack_files(files: &[(String, Vec<u8>)], options: &PackOptions) -> Vec<u8> {
    let options = PackOptions { verbatim: true, ..options.clone() };
    let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
    for (name, bytes) in files {
        writer.begin_file(name).unwrap();
        let mut lines = LineReader::new(bytes.as_slice(), 4000);
        while let Some(next) = lines.next_line().unwrap() {
            let Next::Line(line) = next else {
                let mut whole = Vec::new();
                lines.copy_long_line(&mut whole).unwrap();
                writer.push_aside(&whole).unwrap();
                continue;
            };
            match parse_line(line.text, &ParseOptions::default(), &mut Vec::new()) {
                Ok(Line::Record(record)) => writer.push_line(&record, line.raw).unwrap(),
                _ => writer.push_aside(line.raw).unwrap(),
            }
        }
    }
    writer.finish().unwrap()
}

fn restored(archive: &Archive) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    archive
        .restore(|piece| {
            match piece {
                Restored::File(name) => files.push((name.to_string(), Vec::new())),
                Restored::Bytes(bytes) => files.last_mut().unwrap().1.extend_from_slice(bytes),
            }
            Ok::<(), ArchiveError>(())
        })
        .unwrap();
    files
}

fn assert_comes_back(files: &[(&str, &[u8])]) {
    let files: Vec<(String, Vec<u8>)> =
        files.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec())).collect();
    for options in both_levels() {
        let archive = Archive::from_bytes(pack_files(&files, &options)).unwrap();
        assert_eq!(restored(&archive), files);
        archive.verify().unwrap();
    }
}

#[test]
fn line_ends_blanks_spellings_comments_and_rejects_come_back() {
    let odd = b"\xef\xbb\xbf# a comment\r\n\r\n\
        4k3/8/8/8/8/8/4P3/4K3  w\t- - id \"x\" ; bm e4\r\n\
        not a position\n\
        4k3/8/8/8/8/8/4P3/4K3 w - - bm e2e4;id \"y\"\r\
        \x00\xff\n   \n\
        4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let long = [b"4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"".to_vec(), vec![b'x'; 9000], b"\";\n".to_vec()];
    assert_comes_back(&[("odd.epd", odd)]);
    assert_comes_back(&[
        ("empty.epd", b""),
        ("odd.epd", odd),
        ("odd.epd", odd),
        ("long.epd", &long.concat()),
        ("end.epd", b"\n\n"),
    ]);
    assert_comes_back(&[]);
}

/// Text that is canonical except for its line ends costs next to nothing.
#[test]
fn systematic_differences_are_cheap() {
    let canonical = LINES.repeat(50);
    let crlf = canonical.replace('\n', "\r\n");
    let unclosed = canonical.replace(";\n", "\n");
    let plain = pack(&records(&canonical), &PackOptions::default()).len();
    for text in [canonical, crlf, unclosed] {
        let bytes =
            pack_files(&[("a.epd".into(), text.clone().into_bytes())], &PackOptions::default());
        assert!(bytes.len() < plain + 400, "{} and {plain}", bytes.len());
        let archive = Archive::from_bytes(bytes).unwrap();
        assert_eq!(restored(&archive)[0].1, text.as_bytes());
    }
}

#[test]
fn other_archives_refuse_verbatim_reading() {
    let archive = Archive::from_bytes(pack(&records(LINES), &PackOptions::default())).unwrap();
    let refused = archive.restore(|_| Ok::<(), ArchiveError>(()));
    assert!(matches!(refused, Err(ArchiveError::NotVerbatim)));
}

#[test]
fn found_files_come_back() {
    let found = found_files();
    for files in found.chunks(20) {
        let files: Vec<(String, Vec<u8>)> = files
            .iter()
            .map(|file| {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                let mut bytes = std::fs::read(file).unwrap();
                // The beginning of a file is a file too. Whole files would take two minutes.
                bytes.truncate(300_000);
                (name, bytes)
            })
            .collect();
        let archive = Archive::from_bytes(pack_files(&files, &PackOptions::default())).unwrap();
        let restored = restored(&archive);
        for (before, after) in files.iter().zip(&restored) {
            assert!(before == after, "{}", before.0);
        }
        assert_eq!(files.len(), restored.len());
    }
}
