//! The summary sentence of a report.

use super::comparison::{Pair, PointDifference};
use super::run::{Counts, Run};

const LEVEL: f64 = 0.05;

/// Summarises one run. For several runs, names the best one, and says whether the difference is
/// significant.
pub(super) fn sentence(runs: &[Run], pairs: &[Pair]) -> String {
    match runs {
        [] => "There is no run.".to_string(),
        [run] => summarise_one(run),
        [_, _] => pairs.first().map(|pair| compare_two(runs, pair)).unwrap_or_default(),
        _ => compare_several(runs, pairs),
    }
}

fn summarise_one(run: &Run) -> String {
    let label = &run.label;
    let counts = run.counts();
    let (Some(share), Some(interval)) = (counts.share(), counts.interval()) else {
        return format!("{label} has no problem that can be scored.");
    };
    if run.has_no_answer() && run.facts().is_none() {
        let problems = grouped(counts.scored().into());
        return format!(
            "{label} answers none of its {problems} problems: no engine has searched them."
        );
    }
    let points = counts.points.map(|points| {
        format!(" and earns {} of {} points", grouped(points.got), grouped(points.of))
    });
    format!(
        "{label} solves {} of {} problems ({} %, 95 % interval {} to {} %){}.",
        grouped(counts.solved.into()),
        grouped(counts.scored().into()),
        percent(share),
        percent(interval.low),
        percent(interval.high),
        points.unwrap_or_default()
    )
}

fn compare_two(runs: &[Run], pair: &Pair) -> String {
    let first = &runs[pair.first].label;
    let second = &runs[pair.second].label;
    let Some(p) = pair.p else {
        return format!("{first} and {second} have no scored problem in common.");
    };
    let common = grouped(pair.common().into());
    let solved = [pair.both + pair.only_first, pair.both + pair.only_second];
    let points = pair.points.map(|points| compare_points([first, second], &points));
    let points = points.unwrap_or_default();
    if solved[0] == solved[1] {
        let how = match pair.only_first {
            0 => "the same ones".to_string(),
            some => format!("{} of them each alone", grouped(some.into())),
        };
        let solved = grouped(solved[0].into());
        return format!(
            "{first} and {second} both solve {solved} of {common} problems, {how}{points}."
        );
    }
    let is_second = solved[1] > solved[0];
    let (better, worse) = if is_second { (second, first) } else { (first, second) };
    let more = solved[0].max(solved[1]);
    let less = solved[0].min(solved[1]);
    format!(
        "{better} solves {} more of {common} problems than {worse} ({} against {}), {} (exact \
         McNemar {}){points}.",
        grouped((more - less).into()),
        grouped(more.into()),
        grouped(less.into()),
        judged(p),
        quoted(p)
    )
}

fn compare_points(labels: [&String; 2], points: &PointDifference) -> String {
    let first = points.first.got;
    let second = points.second.got;
    let of = grouped(points.first.of);
    if first == second {
        return format!("; both earn {} of {of} points", grouped(first));
    }
    let low = points.interval.low;
    let high = points.interval.high;
    let (better, ends) =
        if second > first { (labels[1], [low, high]) } else { (labels[0], [-high, -low]) };
    format!(
        "; in points {better} is {} of {of} ahead (95 % interval {})",
        grouped(first.abs_diff(second)),
        range(ends)
    )
}

fn compare_several(runs: &[Run], pairs: &[Pair]) -> String {
    let counts: Vec<Counts> = runs.iter().map(Run::counts).collect();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    let share = |place: usize| counts[place].share().unwrap_or(-1.0);
    order.sort_by(|&one, &other| share(other).total_cmp(&share(one)).then(one.cmp(&other)));
    let best = order[0];
    let next = order[1];
    let all = runs.len();
    if counts[best].share().is_none() {
        return format!("None of {all} runs has a problem that can be scored.");
    }
    let solved = |place: usize| {
        let counts = counts[place];
        format!("{} of {}", grouped(counts.solved.into()), grouped(counts.scored().into()))
    };
    if share(best) == share(next) {
        let equal = order.iter().filter(|&&place| share(place) == share(best));
        let equal = equal.map(|&place| format!("{} ({})", runs[place].label, solved(place)));
        return format!(
            "Of {all} runs these solve the same share, which is the largest: {}.",
            equal.collect::<Vec<_>>().join(", ")
        );
    }
    let first = best.min(next);
    let second = best.max(next);
    let pair = pairs.iter().find(|pair| (pair.first, pair.second) == (first, second));
    let chance = match pair.and_then(|pair| pair.p.zip(pair.holm)) {
        None => "without a scored problem in common".to_string(),
        Some((p, holm)) => format!(
            "{} (exact McNemar {}, {} by Holm over {} pairs)",
            judged(holm),
            quoted(p),
            quoted(holm),
            pairs.iter().filter(|pair| pair.p.is_some()).count()
        ),
    };
    format!(
        "Of {all} runs {} solves the largest share, {} problems; {} is next with {}, {chance}.",
        runs[best].label,
        solved(best),
        runs[next].label,
        solved(next),
    )
}

const fn judged(p: f64) -> &'static str {
    if p < LEVEL { "more than chance explains" } else { "which chance may explain" }
}

/// A p-value in a sentence: `p = 0.0312`.
fn quoted(p: f64) -> String {
    let number = probability(p);
    if number.starts_with('<') { format!("p {number}") } else { format!("p = {number}") }
}

/// A p-value with four decimals, or `< 0.0001`.
pub fn probability(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_string() } else { format!("{p:.4}") }
}

/// A share, 0 to 1, in percent with one decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// An interval of a difference, rounded to whole numbers: `+2 to +1,500`.
pub fn range(ends: [f64; 2]) -> String {
    let [low, high] = ends.map(|end| signed(end.round() as i128));
    format!("{low} to {high}")
}

/// A difference with its sign: `+12`, `-1,500`, `0`.
pub fn signed(number: i128) -> String {
    let sign = match number {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// A number with commas between groups of three digits.
///
/// ```
/// assert_eq!(epdb_engine::report::grouped(1_234_567), "1,234,567");
/// ```
pub fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
