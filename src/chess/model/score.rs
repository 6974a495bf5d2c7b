//! Centipawn and mate arithmetic. All values are from the view of the side to move.

/// Meaning of a `ce` value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Score {
    /// Centipawns, −32000 to 32000.
    Centipawns(i32),
    /// The mover mates in this many plies, 1 to 766.
    Mates(u32),
    /// The mover is mated in this many plies, 1 to 766.
    Mated(u32),
    /// The mover is checkmated now (−32767).
    Checkmated,
    /// The position is illegal (−32768; −32767 in 1994).
    Illegal,
}

/// Error of a value that is not a `ce` value (E-EPD-RANGE).
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the value is outside the range of ce")]
pub struct OutOfRange;

impl Score {
    /// Reads a `ce` value by the standard of 1995.
    ///
    /// # Errors
    /// [`OutOfRange`] outside −32768 … 32766.
    ///
    /// ```
    /// use epdb_chess::model::score::Score;
    /// assert_eq!(Score::from_ce(32758), Ok(Score::Mates(9)));
    /// assert_eq!(Score::Mates(9).full_moves(), Some(5));
    /// ```
    pub const fn from_ce(ce: i128) -> Result<Score, OutOfRange> {
        match ce {
            -32768 => Ok(Score::Illegal),
            -32767 => Ok(Score::Checkmated),
            -32766..=-32001 => Ok(Score::Mated((ce + 32767) as u32)),
            -32000..=32000 => Ok(Score::Centipawns(ce as i32)),
            32001..=32766 => Ok(Score::Mates((32767 - ce) as u32)),
            _ => Err(OutOfRange),
        }
    }

    /// Reads a `ce` value by the standard of 1994, in which −32767 means an illegal position.
    ///
    /// # Errors
    /// [`OutOfRange`] outside −32767 … 32766.
    pub const fn from_ce_1994(ce: i128) -> Result<Score, OutOfRange> {
        match ce {
            -32768 => Err(OutOfRange),
            -32767 => Ok(Score::Illegal),
            _ => Score::from_ce(ce),
        }
    }

    /// The distance to mate in plies.
    pub const fn plies(self) -> Option<u32> {
        match self {
            Score::Mates(plies) | Score::Mated(plies) => Some(plies),
            Score::Checkmated => Some(0),
            Score::Centipawns(_) | Score::Illegal => None,
        }
    }

    /// The distance to mate in moves, ceil(plies / 2).
    pub const fn full_moves(self) -> Option<u32> {
        match self.plies() {
            Some(plies) => Some(plies.div_ceil(2)),
            None => None,
        }
    }
}

/// The largest score that is not a mate.
const MAX_CENTIPAWNS: i64 = 32_000;

/// The largest number of moves to mate that `ce` can express.
pub const MAX_MATE: u32 = 383;

/// The `ce` of a mover who mates in `moves` moves: 32768 − 2N.
///
/// # Errors
/// [`OutOfRange`] when `moves` is 0 or over [`MAX_MATE`].
pub const fn mates_in(moves: u32) -> Result<i32, OutOfRange> {
    if moves == 0 || moves > MAX_MATE { Err(OutOfRange) } else { Ok(32768 - 2 * moves as i32) }
}

/// The `ce` of a mover who is mated in `moves` moves: −32767 + 2 × `moves`. If the mover is checkmated
/// already, `moves` is 0.
///
/// # Errors
/// [`OutOfRange`] when `moves` is over [`MAX_MATE`].
pub const fn mated_in(moves: u32) -> Result<i32, OutOfRange> {
    if moves > MAX_MATE { Err(OutOfRange) } else { Ok(-32767 + 2 * moves as i32) }
}

/// Score of a position, from the view of one side.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Evaluation {
    /// Centipawns; below 0 the other side is ahead.
    Centipawns(i64),
    /// Moves to a mate. Below 0 the other side mates; 0 means that this side is checkmated now.
    Mate(i64),
}

impl Evaluation {
    /// The evaluation, with one that `ce` cannot express replaced by the largest score of ±32000
    /// centipawns.
    ///
    /// ```
    /// use epdb_chess::model::score::Evaluation;
    /// assert_eq!(Evaluation::Centipawns(-99_999).clamped(), Evaluation::Centipawns(-32_000));
    /// assert_eq!(Evaluation::Mate(999).clamped(), Evaluation::Centipawns(32_000));
    /// ```
    #[must_use]
    pub fn clamped(self) -> Evaluation {
        match self {
            Evaluation::Centipawns(value) => {
                Evaluation::Centipawns(value.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS))
            }
            Evaluation::Mate(moves) if moves.unsigned_abs() > MAX_MATE.into() => {
                Evaluation::Centipawns(moves.signum() * MAX_CENTIPAWNS)
            }
            mate @ Evaluation::Mate(_) => mate,
        }
    }

    /// The `ce` of the mover. `is_opponents` is true if this evaluation is the view of the mover's
    /// opponent.
    ///
    /// # Errors
    /// [`OutOfRange`] over 32000 centipawns or [`MAX_MATE`] moves.
    ///
    /// ```
    /// use epdb_chess::model::score::Evaluation;
    /// assert_eq!(Evaluation::Centipawns(31).ce(true), Ok(-31));
    /// assert_eq!(Evaluation::Mate(-2).ce(true), Ok(32764));
    /// ```
    pub fn ce(self, is_opponents: bool) -> Result<i32, OutOfRange> {
        let for_mover = |value: i64, max: i64| match value.checked_abs() {
            Some(size) if size <= max => Ok(if is_opponents { -value } else { value } as i32),
            _ => Err(OutOfRange),
        };
        match self {
            Evaluation::Centipawns(value) => for_mover(value, MAX_CENTIPAWNS),
            Evaluation::Mate(moves) => match for_mover(moves, MAX_MATE.into())? {
                moves @ 1.. => mates_in(moves.unsigned_abs()),
                moves => mated_in(moves.unsigned_abs()),
            },
        }
    }
}

/// The `ce` of a move for the side that makes it, from the `ce` of the position after the move. The
/// view changes sides, and a mate is one ply further away. `None` for −32768, which is not
/// propagated.
///
/// # Errors
/// [`OutOfRange`] if the value is not a `ce`.
pub const fn child_to_parent(ce: i32) -> Result<Option<i32>, OutOfRange> {
    match Score::from_ce(ce as i128) {
        Ok(Score::Illegal) => Ok(None),
        Ok(Score::Mates(_)) => Ok(Some(1 - ce)),
        Ok(Score::Mated(_) | Score::Checkmated) => Ok(Some(-1 - ce)),
        Ok(Score::Centipawns(_)) => Ok(Some(-ce)),
        Err(error) => Err(error),
    }
}

/// Reads a mate target as test suites write it in `bm`: 5 (moves) for `#5`, −5 for `#-5`. If the
/// number is negative, the mover is to be mated. The number has at most four digits and is not 0.
///
/// ```
/// use epdb_chess::model::score::mate_target;
/// assert_eq!(mate_target(b"#-5"), Some(-5));
/// assert_eq!(mate_target(b"Qh7#"), None);
/// ```
pub fn mate_target(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        [b'#', b'-', digits @ ..] => (-1, digits),
        [b'#', digits @ ..] => (1, digits),
        _ => return None,
    };
    if !(1..=4).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let moves = digits.iter().fold(0, |value, &digit| value * 10 + i32::from(digit - b'0'));
    (moves > 0).then_some(sign * moves)
}
