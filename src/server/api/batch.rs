//! `/api/batch`: many positions at once, a line in and a line out.

use std::io::Write;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::IntoResponse;
use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use serde::{Deserialize, Serialize};

use crate::codec::query::{self, Visit};
use crate::error::{Error, Result};
use crate::library::{json, question};
use crate::server::answer::{Answer, Refusal, blocking};
use crate::server::app::App;
use crate::server::sources::Served;
use crate::source::{Lookup, Match};
use crate::text::{ParseOptions, Profile};

/// The longest question that is read, in bytes.
const MAX_QUESTION: usize = 64 << 10;
/// So many bytes of questions are answered together.
const BATCH: usize = 128 << 10;
/// How many parts of an answer wait for who reads it.
const PARTS_WAITING: usize = 4;
/// So many records of a position are told where it is not said, and at most.
const MOST: usize = 100;
const MOST_OF_ALL: usize = 1000;

/// How records are told.
#[derive(Deserialize, Copy, Clone, PartialEq, Debug, Default)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// As their canonical lines.
    #[default]
    Epd,
    /// As objects of their operations.
    Json,
}

#[derive(Deserialize, Debug)]
pub(super) struct Asked {
    source: Option<String>,
    #[serde(default)]
    form: Form,
    most: Option<usize>,
}

/// What questions are answered from, and how.
struct Batch {
    served: Arc<Served>,
    form: Form,
    most: usize,
    /// Lines that were read.
    lines: u64,
    /// What comes belongs to a line that is too long, up to its end.
    is_in_long_line: bool,
}

pub(super) async fn batch(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
    body: Body,
) -> Answer {
    let served = app.source(asked.source.as_deref())?;
    let most = asked.most.unwrap_or(MOST);
    if !(1..=MOST_OF_ALL).contains(&most) {
        return Err(Refusal::bad_request(format!("most is a number from 1 to {MOST_OF_ALL}")));
    }
    let batch = Batch { served, form: asked.form, most, lines: 0, is_in_long_line: false };
    let (parts, answer) = Channel::new(PARTS_WAITING);
    tokio::spawn(answer_all(batch, body, parts));
    let lines = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((lines, Body::new(answer)).into_response())
}

/// Answers the lines of a body as they come. Where one cannot be answered, or the connection is gone, the
/// answer ends as broken.
async fn answer_all(mut batch: Batch, mut body: Body, mut parts: Sender<Bytes, Error>) {
    let mut text = Vec::new();
    let mut is_end = false;
    while !is_end {
        match body.frame().await {
            Some(Ok(frame)) => text.extend(frame.into_data().unwrap_or_default()),
            Some(Err(error)) => return parts.abort(Error::from_cause(error)),
            None => is_end = true,
        }
        while let Some(lines) = take_lines(&mut text, is_end) {
            let answered = blocking(move || {
                let answer = batch.answer(&lines)?;
                Ok((batch, answer))
            });
            let Ok((next, answer)) = answered.await else {
                return parts.abort(Error::new("a source cannot be read"));
            };
            batch = next;
            if parts.send_data(Bytes::from(answer)).await.is_err() {
                return;
            }
        }
    }
}

/// Takes some whole lines out of a text, at its end all that is left. A line beyond all measure is taken as
/// it is.
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

/// What was found of a position: the records as JSON, with commas between them.
#[derive(Clone, Default)]
struct Found {
    json: Vec<u8>,
    records: usize,
    is_cut: bool,
}

impl Batch {
    /// Answers whole lines in their order; blank ones and comments have no answer.
    fn answer(&mut self, text: &[u8]) -> Result<Vec<u8>> {
        let options = ParseOptions::new(Profile::Lenient);
        let mut queries: Vec<query::Query> = Vec::new();
        let mut asked = Vec::new();
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let belongs_to_long = self.is_in_long_line;
            let is_long = line.len() > MAX_QUESTION;
            self.is_in_long_line = (is_long || belongs_to_long) && !line.ends_with(b"\n");
            if belongs_to_long {
                continue;
            }
            self.lines += 1;
            let line = line.trim_ascii();
            if is_long {
                asked.push((self.lines, &line[..0], Some("the line is too long".to_string())));
                continue;
            }
            match question::parse_query(line, &options) {
                Ok(Some(query)) => {
                    queries.push(query);
                    asked.push((self.lines, line, None));
                }
                Ok(None) => {}
                Err(error) => asked.push((self.lines, line, Some(error.message))),
            }
        }
        let mut found = self.find(&queries)?.into_iter();
        let mut out = Vec::with_capacity(asked.len() * 256);
        for (line, text, error) in asked {
            let found =
                if error.is_none() { found.next().unwrap_or_default() } else { Found::default() };
            write_answer(line, text, &found, error.as_deref(), &mut out)?;
        }
        Ok(out)
    }

    fn find(&self, queries: &[query::Query]) -> Result<Vec<Found>> {
        let mut found = vec![Found::default(); queries.len()];
        let mut text = Vec::new();
        self.served.lookup().get_batch(queries, &mut |place, record| {
            let found = &mut found[place];
            if found.records == self.most {
                found.is_cut = true;
                return Ok(Visit::SkipQuery);
            }
            if found.records > 0 {
                found.json.push(b',');
            }
            found.records += 1;
            self.write_record(&record, &mut text, &mut found.json)?;
            Ok(Visit::Continue)
        })?;
        Ok(found)
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
            Form::Json => write_json(&json::operations(record.record()?.operations()), out),
        }
    }
}

/// A line with the answer to one.
fn write_answer(
    line: u64,
    text: &[u8],
    found: &Found,
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
