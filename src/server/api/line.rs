//! `/api/line`: what a person typed, as a line.

use serde::{Deserialize, Serialize};

use crate::server::answer::{Answer, object};
use crate::server::extract::Query;
use crate::server::line::AskedLine;

#[derive(Deserialize, Debug)]
pub(super) struct Asked {
    #[serde(default)]
    text: String,
    fen: Option<String>,
    #[serde(default)]
    play: String,
}

/// Where a line begins, and its moves as coordinates.
#[derive(Serialize)]
struct LineObject {
    start: String,
    play: Vec<String>,
}

pub(super) async fn line(Query(asked): Query<Asked>) -> Answer {
    let before = AskedLine::parse(asked.fen.as_deref(), &asked.play)?;
    let read = before.read_on(&asked.text)?;
    let play = read.line().coordinates().iter().map(ToString::to_string).collect();
    Ok(object(&LineObject { start: read.fens().swap_remove(0), play }))
}
