//! `/api/batch`: many positions in one request, one line each.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use hyper::body::Frame;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Refusal, blocking};
use crate::app::App;
use crate::body::is_too_large;
use crate::extract::Query;
use crate::guard::too_large;
use epdb_chess::codec::query::{self, SkipTo};
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_chess::text::{ParseOptions, Profile};
use epdb_explorer::Served;
use epdb_library::field::json_operations;
use epdb_library::question;
use epdb_source::{Lookup, Match};

/// Maximum length of a request line, in bytes.
const MAX_QUESTION: usize = 64 << 10;
/// Number of bytes of request lines that are collected before they are answered.
const BATCH: usize = 128 << 10;
/// Number of lines that are answered together at first.
const FIRST: usize = 64;
/// Maximum number of lines that are answered together.
const MAX_TOGETHER: usize = 4096;
/// Target size of the answers that are made together, in bytes.
const PART: usize = 512 << 10;
/// Maximum size, in bytes, of the answers that are made together. The answer to a single line may be larger.
const TOO_MUCH: usize = 4 << 20;
/// Number of parts of an answer that are buffered.
const PARTS_WAITING: usize = 1;
const DEFAULT_RECORDS: usize = 100;
/// Maximum number of records of a position.
const MAX_RECORDS_OF_ALL: usize = 1000;

#[derive(Deserialize, Copy, Clone, PartialEq, Debug, Default)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// Canonical lines.
    #[default]
    Epd,
    /// JSON objects with the operations of the records.
    Json,
}

#[derive(Deserialize, Debug)]
pub(super) struct BatchQuery {
    source: Option<String>,
    #[serde(default)]
    form: Form,
    most: Option<usize>,
}

/// Source and options of the answers.
struct Batch {
    served: Arc<Served>,
    form: Form,
    max_records: usize,
    max_lines: u64,
    /// Number of lines that are answered together.
    together: usize,
    place: LinesRead,
}

/// State of the reader of lines.
#[derive(Copy, Clone, Default)]
struct LinesRead {
    lines: u64,
    /// True while the rest of a line that is too long is skipped.
    is_in_long_line: bool,
    /// True if there are more lines than the limit.
    is_over: bool,
}

struct Line<'a> {
    number: u64,
    text: &'a [u8],
    query: std::result::Result<query::Query, String>,
}

pub(super) async fn batch(
    State(app): State<Arc<App>>,
    Query(asked): Query<BatchQuery>,
    mut body: Body,
) -> Answer {
    let served = app.source(asked.source.as_deref())?;
    let max_records = asked.most.unwrap_or(DEFAULT_RECORDS);
    if !(1..=MAX_RECORDS_OF_ALL).contains(&max_records) {
        return Err(Refusal::bad_request(format!(
            "most is a number from 1 to {MAX_RECORDS_OF_ALL}"
        )));
    }
    let limits = &app.settings.limits;
    let batch = Batch {
        served,
        form: asked.form,
        max_records,
        max_lines: limits.batch_lines,
        together: FIRST,
        place: LinesRead::default(),
    };
    // A client that awaits `100 Continue` sends nothing before its body is read.
    let first = body.frame().await;
    if let Some(Err(error)) = first {
        return Err(if is_too_large(&error) {
            too_large(limits.body_size)
        } else {
            Refusal { status: StatusCode::REQUEST_TIMEOUT, text: "the body did not come".into() }
        });
    }
    let (parts, answer) = Channel::new(PARTS_WAITING);
    tokio::spawn(answer_all(batch, first, body, parts, limits.body_size));
    let lines = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((lines, Body::new(answer)).into_response())
}

/// Answers the lines of a body as they arrive. If a line cannot be answered, or the connection is
/// gone, the whole answer is aborted.
async fn answer_all(
    mut batch: Batch,
    mut next: Option<std::result::Result<Frame<Bytes>, axum::Error>>,
    mut body: Body,
    mut parts: Sender<Bytes, Error>,
    body_size: usize,
) {
    let mut text = Vec::new();
    loop {
        let is_end = next.is_none();
        match next {
            Some(Ok(frame)) => text.extend(frame.into_data().unwrap_or_default()),
            Some(Err(error)) if is_too_large(&error) => {
                let last = batch.place.refusal(&too_large(body_size).text);
                parts.send_data(Bytes::from(last)).await.ok();
                return;
            }
            Some(Err(error)) => return parts.abort(Error::from_cause(error)),
            None => {}
        }
        while let Some(mut lines) = take_lines(&mut text, is_end) {
            while !lines.is_empty() {
                let read = batch.place;
                let answered = blocking(move || {
                    let answer = batch.answer(&mut lines)?;
                    Ok((batch, lines, answer))
                });
                let Ok((now, rest, answer)) = answered.await else {
                    let why = "from here on nothing is answered: the source cannot be read; the log says why";
                    parts.send_data(Bytes::from(read.refusal(why))).await.ok();
                    return parts.abort(Error::new("a source cannot be read"));
                };
                batch = now;
                lines = rest;
                if parts.send_data(Bytes::from(answer)).await.is_err() || batch.place.is_over {
                    return;
                }
            }
        }
        if is_end {
            return;
        }
        next = body.frame().await;
    }
}

/// Removes complete lines from the start of a text and returns them; `None` if no line is complete.
/// At the end of the body, all the rest is returned. An oversized line is returned in pieces.
fn take_lines(text: &mut Vec<u8>, is_end: bool) -> Option<Vec<u8>> {
    let start = &text[..text.len().min(BATCH)];
    let end = match memchr::memrchr(b'\n', start) {
        Some(end) => end + 1,
        None if is_end || start.len() == BATCH => start.len(),
        None => 0,
    };
    if end == 0 {
        return None;
    }
    let rest = text.split_off(end);
    Some(std::mem::replace(text, rest))
}

/// The error of a line whose position needs a damaged part of the source.
const IS_DAMAGED: &str = "the source is damaged; it may have records of this position";

/// The records of a position as JSON, with commas between them.
#[derive(Clone, Default)]
struct LineRecords {
    json: Vec<u8>,
    records: usize,
    is_cut: bool,
}

impl LinesRead {
    /// Reads the next lines. Blank lines and comments are not answered.
    fn read<'a>(&mut self, text: &'a [u8], max_lines: u64) -> Vec<Line<'a>> {
        let options = ParseOptions::new(Profile::Lenient);
        let mut lines = Vec::new();
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let belongs_to_long = self.is_in_long_line;
            let is_long = line.len() > MAX_QUESTION;
            self.is_in_long_line = (is_long || belongs_to_long) && !line.ends_with(b"\n");
            if belongs_to_long {
                continue;
            }
            self.lines += 1;
            let number = self.lines;
            let mut wrong = |text, why| lines.push(Line { number, text, query: Err(why) });
            if number > max_lines {
                self.is_over = true;
                let why = format!("a batch has at most {max_lines} lines; ask the rest in another");
                wrong(&[], why);
                break;
            }
            let text = line.trim_ascii();
            if is_long {
                wrong(&[], "the line is too long".to_string());
                continue;
            }
            match question::parse_query(text, &options) {
                Ok(Some(query)) => lines.push(Line { number, text, query: Ok(query) }),
                Ok(None) => {}
                Err(error) => wrong(text, error.message),
            }
        }
        lines
    }

    /// The last line of an answer; it says why no more lines are answered.
    fn refusal(&self, why: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let written =
            write_answer(self.lines + 1, b"", &LineRecords::default(), Some(why), &mut out);
        written.map(|()| out).unwrap_or_default()
    }
}

impl Batch {
    /// Answers lines at the beginning of a text in order, and removes them from the text.
    fn answer(&mut self, text: &mut Vec<u8>) -> Result<Vec<u8>> {
        loop {
            let mut place = self.place;
            let mut ends = memchr::memchr_iter(b'\n', text);
            let end = ends.nth(self.together - 1).map_or(text.len(), |end| end + 1);
            let lines = place.read(&text[..end], self.max_lines);
            let queries: Vec<query::Query> =
                lines.iter().filter_map(|line| line.query.as_ref().ok().copied()).collect();
            let found = match self.find(&queries) {
                Ok(Some(found)) => Ok(found),
                Ok(None) => {
                    self.together = (queries.len() / 8).max(1);
                    continue;
                }
                // Only the line that needs a damaged part has no answer.
                Err(error) if error.kind() == ErrorKind::InvalidData && self.together > 1 => {
                    self.together = 1;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => Err(IS_DAMAGED),
                Err(error) => return Err(error),
            };
            let out = write_answers(&lines, found)?;
            self.place = place;
            self.together = match out.len() {
                0..PART => (self.together * 2).min(MAX_TOGETHER),
                _ => (self.together / 2).max(1),
            };
            text.drain(..end);
            return Ok(out);
        }
    }

    /// The records of the positions; `None` if they are too large to be looked up together.
    fn find(&self, queries: &[query::Query]) -> Result<Option<Vec<LineRecords>>> {
        let mut found = vec![LineRecords::default(); queries.len()];
        let mut text = Vec::new();
        let mut bytes = 0;
        let mut is_too_much = false;
        self.served.lookup().get_batch(queries, &mut |place, record| {
            let found = &mut found[place];
            if found.records == self.max_records {
                found.is_cut = true;
                return Ok(ControlFlow::Break(SkipTo::NextQuery));
            }
            if found.records > 0 {
                found.json.push(b',');
            }
            found.records += 1;
            let before = found.json.len();
            self.write_record(&record, &mut text, &mut found.json)?;
            bytes += found.json.len() - before;
            is_too_much = bytes > TOO_MUCH && queries.len() > 1;
            Ok(if is_too_much {
                ControlFlow::Break(SkipTo::End)
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok((!is_too_much).then_some(found))
    }

    fn write_record(
        &self,
        record: &Match<'_>,
        text: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.form {
            Form::Epd => {
                text.clear();
                record.write_text(text)?;
                write_json(&*String::from_utf8_lossy(text), out)
            }
            Form::Json => write_json(&json_operations(record.record()?.operations()), out),
        }
    }
}

/// The answers to lines, in order. `found` has one result for each valid line, or the reason why
/// valid lines have none.
fn write_answers(
    lines: &[Line<'_>],
    found: std::result::Result<Vec<LineRecords>, &str>,
) -> Result<Vec<u8>> {
    let damage = found.as_ref().err().copied();
    let mut found = found.unwrap_or_default().into_iter();
    let mut out = Vec::with_capacity(lines.len() * 256);
    for Line { number, text, query } in lines {
        let error = query.as_ref().err().map(String::as_str).or(damage);
        let found = if error.is_none() { found.next() } else { None };
        write_answer(*number, text, &found.unwrap_or_default(), error, &mut out)?;
    }
    Ok(out)
}

fn write_answer(
    line: u64,
    text: &[u8],
    found: &LineRecords,
    error: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<()> {
    write!(out, "{{\"line\":{line},\"fen\":")?;
    write_json(&*String::from_utf8_lossy(text), out)?;
    match error {
        Some(error) => {
            out.extend_from_slice(b",\"error\":");
            write_json(error, out)?;
        }
        None => {
            out.extend_from_slice(b",\"records\":[");
            out.extend_from_slice(&found.json);
            out.push(b']');
        }
    }
    if found.is_cut {
        out.extend_from_slice(b",\"cut\":true");
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

fn write_json(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, value).map_err(Error::from_cause)
}
