//! `epdb help where`: the page about the language of `--where`.

use crate::library::field::NAMED;

/// Ten worked examples: an expression, and which records it takes.
pub(crate) const EXAMPLES: [(&str, &str); 10] = [
    ("pieces <= 7", "endings that tablebases know"),
    ("has(bm) && !illegal(bm)", "records with a best move that can be played"),
    ("abs(ce) <= 50 && fmvn < 20", "level positions from the opening"),
    ("'Qg6' in bm || 'g3g6' in bm", "one best move, in any spelling"),
    ("pm in bm", "problems whose answer is right"),
    ("id ~ '^WAC\\.0' && id != 'WAC.023'", "ids by a pattern, one left out"),
    ("material in ['KRPkr', 'KRkrp']", "rook and pawn against rook, either way"),
    ("stm == 'b' && check && legal_moves == 1", "Black is in check and has one way out"),
    ("result == '1/2-1/2' && ce:white > 150", "draws that White was winning"),
    ("file ~ 'sts' && line > 100 && !(castling == '-')", "by source, and with castling rights"),
];

const GRAMMAR: &str = "\
An expression says which records are taken: epdb filter, and --where on every command that reads.

Values
  12  -0.5            numbers
  'Nf3'  \"a b\"        texts, in single or double quotes, without escapes
  bm  ce  id  Depth   any opcode by its name; op(NAME) where a field has that name
  uci(bm)             the moves of an opcode in coordinates
  ce:white            ce as White sees it (ce is seen by the side to move)
  abs(ce)             a number without its sign

Tests
  ==  !=  <  <=  >  >=   compare; texts are ordered naturally: WAC.2 before WAC.10
  id ~ 'PATTERN'         the text contains something that fits a regular expression
  id in ['a', 'b']       one of a list
  'e4' in bm  pm in bm   one of the moves; SAN or coordinates, with or without check marks
  has(bm)                the record has it
  illegal(bm)            a move of am, bm, pm, pv, sm or sv cannot be played
  check                  a flag stands by itself
  !  &&  ||  ( )         not, and, or; && binds closer than ||

A comparison with something that a record lacks is false, != too. Operands of opcodes outside the
standard are numbers where they read as one. hmvc and fmvn are found as operations and as the
fields of a six-field FEN. Types are checked before the first record is read.

Fields that are no opcodes (also for table --columns and sort --by)
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = String::from(GRAMMAR);
    for (name, _, meaning) in NAMED {
        page.push_str(&format!("  {name:<13}{meaning}\n"));
    }
    page.push_str("\nExamples (in a shell, put the expression into quotes)\n");
    for (expression, meaning) in EXAMPLES {
        page.push_str(&format!("  {expression:<50}{meaning}\n"));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::expression::Expression;

    #[test]
    fn every_example_is_an_expression() {
        for (expression, _) in EXAMPLES {
            assert_eq!(Expression::parse(expression).err(), None);
        }
    }
}
