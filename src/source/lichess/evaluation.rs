//! Lines of `lichess_db_eval.jsonl`:
//! `{"fen":…,"evals":[{"pvs":[{"cp":…,"line":…}],"knodes":…,"depth":…}]}`; and rows of `epdb table` in JSON:
//! `{"fen":…,"ce":…,"id":…}`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Part, opcode_of_column, put, shown};
use epdb_chess::model::score::{Evaluation, Score};
use epdb_chess::model::{Color, EpdRecord, Opcode, Operand};
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::{Diagnostic, ParseOptions, ScoreView, codes};

#[derive(Deserialize)]
#[serde(expecting = "an object with fen and evals")]
struct Evaluated<'l> {
    #[serde(borrow)]
    fen: Cow<'l, str>,
    #[serde(borrow)]
    evals: Option<Vec<Analysis<'l>>>,
    /// `ce`, or null.
    #[serde(default, deserialize_with = "present")]
    ce: Option<Option<i64>>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with pvs, knodes and depth")]
struct Analysis<'l> {
    #[serde(borrow)]
    pvs: Vec<Variation<'l>>,
    knodes: Option<u64>,
    depth: Option<u32>,
    #[serde(flatten)]
    others: Others,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with cp or mate, and line")]
struct Variation<'l> {
    cp: Option<i64>,
    mate: Option<i64>,
    #[serde(borrow)]
    line: Cow<'l, str>,
    #[serde(flatten)]
    others: Others,
}

/// Unknown members.
type Others = BTreeMap<String, IgnoredAny>;

/// A member that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Option<i64>>, D::Error> {
    Option::deserialize(member).map(Some)
}

impl Evaluated<'_> {
    /// True if this is a row of a table, whose members are operations.
    fn is_row(&self) -> bool {
        let is_operation = |name: &String| opcode_of_column(name.as_bytes()).is_some();
        self.ce.is_some() || self.evals.is_none() && self.others.keys().any(is_operation)
    }

    /// The names of unknown members at any level.
    fn unknown(&self) -> BTreeSet<&str> {
        let evals = self.evals.iter().flatten();
        let variations = evals.clone().flat_map(|analysis| &analysis.pvs);
        let analyses = evals.map(|analysis| &analysis.others);
        let all = analyses.chain(variations.map(|variation| &variation.others));
        let is_row = self.is_row();
        let own = self.others.keys();
        let own = own.filter(|name| !is_row || opcode_of_column(name.as_bytes()).is_none());
        all.flat_map(BTreeMap::keys).chain(own).map(String::as_str).collect()
    }
}

/// Reads a line as a record: the position, with the deepest analysis of the line.
///
/// # Errors
/// The line is not a JSON object with an evaluated position, the position is invalid, or `ce`
/// cannot express the score.
pub(crate) fn parse_line(
    line: &[u8],
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let Some(whole) = Part::from_line(line) else { return Ok(Line::Blank) };
    if !whole.text.trim_ascii_start().starts_with(b"{") {
        return Err(whole.error(codes::E_LINE_JSON, "no evaluated position: expected `{`"));
    }
    let evaluated: Evaluated<'_> =
        serde_json::from_slice(whole.text).map_err(|error| refused(&whole, &error))?;
    for name in evaluated.unknown() {
        let message = format!("member {} is unknown: it is left out", shown(name.as_bytes()));
        warnings.push(whole.warning(codes::W_LINE_COLUMN, message));
    }
    let is_row = evaluated.is_row();
    let Evaluated { fen, evals, ce, others } = evaluated;
    let fen = Part::new(line, fen.as_bytes());
    let mut record = fen.read_position(epd::parse_line, options.profile, warnings)?;
    let number = |value| vec![Operand::Integer(value)];
    if is_row {
        if let Some(ce) = ce.flatten().map(i128::from) {
            Score::from_ce(ce)
                .map_err(|error| whole.error(codes::E_EPD_RANGE, format!("ce {ce}: {error}")))?;
            put(&mut record, Opcode::CE, number(ce));
        }
        for (name, value) in &others {
            let Some(opcode) = opcode_of_column(name.as_bytes()) else { continue };
            let text = text_of(value);
            let operands = Part { text: text.as_bytes(), ..whole };
            if let Some(operation) = operands.read_operation(&record, opcode, options, warnings)? {
                record.set(operation);
            }
        }
        return Ok(Line::Record(record));
    }
    let evals = evals.ok_or_else(|| {
        whole.error(codes::E_LINE_JSON, "no evaluated position: missing field `evals` or `ce`")
    })?;
    let Some((best, variation)) = deepest(&evals) else {
        return Err(whole.error(codes::E_LINE_JSON, "expected an evaluation in evals"));
    };
    // The column of a number is not known, so its diagnostic has the column of the moves.
    let place = Part::new(line, variation.line.as_bytes());
    let moves = place.read_moves(record.position(), warnings);
    let ce = ce_of(variation, &record, options.score_view)
        .map_err(|message| place.error(codes::E_EPD_RANGE, message))?;
    if let Some(depth) = best.depth {
        put(&mut record, Opcode::ACD, number(depth.into()));
    }
    if let Some(knodes) = best.knodes {
        let nodes = i128::from(knodes) * 1000;
        if nodes > u64::MAX.into() {
            return Err(place.error(codes::E_EPD_RANGE, format!("knodes {knodes} is too large")));
        }
        put(&mut record, Opcode::ACN, number(nodes));
    }
    put(&mut record, Opcode::CE, number(ce.into()));
    put(&mut record, Opcode::PV, moves);
    Ok(Line::Record(record))
}

/// The text of a member as in a table: moves and other operands in one line.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// The deepest analysis with a variation, and its first variation. Among equally deep analyses, the analysis with the most
/// nodes counts. If several have the most nodes, the first of them counts.
fn deepest<'a, 'l>(all: &'a [Analysis<'l>]) -> Option<(&'a Analysis<'l>, &'a Variation<'l>)> {
    let rank = |analysis: &Analysis<'_>| (analysis.depth, analysis.knodes);
    let with_variation = all.iter().filter_map(|analysis| Some((analysis, analysis.pvs.first()?)));
    with_variation.reduce(|best, next| if rank(next.0) > rank(best.0) { next } else { best })
}

/// The score from the view of the side to move. In the file, the score is from the view of White,
/// unless `view` names another view.
fn ce_of(
    variation: &Variation<'_>,
    record: &EpdRecord,
    view: Option<ScoreView>,
) -> Result<i32, String> {
    let evaluation = match (variation.cp, variation.mate) {
        (Some(value), None) => Evaluation::Centipawns(value),
        (None, Some(moves)) if moves != 0 => Evaluation::Mate(moves),
        (None, Some(_)) => return Err("expected a mate in one move or more, found 0".into()),
        (Some(_), Some(_)) | (None, None) => return Err("expected one of cp and mate".into()),
    };
    let is_whites = view != Some(ScoreView::Mover);
    let is_opponents = is_whites && record.position().turn() == Color::Black;
    evaluation.ce(is_opponents).map_err(|_| match evaluation {
        Evaluation::Centipawns(value) => format!("cp {value} is not between -32000 and 32000"),
        Evaluation::Mate(moves) => format!("mate {moves} is further away than 383 moves"),
    })
}

/// The error about text that is not a JSON object with an evaluated position.
fn refused(whole: &Part<'_>, error: &serde_json::Error) -> Diagnostic {
    const MAX_CHARS: usize = 120;
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
    let what: String = what.chars().take(MAX_CHARS).collect();
    let at = whole.at + error.column().saturating_sub(1);
    Part { at, ..*whole }.error(codes::E_LINE_JSON, format!("no evaluated position: {what}"))
}
