//! `/api/record`: a record by its number.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};

use crate::server::answer::{Answer, Refusal, blocking, object};
use crate::server::app::App;
use crate::server::extract::Query;
use crate::source::Lookup;

#[derive(Deserialize, Debug)]
pub(super) struct Asked {
    source: Option<String>,
    #[serde(default)]
    number: String,
}

/// Where a record stands, and of what.
#[derive(Serialize)]
struct NumberedRecord {
    number: u64,
    /// How many records there are.
    count: u64,
    fen: String,
}

pub(super) async fn record(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Answer {
    let served = app.source(asked.source.as_deref())?;
    let number: u64 =
        asked.number.parse().map_err(|_| Refusal::bad_request("number: a number is expected"))?;
    blocking(move || {
        let count = served.lookup().len();
        let missing = || Refusal::not_found(format!("there is no record {number} of {count}"));
        let record = served.lookup().record(number)?.ok_or_else(missing)?;
        Ok(object(&NumberedRecord { number, count, fen: record.position().to_string() }))
    })
    .await
}
