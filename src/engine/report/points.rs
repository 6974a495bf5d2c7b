//! Points of moves, as in the Strategic Test Suite: `c7 "f5 Be5+"; c8 "10 2";`, or `c0 "f5=10,
//! Be5+=2";`.

use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Opcode};
use epdb_chess::text::{Profile, san};

/// Points of each move of a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointTable(Vec<(Move, u32)>);

/// The reason why points cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WrongPoints {
    /// A move is not legal in the position.
    #[error("the points name the move `{0}`, which is not legal here")]
    Move(String),
    /// The lists have different lengths.
    #[error("c7 has {0} moves, and c8 has points for {1}")]
    Lengths(usize, usize),
}

impl PointTable {
    /// The table of a record; `None` if the record has no table.
    ///
    /// # Errors
    /// [`WrongPoints`] if some moves of the table are legal and others are not, or if there are more or fewer points
    /// than moves. A comment without a legal move is not a table.
    ///
    /// ```
    /// use epdb_engine::report::points::PointTable;
    /// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    /// let record = epdb_chess::parse_epd(format!("{start} c0 \"e4=10, Nf3=7\";").as_bytes())?;
    /// let table = PointTable::parse(&record)?.expect("a table");
    /// assert_eq!(table.max(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(record: &EpdRecord) -> Result<Option<PointTable>, WrongPoints> {
        let text = |opcode| {
            let text = record.text_of(opcode)?;
            Some(String::from_utf8_lossy(&text).into_owned())
        };
        let lists = text(Opcode::C7).zip(text(Opcode::C8));
        let lists = lists.and_then(|(moves, values)| from_lists(&moves, &values));
        let Some((moves, values)) = lists.or_else(|| from_pairs(&text(Opcode::C0)?)) else {
            return Ok(None);
        };
        let Ok(playable) = Playable::new(record.position()) else { return Ok(None) };
        let mut table = Vec::new();
        let mut wrong = None;
        if moves.len() != values.len() {
            wrong = Some(WrongPoints::Lengths(moves.len(), values.len()));
        }
        for (text, value) in moves.into_iter().zip(values) {
            match san::parse(&playable, text.as_bytes(), Profile::Lenient) {
                Ok(read) => table.push((read.mv, value)),
                Err(_) => wrong = wrong.or(Some(WrongPoints::Move(text))),
            }
        }
        if table.is_empty() {
            return Ok(None);
        }
        match wrong {
            Some(wrong) => Err(wrong),
            None => Ok(Some(PointTable(table))),
        }
    }

    /// Points of a move; 0 if it is not in the table.
    pub fn worth(&self, mv: Move) -> u32 {
        self.0.iter().find(|(known, _)| *known == mv).map_or(0, |(_, value)| *value)
    }

    /// Points of the best move.
    pub fn max(&self) -> u32 {
        self.0.iter().map(|(_, value)| *value).max().unwrap_or(0)
    }
}

/// The moves and the points of a table.
type Lists = (Vec<String>, Vec<u32>);

/// Reads a list of moves and a list of their points, such as `f5 Be5+` and `10 2`.
fn from_lists(moves: &str, values: &str) -> Option<Lists> {
    let moves: Vec<String> = moves.split_whitespace().map(String::from).collect();
    let values: Option<Vec<u32>> = values.split_whitespace().map(|it| it.parse().ok()).collect();
    values.filter(|_| !moves.is_empty()).map(|values| (moves, values))
}

/// Reads pairs such as `f5=10, Be5+=2`. A promotion has one more `=`.
fn from_pairs(text: &str) -> Option<Lists> {
    let entry = |part: &str| {
        let (mv, value) = part.trim().rsplit_once('=')?;
        Some((mv.trim().to_string(), value.trim().parse::<u32>().ok()?))
    };
    text.trim_end_matches([',', ' ']).split(',').map(entry).collect()
}
