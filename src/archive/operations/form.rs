//! The kinds of texts.

/// Coding of a text.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// Byte by byte.
    Plain,
    /// Equal to the text in the previous record.
    Same,
    /// The text in the previous record, with its last number increased by one.
    Successor,
    /// SANs of legal moves, separated by blanks.
    Moves,
    /// Integers, separated by blanks.
    Numbers,
    /// The record's list of moves in coordinates.
    Coordinates,
    /// The record's lists of moves and numbers, as `move=number`, separated by commas.
    Pairs,
    /// The integer of the previous record with the other sign.
    Negated,
}

/// All kinds, by number.
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
