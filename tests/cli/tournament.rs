//! The page about the file of a tournament, and tables for programs.

use epdb_referee::Tournament;

use crate::scratch::Scratch;

#[test]
fn the_page_of_tournaments_names_every_key() {
    let page = Scratch::new().run(&["help", "tournament"]).out;
    assert!(page.lines().count() <= 60, "{}", page.lines().count());
    // The error for an unknown key lists all keys.
    let of_table = |text: &str| {
        let error = Tournament::from_toml(text, "t").unwrap_err().to_string();
        let (_, known) = error.split_once(", but ").unwrap_or_else(|| panic!("{error}"));
        known.split(", ").map(String::from).collect::<Vec<_>>()
    };
    let tables = ["openings", "syzygy", "resign", "draw", "sprt", "silences"];
    let mut keys = of_table("Q = 1");
    assert!(keys.len() > 20);
    keys.extend(tables.iter().flat_map(|name| of_table(&format!("{name} = {{ Q = 1 }}"))));
    keys.extend(of_table("[[player]]\nQ = 1"));
    for key in keys {
        let is_named = page.contains(&format!("{key} =")) || page.contains(&format!("[[{key}]]"));
        assert!(is_named, "{key}\n{page}");
    }
}

#[test]
fn invalid_tournaments_are_reported() {
    let text = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
    let scratch = Scratch::with("t.toml", text);
    for both in [["--json", "--tsv"], ["--tsv", "--json"]] {
        let done = scratch.run(&["referee", both[0], both[1], "t.toml"]);
        assert_eq!(done.status, 2, "{}", done.err);
    }
    let wrong = Scratch::with("t.toml", format!("gamse = 3\n{text}"));
    let done = wrong.run(&["referee", "--plain", "t.toml"]);
    assert_eq!(done.status, 2);
    assert!(
        done.err.contains("t.toml:1:1: there is no key `gamse`; is it `games`?"),
        "{}",
        done.err
    );
}
