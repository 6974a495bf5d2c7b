//! The page of statistics of records, games and libraries.

use std::collections::BTreeMap;

use serde::Serialize;

use super::charts::{self, Quartiles, Series};
use super::markup::{Cell, colour, table};
use super::sections::Section;
use super::{Frame, json};
use crate::report::distribution::Bins;
use crate::report::grouped;
use epdb_chess::error::Result;
use epdb_library::breakdown::{Breakdown, OpeningResults, Results};

/// Content of a page of statistics.
#[derive(Debug)]
pub struct StatisticsPage<'s, D> {
    /// The names of the files.
    pub subject: &'s str,
    /// A sentence with the most important numbers.
    pub heading: &'s str,
    /// Limitations of the numbers.
    pub notes: &'s [String],
    /// Counts as text.
    pub counts: &'s [CountTable],
    /// Records by opcode.
    pub opcodes: Vec<(String, u64)>,
    /// Records by number of pieces.
    pub pieces: Vec<(usize, u64)>,
    /// The counts of the charts.
    pub breakdown: &'s Breakdown,
    /// The data that the page offers as JSON.
    pub data: &'s D,
}

/// A table of counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountTable {
    /// The heading of the table.
    pub title: String,
    /// Names and values as text. Leading blanks indent a name.
    pub rows: Vec<[String; 2]>,
}

const MAX_CATEGORIES: usize = 40;
/// Maximum number of series in a chart of openings, including the series for all other openings.
const MAX_SERIES: usize = 8;
/// Most rows of a table of openings or opcodes.
const MAX_ROWS: usize = 50;
/// Plies with fewer scores have no quartiles.
const MIN_SCORES: u64 = 4;

/// Formats the page; equal statistics give equal pages. The page loads nothing, and text from files is
/// escaped.
///
/// # Errors
/// The data cannot be serialised as JSON.
///
/// ```
/// use epdb_engine::report::html::{StatisticsPage, statistics_page};
/// let breakdown = epdb_library::breakdown::Breakdown::default();
/// let page = statistics_page(&StatisticsPage {
///     subject: "empty.epd",
///     heading: "0 records",
///     notes: &[],
///     counts: &[],
///     opcodes: Vec::new(),
///     pieces: Vec::new(),
///     breakdown: &breakdown,
///     data: &0,
/// })?;
/// assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("<figure>"));
/// # Ok::<(), epdb_chess::Error>(())
/// ```
pub fn statistics_page<D: Serialize>(page: &StatisticsPage<'_, D>) -> Result<String> {
    let breakdown = page.breakdown;
    let sections = Section::list([
        ("counts", "Counts", counts(page.counts)),
        ("results", "Results", results(breakdown)),
        ("moves", "First moves", openings("First moves", "Move", &breakdown.first_moves)),
        ("openings", "Openings", openings("Openings", "Opening", &breakdown.openings)),
        ("positions", "Positions", positions(page)),
        ("scores", "Scores", scores(breakdown)),
        ("opcodes", "Opcodes", opcodes(&page.opcodes)),
    ]);
    let frame = Frame {
        title: format!("{}: statistics", page.subject),
        kicker: format!("Statistics \u{b7} {}", page.subject),
        heading: page.heading,
        notes: page.notes,
        links: sections.iter().map(|section| (section.id, section.title)).collect(),
        main: sections.iter().map(Section::markup).collect(),
        footer: "",
        downloads: r#"<a id="json" download="statistics.json" title="Download the counts as JSON" hidden>JSON</a>"#,
        pieces: "",
        data: json(page.data)?,
        script: "",
    };
    Ok(frame.page())
}

fn number(count: u64) -> Cell {
    Cell::Number(grouped(count.into()))
}

fn counts(tables: &[CountTable]) -> String {
    let one = |it: &CountTable| {
        let cells = |[name, value]: &[String; 2]| {
            let value = value.parse().map_or_else(|_| value.clone(), |count: u128| grouped(count));
            vec![Cell::Name(name.replace("  ", "\u{2003}")), Cell::Number(value)]
        };
        let rows: Vec<Vec<Cell>> = it.rows.iter().map(cells).collect();
        if rows.is_empty() { String::new() } else { table(&it.title, &["What", "Count"], &rows) }
    };
    let tables: String = tables.iter().map(one).collect();
    if tables.is_empty() { tables } else { format!("<div class=\"tables\">{tables}</div>\n") }
}

fn result_series() -> [Series<'static>; 3] {
    [("White won", "win"), ("Draw", "draw"), ("Black won", "loss")]
        .map(|(name, paint)| (name, format!("--colour: var(--{paint})")))
}

fn known(results: &Results) -> Vec<u64> {
    vec![results.white, results.draws, results.black]
}

fn results(breakdown: &Breakdown) -> String {
    let by = |title: &str, heads: [&str; 2], categories: Vec<(String, Vec<u64>)>| {
        let with_result: Vec<_> =
            categories.into_iter().filter(|(_, counts)| counts.iter().any(|&it| it > 0)).collect();
        charts::shares(title, heads, &result_series(), &with_result)
    };
    let numbers = |results: &BTreeMap<u16, Results>| {
        let counts = results.iter().map(|(&key, results)| (key, known(results)));
        in_groups(counts.collect())
    };
    let line = breakdown.line.iter().map(|(mv, results)| (mv.clone(), known(results)));
    let figures = [
        by("Results by year", ["Year", "year"], numbers(&breakdown.results_by_year)),
        by(
            "Results by rating",
            ["Rating", "mean rating of the players, from this on"],
            numbers(&breakdown.results_by_rating),
        ),
        by("Results on the most-played line", ["Move", "move"], line.collect()),
    ];
    [charts(&figures), all_results(&breakdown.all)].concat()
}

fn all_results(all: &Results) -> String {
    if all.known() == 0 {
        return String::new();
    }
    let row = |(count, (name, paint)): (u64, Series<'_>)| {
        let bar = [(count, paint), (all.known() - count, "--colour: var(--none)".to_string())];
        vec![
            Cell::Name(name.to_string()),
            number(count),
            Cell::Number(percent(count as f64 / all.known() as f64)),
            Cell::Split(bar.into()),
        ]
    };
    let rows: Vec<Vec<Cell>> = known(all).into_iter().zip(result_series()).map(row).collect();
    table("All results", &["Result", "Count", "Share", "Bar"], &rows)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn charts(figures: &[String]) -> String {
    let figures = figures.concat();
    if figures.is_empty() { figures } else { format!("<div class=\"charts\">\n{figures}</div>\n") }
}

/// The counts by year or rating, in groups that are wide enough for a chart to show all of them.
fn in_groups(counts: Vec<(u16, Vec<u64>)>) -> Vec<(String, Vec<u64>)> {
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    let in_steps = |step: u16| {
        let mut groups: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
        for (key, own) in &counts {
            let group = groups.entry(key - key % step).or_insert_with(|| vec![0; own.len()]);
            group.iter_mut().zip(own).for_each(|(sum, count)| *sum += count);
        }
        groups
    };
    let fits = |groups: &BTreeMap<u16, Vec<u64>>| groups.len() <= MAX_CATEGORIES;
    let fitting = steps.into_iter().map(in_steps).find(fits).unwrap_or_default();
    fitting.into_iter().map(|(key, counts)| (key.to_string(), counts)).collect()
}

fn openings(title: &str, one: &str, openings: &BTreeMap<String, OpeningResults>) -> String {
    let mut openings: Vec<(&String, &OpeningResults)> = openings.iter().collect();
    openings.sort_by_key(|(_, it)| std::cmp::Reverse(it.counts.games()));
    let all: u64 = openings.iter().map(|(_, it)| it.counts.games()).sum();
    let row = |(name, it): &(&String, &OpeningResults)| {
        let counts = it.counts;
        let share = counts.games() as f64 / all.max(1) as f64;
        let score = (2 * counts.white + counts.draws) as f64 / (2 * counts.known().max(1)) as f64;
        let score = if counts.known() > 0 { percent(score) } else { String::new() };
        let parts = known(&counts).into_iter().zip(result_series().map(|(_, paint)| paint));
        vec![
            Cell::Name((*name).clone()),
            Cell::Share(0, share, percent(share)),
            number(counts.games()),
            Cell::Number(score),
            Cell::Split(parts.collect()),
            number(counts.white),
            number(counts.draws),
            number(counts.black),
        ]
    };
    let rows: Vec<Vec<Cell>> = openings.iter().take(MAX_ROWS).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let names =
        [one, "Share", "Count", "White scores", "Results", "White won", "Draw", "Black won"];
    let caption = match openings.len() {
        few if few <= MAX_ROWS => title.to_string(),
        many => format!("{title}: the first {MAX_ROWS} of {}", grouped(many as u128)),
    };
    format!("{}{}", charts(&[by_year(title, &openings)]), table(&caption, &names, &rows))
}

/// A chart of the shares of the most frequent openings by year. ECO codes of the same volume are combined.
fn by_year(title: &str, openings: &[(&String, &OpeningResults)]) -> String {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, it) in openings {
        *names.entry(volume(name)).or_default() += it.by_year.values().sum::<u64>();
    }
    let mut names: Vec<(&str, u64)> = names.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let is_split = names.len() > MAX_SERIES;
    names.truncate(if is_split { MAX_SERIES - 1 } else { MAX_SERIES });
    let own = names.iter().enumerate().map(|(place, (name, _))| (*name, colour(place)));
    let others = is_split.then(|| ("Others", "--colour: var(--both)".to_string()));
    let series: Vec<Series<'_>> = own.chain(others).collect();
    let mut years: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
    for (name, opening) in openings {
        let name = volume(name);
        let place = names.iter().position(|(known, _)| *known == name).unwrap_or(names.len());
        for (&year, count) in &opening.by_year {
            years.entry(year).or_insert_with(|| vec![0; series.len()])[place] += count;
        }
    }
    let categories = in_groups(years.into_iter().collect());
    charts::shares(&format!("{title} by year"), ["Year", "year"], &series, &categories)
}

/// The volume of an ECO code. Any other name of an opening stays unchanged.
fn volume(name: &str) -> &str {
    match name.as_bytes() {
        [letter, digits @ ..] if digits.len() == 2 && digits.iter().all(u8::is_ascii_digit) => {
            match letter {
                b'A' => "A: flank openings",
                b'B' => "B: semi-open games",
                b'C' => "C: open games, French",
                b'D' => "D: closed games",
                b'E' => "E: Indian defences",
                _ => name,
            }
        }
        _ => name,
    }
}

fn positions<D>(page: &StatisticsPage<'_, D>) -> String {
    let breakdown = page.breakdown;
    let pieces = page.pieces.iter().map(|&(pieces, count)| (pieces as i128, count));
    charts(&[
        histogram("Pieces on the board", "records", Bins::Single, pieces),
        histogram("Ply", "records", Bins::Tens, values(&breakdown.plies)),
        histogram("Plies of a game", "games", Bins::Tens, values(&breakdown.lengths)),
    ])
}

fn values<K: Copy + Into<i128>>(counts: &BTreeMap<K, u64>) -> impl Iterator<Item = (i128, u64)> {
    counts.iter().map(|(&value, &count)| (value.into(), count))
}

fn histogram(
    title: &str,
    of: &str,
    bins: Bins,
    values: impl Iterator<Item = (i128, u64)>,
) -> String {
    let bins = bins.count(values.filter(|(_, count)| *count > 0));
    let mut label = of.to_string();
    label[..1].make_ascii_uppercase();
    charts::histogram(title, of, &[&label], &[&bins])
}

fn scores(breakdown: &Breakdown) -> String {
    let plies = breakdown.scores_by_ply.iter().filter_map(|(&ply, scores)| quartiles(ply, scores));
    charts(&[
        histogram(
            "White\u{2019}s score in centipawns",
            "scores",
            Bins::Hundreds,
            values(&breakdown.scores),
        ),
        charts::scores_by_ply("White\u{2019}s score by ply, in pawns", &plies.collect::<Vec<_>>()),
        histogram("Depth", "analyses", Bins::Single, values(&breakdown.depths)),
    ])
}

fn quartiles(ply: u32, scores: &BTreeMap<i32, u64>) -> Option<Quartiles> {
    let count: u64 = scores.values().sum();
    if count < MIN_SCORES {
        return None;
    }
    let value_at = |place: u64| {
        let mut before = 0;
        let holds = |(_, count): &(&i32, &u64)| {
            before += **count;
            before > place
        };
        scores.iter().find(holds).map_or(0, |(&value, _)| value)
    };
    Some(Quartiles {
        ply,
        values: [1, 2, 3].map(|quarter| value_at((count - 1) * quarter / 4)),
        count,
    })
}

fn opcodes(opcodes: &[(String, u64)]) -> String {
    let mut opcodes = opcodes.to_vec();
    opcodes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let largest = opcodes.first().map_or(1, |(_, count)| *count);
    let row = |(name, count): &(String, u64)| {
        let share = *count as f64 / largest as f64;
        vec![Cell::Name(name.clone()), Cell::Share(0, share, grouped((*count).into()))]
    };
    let rows: Vec<Vec<Cell>> = opcodes.iter().take(MAX_ROWS).map(row).collect();
    if rows.is_empty() {
        String::new()
    } else {
        table("Records by opcode", &["Opcode", "Records"], &rows)
    }
}
