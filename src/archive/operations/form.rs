//! The forms of texts.

/// How a text is coded.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// Byte by byte.
    Plain,
    /// As in the record before.
    Same,
    /// As in the record before, with the last number one higher.
    Successor,
    /// SANs of legal moves with blanks between.
    Moves,
    /// Whole numbers with blanks between.
    Numbers,
    /// The record's list of moves in coordinates.
    Coordinates,
    /// The record's lists of moves and numbers, `move=number` with commas between.
    Pairs,
    /// As in the record before, a whole number with the other sign.
    Negated,
}

/// All, by their number.
pub(super) const FORMS: [Form; 8] = [
    Form::Plain,
    Form::Same,
    Form::Successor,
    Form::Moves,
    Form::Numbers,
    Form::Coordinates,
    Form::Pairs,
    Form::Negated,
];
