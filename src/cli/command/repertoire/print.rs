//! The report of `repertoire`, as text, TSV or JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::cli::output::open_output;
use crate::cli::terminal::many;
use crate::cli::{columns, json};
use epdb_chess::model::{Color, San};
use epdb_library::repertoire::{Coverage, Finding, GameEnds, Part, numbered};
use epdb_source::Output;

/// Default number of lines per part.
const LINES: usize = 20;

/// Form of the report.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Form {
    /// Print at most N lines in each part of the report [default: 20; all with --tsv and --json]
    #[arg(short = 'n', long, alias = "lines", value_name = "N", conflicts_with_all = ["output", "to"])]
    limit: Option<usize>,
    /// Print a table separated by tabs
    #[arg(long, hide_long_help = true, conflicts_with_all = ["json", "output", "to"])]
    tsv: bool,
    /// Print one JSON object per finding
    #[arg(long, hide_long_help = true, conflicts_with_all = ["output", "to"])]
    json: bool,
}

pub(super) struct Report {
    pub(super) side: Color,
    pub(super) positions: usize,
    pub(super) reached: usize,
    /// Set-up positions that games begin from.
    pub(super) set_up: usize,
    /// Positions that are reached only from these set-up positions.
    pub(super) from_set_up: usize,
    /// Positions that are reached only by moves that are marked as bad.
    pub(super) behind_marked: usize,
    pub(super) marked: usize,
    pub(super) findings: Vec<Finding>,
    pub(super) coverage: Option<Coverage>,
    pub(super) games: Option<(GameEnds, Vec<Finding>)>,
}

pub(super) fn print(form: &Form, report: &Report) -> anyhow::Result<()> {
    let mut out = open_output(None)?;
    match (form.tsv, form.json) {
        (true, _) => print_tsv(form, report, &mut out)?,
        (_, true) => print_json(form, report, &mut out)?,
        _ => print_text(form, report, &mut out)?,
    }
    Ok(out.finish()?)
}

impl Report {
    /// Puts the moves that led to the first position before the lines of the findings.
    pub(super) fn begin_with(&mut self, moves: &[San]) {
        let unanswered = self.coverage.iter_mut().flat_map(|coverage| &mut coverage.unanswered);
        let departures = self.games.iter_mut().flat_map(|(_, findings)| findings);
        for finding in self.findings.iter_mut().chain(unanswered).chain(departures) {
            if let Some(line) = finding.line.as_mut().filter(|_| finding.set_up.is_none()) {
                line.splice(..0, moves.iter().copied());
            }
        }
    }

    /// The findings of a part.
    fn part(&self, part: Part) -> Vec<&Finding> {
        let unanswered = self.coverage.iter().flat_map(|coverage| &coverage.unanswered);
        let departures = self.games.iter().flat_map(|(_, findings)| findings);
        let all = self.findings.iter().chain(unanswered).chain(departures);
        all.filter(|finding| finding.part == part).collect()
    }
}

const PARTS: [Part; 7] = [
    Part::Choice,
    Part::Unanswered,
    Part::Leaf,
    Part::Unreached,
    Part::OwnMove,
    Part::OtherMove,
    Part::LineEnd,
];

const fn word(part: Part) -> &'static str {
    match part {
        Part::Choice => "choice",
        Part::Unanswered => "unanswered",
        Part::Leaf => "leaf",
        Part::Unreached => "unreached",
        Part::OwnMove => "own-move",
        Part::OtherMove => "other-move",
        Part::LineEnd => "line-end",
    }
}

fn names(moves: &[San]) -> String {
    moves.iter().map(San::to_string).collect::<Vec<_>>().join(" ")
}

/// The side that makes the first move of a line.
fn beginner(finding: &Finding) -> Color {
    let plies = finding.line.as_ref().map_or(0, Vec::len);
    if plies.is_multiple_of(2) { finding.position.turn() } else { !finding.position.turn() }
}

fn print_text(form: &Form, report: &Report, out: &mut Output) -> io::Result<()> {
    let Report { positions, reached, set_up, from_set_up, behind_marked, marked, .. } = report;
    let counts = [
        (*behind_marked, "only by moves marked as bad"),
        (report.part(Part::Unreached).len(), "not reached"),
    ];
    let others: String = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    writeln!(out, "{}, {reached} reached{others}", many(*positions, "position"))?;
    if *set_up > 0 {
        let (from_set_up, set_up) =
            (many(*from_set_up, "position"), many(*set_up, "set-up position"));
        writeln!(out, "{from_set_up} reached only from {set_up} of games")?;
    }
    if *marked > 0 {
        let behind = many(*behind_marked, "position");
        let them = if *marked == 1 { "it" } else { "them" };
        writeln!(out, "{} marked as bad, {behind} behind {them} only", many(*marked, "move"))?;
    }
    for part in PARTS {
        let findings = report.part(part);
        let is_asked = match part {
            Part::Unanswered => report.coverage.is_some(),
            Part::OwnMove | Part::OtherMove | Part::LineEnd => report.games.is_some(),
            Part::Choice | Part::Leaf | Part::Unreached => true,
        };
        if !is_asked {
            continue;
        }
        writeln!(out, "\n{}", heading(report, part, findings.len()))?;
        if part == Part::Unanswered && !findings.is_empty() {
            writeln!(out, "    games    share  line")?;
        }
        let limit = form.limit.unwrap_or(LINES);
        for finding in findings.iter().take(limit) {
            writeln!(out, "  {}", text(finding))?;
        }
        if findings.len() > limit {
            writeln!(out, "  and {} more", findings.len() - limit)?;
        }
    }
    Ok(())
}

fn heading(report: &Report, part: Part, count: usize) -> String {
    let own = if report.side == Color::White { "White" } else { "Black" };
    let other = if report.side == Color::White { "Black" } else { "White" };
    match part {
        Part::Choice => format!("More than one candidate: {}", many(count, "position")),
        Part::Unanswered => {
            let share = report.coverage.as_ref().and_then(|Coverage { share, .. }| *share);
            let share = match share {
                Some(share) => format!(
                    "{:.1} % of games are covered, if {own} plays all candidates equally often",
                    100.0 * share
                ),
                None => "the library has none of the positions".to_string(),
            };
            format!("Without an answer: {}; {share}", many(count, "move"))
        }
        Part::Leaf => format!("Lines that end without an evaluation: {count}"),
        Part::Unreached => format!("Not reached: {}", many(count, "position")),
        Part::OwnMove => {
            let GameEnds { games, within, never } =
                report.games.as_ref().map(|(ends, _)| *ends).unwrap_or_default();
            let end = verb(within, "end");
            let come = verb(never, "come");
            format!(
                "Games: {games}; {within} {end} within the repertoire, {never} never {come} to it\n\
                 Left by a move of {own}: {}",
                many(count, "move")
            )
        }
        Part::OtherMove => {
            format!("Left by a move of {other} without an answer: {}", many(count, "move"))
        }
        Part::LineEnd => format!("Left where a line ends: {}", many(count, "move")),
    }
}

/// The verb that agrees with a count.
fn verb(count: u64, plural: &str) -> String {
    format!("{plural}{}", if count == 1 { "s" } else { "" })
}

fn text(finding: &Finding) -> String {
    let Finding { part, position, line, set_up, mv, moves, games, share, .. } = finding;
    let Some(line) = line else { return position.to_string() };
    let begins = beginner(finding);
    let whole: Vec<San> = line.iter().chain(mv).copied().collect();
    let whole = if whole.is_empty() { "start".into() } else { numbered(begins, &whole) };
    let whole = match set_up {
        Some(set_up) => format!("{whole} from {set_up}"),
        None => whole,
    };
    let games = games.map(|games| format!("{games:>7}  ")).unwrap_or_default();
    let share = share.map(|share| format!("{:>5.1} %  ", 100.0 * share)).unwrap_or_default();
    match part {
        Part::Choice => format!("{whole}: {}", names(moves)),
        Part::OwnMove | Part::OtherMove => format!("{games}{whole} (not {})", names(moves)),
        Part::Unanswered | Part::Leaf | Part::Unreached | Part::LineEnd => {
            format!("{games}{share}{whole}")
        }
    }
}

/// Rows of a part in TSV and JSON.
fn rows<'r>(form: &Form, report: &'r Report) -> impl Iterator<Item = &'r Finding> {
    let limit = form.limit.unwrap_or(usize::MAX);
    PARTS.into_iter().flat_map(move |part| report.part(part).into_iter().take(limit))
}

fn print_tsv(form: &Form, report: &Report, out: &mut Output) -> io::Result<()> {
    writeln!(out, "part\tgames\tshare\tply\tline\tmove\tmoves\tfirst\tfen\tset_up")?;
    for finding in rows(form, report) {
        let Row { part, games, share, ply, line, mv, moves, first, fen, set_up } =
            Row::new(finding);
        let number = |number: Option<u64>| number.map(|it| it.to_string()).unwrap_or_default();
        let fields = [
            part.to_string(),
            number(games),
            share.map(|share| format!("{share:.4}")).unwrap_or_default(),
            number(ply),
            line.unwrap_or_default(),
            mv.unwrap_or_default(),
            moves.join(" "),
            first.unwrap_or_default().to_string(),
            fen,
            set_up.unwrap_or_default(),
        ];
        columns::write_row(&fields, out)?;
    }
    Ok(())
}

fn print_json(form: &Form, report: &Report, out: &mut Output) -> io::Result<()> {
    json::line(out, &Summary::new(report))?;
    rows(form, report).try_for_each(|finding| json::line(out, &Row::new(finding)))
}

/// The first object (`repertoire --json`).
#[derive(Serialize)]
struct Summary {
    part: &'static str,
    positions: usize,
    reached: usize,
    /// Positions that are reached only from set-up positions of games.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_set_up: Option<usize>,
    marked: usize,
    behind_marked: usize,
    /// Share of the games that the repertoire covers; see [`Coverage`].
    #[serde(skip_serializing_if = "Option::is_none")]
    covered: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    games: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never: Option<u64>,
}

impl Summary {
    fn new(report: &Report) -> Summary {
        let ends = report.games.as_ref().map(|(ends, _)| ends);
        Summary {
            part: "summary",
            positions: report.positions,
            reached: report.reached,
            from_set_up: Some(report.from_set_up).filter(|_| report.set_up > 0),
            marked: report.marked,
            behind_marked: report.behind_marked,
            covered: report.coverage.as_ref().and_then(|coverage| coverage.share),
            games: ends.map(|ends| ends.games),
            within: ends.map(|ends| ends.within),
            never: ends.map(|ends| ends.never),
        }
    }
}

/// A finding. Missing values are omitted.
#[derive(Serialize)]
struct Row<'f> {
    part: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    games: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Number of moves that lead to the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    ply: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    mv: Option<String>,
    moves: Vec<String>,
    /// The place of the first of the games.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<&'f str>,
    fen: String,
    /// The set-up position that the line begins from.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_up: Option<String>,
}

impl<'f> Row<'f> {
    fn new(finding: &'f Finding) -> Row<'f> {
        let line = finding.line.as_ref();
        Row {
            part: word(finding.part),
            games: finding.games,
            share: finding.share,
            ply: line.map(|line| line.len() as u64),
            line: line.map(|line| numbered(beginner(finding), line)),
            mv: finding.mv.as_ref().map(San::to_string),
            moves: finding.moves.iter().map(San::to_string).collect(),
            first: finding.first.as_deref(),
            fen: finding.position.to_string(),
            set_up: finding.set_up.map(|position| position.to_string()),
        }
    }
}
