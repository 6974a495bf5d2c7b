//! `epdb help compat`: the page about output for programs that take less than the standard allows.

const PAGE: &str = "\
Canonical EPD keeps what was written: mate targets, several strings, operands of unknown opcodes.
Some programs refuse such a line as a whole. --compat NAME writes text that they read; how many
operations that changed is said at the end.

--compat python-chess    every line can be given to chess.Board.from_epd
  counters               always hmvc and fmvn, never fields 5 and 6, which python-chess takes for
                         an operation (--counters drop leaves them out)
  bm #5                  dm 5, where the record has no dm
  moves of am, bm, pv    as they are, if all are legal; otherwise one string
  one legal move         as it is (pm, sm, an sv of one move)
  one number             as it is, also in private opcodes
  one string             as it is, but a backslash, which would be an escape, is doubled
  no operands            as they are: python-chess has [] or None
  everything else        one string with the operands as they were, quotes as apostrophes:
                         noop \"a\" \"b\" is written noop \"'a' 'b'\", am #3 is written am \"#3\"
  castling in Chess960   one string, as from_epd does not castle so without chess960=True
With --format fen the output is six fields and no operations; read it with chess.Board(line).
--format fen+ops and --counters fen put fields where python-chess expects operations, and are
refused beside --compat python-chess.

The default output is canonical and stays what the standard says; nothing in it is left out for
the sake of a program.
";

/// The whole page.
pub(crate) fn page() -> String {
    PAGE.into()
}
