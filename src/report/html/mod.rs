//! The report as one self-contained page: style, script, pictures and data are inside.

mod charts;
mod markup;
mod sections;

use serde::Serialize;

use super::object::{PairObject, ProblemObject, ReportObject, RunObject, ThemeObject};
use super::{Report, RunOutput, grouped};
use crate::error::{Error, Result};
use markup::escaped;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
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
/// let page = epdb::report::html::page(&epdb::report::Report::new(&[]))?;
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), epdb::Error>(())
/// ```
pub fn page(report: &Report<'_>) -> Result<String> {
    let data = data(report)?;
    let sections = sections::all(report);
    let links = sections.iter().map(|section| (section.id, section.title));
    let links = links.chain([("positions", "Positions")]);
    let links =
        links.map(|(id, title)| format!("<a href=\"#{id}\">{title}</a>\n")).collect::<String>();
    let title = format!("{}: suite report", suite(report));
    let problems = grouped(report.joined.rows.len() as u128);
    let kicker = format!("Suite report \u{b7} {} \u{b7} {problems} problems", suite(report));
    let version = env!("CARGO_PKG_VERSION");
    Ok(filled(PAGE, |name| match name {
        "title" => escaped(&title),
        "style" => STYLE.to_string(),
        "pieces" => PIECES.to_string(),
        "kicker" => escaped(&kicker),
        "verdict" => escaped(&unbroken(&report.verdict)),
        "notes" => notes(&report.notes),
        "sections" => links.clone(),
        "main" => sections.iter().map(sections::Section::markup).collect(),
        "footer" => format!("<p>Made by epdb {version}. Intervals are of 95 %.</p>"),
        "data" => data.clone(),
        "script" => SCRIPT.to_string(),
        _ => String::new(),
    }))
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
fn data(report: &Report<'_>) -> Result<String> {
    let data = Data {
        report: report.object(),
        runs: report.run_objects().collect(),
        themes: report.theme_objects(),
        pairs: report.pair_objects().collect(),
        problems: report.problem_objects().collect(),
    };
    let json = serde_json::to_string(&data).map_err(Error::from_cause)?;
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
