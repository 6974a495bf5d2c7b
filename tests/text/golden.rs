//! The samples of `formats/golden/epd_text.json`, in every profile.

use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::{Diagnostic, FormatOptions, Profile};

use crate::samples::{Case, samples};

const PROFILES: [(&str, Profile); 3] =
    [("strict", Profile::Strict), ("standard", Profile::Standard), ("lenient", Profile::Lenient)];

/// The profiles of which a sample speaks.
fn profiles(case: &Case) -> impl Iterator<Item = Profile> {
    let known = |name: &String| PROFILES.iter().any(|(profile, _)| profile == name);
    assert!(case.profiles.iter().all(known), "{}", case.name);
    let is_one =
        |name: &str| case.profiles.is_empty() || case.profiles.iter().any(|one| one == name);
    PROFILES.into_iter().filter(move |(name, _)| is_one(name)).map(|(_, profile)| profile)
}

/// The line that a sample has a reader read.
fn line(case: &Case) -> Vec<u8> {
    let bytes = case.bytes();
    match (case.line.as_str(), case.text.as_slice()) {
        ("", [text]) if bytes.is_empty() => text.clone().into_bytes(),
        ("", _) => bytes,
        (line, _) => line.into(),
    }
}

/// The text that a profile writes for a line, and its warnings: column, blank, code.
fn normalised(line: &[u8], profile: Profile) -> Result<(Vec<u8>, Vec<String>), Diagnostic> {
    let (read, warnings) = crate::read(line, profile);
    let Line::Record(record) = read? else { panic!("a record: {}", line.escape_ascii()) };
    let mut text = Vec::new();
    epd::format(&record, &FormatOptions::default(), &mut text);
    let spelled = |warning: Diagnostic| format!("{} {}", warning.column, warning.code);
    Ok((text, warnings.into_iter().map(spelled).collect()))
}

#[test]
fn valid_lines() {
    for case in samples("epd_text").valid {
        let line = line(&case);
        let canonical = case.text.first().map_or(line.clone(), |text| text.clone().into_bytes());
        for profile in profiles(&case) {
            let (text, warnings) = normalised(&line, profile).expect(&case.name);
            assert_eq!(text.escape_ascii().to_string(), canonical.escape_ascii().to_string());
            assert_eq!(warnings, case.warnings, "{} {profile:?}", case.name);
            let (again, _) = normalised(&text, profile).expect(&case.name);
            assert_eq!(again, text, "{} {profile:?}", case.name);
        }
    }
}

#[test]
fn invalid_lines() {
    for case in samples("epd_text").invalid {
        for profile in profiles(&case) {
            let error = normalised(&line(&case), profile).expect_err(&case.name);
            assert_eq!([error.code], case.refused[..], "{} {profile:?}", case.name);
            assert_eq!(Some(error.column as u64 - 1), case.at, "{} {profile:?}", case.name);
        }
    }
}
