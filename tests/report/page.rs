//! The page: its content, its independence of other files, and escaping of text from files.

use std::collections::BTreeMap;

use epdb_engine::report::html::page;
use epdb_engine::report::{Report, Run};
use epdb_library::run_file::{RunEngine, RunFile};

use crate::{run, run_with};

const EVIL: &str = "</script><img src=x onerror=alert(1)>&\"'{{data}}";

fn runs() -> Vec<Run> {
    let engine = RunEngine {
        label: Some(EVIL.into()),
        name: Some(EVIL.into()),
        options: BTreeMap::from([(EVIL.into(), EVIL.into())]),
        ..RunEngine::default()
    };
    let facts = RunFile { engine, command: vec![EVIL.into()], ..RunFile::default() };
    let evil = "<svg onload=alert(2)>'{{data}}&.1";
    let old = [
        format!("bm e4; id \"{evil}\"; pm d4; acn 900; acms 9; acd 5; ce 30;"),
        "bm e4; id \"A.2\"; pm e4; acn 70; acms 3; ce 32766; solve_first 10 1 2; solve_held 20 2 3;".into(),
        format!("am e4; c0 \"{evil}\"; id \"A.3\"; pm e4;"),
        format!("bm e4; id \"A.4\"; run_error \"{evil}\";"),
    ];
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new = run("new", &["bm e4; id \"A.2\"; pm e4;", "am e4; id \"A.3\"; pm e4;"]);
    vec![run_with(EVIL, &old, Some(facts)), new]
}

/// The values of an attribute.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let mark = format!(" {attribute}=\"");
    let parts = page.split(&mark).skip(1);
    parts.map(|part| part.split('"').next().unwrap()).collect()
}

#[test]
fn the_same_report_is_the_same_page() {
    let (one, other) = (runs(), runs());
    assert_eq!(page(&Report::new(&one)).unwrap(), page(&Report::new(&other)).unwrap());
}

#[test]
fn everything_is_in_the_page() {
    let runs = runs();
    let page = page(&Report::new(&runs)).unwrap();
    for id in ["runs", "pairs", "time", "themes", "effort", "positions"] {
        assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(page.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    // Every plot has its table.
    let figures = page.matches("<figure>").count();
    assert_eq!(figures, 7);
    assert_eq!(
        page.matches("<summary>As a table</summary>\n<div class=\"scroll\"><table").count(),
        figures
    );
    assert!(page.contains("<noscript>") && page.contains("@media print"));
    let json = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["runs"][0]["run"], EVIL);
    assert_eq!(data["runs"][0]["facts"][0]["engine"]["options"][EVIL], EVIL);
    assert_eq!(data["problems"][0]["results"][0]["answer"]["uci"], "d2d4");
    assert_eq!(data["problems"][2]["cook"], true);
    assert!(page.len() - json.len() < 100_000, "{} bytes beside the data", page.len() - json.len());
}

#[test]
fn nothing_is_loaded() {
    let runs = runs();
    let page = page(&Report::new(&runs)).unwrap();
    assert!(page.contains("content=\"default-src 'none';"));
    let outside = |href: &&str| !href.starts_with('#') && *href != "data:,";
    assert_eq!(values(&page, "href").into_iter().filter(outside).count(), 0);
    let page = page.replace("\"http://www.w3.org/2000/svg\"", "");
    for word in [" src=\"", "url(", "@import", "http:", "https:", "fetch(", "XMLHttp", "WebSocket"]
    {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn files_cannot_write_into_the_page() {
    let runs = runs();
    let page = page(&Report::new(&runs)).unwrap();
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<svg onload"));
    assert!(
        page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;{{data}}")
    );
    assert_eq!(page.matches("id=\"data\"").count(), 1);
}

#[test]
fn a_page_of_nothing_is_a_page() {
    let empty = page(&Report::new(&[])).unwrap();
    assert!(empty.contains("There is no run.") && !empty.contains("<section id=\"runs\""));
    let bare = [run("bare", &["id x;"])];
    let bare = page(&Report::new(&bare)).unwrap();
    assert!(
        bare.contains("bare has no problem that can be scored.") && !bare.contains("id=\"pairs\"")
    );
}
