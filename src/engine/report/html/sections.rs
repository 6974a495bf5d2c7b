//! The sections of the page that do not need its script.

use super::charts;
use super::markup::{Cell, colour, escaped, named, table};
use crate::report::distribution::{Bin, Distribution};
use crate::report::statistics::Interval;
use crate::report::{
    Axis, Counts, Measures, Pair, Report, Run, RunOutput, Theme, grouped, percent, probability,
    range, signed,
};
use epdb_library::run_file::{RunFile, RunLimit};

/// Anchor, heading and body of a section.
pub(super) type SectionParts = (&'static str, &'static str, String);

pub(super) struct Section {
    /// The anchor of the section.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    body: String,
}

impl Section {
    /// The sections that are not empty. The parts of each are anchor, heading and body.
    pub(super) fn list(sections: impl IntoIterator<Item = SectionParts>) -> Vec<Section> {
        let sections = sections.into_iter().filter(|(.., body)| !body.is_empty());
        sections.map(|(id, title, body)| Section { id, title, body }).collect()
    }

    pub(super) fn markup(&self) -> String {
        let Section { id, title, body } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n\
             {body}</section>\n"
        )
    }
}

/// The sections of a report that are not empty.
pub(super) fn all(report: &Report<'_>) -> Vec<Section> {
    Section::list([
        ("runs", "Runs", runs(report)),
        ("pairs", "Side by side", pairs(report)),
        ("time", "Time to solution", efforts(report)),
        ("themes", "Themes", themes(report)),
        ("effort", "Effort and scores", measures(report)),
    ])
}

fn number(count: u64) -> String {
    grouped(count.into())
}

fn ends(interval: Interval) -> String {
    format!("{} to {}", percent(interval.low), percent(interval.high))
}

fn runs(report: &Report<'_>) -> String {
    let cards: String =
        report.runs.iter().enumerate().map(|(place, run)| card(place, run)).collect();
    let names = [
        "Run",
        "Solved",
        "Scored",
        "%",
        "95 %",
        "Points",
        "Of",
        "Missed",
        "No answer",
        "Failed",
        "Not scored",
        "Defective",
    ];
    let row = |(place, run): (usize, &Run)| {
        let counts = run.counts();
        let some = |count: u64| if count == 0 { String::new() } else { number(count) };
        let points = counts.points.map(|sum| [grouped(sum.got), grouped(sum.of)]);
        let [got, of] = points.unwrap_or_default();
        let cells = [
            number(counts.solved),
            number(counts.scored()),
            counts.share().map_or("-".into(), percent),
            counts.interval().map_or("-".into(), ends),
            got,
            of,
            number(counts.missed),
            some(counts.unanswered),
            some(counts.failed),
            some(counts.unscored),
            some(counts.defective),
        ];
        let cells = cells.map(Cell::Number);
        [&[Cell::Run(place, run.label.clone())][..], &cells].concat()
    };
    let rows: Vec<Vec<Cell>> = report.runs.iter().enumerate().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("<div class=\"cards\">\n{cards}</div>\n{}", table("All runs", &names, &rows))
}

fn card(place: usize, run: &Run) -> String {
    let counts = run.counts();
    let share = counts.share().map_or("-".into(), |share| format!("{} %", percent(share)));
    let facts: String = facts(run, &counts)
        .into_iter()
        .map(|(name, text)| format!("<dt>{name}</dt><dd>{text}</dd>\n"))
        .collect();
    format!(
        "<article class=\"card\" style=\"{}\">\n<h3>{}</h3>\n<p class=\"score\"><strong>{share}</strong> \
         <span>{} of {} solved</span></p>\n{}<dl>\n{facts}</dl>\n</article>\n",
        colour(place),
        escaped(&run.label),
        number(counts.solved),
        number(counts.scored()),
        gauge(&counts)
    )
}

/// The share of solved problems as a bar with its interval.
fn gauge(counts: &Counts) -> String {
    let Some((share, Interval { low, high })) = counts.share().zip(counts.interval()) else {
        return String::new();
    };
    let [share, low, high] = [share, low, high].map(percent);
    let tick = |at: &str| {
        format!(
            "<line x1=\"{at}%\" x2=\"{at}%\" y1=\"5\" y2=\"21\" stroke=\"currentColor\" stroke-width=\"1.5\"/>"
        )
    };
    format!(
        "<svg class=\"gauge\" role=\"img\" aria-label=\"{share} %, interval of 95 % from {low} to {high} %\">\
         <rect y=\"8\" width=\"100%\" height=\"10\" rx=\"5\" fill=\"var(--none)\"/>\
         <rect y=\"8\" width=\"{share}%\" height=\"10\" rx=\"5\" fill=\"var(--colour)\"/>\
         <line x1=\"{low}%\" x2=\"{high}%\" y1=\"13\" y2=\"13\" stroke=\"currentColor\" stroke-width=\"1.5\"/>\
         {}{}</svg>\n",
        tick(&low),
        tick(&high)
    )
}

/// The text below the figure of a card, as markup.
fn facts(run: &Run, counts: &Counts) -> Vec<(&'static str, String)> {
    let interval = counts.interval().map(|interval| format!("{} %", ends(interval)));
    let points = counts.points.map(|sum| format!("{} of {}", grouped(sum.got), grouped(sum.of)));
    let own = [("95 % interval", interval), ("Points", points)];
    let engine = run.facts().map(engine_facts).unwrap_or_default();
    let all = own.into_iter().chain(engine).chain(run.outputs.iter().flat_map(output_facts));
    all.filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?))).collect()
}

fn plain(text: &Option<String>) -> Option<String> {
    text.as_deref().map(escaped)
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

fn engine_facts(facts: &RunFile) -> Vec<(&'static str, Option<String>)> {
    let RunFile { engine, .. } = facts;
    let options = engine.options.iter().map(|(name, value)| format!("{name} {value}"));
    let searches = [
        facts.multipv.filter(|&lines| lines > 1).map(|lines| format!("{lines} lines")),
        facts.concurrency.filter(|&count| count > 1).map(|count| format!("{count} at once")),
    ];
    vec![
        ("Engine", plain(&engine.name)),
        ("Author", plain(&engine.author)),
        ("Options", Some(escaped(&options.collect::<Vec<_>>().join(", ")))),
        ("Limit", Some(limit(&facts.limit))),
        ("Searches", Some(searches.into_iter().flatten().collect::<Vec<_>>().join(", "))),
        ("epdb", plain(&facts.epdb)),
    ]
}

fn output_facts(output: &RunOutput) -> Vec<(&'static str, Option<String>)> {
    let file = ("File", Some(code(&output.file)));
    let Some(facts) = &output.facts else { return vec![file] };
    let records = facts.suite.records.map(|records| format!("{} records", number(records)));
    let suite = [facts.suite.path.clone(), records].into_iter().flatten().collect::<Vec<_>>();
    let command = (!facts.command.is_empty()).then(|| code(&facts.command.join(" ")));
    vec![
        ("Suite", Some(escaped(&suite.join(", ")))),
        ("BLAKE3", facts.suite.blake3.as_deref().map(code)),
        ("Began", plain(&facts.started)),
        ("Took", facts.seconds.map(|seconds| format!("{seconds:.1} s"))),
        ("Command", command),
        file,
    ]
}

fn limit(limit: &RunLimit) -> String {
    let parts = [
        limit.nodes.map(|nodes| format!("{} nodes", number(nodes))),
        limit.depth.map(|depth| format!("depth {depth}")),
        limit.movetime.map(|time| format!("{} ms", number(time))),
        limit.clock.map(|time| format!("a clock of {} ms", number(time))),
        limit.mate.map(|moves| format!("mate in {moves}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("{} a position", parts.join(", ")) }
}

fn pairs(report: &Report<'_>) -> String {
    if report.pairs.is_empty() {
        return String::new();
    }
    let names = [
        "First",
        "Second",
        "Shares",
        "Both",
        "Only first",
        "Only second",
        "Neither",
        "Difference",
        "95 %",
        "McNemar p",
        "Holm p",
        "Points",
        "95 %",
    ];
    let rows: Vec<Vec<Cell>> = report.pairs.iter().map(|pair| pair_row(report, pair)).collect();
    format!(
        "<p class=\"hint\">Of the problems that count in both. The difference is what the second run solves \
         and earns beyond the first, with the interval of a paired bootstrap of 10,000 samples; the test is the exact \
         two-sided one of McNemar{}. The bar shows, from the left, what both solve, the first alone, the \
         second alone, and neither.</p>\n{}",
        if rows.len() > 1 { ", adjusted by Holm for the number of pairs" } else { "" },
        table("Each run against each later one", &names, &rows)
    )
}

fn pair_row(report: &Report<'_>, pair: &Pair) -> Vec<Cell> {
    let counts = [pair.both, pair.only_first, pair.only_second, pair.neither];
    let difference = i128::from(pair.only_second) - i128::from(pair.only_first);
    let whole = |interval: Interval| range([interval.low, interval.high]);
    let points = pair.points.map(|points| {
        let difference = points.second.got.cast_signed() - points.first.got.cast_signed();
        [signed(difference), whole(points.interval)]
    });
    let holm = if report.pairs.len() > 1 { tested(pair.holm) } else { String::new() };
    let [points, points_ends] = points.unwrap_or_default();
    let own = [
        signed(difference),
        pair.difference.map_or("-".into(), whole),
        tested(pair.p),
        holm,
        points,
        points_ends,
    ];
    let label = |run: usize| Cell::Run(run, report.runs[run].label.clone());
    let paints = [
        "--colour: var(--both)".to_string(),
        colour(pair.first),
        colour(pair.second),
        "--colour: var(--none)".to_string(),
    ];
    let split = Cell::Split(counts.into_iter().zip(paints).collect());
    let heads = [label(pair.first), label(pair.second), split];
    [&heads[..], &counts.map(|count| Cell::Number(number(count))), &own.map(Cell::Number)].concat()
}

/// A probability; a dash if there was no test.
fn tested(p: Option<f64>) -> String {
    p.map_or("-".into(), probability)
}

fn efforts(report: &Report<'_>) -> String {
    let axes = [(Axis::Time, "milliseconds"), (Axis::Nodes, "nodes")];
    let is_told = |run: &Run| axes.iter().any(|(axis, _)| !run.efforts(*axis, true).is_empty());
    if !report.runs.iter().any(is_told) {
        return String::new();
    }
    let figures: String =
        axes.iter().map(|(axis, unit)| charts::solved_over(report.runs, *axis, unit)).collect();
    let names =
        ["Run", "Of", "A quarter", "Half", "Three quarters", "Held to the end", "Chosen once"];
    let mut rows = Vec::new();
    for (axis, unit) in axes {
        for (place, run) in report.runs.iter().enumerate() {
            let within = [1, 2, 3].map(|quarters| {
                let effort = run.quarters_within(quarters, axis);
                effort.map_or("-".into(), number)
            });
            let counts =
                [false, true].map(|is_first| grouped(run.efforts(axis, is_first).len() as u128));
            let cells = [&within.map(Cell::Number)[..], &counts.map(Cell::Number)].concat();
            rows.push(
                [&[Cell::Run(place, run.label.clone()), Cell::Text(unit.into())][..], &cells]
                    .concat(),
            );
        }
    }
    format!(
        "<p class=\"hint\">How many of the scored problems were solved within how much of each search. Solid: \
         from then on the solution was held to the end. Dotted: it was chosen for the first time. Problems \
         that were not solved are censored: a curve ends, at its mark, where the longest search of the run \
         did.</p>\n{}<div class=\"charts\">\n{figures}</div>\n<h3>Quarters</h3>\n{}",
        legend(report.runs),
        table(
            "Within how much a quarter, half and three quarters were solved for good",
            &names,
            &rows
        )
    )
}

fn legend(runs: &[Run]) -> String {
    let entries = runs.iter().enumerate();
    let entry = |(place, run): (usize, &Run)| format!("<span>{}</span>", named(place, &run.label));
    format!("<p class=\"legend\">{}</p>\n", entries.map(entry).collect::<String>())
}

fn themes(report: &Report<'_>) -> String {
    let themes = report.themes();
    if themes.len() < 2 {
        return String::new();
    }
    let mut names = vec!["Theme"];
    for run in report.runs {
        names.extend([run.label.as_str(), "95 %", "Points %"]);
    }
    let row = |theme: &Theme<'_>| {
        let name = if theme.name.is_empty() { "(none)" } else { theme.name };
        let cells =
            theme.runs.iter().enumerate().flat_map(|(run, counts)| theme_cells(run, counts));
        std::iter::once(Cell::Name(name.to_string())).chain(cells).collect()
    };
    let rows: Vec<Vec<Cell>> = themes.iter().map(row).collect();
    format!(
        "<p class=\"hint\">Solved of scored, by what stands before the number in the id, or by the operation \
         that was asked for.</p>\n{}",
        table("Themes", &names, &rows)
    )
}

fn theme_cells(run: usize, counts: &Option<Counts>) -> [Cell; 3] {
    let empty = || Cell::Number(String::new());
    let Some((counts, share)) = counts.as_ref().and_then(|counts| Some((counts, counts.share()?)))
    else {
        return [empty(), empty(), empty()];
    };
    let solved =
        format!("{} of {}, {} %", number(counts.solved), number(counts.scored()), percent(share));
    let points = counts.points.filter(|sum| sum.of > 0).map(|sum| sum.got as f64 / sum.of as f64);
    [
        Cell::Share(run, share, solved),
        counts.interval().map_or_else(empty, |interval| Cell::Number(ends(interval))),
        points.map_or_else(empty, |share| Cell::Number(percent(share))),
    ]
}

type MeasureOf = fn(&Measures) -> &Option<Distribution>;

fn measures(report: &Report<'_>) -> String {
    let all: Vec<_> = report.runs.iter().map(Run::measures).collect();
    let kinds: [(&str, MeasureOf); 7] = [
        ("Nodes", |it| &it.nodes),
        ("Milliseconds", |it| &it.milliseconds),
        ("Depth", |it| &it.depth),
        ("Score in centipawns", |it| &it.score),
        ("Mates in, moves", |it| &it.mates),
        ("Is mated in, moves", |it| &it.mated),
        ("Mates asked for or found, moves", |it| &it.dm),
    ];
    let names = [
        "Run",
        "Of each record",
        "Count",
        "Sum",
        "Min",
        "Quarter",
        "Median",
        "Three quarters",
        "Max",
        "Mean",
    ];
    let labels: Vec<&str> = report.runs.iter().map(|run| run.label.as_str()).collect();
    let mut rows = Vec::new();
    let mut figures = String::new();
    for (title, measure) in kinds {
        // Sums of the others mean nothing.
        let has_sum = matches!(title, "Nodes" | "Milliseconds");
        let of_runs: Vec<Option<&Distribution>> =
            all.iter().map(|it| measure(it).as_ref()).collect();
        for (place, values) in of_runs.iter().enumerate() {
            let label = || report.runs[place].label.clone();
            rows.extend(values.map(|values| measured(place, label(), title, values, has_sum)));
        }
        let bins: Vec<&[Bin]> =
            of_runs.iter().map(|values| values.map_or(&[][..], |values| &values.bins)).collect();
        figures += &charts::histogram(title, "records", &labels, &bins);
    }
    if rows.is_empty() {
        return String::new();
    }
    let speed = |(place, values): (usize, &Measures)| {
        let speed = values.nodes_per_second?;
        Some(format!("{} {}", named(place, &report.runs[place].label), number(speed)))
    };
    let speeds: Vec<String> = all.iter().enumerate().filter_map(speed).collect();
    let speeds = if speeds.is_empty() {
        String::new()
    } else {
        format!("<p>Nodes a second: {}</p>\n", speeds.join(" \u{b7} "))
    };
    format!(
        "{}<div class=\"charts\">\n{figures}</div>\n<h3>Summary</h3>\n{speeds}{}",
        legend(report.runs),
        table("Medians and quartiles are values that were there", &names, &rows)
    )
}

fn measured(
    place: usize,
    label: String,
    title: &str,
    values: &Distribution,
    has_sum: bool,
) -> Vec<Cell> {
    let number = |value: i128| {
        if value < 0 {
            format!("-{}", grouped(value.unsigned_abs()))
        } else {
            grouped(value.unsigned_abs())
        }
    };
    let Distribution { min, lower_quartile, median, upper_quartile, max, .. } = *values;
    let count = grouped(values.count as u128);
    let sum = if has_sum { number(values.sum) } else { String::new() };
    let own = [min, lower_quartile, median, upper_quartile, max].map(number);
    let mean = format!("{:.1}", values.mean);
    let cells = [&[count, sum][..], &own, &[mean]].concat();
    let cells: Vec<Cell> = cells.into_iter().map(Cell::Number).collect();
    [&[Cell::Run(place, label), Cell::Text(title.to_string())][..], &cells].concat()
}
