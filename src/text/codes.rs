//! Every code a reader can give, with its meaning (SPEC sections 1, 6 and 17).
//!
//! `E-` codes reject the line, `W-` codes do not. Codes never change their meaning.

/// A code and what it means in one line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// The code as it is printed, such as `E-FEN-EP`.
    pub code: &'static str,
    /// What was found, and what is done about it.
    pub meaning: &'static str,
}

macro_rules! codes {
    ($($name:ident $code:literal $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: &str = $code;)*

        /// All codes, in the order of the specification.
        pub static ALL: &[Code] = &[$(Code { code: $code, meaning: $meaning }),*];
    };
}

codes! {
    E_FEN_FIELDS "E-FEN-FIELDS" "a FEN has not exactly six fields";
    E_EPD_FIELDS "E-EPD-FIELDS" "a record has fewer than four fields, or is no position at all";
    E_FEN_RANKS "E-FEN-RANKS" "the placement has not eight ranks";
    E_FEN_RANKSUM "E-FEN-RANKSUM" "a rank does not add up to eight squares";
    E_FEN_CHAR "E-FEN-CHAR" "the placement has a character that is no piece, digit 1 to 8 or solidus";
    E_FEN_COLOR "E-FEN-COLOR" "the side to move is not w or b";
    E_FEN_CASTLE "E-FEN-CASTLE" "the castling field is malformed or names a right twice";
    E_FEN_EP "E-FEN-EP" "the en passant field is no square, or does not fit the side to move";
    E_FEN_HMVC "E-FEN-HMVC" "the halfmove clock is no integer from 0 up";
    E_FEN_FMVN "E-FEN-FMVN" "the fullmove number is no integer from 1 up";
    E_FEN_NONCANON "E-FEN-NONCANON" "the FEN is not in canonical form (strict only)";
    E_POS_CASTLE "E-POS-CASTLE" "a castling right has no king and rook";
    W_POS_ILLEGAL "W-POS-ILLEGAL" "the position cannot arise in a game; it is kept";
    E_EPD_OPCODE "E-EPD-OPCODE" "an opcode is not a letter and up to 14 letters, digits, underscores";
    E_EPD_QUOTE "E-EPD-QUOTE" "a string is not closed";
    E_EPD_STRLEN "E-EPD-STRLEN" "a string is longer than 255 bytes";
    E_EPD_CTRL "E-EPD-CTRL" "a control byte, or a byte over 126 outside a string";
    E_EPD_ARITY "E-EPD-ARITY" "an operation has the wrong number of operands";
    E_EPD_TYPE "E-EPD-TYPE" "an operand is of the wrong type";
    E_EPD_RANGE "E-EPD-RANGE" "a number is out of range";
    E_EPD_DUP "E-EPD-DUP" "an opcode stands twice with different operands";
    E_EPD_LINELEN "E-EPD-LINELEN" "the line is longer than the limit";
    E_EPD_NONCANON "E-EPD-NONCANON" "the record is not in canonical form (strict only)";
    E_EPD_LABEL "E-EPD-LABEL" "a training label, which is read with --labels";
    E_EPD_PERFT "E-EPD-PERFT" "perft counts in another dialect, which are read with --perft";
    W_EPD_DUP "W-EPD-DUP" "an operation stands twice; one is kept";
    W_EPD_UNQUOTED "W-EPD-UNQUOTED" "a bare word where a string belongs; quoted";
    W_EPD_FENFIELDS "W-EPD-FENFIELDS" "counters after field 4; read as hmvc and fmvn";
    W_EPD_PTPDUP "W-EPD-PTPDUP" "a tag stands twice in ptp; kept";
    W_EPD_SHORTOPCODE "W-EPD-SHORTOPCODE" "an opcode of one character; kept";
    W_SAN_CAPTURE "W-SAN-CAPTURE" "a capture mark on a move that captures nothing; dropped";
    W_CONS_AMBM "W-CONS-AMBM" "a move is both to be played (bm) and to be avoided (am)";
    W_CONS_PMPV "W-CONS-PMPV" "pm is not the first move of pv";
    W_CONS_SMSV "W-CONS-SMSV" "sm is not the first move of sv";
    W_CONS_OFFERSM "W-CONS-OFFERSM" "draw_offer without sm";
    W_CONS_CLAIMSM "W-CONS-CLAIMSM" "draw_claim without sm";
    W_CONS_ACCREJ "W-CONS-ACCREJ" "draw_accept beside draw_reject";
    W_CONS_CLAIMOFFER "W-CONS-CLAIMOFFER" "draw_claim beside draw_offer";
    W_CONS_RESIGN "W-CONS-RESIGN" "resign beside draw_accept, draw_claim, draw_offer or draw_reject";
    W_CONS_DMCE "W-CONS-DMCE" "dm and ce tell of mates of different length";
    W_CONS_MATED "W-CONS-MATED" "ce -32767 says checkmate, but the position is none";
    E_MOVE_SYNTAX "E-MOVE-SYNTAX" "not the text of a move";
    E_MOVE_ILLEGAL "E-MOVE-ILLEGAL" "no legal move fits";
    E_MOVE_AMBIG "E-MOVE-AMBIG" "more than one legal move fits";
    E_MOVE_PROMO "E-MOVE-PROMO" "the promotion piece is missing";
    E_MOVE_NONCANON "E-MOVE-NONCANON" "a legal move that is not written canonically (strict only)";
    W_LEN_COMMENT "W-LEN-COMMENT" "a line beginning with #; skipped";
    W_LEN_CTRLEND "W-LEN-CTRLEND" "control bytes at the end of the line; dropped";
    W_LEN_CTRL "W-LEN-CTRL" "a control byte in the line; read as a blank";
    W_LEN_LATIN1 "W-LEN-LATIN1" "a string in Latin-1; written in UTF-8";
    W_LEN_LINELEN "W-LEN-LINELEN" "the line is longer than 4095 bytes; kept";
    W_LEN_COUNTERS "W-LEN-COUNTERS" "FEN counters out of range; kept as noop";
    W_LEN_HMVC "W-LEN-HMVC" "a fifth field without a sixth; read as hmvc";
    W_LEN_DASHES "W-LEN-DASHES" "dashes after field 4; dropped";
    W_LEN_CASTLE "W-LEN-CASTLE" "a castling right without its king and rook; dropped";
    W_LEN_EP "W-LEN-EP" "an en passant square that no double step can have left; dropped";
    W_LEN_DUP "W-LEN-DUP" "an opcode twice with different operands; the first stays, the other is kept as noop";
    W_LEN_COLON "W-LEN-COLON" "a colon after an opcode; dropped";
    W_LEN_OPCODE "W-LEN-OPCODE" "no opcode; the operation is kept as noop";
    W_LEN_UNQUOTED "W-LEN-UNQUOTED" "a string without quotes; quoted";
    W_LEN_ESCAPE "W-LEN-ESCAPE" "an escaped quote in a string; written as an apostrophe";
    W_LEN_QUOTE "W-LEN-QUOTE" "a string left open; closed at the end of the line";
    W_LEN_STRLEN "W-LEN-STRLEN" "a string longer than 255 bytes; kept";
    W_LEN_MARKS "W-LEN-MARKS" "an annotation mark after a move; dropped";
    W_LEN_DETACHED "W-LEN-DETACHED" "a mark apart from its move; joined";
    W_LEN_COMMA "W-LEN-COMMA" "commas between moves; split";
    W_LEN_SEMICOLON "W-LEN-SEMICOLON" "a semicolon missing between operations; split";
    W_LEN_MOVE "W-LEN-MOVE" "a move that is not legal here, ambiguous or unreadable; kept as text";
    W_LEN_MATE "W-LEN-MATE" "a mate distance in ce; written as a ce value";
    W_LEN_DM "W-LEN-DM" "dm of zero or less; kept";
    W_LEN_INTEGER "W-LEN-INTEGER" "no integer where one belongs; the operation is kept as noop";
    W_LEN_PM "W-LEN-PM" "several moves where one belongs; the first is taken, the text kept as noop";
    W_LEN_SALVAGED "W-LEN-SALVAGED" "an operation that breaks the rules of its opcode; kept as noop";
    W_LEN_MORE "W-LEN-MORE" "more than a thousand warnings about one line; the rest are only counted";
    E_PGN_TOKEN "E-PGN-TOKEN" "a character or comment that has no place in a game";
    E_PGN_STRING "E-PGN-STRING" "a string is not closed, too long, or has control characters";
    E_PGN_TAG "E-PGN-TAG" "not a tag pair: [Name \"value\"]";
    E_PGN_TAGDUP "E-PGN-TAGDUP" "a tag stands twice (strict only)";
    E_PGN_RESULT "E-PGN-RESULT" "Result tag and termination marker disagree, or are none of the four";
    E_PGN_SETUP "E-PGN-SETUP" "SetUp and FEN tags disagree, or no game can begin there";
    E_PGN_RAV "E-PGN-RAV" "a variation that is empty, before any move, not opened or not closed";
    E_PGN_NAG "E-PGN-NAG" "a NAG that is not 0 to 255, or stands before any move";
    E_PGN_MOVENUM "E-PGN-MOVENUM" "a wrong move number (strict only)";
    E_PGN_NONCANON "E-PGN-NONCANON" "the game does not stand in export format (strict only)";
    E_PGN_SIZE "E-PGN-SIZE" "the game is larger than the limit";
    W_PGN_LINELEN "W-PGN-LINELEN" "a line longer than 255 characters; read";
    W_PGN_TOKEN "W-PGN-TOKEN" "a character that has no place here; dropped";
    W_PGN_STRING "W-PGN-STRING" "a string that is too long, not closed or not escaped; kept";
    W_PGN_TAG "W-PGN-TAG" "an unusual tag pair; kept";
    W_PGN_TAGDUP "W-PGN-TAGDUP" "a tag stands twice; the first counts";
    W_PGN_RESULT "W-PGN-RESULT" "Result tag or termination marker missing, unusual or different; settled";
    W_PGN_SETUP "W-PGN-SETUP" "a FEN tag that is no canonical FEN; read";
    W_PGN_RAV "W-PGN-RAV" "a bracket of a variation too many or too few, or an empty variation; settled";
    W_PGN_NAG "W-PGN-NAG" "an unusual NAG; kept";
    W_PGN_MOVENUM "W-PGN-MOVENUM" "a wrong move number; the right one is written";
    E_PGC_TRUNC "E-PGC-TRUNC" "the data end inside a record";
    E_PGC_MARKER "E-PGC-MARKER" "an unknown marker";
    E_PGC_ORDINAL "E-PGC-ORDINAL" "a move ordinal not below the number of legal moves";
    E_PGC_ORDINAL255 "E-PGC-ORDINAL255" "a move whose ordinal is over 255";
    E_PGC_NEST "E-PGC-NEST" "a game begins inside a game";
    E_PGC_OUTSIDE "E-PGC-OUTSIDE" "a record that belongs into a game stands outside";
    E_PGC_NOEND "E-PGC-NOEND" "the data end inside a game";
    E_PGC_RAVEND "E-PGC-RAVEND" "the end of a variation that never began";
    E_PGC_RAVOPEN "E-PGC-RAVOPEN" "the game ends inside a variation";
    E_PGC_RAVPLACE "E-PGC-RAVPLACE" "a variation before any move of its line, or too deep";
    E_PGC_RAVEMPTY "E-PGC-RAVEMPTY" "a variation without a move";
    E_PGC_NAGPLACE "E-PGC-NAGPLACE" "a NAG before any move of its line";
    E_PGC_TAGORDER "E-PGC-TAGORDER" "a tag behind the first move, NAG or variation";
    E_PGC_TAGDUP "E-PGC-TAGDUP" "a tag stands twice";
    E_PGC_SETUP "E-PGC-SETUP" "SetUp and FEN tags disagree, or no game can begin there";
    E_PGC_STRLEN "E-PGC-STRLEN" "a string is longer than its length can say";
    E_PGC_CHARSET "E-PGC-CHARSET" "a character that Latin-1 does not have, or a control character";
    E_PGC_COMMENT "E-PGC-COMMENT" "a comment, which PGC cannot carry without --ext or --lossy";
    E_PGC_SIZE "E-PGC-SIZE" "the game is larger than the limit";
}
