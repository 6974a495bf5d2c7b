//! The report as text.

use std::io::{self, Write};

use crate::cli::columns;
use epdb_engine::report::distribution::Distribution;
use epdb_engine::report::statistics::Interval;
use epdb_engine::report::{
    Axis, Counts, NamedMove, Problem, Report, Row, Run, grouped, percent, probability, range,
    signed,
};
use epdb_source::Output;

/// Default number of lines in a list.
pub(super) const LINES: usize = 20;

pub(super) fn print(report: &Report<'_>, limit: usize, out: &mut Output) -> io::Result<()> {
    writeln!(out, "{}", report.verdict)?;
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
    print_runs(report, out)?;
    print_pairs(report, out)?;
    print_themes(report, out)?;
    print_efforts(report, out)?;
    print_measures(report, out)?;
    print_failures(report, limit, out)?;
    print_rows(report, "Cooks: all runs agree on another move", Row::is_cook, limit, out)?;
    print_rows(report, "Missed", Row::is_missed, limit, out)
}

fn heading(text: &str, out: &mut Output) -> io::Result<()> {
    writeln!(out, "\n{text}")
}

/// Writes aligned columns; the first `left` columns are left-aligned.
fn table(names: &[&str], rows: &[Vec<String>], left: usize, out: &mut Output) -> io::Result<()> {
    columns::write_columns(names, rows, |column| column < left, out)
}

/// A count; nothing for zero, so that a column of zeros is left out.
fn some(count: u64) -> String {
    if count == 0 { String::new() } else { grouped(count.into()) }
}

/// Results: solved, number of problems, percentage, interval, points.
fn solved(counts: &Counts) -> Vec<String> {
    let interval = |Interval { low, high }| format!("{} to {}", percent(low), percent(high));
    let points = counts.points.map(|sum| [grouped(sum.got), grouped(sum.of)]);
    let own = [
        grouped(counts.solved.into()),
        grouped(counts.scored().into()),
        counts.share().map_or("-".into(), percent),
        counts.interval().map_or("-".into(), interval),
    ];
    [&own[..], &points.unwrap_or_default()].concat()
}

const SOLVED: [&str; 6] = ["solved", "of", "%", "95 %", "points", "of"];

fn print_runs(report: &Report<'_>, out: &mut Output) -> io::Result<()> {
    let names =
        [&["run"][..], &SOLVED, &["missed", "no answer", "failed", "unscored", "defective"]];
    let row = |run: &Run| {
        let counts = run.counts();
        let others =
            [counts.unanswered, counts.failed, counts.unscored, counts.defective].map(some);
        let missed = grouped(counts.missed.into());
        [&[run.label.clone()][..], &solved(&counts), &[missed], &others].concat()
    };
    heading("Runs", out)?;
    table(&names.concat(), &report.runs.iter().map(row).collect::<Vec<_>>(), 1, out)
}

fn print_pairs(report: &Report<'_>, out: &mut Output) -> io::Result<()> {
    if report.pairs.is_empty() {
        return Ok(());
    }
    let names = [
        "first",
        "second",
        "both",
        "only first",
        "only second",
        "neither",
        "second - first",
        "95 %",
        "McNemar p",
        "Holm p",
        "in points",
        "95 %",
    ];
    let label = |run: usize| report.runs[run].label.clone();
    let rows = report.pairs.iter().map(|pair| {
        let counts = [pair.both, pair.only_first, pair.only_second, pair.neither];
        let difference = i128::from(pair.only_second) - i128::from(pair.only_first);
        let ends = |interval: Interval| range([interval.low, interval.high]);
        let points = pair.points.map(|points| {
            let difference = points.second.got.cast_signed() - points.first.got.cast_signed();
            [signed(difference), ends(points.interval)]
        });
        let own = vec![
            signed(difference),
            pair.difference.map_or("-".into(), ends),
            tested(pair.p),
            if report.pairs.len() > 1 { tested(pair.holm) } else { String::new() },
        ];
        let counts = counts.map(|count| grouped(count.into()));
        [&[label(pair.first), label(pair.second)][..], &counts, &own, &points.unwrap_or_default()]
            .concat()
    });
    heading("Side by side", out)?;
    table(&names, &rows.collect::<Vec<_>>(), 2, out)
}

/// A probability; `-` if nothing could be tested.
fn tested(p: Option<f64>) -> String {
    p.map_or("-".into(), probability)
}

fn print_themes(report: &Report<'_>, out: &mut Output) -> io::Result<()> {
    let themes = report.themes();
    if themes.len() < 2 {
        return Ok(());
    }
    let mut rows = Vec::new();
    for theme in &themes {
        let name = if theme.name.is_empty() { "(none)" } else { theme.name };
        for (run, counts) in report.runs.iter().zip(&theme.runs) {
            let names = [name.to_string(), run.label.clone()];
            rows.extend(counts.map(|counts| [&names[..], &solved(&counts)].concat()));
        }
    }
    heading("Themes", out)?;
    table(&[&["theme", "run"][..], &SOLVED].concat(), &rows, 2, out)
}

fn print_efforts(report: &Report<'_>, out: &mut Output) -> io::Result<()> {
    let names = ["run", "held by", "a quarter", "half", "three quarters", "solved", "first chosen"];
    let mut rows = Vec::new();
    for (axis, unit) in [(Axis::Time, "ms"), (Axis::Nodes, "nodes")] {
        for run in report.runs {
            let held = run.efforts(axis, false);
            let first = run.efforts(axis, true);
            if held.is_empty() && first.is_empty() {
                continue;
            }
            let within = [1, 2, 3].map(|quarters| {
                let effort = run.quarters_within(quarters, axis);
                effort.map_or("-".into(), |effort| grouped(effort.into()))
            });
            let counts = [held.len(), first.len()].map(|count| grouped(count as u128));
            rows.push([&[run.label.clone(), unit.into()][..], &within, &counts].concat());
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    heading("Time to solution: when it was chosen for good, by how many of the scored", out)?;
    table(&names, &rows, 2, out)
}

fn print_measures(report: &Report<'_>, out: &mut Output) -> io::Result<()> {
    let names = [
        "run",
        "of each record",
        "count",
        "sum",
        "min",
        "quarter",
        "median",
        "three quarters",
        "max",
        "mean",
    ];
    let mut rows = Vec::new();
    for run in report.runs {
        let measures = run.measures();
        for (what, values, has_sum) in [
            ("nodes", measures.nodes, true),
            ("ms", measures.milliseconds, true),
            ("depth", measures.depth, false),
            ("ce", measures.score, false),
            ("mates in", measures.mates, false),
            ("is mated in", measures.mated, false),
            ("dm", measures.dm, false),
        ] {
            rows.extend(values.map(|values| {
                [&[run.label.clone(), what.to_string()][..], &measured(&values, has_sum)].concat()
            }));
        }
        let speed = measures.nodes_per_second.map(|speed| grouped(speed.into()));
        rows.extend(speed.map(|speed| {
            let mut row = vec![String::new(); names.len()];
            (row[0], row[1], row[9]) = (run.label.clone(), "nodes a second".into(), speed);
            row
        }));
    }
    if rows.is_empty() {
        return Ok(());
    }
    heading("Effort and scores", out)?;
    table(&names, &rows, 2, out)
}

fn measured(values: &Distribution, has_sum: bool) -> Vec<String> {
    let number = |value: i128| {
        if value < 0 {
            format!("-{}", grouped(value.unsigned_abs()))
        } else {
            grouped(value.unsigned_abs())
        }
    };
    let Distribution { min, lower_quartile, median, upper_quartile, max, .. } = *values;
    let own = [min, lower_quartile, median, upper_quartile, max].map(number);
    let sum = if has_sum { number(values.sum) } else { String::new() };
    let count = grouped(values.count as u128);
    [&[count, sum][..], &own, &[format!("{:.1}", values.mean)]].concat()
}

fn print_failures(report: &Report<'_>, limit: usize, out: &mut Output) -> io::Result<()> {
    let why = |problem: &Problem| {
        let reasons = [&problem.error, &problem.defect, &problem.wrong_points];
        reasons.into_iter().find_map(Clone::clone)
    };
    let mut rows = Vec::new();
    for run in report.runs {
        for problem in run.problems() {
            rows.extend(
                why(problem).map(|why| {
                    vec![run.label.clone(), problem.place.to_string(), name(problem), why]
                }),
            );
        }
    }
    print_list("Failed and defective", &["run", "place", "id", "why"], &rows, 4, limit, out)
}

fn print_rows<'r>(
    report: &Report<'r>,
    title: &str,
    is_wanted: impl Fn(&Row<'r>) -> bool,
    limit: usize,
    out: &mut Output,
) -> io::Result<()> {
    let runs: Vec<&str> = report.runs.iter().map(|run| run.label.as_str()).collect();
    let names = [&["id"][..], &runs, &["asked for", "position"]].concat();
    let mut rows = Vec::new();
    for row in report.joined.rows.iter().filter(|row| is_wanted(row)) {
        let Some(problem) = row.problem() else { continue };
        let answers: Vec<String> = row.problems().iter().map(|problem| answer(*problem)).collect();
        let about = [problem.targets(), problem.position.to_string()];
        rows.push([&[name(problem)][..], &answers, &about].concat());
    }
    print_list(title, &names, &rows, names.len(), limit, out)
}

fn print_list(
    title: &str,
    names: &[&str],
    rows: &[Vec<String>],
    left: usize,
    limit: usize,
    out: &mut Output,
) -> io::Result<()> {
    if rows.is_empty() || limit == 0 {
        return Ok(());
    }
    heading(&format!("{title} ({})", grouped(rows.len() as u128)), out)?;
    table(names, &rows[..rows.len().min(limit)], left, out)?;
    match rows.len().saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more (-n shows them)"),
    }
}

fn name(problem: &Problem) -> String {
    problem.id.clone().unwrap_or_else(|| problem.place.to_string())
}

/// Answer of a run, its verdict, and a mark for missing data.
fn answer(problem: Option<&Problem>) -> String {
    let Some(problem) = problem else { return String::new() };
    let answer = problem.answer.as_ref().map_or("-".into(), NamedMove::to_string);
    if problem.is_solved() { format!("{answer} (solved)") } else { answer }
}
