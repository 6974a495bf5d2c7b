//! Settings, from the command line and from files, and the examples of both.

use epdb_server::ServerSettings;

use crate::scratch::Scratch;
use crate::server::Running;

const SETTINGS: &str = include_str!("../examples/serve/serve.toml");
const UNIT: &str = include_str!("../examples/serve/epdb.service");
const CONTAINER: &str = include_str!("../examples/serve/Containerfile");

#[test]
fn the_example_has_the_defaults() {
    let mut settings = ServerSettings::from_toml("serve.toml", SETTINGS).unwrap();
    assert_eq!(settings.sources[1].name, "lichess");
    settings.sources.clear();
    assert_eq!(settings, ServerSettings::default());
    let keys = SETTINGS.lines().filter_map(|line| line.split_once(" = ")).count();
    assert_eq!(keys, 23, "each key is in the example");
}

/// The server prints the text of the guide, with another port.
#[test]
fn a_server_prints_its_address_and_how_programs_find_it() {
    let guide = include_str!("../../src/guide/explorer.md");
    let shown =
        guide.split("```console\n$ epdb serve ").nth(1).unwrap().split("```").next().unwrap();
    let (args, shown) = shown.split_once('\n').unwrap();
    let scratch = Scratch::with("games.pgn", "[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n");
    scratch.run(&["tally", "games.pgn", "-o", "library.epa"]);
    let args: Vec<&str> = args.split(' ').collect();
    let running = Running::start(&scratch, &args);
    let shown = shown.replace("127.0.0.1:9002", running.address());
    let (_, log) = running.stop();
    // Lines with a time are of the log.
    let printed: String =
        log.split_inclusive('\n').filter(|line| !line.contains(" INFO ")).collect();
    assert_eq!(printed, shown);
    assert!(log.contains("not split, so since, until, speeds, ratings change no count"), "{log}");
}

#[test]
fn the_options_of_the_examples_are_there() {
    let help = Scratch::new().run(&["serve", "--help"]).out;
    let words = UNIT
        .lines()
        .chain(CONTAINER.lines())
        .filter(|line| line.starts_with("ExecStart=") || line.starts_with("ENTRYPOINT"));
    let is_end = |c: char| !c.is_ascii_lowercase() && c != '-';
    let options: Vec<&str> =
        words.flat_map(|line| line.split(is_end)).filter(|word| word.starts_with("--")).collect();
    assert_eq!(options, ["--config", "--log-json", "--listen"]);
    for option in options {
        assert!(
            help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")),
            "{option}"
        );
    }
}

#[test]
fn a_wrong_setting_is_reported_with_its_place() {
    let scratch = Scratch::with("a.epd", "8/8/8/4k3/8/1K6/8/8 b - - id \"x\";\n");
    for (text, expected) in [
        ("listen = 'here'\n", "serve.toml:1:10: `here` is no address and port"),
        ("strict = false\nlisen = '127.0.0.1:1'\n", "serve.toml:2:1: unknown field `lisen`"),
        ("cors = ['*', 'lichess.org']\n", "serve.toml:1:8: `lichess.org` is not an origin"),
        ("allow-host = ['http://x']\n", "serve.toml:1:14: `http://x` is not a host name"),
        ("base-path = 'explorer'\n", "serve.toml:1:13: `explorer` is not a path"),
        (
            "[limits]\nhead-time = '5 apples'\n",
            "serve.toml:2:13: `5 apples` is not a length of time",
        ),
        ("[limits]\nconnections = 0\n", "serve.toml:2:15: "),
        ("log-level = 'loud'\n", "serve.toml:1:13: `loud` is not one of"),
        ("sources = ['']\n", "serve.toml:1:11: "),
        ("= 1\n", "serve.toml:1:1: "),
    ] {
        scratch.write("serve.toml", text);
        let done = scratch.run(&["serve", "a.epd", "--config", "serve.toml"]);
        assert_eq!(done.status, 2, "{text}");
        assert!(done.err.contains(expected), "{text}: {}", done.err);
    }
    let missing = scratch.run(&["serve", "--config", "missing.toml"]);
    assert_eq!(missing.status, 2);
    assert!(missing.err.contains("cannot read missing.toml"), "{}", missing.err);
}

#[test]
fn a_wrong_option_is_an_error_of_usage() {
    let scratch = Scratch::new();
    for (option, value, says) in [
        ("--cors", "lichess.org", "is not an origin"),
        ("--cors", "https://lichess.org/", "is not an origin"),
        ("--allow-host", "chess.example/", "is not a host name"),
        ("--allow-host", "*", "is not a host name"),
        ("--base-path", "explorer", "begins with a slash"),
        ("--base-path", "/a/../b", "is not a path"),
        ("--base-path", "/{a}", "is not a path"),
        ("--listen", "localhost", "`localhost` is no address and port: say 127.0.0.1:9002"),
        ("--listen", "localhost:x", "is no address and port"),
        ("--log-level", "loud", "is not one of"),
        ("--memory", "1", "at least 1K"),
    ] {
        let done = scratch.run(&["serve", "a.epa", option, value]);
        assert_eq!(done.status, 2, "{option} {value}");
        assert!(done.err.contains(says), "{option} {value}: {}", done.err);
    }
    let nothing = scratch.run(&["serve"]);
    assert_eq!(nothing.status, 2);
    assert!(nothing.err.contains("name a source to serve"), "{}", nothing.err);
}
