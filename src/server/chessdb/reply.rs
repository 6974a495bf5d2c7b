//! Replies, as text and as JSON.

use std::fmt;

use serde::Serialize;

/// A reply: its status and its data.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub(super) struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    /// One move.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    pub(super) single: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) moves: Vec<MoveReply>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) search_moves: Vec<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) eval: Option<i32>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<LineReply>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Named {
    pub(super) uci: String,
    pub(super) san: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct MoveReply {
    #[serde(flatten)]
    pub(super) named: Named,
    pub(super) score: Scored,
    /// 2 for the best moves, 1 for good moves, 0 for others.
    pub(super) rank: u8,
    /// A mark, and the number of scored and of good replies.
    pub(super) note: String,
    /// The mover's expected score in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) winrate: Option<String>,
}

/// A score, or `??`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Scored {
    Known(i32),
    Unknown(&'static str),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct LineReply {
    pub(super) score: i32,
    /// Number of moves.
    pub(super) depth: usize,
    pub(super) pv: Vec<String>,
    #[serde(rename = "pvSAN")]
    pub(super) pv_san: Vec<String>,
}

impl Reply {
    pub(super) fn word(status: &'static str) -> Reply {
        Reply { status: Some(status), ..Reply::default() }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |words: Vec<String>| words.join("|");
        if let Some(line) = &self.line {
            let LineReply { score, depth, pv, .. } = line;
            write!(f, "score:{score},depth:{depth},pv:{}", pv.join("|"))
        } else if let Some(eval) = self.eval {
            write!(f, "eval:{eval}")
        } else if let Some(single) = &self.single {
            write!(f, "move:{single}")
        } else if !self.search_moves.is_empty() {
            let moves = self.search_moves.iter().map(|it| format!("search:{}", it.uci));
            f.write_str(&joined(moves.collect()))
        } else if !self.moves.is_empty() {
            f.write_str(&joined(self.moves.iter().map(ToString::to_string).collect()))
        } else {
            f.write_str(self.status.unwrap_or_default())
        }
    }
}

impl fmt::Display for MoveReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MoveReply { named, score, rank, note, winrate } = self;
        write!(f, "move:{},score:{score},rank:{rank},note:{note}", named.uci)?;
        winrate.iter().try_for_each(|winrate| write!(f, ",winrate:{winrate}"))
    }
}

impl fmt::Display for Scored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scored::Known(score) => write!(f, "{score}"),
            Scored::Unknown(marks) => f.write_str(marks),
        }
    }
}
