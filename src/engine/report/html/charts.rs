//! Plots as SVG, each with a table of the same numbers.

use std::fmt::Write;

use super::markup::{Cell, colour, escaped, table};
use crate::report::distribution::Bin;
use crate::report::{Axis, Problem, Run, grouped};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// Appends formatted text to a string, which cannot fail.
macro_rules! put {
    ($out:expr, $($text:tt)*) => { write!($out, $($text)*).unwrap_or_default() };
}

/// A plot with a vertical axis from 0 to 1.
struct Plot {
    body: String,
}

impl Plot {
    const RIGHT: f64 = WIDTH - 8.0;
    const FLOOR: f64 = HEIGHT - BOTTOM;

    fn y(share: f64) -> f64 {
        Plot::FLOOR - share * (Plot::FLOOR - TOP)
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped(text);
        put!(self.body, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    /// Five horizontal grid lines with labels.
    fn heights(&mut self, text: impl Fn(f64) -> String) {
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            let y = Plot::y(share);
            put!(
                self.body,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                Plot::RIGHT
            );
            self.label(LEFT - 6.0, y + 4.0, "end", &text(share));
        }
    }

    /// Draws a bar from one share of the height to another, with a tooltip.
    fn bar(&mut self, [x, width]: [f64; 2], [from, to]: [f64; 2], paint: &str, text: &str) {
        let y = Plot::y(to);
        let floor = Plot::y(from);
        let text = escaped(text);
        put!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" style=\"{paint}; fill: \
             var(--colour)\"><title>{text}</title></rect>",
            floor - y
        );
    }

    /// Returns the figure as markup. `legend`, and `twin` with the same numbers as a table, are
    /// markup too.
    fn figure(self, title: &str, legend: &str, below: &str, twin: &str) -> String {
        let title = escaped(title);
        let below = escaped(below);
        let body = self.body;
        format!(
            "<figure><figcaption>{title}</figcaption>\n{legend}<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"{title}\"><desc>{below}</desc>{body}<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{below}</text>\
             </svg>\n<details><summary>As a table</summary>\n{twin}</details></figure>\n",
            (LEFT + Plot::RIGHT) / 2.0,
            HEIGHT - 4.0
        )
    }
}

/// A logarithmic axis from 1 to a power of ten.
struct Log {
    decades: i32,
}

impl Log {
    fn up_to(maximum: u64) -> Log {
        Log { decades: maximum.max(2).ilog10() as i32 + 1 }
    }

    /// The horizontal place of a value, rounded to half a unit of the plot. So steps that look the same are
    /// merged.
    fn x(&self, value: u64) -> f64 {
        let share = (value.max(1) as f64).log10() / f64::from(self.decades);
        ((LEFT + share * (Plot::RIGHT - LEFT)) * 2.0).round() / 2.0
    }

    fn draw(&self, plot: &mut Plot) {
        // Not more labels than fit.
        let every = (self.decades / 6 + 1) as usize;
        for decade in (0..=self.decades).step_by(every) {
            let value = 10u64.saturating_pow(decade.unsigned_abs());
            let x = self.x(value);
            put!(
                plot.body,
                "<line class=\"grid\" x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{:.1}\"/>",
                Plot::FLOOR
            );
            plot.label(x, Plot::FLOOR + 18.0, "middle", &short(value.into()));
        }
    }
}

/// A short number: `20k`, `2.5M`.
fn short(value: i128) -> String {
    let size = value.unsigned_abs();
    let sign = if value < 0 { "-" } else { "" };
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    match units.iter().find(|(unit, _)| size >= *unit) {
        Some((unit, name)) => match size % unit * 10 / unit {
            0 => format!("{sign}{}{name}", size / unit),
            tenths => format!("{sign}{}.{tenths}{name}", size / unit),
        },
        None => format!("{sign}{size}"),
    }
}

/// The smallest end, at least `largest`, of an axis from 0 whose quarters are round numbers.
fn round_end(largest: u64) -> u64 {
    let powers = (0..19).map(|power| 10_u64.pow(power));
    let mut steps = powers.flat_map(|power| [1, 2, 5].map(|step| power.saturating_mul(step)));
    steps.find(|step| step.saturating_mul(4) >= largest).unwrap_or(largest / 4).saturating_mul(4)
}

/// A chart that shows, for each effort per search (time or nodes), the share of the scored problems that were
/// solved with at most this effort.
pub(super) fn solved_over(runs: &[Run], axis: Axis, unit: &str) -> String {
    let spent = |problem: &Problem| match axis {
        Axis::Time => problem.milliseconds,
        Axis::Nodes => problem.nodes,
    };
    let longest = |run: &Run| {
        let searched = run.problems().iter().filter_map(spent).max();
        let solved = run.efforts(axis, true).last().copied();
        searched.max(solved).max(run.efforts(axis, false).last().copied()).unwrap_or(1)
    };
    let longest_of_all = runs.iter().map(longest).max().unwrap_or(1);
    let log = Log::up_to(longest_of_all);
    let mut plot = Plot { body: String::new() };
    plot.heights(|share| format!("{:.0} %", 100.0 * share));
    log.draw(&mut plot);
    for (place, run) in runs.iter().enumerate() {
        let scored = run.counts().scored();
        let end = log.x(longest(run));
        let paint = colour(place);
        for is_first in [true, false] {
            let path = steps(&run.efforts(axis, is_first), scored, &log, end);
            let class = if is_first {
                "first"
            } else if place < 8 {
                "held"
            } else {
                // Colours repeat from the ninth run on.
                "held dash"
            };
            put!(plot.body, "<path class=\"{class}\" style=\"{paint}\" d=\"{path}\"/>");
        }
        let held = run.efforts(axis, false).len() as f64 / scored.max(1) as f64;
        let y = Plot::y(held);
        put!(
            plot.body,
            "<line class=\"end\" style=\"{paint}\" x1=\"{end}\" x2=\"{end}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y - 6.0,
            y + 6.0
        );
    }
    let title = format!("Solved over {unit}");
    let twin = solved_table(runs, axis, unit, longest_of_all);
    plot.figure(&title, "", &format!("{unit} of a search, logarithmic"), &twin)
}

/// The path of a share that grows by one problem at each effort.
fn steps(efforts: &[u64], scored: u64, log: &Log, end: f64) -> String {
    let mut path = format!("M{LEFT} {:.1}", Plot::y(0.0));
    let mut place = 0;
    while place < efforts.len() {
        let x = log.x(efforts[place]);
        place += efforts[place..].iter().take_while(|&&effort| log.x(effort) == x).count();
        put!(path, "H{x}V{:.1}", Plot::y(place as f64 / scored.max(1) as f64));
    }
    put!(path, "H{end}");
    path
}

/// A table with the number of problems solved within an effort of 1, 2, 5, 10, 20 ...
fn solved_table(runs: &[Run], axis: Axis, unit: &str, longest: u64) -> String {
    let decades = (0..20).map(|decade| 10u64.saturating_pow(decade));
    let marks = decades.flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)));
    let mut marks: Vec<u64> = marks.take_while(|&mark| mark < longest).collect();
    marks.push(longest);
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let names = [&["Within"][..], &labels].concat();
    let is_first = false;
    let efforts: Vec<Vec<u64>> = runs.iter().map(|run| run.efforts(axis, is_first)).collect();
    let row = |mark: &u64| {
        let count = |efforts: &Vec<u64>| efforts.partition_point(|effort| effort <= mark) as u128;
        let counts = efforts.iter().map(|efforts| Cell::Number(grouped(count(efforts))));
        let name = Cell::Number(grouped((*mark).into()));
        std::iter::once(name).chain(counts).collect()
    };
    let rows: Vec<Vec<Cell>> = marks.iter().map(row).collect();
    table(&format!("Held to the end, within N {unit}"), &names, &rows)
}

/// A histogram with the number of values per bin, for each label. Empty if there are no values.
pub(super) fn histogram(title: &str, of: &str, labels: &[&str], bins: &[&[Bin]]) -> String {
    let all = bins.iter().copied().flatten();
    let mut ranges: Vec<(i128, i128)> = all.clone().map(|bin| (bin.from, bin.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let Some(largest) = all.map(|bin| bin.count).max() else { return String::new() };
    let top = round_end(largest);
    let count = |bins: &[Bin], from: i128| {
        bins.iter().find(|bin| bin.from == from).map_or(0, |bin| bin.count)
    };
    let mut plot = Plot { body: String::new() };
    plot.heights(|share| short((top as f64 * share) as i128));
    let texts: Vec<String> = ranges.iter().map(|(from, _)| short(*from)).collect();
    let columns = Columns::new(&texts);
    for (place, &(from, to)) in ranges.iter().enumerate() {
        let width = columns.width() / labels.len() as f64;
        for (series, bins) in bins.iter().enumerate() {
            let count = count(bins, from);
            if count > 0 {
                let x = columns.x(place) + width * series as f64;
                let y = count as f64 / top as f64;
                let text =
                    format!("{}: {} in {}", labels[series], grouped(count.into()), span(from, to));
                plot.bar([x, width], [0.0, y], &colour(series), &text);
            }
        }
        columns.label(&mut plot, place, &texts[place]);
    }
    let names = [&["Values"][..], labels].concat();
    let row = |&(from, to): &(i128, i128)| {
        let counts = bins.iter().map(|bins| Cell::Number(grouped(count(bins, from).into())));
        std::iter::once(Cell::Number(span(from, to))).chain(counts).collect()
    };
    let rows: Vec<Vec<Cell>> = ranges.iter().map(row).collect();
    let is_wide = ranges.iter().any(|(from, to)| from != to);
    let below = if is_wide { "from this value on" } else { "values that occur" };
    plot.figure(title, "", below, &table(&format!("{title}: how many {of}"), &names, &rows))
}

/// Columns of the same width across a plot.
struct Columns {
    count: usize,
    /// The distance of labelled columns: with 3, each third column has a label.
    every: usize,
}

impl Columns {
    /// The width of a letter on a small screen, where letters are enlarged.
    const LETTER: f64 = 9.5;

    /// Columns with these labels. Only as many labels are shown as fit side by side.
    fn new<'t>(labels: impl IntoIterator<Item = &'t String>) -> Columns {
        let lengths: Vec<usize> = labels.into_iter().map(|label| label.chars().count()).collect();
        let longest = lengths.iter().max().copied().unwrap_or_default();
        let fitting = (Plot::RIGHT - LEFT) / (longest as f64 * Columns::LETTER + 10.0);
        Columns { count: lengths.len(), every: lengths.len().div_ceil((fitting as usize).max(1)) }
    }

    fn step(&self) -> f64 {
        (Plot::RIGHT - LEFT) / self.count as f64
    }

    fn width(&self) -> f64 {
        self.step() * 0.84
    }

    fn x(&self, place: usize) -> f64 {
        LEFT + self.step() * (place as f64 + 0.08)
    }

    /// The label of a column, if it fits.
    fn label(&self, plot: &mut Plot, place: usize, text: &str) {
        if place.is_multiple_of(self.every.max(1)) {
            let x = self.x(place) + self.step() * 0.42;
            plot.label(x, Plot::FLOOR + 18.0, "middle", text);
        }
    }
}

/// A series of a chart: name and colour.
pub(super) type Series<'s> = (&'s str, String);

/// A chart of counts by category, as stacked shares of the series. Empty if there is nothing to
/// count.
pub(super) fn shares(
    title: &str,
    [heading, below]: [&str; 2],
    series: &[Series<'_>],
    categories: &[(String, Vec<u64>)],
) -> String {
    let all = |counts: &[u64]| counts.iter().sum::<u64>();
    if categories.iter().all(|(_, counts)| all(counts) == 0) {
        return String::new();
    }
    let mut plot = Plot { body: String::new() };
    plot.heights(|share| format!("{:.0} %", 100.0 * share));
    let columns = Columns::new(categories.iter().map(|(name, _)| name));
    for (place, (name, counts)) in categories.iter().enumerate() {
        let mut from = 0.0;
        for (&count, (label, paint)) in counts.iter().zip(series) {
            if count > 0 {
                let share = count as f64 / all(counts) as f64;
                let text =
                    format!("{name}, {label}: {}, {:.1} %", grouped(count.into()), 100.0 * share);
                plot.bar([columns.x(place), columns.width()], [from, from + share], paint, &text);
                from += share;
            }
        }
        columns.label(&mut plot, place, name);
    }
    let labels: Vec<&str> = series.iter().map(|(label, _)| *label).collect();
    let names = [&[heading][..], &labels, &["All"]].concat();
    let row = |(name, counts): &(String, Vec<u64>)| {
        let all = std::iter::once(all(counts));
        let numbers = counts.iter().copied().chain(all).map(|it| Cell::Number(grouped(it.into())));
        std::iter::once(Cell::Name(name.clone())).chain(numbers).collect()
    };
    let rows: Vec<Vec<Cell>> = categories.iter().map(row).collect();
    let twin = table(title, &names, &rows);
    plot.figure(title, &key(series), below, &twin)
}

fn key(series: &[Series<'_>]) -> String {
    let entry = |(label, paint): &Series<'_>| {
        format!(
            "<span><i style=\"{paint}; background: var(--colour)\"></i>{}</span>",
            escaped(label)
        )
    };
    format!("<p class=\"legend\">{}</p>\n", series.iter().map(entry).collect::<String>())
}

/// Quartiles of values in centipawns by ply.
pub(super) struct Quartiles {
    pub(super) ply: u32,
    pub(super) values: [i32; 3],
    pub(super) count: u64,
}

/// A chart with median and quartiles of scores by ply. Empty if there are fewer than two plies.
pub(super) fn scores_by_ply(title: &str, plies: &[Quartiles]) -> String {
    let [first, .., last] = plies else { return String::new() };
    let largest = plies.iter().flat_map(|it| it.values).map(i32::abs).fold(1, i32::max);
    let top = f64::from((largest as u32).next_multiple_of(100));
    let mut plot = Plot { body: String::new() };
    plot.heights(|share| format!("{:+.1}", top * (2.0 * share - 1.0) / 100.0));
    let across = (Plot::RIGHT - LEFT) / f64::from(last.ply - first.ply);
    let x = |ply: u32| LEFT + f64::from(ply - first.ply) * across;
    let point = |ply: u32, value: i32| {
        format!("{:.1} {:.1}", x(ply), Plot::y((f64::from(value) / top + 1.0) / 2.0))
    };
    let line = |kind: usize| plies.iter().map(move |it| point(it.ply, it.values[kind]));
    let lower: Vec<String> = line(0).collect();
    let band: Vec<String> = line(2).chain(lower.into_iter().rev()).collect();
    let median: Vec<String> = line(1).collect();
    put!(
        plot.body,
        "<path class=\"band\" style=\"{0}\" d=\"M{1}Z\"/><path class=\"held\" style=\"{0}\" d=\"M{2}\"/>",
        colour(0),
        band.join("L"),
        median.join("L")
    );
    let fits = |step: &u32| (last.ply - first.ply) / step <= 8;
    let step = [1, 2, 4, 10, 20, 40].into_iter().find(fits).unwrap_or(100);
    for ply in (first.ply..=last.ply).filter(|ply| ply.is_multiple_of(step)) {
        plot.label(x(ply), Plot::FLOOR + 18.0, "middle", &ply.to_string());
    }
    let pawns = |value: i32| Cell::Number(format!("{:+.2}", f64::from(value) / 100.0));
    let row = |it: &Quartiles| {
        let own = [Cell::Number(it.ply.to_string()), Cell::Number(grouped(it.count.into()))];
        [&own[..], &it.values.map(pawns)].concat()
    };
    let rows: Vec<Vec<Cell>> = plies.iter().map(row).collect();
    let names = ["Ply", "Scores", "Lower quartile", "Median", "Upper quartile"];
    let below = "ply: median and middle half";
    plot.figure(title, "", below, &table(title, &names, &rows))
}

fn span(from: i128, to: i128) -> String {
    if from == to { from.to_string() } else { format!("{from} to {to}") }
}
