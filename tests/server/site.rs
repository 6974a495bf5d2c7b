//! Sites in a browser: the folder behind a host of files, and one page that is opened as a file.

use std::process::Command;

use crate::browser::tools;
use crate::page::served;
use crate::scratch::Scratch;
use crate::server::Running;
use crate::skipped::skipped;

/// Writes a site of the libraries of the page's tests.
fn write(scratch: &Scratch, output: &str) {
    let about = ["--about", "source=our club", "--about", "licence=CC0-1.0"];
    let sources = ["site", "masters=games.epa", "suite.epd", "-o", output];
    let done = scratch.run(&[&sources[..], &about].concat());
    assert_eq!(done.status, 0, "{}", done.err);
}

#[test]
fn a_folder_is_served_as_it_is() {
    let (scratch, _running) = served();
    write(&scratch, "public");
    for (args, below) in [(&["public"][..], ""), (&["public", "--base-path", "/x"], "/x")] {
        let running = Running::start(&scratch, args);
        let page = running.get("/");
        assert_eq!((page.status, &page.body), (200, &scratch.read("public/index.html")), "{below}");
        assert_eq!(page.header("content-security-policy"), None);
        let list = running.get("/files.txt");
        for file in list.text().lines() {
            let got = running.get(&format!("/{file}"));
            assert!(
                got.status == 200 && got.body == scratch.read(&format!("public/{file}")),
                "{file}"
            );
        }
        let first = running.get_with("/files.txt", &[("range", "bytes=0-4")]);
        assert_eq!((first.status, first.body.len()), (206, 5));
        assert_eq!(running.get("/none").status, 404);
        assert_eq!(running.get("/../games.pgn").status, 404);
    }
    let both = scratch.run(&["serve", "public", "games.epa", "--listen", "127.0.0.1:0"]);
    assert_eq!(both.status, 2);
    assert!(
        both.err.contains("public is the folder of a site, which is served alone"),
        "{}",
        both.err
    );
}

#[test]
fn people_do_their_tasks_on_a_site_in_a_browser() {
    let [browser, node, scripts] = match tools() {
        Ok(tools) => tools,
        Err(why) => return skipped(&format!("no site is opened in a browser: {why}")),
    };
    let (scratch, _running) = served();
    write(&scratch, "public");
    write(&scratch, "club.html");
    let running = Running::start(&scratch, &["public"]);
    let mut tasks = Command::new(node);
    tasks.arg(scripts.join("site.mjs")).arg(&running.base);
    for file in ["public", "club.html", "games.pgn"] {
        tasks.arg(scratch.path(file));
    }
    let done = tasks.arg(browser).output().unwrap();
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "{}\n{}", said.concat(), running.log());
}
