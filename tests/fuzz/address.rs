//! Invariants of names of sources and settings, for the fuzz target and for tests with `seeds`.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use epdb_server::{BasePath, HostName, Origin, SourceSpec};
use epdb_source::{is_address, name_of};

const SECRET: &str = "S3CRET";

/// Any bytes as an argument, and as the parts of an address with secrets.
pub(super) fn address(bytes: &[u8]) {
    // A fuzzer finds the secret, and writes it where it is none.
    let text = String::from_utf8_lossy(bytes).replace(SECRET, "other");
    argument(&text);
    let mut parts = text.split('\n');
    let mut part = || parts.next().unwrap_or_default();
    let (scheme, user, password) = (part(), part(), part());
    let (host, path, query) = (part(), part(), part());
    let scheme = ["http", "https", "s3", "ftp", "HTTPS", "x=https"][scheme.len() % 6];
    // These characters end the user, so a secret behind them is a part of the path.
    let user = user.replace(['/', '\\', '?', '#'], "");
    // An address with both in its password names another host.
    let password = password.replace('@', "");
    let plain = |text: &str| {
        text.replace(|it: char| !it.is_ascii_alphanumeric(), "").replace(SECRET, "other")
    };
    let (host, path) = (plain(host), plain(path));
    for address in [
        format!("{scheme}://{user}:{SECRET}{password}@{host}/{path}"),
        format!("{scheme}://{SECRET}{user}@{host}/{path}?{query}"),
        format!("{scheme}://{host}/{path}?{query}{SECRET}"),
        format!("{scheme}://{host}/{path}#{query}{SECRET}"),
        format!("{scheme}://{user}:{SECRET}{password}@{host}?{SECRET}{query}"),
    ] {
        let name = name_of(Path::new(&address));
        assert!(!name.contains(SECRET), "{address}: {name}");
        assert!(name.contains(&*host) || name.ends_with('…'), "{address}: {name}");
        if let Err(error) = address.parse::<SourceSpec>() {
            assert!(!error.to_string().contains(SECRET), "{address}: {error}");
        }
        argument(&address);
    }
}

fn argument(text: &str) {
    let name = name_of(Path::new(text));
    assert_eq!(name_of(Path::new(&*name)), name, "{text}");
    assert_eq!(is_address(Path::new(&*name)), is_address(Path::new(text)), "{text}");
    if !text.contains("://") {
        assert_eq!(name, text);
    }
    comes_back::<BasePath>(text);
    text.parse::<HostName>().ok();
    text.parse::<Origin>().ok();
    if let Ok(SourceSpec { name, path }) = text.parse() {
        assert!(!name.is_empty());
        let spelled = format!("{name}={}", path.display());
        assert_eq!(spelled.parse::<SourceSpec>().ok(), Some(SourceSpec { name, path }));
    }
}

/// A value is parsed from what it prints.
fn comes_back<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert!(value.to_string().parse::<T>().is_ok_and(|again| again == value), "{text}");
    }
}
