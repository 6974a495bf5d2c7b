//! Self-contained pages: style, script, pictures and data are inside.

mod charts;
mod markup;
mod sections;
mod statistics;

pub use statistics::{CountTable, StatisticsPage, statistics_page};

use serde::Serialize;

use super::object::{PairObject, ProblemObject, ReportObject, RunObject, ThemeObject};
use super::{Report, RunOutput, grouped};
use epdb_chess::error::{Error, Result};
use markup::escaped;
use sections::Section;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const EXPLORER: &str = include_str!("explorer.html");
const EXPLORER_SCRIPT: &str = include_str!("explorer.js");
const PIECES: &str = include_str!("pieces.svg");

/// The data for the script of the page.
#[derive(Serialize)]
struct Data<'r> {
    report: ReportObject<'r>,
    runs: Vec<RunObject<'r>>,
    themes: Vec<ThemeObject<'r>>,
    pairs: Vec<PairObject<'r>>,
    problems: Vec<ProblemObject<'r>>,
}

/// Formats the page; equal reports give equal pages. The page loads nothing, and text from files is
/// escaped.
///
/// # Errors
/// The data cannot be serialised as JSON.
///
/// ```
/// let page = epdb_engine::report::html::page(&epdb_engine::report::Report::new(&[]))?;
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), epdb_chess::Error>(())
/// ```
pub fn page(report: &Report<'_>) -> Result<String> {
    let data = Data {
        report: report.object(),
        runs: report.run_objects().collect(),
        themes: report.theme_objects(),
        pairs: report.pair_objects().collect(),
        problems: report.problem_objects().collect(),
    };
    let sections = sections::all(report);
    let links = sections.iter().map(|section| (section.id, section.title));
    let problems = grouped(report.joined.rows.len() as u128);
    let frame = Frame {
        title: format!("{}: suite report", suite(report)),
        kicker: format!("Suite report \u{b7} {} \u{b7} {problems} problems", suite(report)),
        heading: &report.verdict,
        notes: &report.notes,
        links: links.chain([("positions", "Positions")]).collect(),
        main: sections.iter().map(Section::markup).chain([EXPLORER.to_string()]).collect(),
        footer: " Intervals are of 95 %.",
        downloads: concat!(
            r#"<a id="json" download="report.json" title="Download the data as JSON" hidden>JSON</a> "#,
            r#"<a id="tsv" download="report.tsv" title="Download the results as a table with tabs" hidden>TSV</a>"#
        ),
        pieces: PIECES,
        data: json(&data)?,
        script: EXPLORER_SCRIPT,
    };
    Ok(frame.page())
}

/// The parts of a page. Texts are escaped; markup is used as it is.
struct Frame<'f> {
    title: String,
    kicker: String,
    heading: &'f str,
    notes: &'f [String],
    /// Anchors and headings of the sections.
    links: Vec<(&'static str, &'static str)>,
    /// Markup of the sections.
    main: String,
    /// Text after the version.
    footer: &'static str,
    /// Markup of the links that download data.
    downloads: &'static str,
    /// Pictures that `main` or the script uses.
    pieces: &'static str,
    /// The data, from [`json`].
    data: String,
    /// The script of this page, which follows the script that every page has.
    script: &'static str,
}

impl Frame<'_> {
    fn page(&self) -> String {
        let link = |(id, title): &(&str, &str)| format!("<a href=\"#{id}\">{title}</a>\n");
        let version = env!("CARGO_PKG_VERSION");
        filled(PAGE, |name| match name {
            "title" => escaped(&self.title),
            "style" => STYLE.to_string(),
            "pieces" => self.pieces.to_string(),
            "kicker" => escaped(&self.kicker),
            "downloads" => self.downloads.to_string(),
            "heading" => escaped(&unbroken(self.heading)),
            "notes" => notes(self.notes),
            "links" => self.links.iter().map(link).collect(),
            "main" => self.main.clone(),
            "footer" => format!("<p>Made by epdb {version}.{}</p>", self.footer),
            "data" => self.data.clone(),
            "script" => [SCRIPT, self.script].concat(),
            _ => String::new(),
        })
    }
}

/// The template with each `{{name}}` replaced. Inserted text is not expanded again.
fn filled(template: &str, text: impl Fn(&str) -> String) -> String {
    let mut page = String::new();
    for (number, part) in template.split("{{").enumerate() {
        match part.split_once("}}") {
            Some((name, rest)) if number > 0 => page.extend([&text(name), rest]),
            _ => page.push_str(part),
        }
    }
    page
}

/// The data as JSON, escaped so that it cannot end an element of the page.
fn json(data: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(data).map_err(Error::from_cause)?;
    Ok(json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"))
}

/// The text with no-break spaces between numbers and signs.
fn unbroken(text: &str) -> String {
    let kept = [(" %", "\u{a0}%"), ("p = ", "p\u{a0}=\u{a0}"), ("p < ", "p\u{a0}<\u{a0}")];
    kept.iter().fold(text.to_string(), |text, (loose, tied)| text.replace(loose, tied))
}

fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
    format!("<ul class=\"notes\">\n{items}</ul>\n")
}

/// The subject of the report: the suites of the first run, or its files if the suites are unknown.
fn suite(report: &Report<'_>) -> String {
    let Some(run) = report.runs.first() else { return "no suite".to_string() };
    let name = |output: &RunOutput| {
        let known = output.facts.as_ref().and_then(|facts| facts.suite.path.clone());
        let path = known.unwrap_or_else(|| output.file.clone());
        path.rsplit(['/', '\\']).next().unwrap_or_default().to_string()
    };
    run.outputs.iter().map(name).collect::<Vec<_>>().join(", ")
}
