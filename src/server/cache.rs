//! Answers that were given, kept as long as what is served does not change.

use axum::body::Bytes;
use axum::http::HeaderMap;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// About what an answer takes beside its bytes.
const OVERHEAD: u64 = 512;

/// Answers by question.
pub(super) type Answers = Cache<Question, Kept, Weight>;

/// A path with what is behind it, and how many times that what is served had changed when it was asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Question {
    pub(super) changes: u64,
    pub(super) uri: Box<str>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What an answer takes, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Weight;

impl Weighter<Question, Kept> for Weight {
    fn weight(&self, question: &Question, kept: &Kept) -> u64 {
        OVERHEAD + (question.uri.len() + kept.body.len()) as u64
    }
}

/// Room for answers of so many bytes together.
pub(super) fn answers(bytes: usize) -> Answers {
    let answers = bytes / (OVERHEAD as usize + 4096);
    Cache::with_weighter(answers, bytes as u64, Weight)
}
