//! Plots as SVG, each with a table of the same numbers.

use std::fmt::Write;

use super::markup::{Cell, colour, escaped, table};
use crate::report::distribution::Distribution;
use crate::report::{Axis, Problem, Run, grouped};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 40.0;
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

    fn figure(self, title: &str, below: &str, twin: &str) -> String {
        let (title, below, body) = (escaped(title), escaped(below), self.body);
        format!(
            "<figure><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"{title}\">{body}<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{below}</text>\
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
    fn up_to(most: u64) -> Log {
        Log { decades: most.max(2).ilog10() as i32 + 1 }
    }

    /// Rounded to half a unit of the plot, so that indistinguishable steps are merged.
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
            plot.label(x, Plot::FLOOR + 16.0, "middle", &short(value.into()));
        }
    }
}

/// A short number: `20k`, `3M`.
fn short(value: i128) -> String {
    let size = value.unsigned_abs();
    let sign = if value < 0 { "-" } else { "" };
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    match units.iter().find(|(unit, _)| size >= *unit) {
        Some((unit, name)) => format!("{sign}{}{name}", size / unit),
        None => format!("{sign}{size}"),
    }
}

/// The share of scored problems solved within an effort per search.
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
    let most = runs.iter().map(longest).max().unwrap_or(1);
    let log = Log::up_to(most);
    let mut plot = Plot { body: String::new() };
    plot.heights(|share| format!("{:.0} %", 100.0 * share));
    log.draw(&mut plot);
    for (place, run) in runs.iter().enumerate() {
        let (scored, end) = (run.counts().scored(), log.x(longest(run)));
        let paint = colour(place);
        for is_first in [true, false] {
            let path = steps(&run.efforts(axis, is_first), scored, &log, end);
            let class = match (is_first, place < 8) {
                (true, _) => "first",
                (false, true) => "held",
                // Colours repeat from the ninth run on.
                (false, false) => "held dash",
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
    let twin = solved_table(runs, axis, unit, most);
    plot.figure(&title, &format!("{unit} of a search, logarithmic"), &twin)
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

/// Number of problems solved within 1, 2, 5, 10, 20 ...
fn solved_table(runs: &[Run], axis: Axis, unit: &str, most: u64) -> String {
    let decades = (0..20).map(|decade| 10u64.saturating_pow(decade));
    let marks = decades.flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)));
    let mut marks: Vec<u64> = marks.take_while(|&mark| mark < most).collect();
    marks.push(most);
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let names = [&["Within"][..], &labels].concat();
    let efforts: Vec<Vec<u64>> = runs.iter().map(|run| run.efforts(axis, false)).collect();
    let row = |mark: &u64| {
        let count = |efforts: &Vec<u64>| efforts.partition_point(|effort| effort <= mark) as u128;
        let counts = efforts.iter().map(|efforts| Cell::Number(grouped(count(efforts))));
        let name = Cell::Number(grouped((*mark).into()));
        std::iter::once(name).chain(counts).collect()
    };
    let rows: Vec<Vec<Cell>> = marks.iter().map(row).collect();
    table(&format!("Held to the end, within N {unit}"), &names, &rows)
}

/// Number of values per bin, for all runs. Empty if there are no values.
pub(super) fn histogram(title: &str, runs: &[Run], of_runs: &[Option<&Distribution>]) -> String {
    let bins = of_runs.iter().flatten().flat_map(|values| &values.bins);
    let mut ranges: Vec<(i128, i128)> = bins.clone().map(|bin| (bin.from, bin.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let Some(most) = bins.map(|bin| bin.count).max() else { return String::new() };
    let top = most.next_multiple_of(4);
    let count = |values: &Option<&Distribution>, from: i128| {
        let bin = values.and_then(|values| values.bins.iter().find(|bin| bin.from == from));
        bin.map_or(0, |bin| bin.count)
    };
    let mut plot = Plot { body: String::new() };
    plot.heights(|share| short((top as f64 * share) as i128));
    let room = (Plot::RIGHT - LEFT) / ranges.len() as f64;
    let width = room * 0.84 / runs.len() as f64;
    let every = ranges.len().div_ceil(11);
    for (place, &(from, to)) in ranges.iter().enumerate() {
        let start = LEFT + room * (place as f64 + 0.08);
        for (run, values) in of_runs.iter().enumerate() {
            let count = count(values, from);
            if count > 0 {
                let (x, y) = (start + width * run as f64, Plot::y(count as f64 / top as f64));
                put!(
                    plot.body,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" style=\"{}; fill: \
                     var(--colour)\"><title>{}: {} in {}</title></rect>",
                    Plot::FLOOR - y,
                    colour(run),
                    escaped(&runs[run].label),
                    grouped(count.into()),
                    span(from, to)
                );
            }
        }
        if place % every == 0 {
            plot.label(start + room * 0.42, Plot::FLOOR + 16.0, "middle", &short(from));
        }
    }
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let names = [&["Values"][..], &labels].concat();
    let row = |&(from, to): &(i128, i128)| {
        let counts = of_runs.iter().map(|values| Cell::Number(grouped(count(values, from).into())));
        std::iter::once(Cell::Number(span(from, to))).chain(counts).collect()
    };
    let rows: Vec<Vec<Cell>> = ranges.iter().map(row).collect();
    let is_wide = ranges.iter().any(|(from, to)| from != to);
    let below = if is_wide { "from this value on" } else { "values that occur" };
    plot.figure(title, below, &table(&format!("{title}: how many records"), &names, &rows))
}

fn span(from: i128, to: i128) -> String {
    if from == to { from.to_string() } else { format!("{from} to {to}") }
}
