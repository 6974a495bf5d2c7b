//! Archives of this version stay readable: `formats/golden/archive/`.

use super::*;

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/formats/golden/archive/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

#[test]
fn archives_of_version_1_are_read() {
    let records = records(LINES);
    for name in ["default.epa", "fast.epa", "verbatim.epa"] {
        let archive = Archive::from_bytes(golden(name)).unwrap();
        assert_holds(&archive, &records);
        for (number, record) in (0..).zip(&records) {
            let found = archive.find(record.position()).unwrap();
            assert!(found.contains(&(number, record.clone())), "{name}");
        }
    }
    let text = String::from_utf8(golden("games.epd")).unwrap();
    let games = super::records(&text);
    assert_holds(&Archive::from_bytes(golden("games.epa")).unwrap(), &games);
    let archive = Archive::from_bytes(golden("verbatim.epa")).unwrap();
    let mut files = Vec::new();
    archive
        .restore(|piece| {
            match piece {
                epdb::archive::Restored::File(name) => files.push((name.to_string(), Vec::new())),
                epdb::archive::Restored::Bytes(bytes) => {
                    files.last_mut().unwrap().1.extend_from_slice(bytes);
                }
            }
            Ok::<(), epdb::archive::ArchiveError>(())
        })
        .unwrap();
    let canonical = String::from_utf8(text_of(&records)).unwrap();
    let text = format!("# lines\r\n{}", canonical.replace('\n', "\r\n"));
    assert_eq!(files, [("lines.epd".to_string(), text.into_bytes())]);
}

/// Makes the samples anew; the committed ones stay as they are.
#[test]
#[ignore = "writes formats/golden/archive"]
fn write_golden_archives() {
    let records = records(LINES);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/golden/archive");
    std::fs::create_dir_all(&folder).unwrap();
    let [default, fast] = both_levels();
    std::fs::write(folder.join("default.epa"), pack(&records, &default)).unwrap();
    std::fs::write(folder.join("fast.epa"), pack(&records, &fast)).unwrap();
    let games = super::games::positions(7, super::games::Squares::Legal, true);
    std::fs::write(folder.join("games.epd"), text_of(&games)).unwrap();
    std::fs::write(folder.join("games.epa"), pack(&games, &default)).unwrap();
    let options = PackOptions { verbatim: true, ..default };
    let mut writer = Writer::new(Vec::new(), options).unwrap();
    writer.begin_file("lines.epd").unwrap();
    writer.push_aside(b"# lines\r\n").unwrap();
    for record in &records {
        let mut raw = text_of(std::slice::from_ref(record));
        raw.pop();
        raw.extend_from_slice(b"\r\n");
        writer.push_line(record, &raw).unwrap();
    }
    std::fs::write(folder.join("verbatim.epa"), writer.finish().unwrap()).unwrap();
}
