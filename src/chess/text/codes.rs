//! All codes of diagnostics, each with its meaning, an example and advice.
//!
//! `E-` codes reject the line or the game; `W-` codes are warnings. Codes never change their
//! meaning. [`page`] writes the table of `formats/notes/codes.md`.

/// A code of diagnostics, with its explanation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// The code as it is printed, such as `E-FEN-EP`.
    pub code: &'static str,
    /// The fault, in one line.
    pub meaning: &'static str,
    /// The effect on the line or the game.
    pub done: &'static str,
    /// Input with this fault: a line of FEN or EPD, a game in PGN (`E-PGN`, `W-PGN`), or a game in
    /// PGC as hexadecimal digits (`E-PGC`). `\n` is a line end, `\xNN` a byte, `\\` a backslash,
    /// and `…` alone means that an example would be too long.
    pub example: &'static str,
    /// Advice to the user.
    pub advice: &'static str,
}

/// The effect of an `E-` code on a line.
const REJECTED: &str = "the line is rejected";
/// The effect of an `E-` code on a game.
const REFUSED: &str = "the game is rejected";

/// The effect of an `E-REF` code on a message.
const FAULTED: &str = "the other side is sent a fault";

macro_rules! codes {
    ($($name:ident $code:literal $meaning:literal, $done:expr, $example:literal, $advice:literal;)*) => {
        $(#[doc = $meaning] pub const $name: &str = $code;)*

        /// All codes, in the order of their subjects: fields, EPD, rules across opcodes, moves, the
        /// lenient profile, PGN, PGC, lichess, messages of referees and clients.
        pub static ALL: &[Code] = &[$(Code {
            code: $code,
            meaning: $meaning,
            done: $done,
            example: $example,
            advice: $advice,
        }),*];
    };
}

/// Finds the entry of a code, in any letter case.
///
/// ```
/// use epdb_chess::text::codes;
/// assert_eq!(codes::find("e-fen-ranks").map(|entry| entry.code), Some(codes::E_FEN_RANKS));
/// assert_eq!(codes::find("E-NONE"), None);
/// ```
pub fn find(code: &str) -> Option<&'static Code> {
    ALL.iter().find(|entry| entry.code.eq_ignore_ascii_case(code))
}

/// Writes all entries in Markdown, as in `formats/notes/codes.md`.
pub fn page() -> String {
    let mut page = String::new();
    for Code { code, meaning, done, example, advice } in ALL {
        page.push_str(&format!("**{code}**: {meaning}; {done}.\n"));
        if *example != "…" {
            page.push_str(&format!("```\n{example}\n```\n"));
        }
        page.push_str(&format!("To do: {advice}.\n\n"));
    }
    page
}

codes! {
    E_FEN_FIELDS "E-FEN-FIELDS"
        "a FEN does not have exactly six fields",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0",
        "write placement, side to move, castling, en passant and both counters; the lenient profile and EPD take fewer";
    E_EPD_FIELDS "E-EPD-FIELDS"
        "a record has fewer than four fields, or is not a position",
        REJECTED,
        "8/8/8/4k3/8/1K6/8/8 w -",
        "write placement, side to move, castling and en passant; write `-` for a field without a value";
    E_FEN_RANKS "E-FEN-RANKS"
        "the placement does not have eight ranks",
        REJECTED,
        "8/8/8/4k3/8/1K6/8 w - -",
        "separate eight ranks by seven `/`; an empty rank is `8`";
    E_FEN_RANKSUM "E-FEN-RANKSUM"
        "a rank does not add up to eight squares",
        REJECTED,
        "8/8/8/4k3/8/1K5/8/8 w - -",
        "count the pieces and the empty squares of the rank that the message names";
    E_FEN_CHAR "E-FEN-CHAR"
        "the placement has a character other than a piece, a digit 1 to 8 or a solidus",
        REJECTED,
        "8/8/8/4k3/9/1K6/8/8 w - -",
        "use PNBRQK, pnbrqk and 1 to 8; pieces of other languages are not read";
    E_FEN_COLOR "E-FEN-COLOR"
        "the side to move is not w or b",
        REJECTED,
        "8/8/8/4k3/8/1K6/8/8 x - -",
        "write `w` or `b`; often a field is missing";
    E_FEN_CASTLE "E-FEN-CASTLE"
        "the castling field is malformed or names a right twice",
        REJECTED,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KKq -",
        "write the rights, those of White in capitals: `KQkq`, or the files of the rooks: `HAha`";
    E_FEN_EP "E-FEN-EP"
        "the en passant field is not a square, or does not fit the side to move",
        REJECTED,
        "8/8/8/4k3/8/1K6/8/8 w - bm",
        "write `-`, or the square that the pawn has passed over: on rank 6 if White is to move, on rank 3 if Black is to move";
    E_FEN_HMVC "E-FEN-HMVC"
        "the halfmove clock is not an integer from 0 up",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - -1 39",
        "write the number of plies since the last capture or pawn move; the lenient profile keeps a value that it cannot read as noop";
    E_FEN_FMVN "E-FEN-FMVN"
        "the fullmove number is not an integer from 1 up",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 0",
        "write the number of the move, from 1; the lenient profile reads 0 as 1";
    E_FEN_NONCANON "E-FEN-NONCANON"
        "a FEN is not in canonical form (strict only)",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 01",
        "write what the message expects, or read in another profile, which corrects the FEN";
    E_POS_CASTLE "E-POS-CASTLE"
        "a castling right has no king and rook, or its king is on the a or h file",
        REJECTED,
        "4k3/8/8/8/8/8/8/4K3 w KQ -",
        "remove the right; the lenient profile removes it";
    W_POS_ILLEGAL "W-POS-ILLEGAL"
        "the position cannot arise in a game",
        "kept",
        "8/8/8/8/8/8/8/8 w - -",
        "check whether this is intended, as in a composed position; if no moves can be generated, moves are kept as text";
    E_EPD_OPCODE "E-EPD-OPCODE"
        "an opcode is not a letter followed by up to 14 letters, digits or underscores",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - v=3;",
        "give the operation another name, or read in the lenient profile, which keeps it as noop";
    E_EPD_QUOTE "E-EPD-QUOTE"
        "a string is not closed",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - id \"open;",
        "put the missing quote where the string ends";
    E_EPD_STRLEN "E-EPD-STRLEN"
        "a string is longer than 255 bytes",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"…\";",
        "shorten the string, or read in the lenient profile, which keeps long strings";
    E_EPD_CTRL "E-EPD-CTRL"
        "a control byte, or a byte over 126 outside a string",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - id\\x00x;",
        "remove the byte, or put text that is not ASCII into quotes";
    E_EPD_ARITY "E-EPD-ARITY"
        "an operation has the wrong number of operands",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\" \"b\";",
        "write the operands that the table of opcodes lists; often a semicolon is missing";
    E_EPD_TYPE "E-EPD-TYPE"
        "an operand is of the wrong type",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - acn many;",
        "write the operand in the form of the table of opcodes";
    E_EPD_RANGE "E-EPD-RANGE"
        "a number is out of range",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - ce 40000;",
        "write a number that the opcode allows; ce takes -32768 to 32766";
    E_EPD_DUP "E-EPD-DUP"
        "an opcode is repeated with different operands",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\"; id \"b\";",
        "keep one of the two";
    E_EPD_LINELEN "E-EPD-LINELEN"
        "the line is longer than the limit",
        REJECTED,
        "…",
        "raise the limit of the reader, or shorten the line";
    E_EPD_NONCANON "E-EPD-NONCANON"
        "the record is not in canonical form (strict only)",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\"; acn 5;",
        "write what the message expects, or read in another profile, which changes it";
    E_EPD_LABEL "E-EPD-LABEL"
        "a label of a training set; such labels are read only on request",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [0.5]",
        "request labels; if they have scores, also say from whose point of view";
    E_EPD_PERFT "E-EPD-PERFT"
        "perft counts in another form than `;D1 20`; such counts are read only on request",
        REJECTED,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -,20,400",
        "request perft counts; a single count must be that of depth 1";
    W_EPD_DUP "W-EPD-DUP"
        "an operation is repeated",
        "one copy is kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - acn 5; acn 5;",
        "nothing";
    W_EPD_UNQUOTED "W-EPD-UNQUOTED"
        "a bare word where a string belongs",
        "quoted",
        "4k3/8/8/8/8/8/4P3/4K3 w - - id x;",
        "nothing";
    W_EPD_FENFIELDS "W-EPD-FENFIELDS"
        "counters after field 4",
        "read as hmvc and fmvn",
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
        "nothing";
    W_EPD_PTPDUP "W-EPD-PTPDUP"
        "a tag is repeated in ptp",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - ptp White \"a\" White \"b\";",
        "remove one of the two";
    W_EPD_SHORTOPCODE "W-EPD-SHORTOPCODE"
        "an opcode of one character",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - a 1;",
        "give private opcodes names of two characters or more";
    W_EPD_MOVEOPCODE "W-EPD-MOVEOPCODE"
        "a legal move where an opcode is expected",
        "kept as a private opcode",
        "4k3/8/8/8/8/8/4P3/4K3 w - - e2e4 400;",
        "write the opcode before the move, such as bm for the best move or sm for the move played";
    W_EPD_OPCODECASE "W-EPD-OPCODECASE"
        "an opcode of the standard in capital letters",
        "kept as a private opcode",
        "4k3/8/8/8/8/8/4P3/4K3 w - - BM e4;",
        "write opcodes of the standard in small letters";
    W_SAN_CAPTURE "W-SAN-CAPTURE"
        "a capture mark on a move that captures nothing",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm Kxd2;",
        "check whether the position is the right one";
    W_CONS_AMBM "W-CONS-AMBM"
        "a move is both to be played (bm) and to be avoided (am)",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - am e4; bm e4;",
        "remove it from one of the two";
    W_CONS_PMPV "W-CONS-PMPV"
        "pm is not the first move of pv",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - pm e3; pv e4;",
        "correct one of the two";
    W_CONS_SMSV "W-CONS-SMSV"
        "sm is not the first move of sv",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - sm e3; sv e4;",
        "correct one of the two";
    W_CONS_OFFERSM "W-CONS-OFFERSM"
        "draw_offer without sm",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - draw_offer;",
        "say with sm which move is played with the offer";
    W_CONS_CLAIMSM "W-CONS-CLAIMSM"
        "draw_claim without sm",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - draw_claim;",
        "say with sm which move is played with the claim";
    W_CONS_ACCREJ "W-CONS-ACCREJ"
        "draw_accept together with draw_reject",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - draw_accept; draw_reject;",
        "remove one of the two";
    W_CONS_CLAIMOFFER "W-CONS-CLAIMOFFER"
        "draw_claim together with draw_offer",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - draw_claim; draw_offer; sm e4;",
        "remove one of the two";
    W_CONS_RESIGN "W-CONS-RESIGN"
        "resign together with draw_accept, draw_claim, draw_offer or draw_reject",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - draw_accept; resign;",
        "remove one of the two";
    W_CONS_DMCE "W-CONS-DMCE"
        "dm and ce give mates of different lengths",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - ce 32758; dm 4;",
        "correct one of the two: a mate in N is ce 32768 − 2N";
    W_CONS_MATED "W-CONS-MATED"
        "ce -32767 means checkmate, but the position is not checkmate",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - ce -32767;",
        "in text of 1994, this value means an illegal position; read such text by the revision of 1994";
    E_MOVE_SYNTAX "E-MOVE-SYNTAX"
        "not the text of a move",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm Ge2;",
        "write standard algebraic notation with English letters: `Nf3`, `exd8=Q+`, `O-O`";
    E_MOVE_ILLEGAL "E-MOVE-ILLEGAL"
        "no legal move fits",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm Ke5;",
        "check whether the position is the right one; the lenient profile keeps the text";
    E_MOVE_AMBIG "E-MOVE-AMBIG"
        "more than one legal move fits",
        REJECTED,
        "4k3/8/8/8/8/2N5/8/4K1N1 w - - bm Ne2;",
        "add the file or the rank that the piece comes from: `Nce2`";
    E_MOVE_PROMO "E-MOVE-PROMO"
        "the promotion piece is missing",
        REJECTED,
        "8/4P1k1/8/8/8/8/8/4K3 w - - bm e8;",
        "add the piece: `e8=Q`";
    E_MOVE_NONCANON "E-MOVE-NONCANON"
        "a legal move that is not written canonically (strict only)",
        REJECTED,
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm Ke1d2;",
        "write the shortest form with its check or mate mark, or read in another profile";
    W_LEN_COMMENT "W-LEN-COMMENT"
        "a comment (a line beginning with #) that the output cannot hold, or whose record is left out",
        "not written",
        "…",
        "nothing, or write text, which keeps comments with their records";
    W_LEN_UTF16 "W-LEN-UTF16"
        "a file in UTF-16",
        "read, and written in UTF-8",
        "\\xff\\xfe8\\x00/\\x008\\x00…",
        "save the file in UTF-8";
    W_LEN_CTRLEND "W-LEN-CTRLEND"
        "control bytes at the end of the line",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3 w - -\\x00",
        "nothing";
    W_LEN_CTRL "W-LEN-CTRL"
        "a control byte in the line",
        "read as a blank",
        "4k3/8/8/8/8/8/4P3/4K3 w - - id\\x00x;",
        "nothing";
    W_LEN_LATIN1 "W-LEN-LATIN1"
        "text that is not UTF-8",
        "read as Windows-1252 and written in UTF-8",
        "4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"M\\xfcller\";",
        "nothing; if the text is in another character set, name it";
    W_LEN_LINELEN "W-LEN-LINELEN"
        "the line is longer than 4095 bytes",
        "kept",
        "…",
        "other readers may refuse it";
    W_LEN_COUNTERS "W-LEN-COUNTERS"
        "FEN counters out of range",
        "valid counters stay, a fullmove number of 0 is read as 1, any other value is kept as noop",
        "4k3/8/8/8/8/8/4P3/4K3 w - - -1 39",
        "correct the value; FEN output writes 0 and 1 for missing counters";
    W_LEN_GLUED "W-LEN-GLUED"
        "no blank between counters, or between them and the en passant field",
        "split",
        "4k3/8/8/8/8/8/4P3/4K3 w - -1 12",
        "nothing";
    W_LEN_HMVC "W-LEN-HMVC"
        "a fifth field without a sixth",
        "read as hmvc",
        "4k3/8/8/8/8/8/4P3/4K3 w - - 4",
        "nothing";
    W_LEN_DASHES "W-LEN-DASHES"
        "dashes after field 4",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3 w - - - -",
        "nothing";
    W_LEN_MOVES "W-LEN-MOVES"
        "moves after a position",
        "played, so that the record has the position after them; or kept as pv on request",
        "startpos moves e2e4",
        "if the position before the moves is meant, request it";
    W_LEN_CASTLE "W-LEN-CASTLE"
        "a castling right that has no king and rook, or whose king is on the a or h file",
        "dropped",
        "4k3/8/8/8/8/8/8/4K2R w KQ -",
        "nothing";
    W_LEN_FIELDS "W-LEN-FIELDS"
        "a line that has only one to three of the four fields",
        "the missing fields become White to move, no castling rights and no en passant square",
        "4k3/8/8/8/8/8/4P3/4K3 b",
        "check whether the side to move and the castling rights are right";
    W_LEN_UNDERSCORE "W-LEN-UNDERSCORE"
        "underscores between the fields, as in web addresses",
        "read as blanks",
        "4k3/8/8/8/8/8/4P3/4K3_w_-_-",
        "nothing";
    W_LEN_SOLIDUS "W-LEN-SOLIDUS"
        "a solidus after the last rank",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3/ w - -",
        "nothing";
    W_LEN_CASTLECASE "W-LEN-CASTLECASE"
        "a castling field has four letters, some in the wrong case, and the position allows all four rights",
        "read as KQkq",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w Kqkq -",
        "nothing";
    W_LEN_CHESS960 "W-LEN-CHESS960"
        "a king with two castling rights, of which one has no rook, and the other is possible only in Chess960",
        "kept if the other side has rights with king and rook, else dropped",
        "4k3/8/8/8/8/8/8/R5K1 w KQ -",
        "write only this right, as in `Q`, if the position is one of Chess960";
    W_LEN_EP "W-LEN-EP"
        "an en passant square that cannot come from a double step of a pawn",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3 w - d6",
        "nothing";
    W_LEN_DUP "W-LEN-DUP"
        "an opcode twice with different operands",
        "the first stays, the other is kept as noop",
        "4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\"; id \"b\";",
        "choose one of the two";
    W_LEN_COLON "W-LEN-COLON"
        "a colon after an opcode",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3 w - - PV: e4;",
        "nothing";
    W_LEN_OPCODE "W-LEN-OPCODE"
        "an operation without a valid opcode",
        "the operation is kept as noop",
        "4k3/8/8/8/8/8/4P3/4K3 w - - v=-407;",
        "give the operation a valid opcode";
    W_LEN_UNQUOTED "W-LEN-UNQUOTED"
        "a string without quotes",
        "quoted",
        "4k3/8/8/8/8/8/4P3/4K3 w - - id BK.01;",
        "nothing";
    W_LEN_ESCAPE "W-LEN-ESCAPE"
        "an escaped quote in a string",
        "written as an apostrophe",
        "4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"a\\\\\"b\";",
        "nothing; EPD strings have no escapes";
    W_LEN_QUOTE "W-LEN-QUOTE"
        "a string that is not closed",
        "closed at the end of the line",
        "4k3/8/8/8/8/8/4P3/4K3 w - - id \"open;",
        "check whether operations have become text";
    W_LEN_STRLEN "W-LEN-STRLEN"
        "a string longer than 255 bytes",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"…\";",
        "other readers may refuse it";
    W_LEN_MARKS "W-LEN-MARKS"
        "an annotation mark after a move",
        "dropped",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4!;",
        "nothing";
    W_LEN_DETACHED "W-LEN-DETACHED"
        "a mark that does not directly follow its move",
        "joined",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 !;",
        "nothing";
    W_LEN_COMMA "W-LEN-COMMA"
        "commas or slashes between moves",
        "split",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4, e3;",
        "nothing";
    W_LEN_SEMICOLON "W-LEN-SEMICOLON"
        "a semicolon missing between operations",
        "split",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 dm 26;",
        "nothing";
    W_LEN_JOINED "W-LEN-JOINED"
        "a second or later move of am, bm or pv that is written as a separate operation, as in `bm e4; d4;`",
        "joined to the operation before",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; Kd2;",
        "nothing";
    W_LEN_SPELLING "W-LEN-SPELLING"
        "a move that is misspelt but cannot be mistaken, such as `OO`, `Bcx3`, `1.e4` and `\"e4\"`",
        "read",
        "4k3/8/8/8/8/8/8/4K2R w K - bm OO;",
        "nothing";
    W_LEN_NOTATION "W-LEN-NOTATION"
        "a move in descriptive or numeric notation, or with a note after it, such as `P-K4`, `5254` and `e4ch`",
        "written in SAN on request, if exactly one legal move fits; otherwise kept as text",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm P-K4;",
        "check whether it is the move that was meant";
    W_LEN_MOVE "W-LEN-MOVE"
        "a move that is not legal here, ambiguous or unreadable",
        "kept as text",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm Qh5;",
        "correct the move or the position, or request moves in other notations; a record with such a move cannot be scored as a problem";
    W_LEN_TARGET "W-LEN-TARGET"
        "a mate distance among moves",
        "written as a mate target",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm M15;",
        "nothing";
    W_LEN_MATE "W-LEN-MATE"
        "a mate distance in ce",
        "written as a ce value",
        "4k3/8/8/8/8/8/4P3/4K3 w - - ce +M8;",
        "nothing";
    W_LEN_DM "W-LEN-DM"
        "dm of zero or less",
        "kept",
        "4k3/8/8/8/8/8/4P3/4K3 w - - dm 0;",
        "write ce for a position in which the side to move is mated";
    W_LEN_INTEGER "W-LEN-INTEGER"
        "no integer where an integer belongs",
        "the operation is kept as noop",
        "4k3/8/8/8/8/8/4P3/4K3 w - - acn 1,2;",
        "correct the number";
    W_LEN_PM "W-LEN-PM"
        "several moves where one move belongs",
        "the text is kept as noop; the move that begins pv (for sm: sv), if any, stays",
        "4k3/8/8/8/8/8/4P3/4K3 w - - pm e4 e3; pv e3;",
        "write only the move that is meant";
    W_LEN_SALVAGED "W-LEN-SALVAGED"
        "an operation that breaks the rules of its opcode",
        "kept as noop",
        "4k3/8/8/8/8/8/4P3/4K3 w - - ce 40000;",
        "correct the operation";
    W_LEN_UNICODE "W-LEN-UNICODE"
        "a typographic character, such as a no-break space, a curly quote or a dash, outside of strings",
        "read as the ASCII character that it stands for, or dropped if it has no width",
        "4k3/8/8/8/8/8/4P3/4K3 w - \\xe2\\x80\\x93 id \\xe2\\x80\\x9ca\\xe2\\x80\\x9d;",
        "nothing; such characters stay in strings";
    W_LEN_MORE "W-LEN-MORE"
        "more than a thousand warnings about one line",
        "the rest are only counted",
        "…",
        "look at the line; it is probably not a record";
    E_PGN_TOKEN "E-PGN-TOKEN"
        "a character or comment that is not allowed in a game",
        REFUSED,
        "1. e4 < *",
        "remove it";
    E_PGN_STRING "E-PGN-STRING"
        "a string is not closed, too long, or has control characters",
        REFUSED,
        "[Event \"\"a\"\"] *",
        "write `\\\"` for a quote and `\\` for a backslash inside strings";
    E_PGN_TAG "E-PGN-TAG"
        "not a tag pair",
        REFUSED,
        "[\"a\"]\\n\\n1. e4 *",
        "write a name and a string: `[Event \"Linares\"]`";
    E_PGN_TAGDUP "E-PGN-TAGDUP"
        "a tag is repeated (strict only)",
        REFUSED,
        "[ECO \"a\"] [ECO \"b\"] *",
        "keep one of the two";
    E_PGN_RESULT "E-PGN-RESULT"
        "Result tag and termination marker disagree, or one of them is not a valid result",
        REFUSED,
        "[Result \"1-0\"]\\n\\n1. e4 0-1",
        "write `1-0`, `0-1`, `1/2-1/2` or `*` in both places";
    E_PGN_SETUP "E-PGN-SETUP"
        "SetUp and FEN tags disagree, the FEN is not valid, or moves follow a position that is not playable",
        REFUSED,
        "[SetUp \"1\"]\\n\\n1. e4 *",
        "write `[SetUp \"1\"]` and a FEN tag with a position that has legal moves, or neither of the two";
    E_PGN_RAV "E-PGN-RAV"
        "a variation that is empty, before any move, not opened or not closed",
        REFUSED,
        "1. e4 () *",
        "correct the brackets";
    E_PGN_NAG "E-PGN-NAG"
        "a NAG that is not 0 to 255, or that precedes all moves",
        REFUSED,
        "1. e4 $256 *",
        "write `$0` to `$255` after a move";
    E_PGN_MOVENUM "E-PGN-MOVENUM"
        "a wrong move number (strict only)",
        REFUSED,
        "1. e4 3. e5 *",
        "number the moves from the move number of the first position";
    E_PGN_NONCANON "E-PGN-NONCANON"
        "the game is not in export format (strict only)",
        REFUSED,
        "1. e4 *",
        "read the game in another profile, and write it";
    E_PGN_SIZE "E-PGN-SIZE"
        "the game is larger than the limit",
        REFUSED,
        "…",
        "raise the limit of the reader; often the end of a comment is missing";
    E_PGN_COPY "E-PGN-COPY"
        "a finished game is added to a library that counts an unfinished or shorter copy of it, by the id of a site",
        REFUSED,
        "…",
        "build the library again from all files, in any order";
    E_PGN_VARIANT "E-PGN-VARIANT"
        "a Variant tag that is neither standard chess nor Chess960",
        REFUSED,
        "[Variant \"Atomic\"]\\n\\n1. e4 *",
        "read the game with a program for that variant; if the moves are those of chess, remove the tag";
    W_PGN_LINELEN "W-PGN-LINELEN"
        "a line longer than 255 characters (not in the lenient profile)",
        "read",
        "…",
        "nothing; games are written in lines of fewer than 80";
    W_PGN_TOKEN "W-PGN-TOKEN"
        "a sign, a word, or markup of a web page, that is not allowed here",
        "a word or a command is kept as a comment; anything else is dropped",
        "1. e4 e5 } *",
        "nothing";
    W_PGN_UNICODE "W-PGN-UNICODE"
        "a typographic character, such as a curly quote, a dash or a blank of no width, where syntax is expected",
        "read as the ASCII character that it stands for, or dropped if it has no width",
        "[Event \\xe2\\x80\\x9ca\\xe2\\x80\\x9d]\\n\\n1. e4 *",
        "nothing; such characters stay in strings and comments";
    W_PGN_STRING "W-PGN-STRING"
        "a string that is too long, not closed, not escaped, in other quotes, or goes on in the next line",
        "kept; a line end in it is read as a blank",
        "[Event \"\"a\"\"] *",
        "nothing";
    W_PGN_COMMENT "W-PGN-COMMENT"
        "a comment that has other braces in it, or that is not closed before the first move or after the end",
        "kept; a comment that is not closed ends where the game ends",
        "1. e4 {a {b} c} *",
        "close the comment, or write its braces as brackets";
    W_PGN_TAGVALUE "W-PGN-TAGVALUE"
        "the value of a tag does not have the form that the standard requires",
        "kept; dates and ratings of records are made without it",
        "[Date \"31.10.2000\"]\\n\\n1. e4 *",
        "correct it";
    W_PGN_TAG "W-PGN-TAG"
        "an unusual or malformed tag pair, or text between tags",
        "a tag is read if the meaning is clear, else dropped; text is kept as a comment",
        "[Event: \"a\"] *",
        "check whether a tag was dropped";
    W_PGN_TAGDUP "W-PGN-TAGDUP"
        "a tag is repeated",
        "the first counts",
        "[ECO \"a\"] [ECO \"b\"] *",
        "choose one of the two";
    W_PGN_RESULT "W-PGN-RESULT"
        "Result tag or termination marker missing, unusual or different",
        "repaired as the message says",
        "1. e4 1/2",
        "check whether the result is right";
    W_PGN_SETUP "W-PGN-SETUP"
        "a FEN tag that is not a canonical FEN, or SetUp 1 without a position in a FEN tag",
        "read; without a position the game is one from the start array, if its moves are legal there",
        "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - -\"]\\n\\n1. e4 *",
        "nothing";
    W_PGN_RAV "W-PGN-RAV"
        "a variation with a bracket too many or too few, or without moves",
        "repaired as the message says",
        "1. e4 (1. d4)) *",
        "check whether the moves are where they belong";
    W_PGN_NAG "W-PGN-NAG"
        "an unusual NAG, or a sign of printed annotation in place of a NAG",
        "kept; a known sign is read as its NAG",
        "1. e4!!! *",
        "nothing";
    W_PGN_MOVENUM "W-PGN-MOVENUM"
        "a wrong move number",
        "the right one is written",
        "1. e4 3. e5 *",
        "check whether moves are missing";
    W_PGN_GLUED "W-PGN-GLUED"
        "no blank between a move and a termination marker",
        "split",
        "1. e4 e51-0",
        "nothing";
    W_PGN_PAIR "W-PGN-PAIR"
        "two moves without a blank between them",
        "split",
        "1. e4e5 2. Nf3Nc6 *",
        "nothing";
    W_PGN_SPLIT "W-PGN-SPLIT"
        "a blank or an end of line inside a move, which can be read in one way only",
        "joined",
        "1. e4 e5 2. N f3 *",
        "check whether it is the move that was played";
    W_PGN_NEXT "W-PGN-NEXT"
        "a new game without tags: the move number 1 after a blank line, with a move that is legal in the start array",
        "the next game begins at this number",
        "1. e4 e5 2. Nf3\\n\\n1. d4 d5 *",
        "nothing";
    W_PGN_VARIATION "W-PGN-VARIATION"
        "an impossible move in a variation",
        "the rest of the variation is kept as a comment",
        "1. e4 e5 (1... c5 2. Nf3 Ke5 3. d4) 2. Nf3 *",
        "nothing, or correct the move";
    W_PGN_TRUNCATED "W-PGN-TRUNCATED"
        "an impossible move that is not the first move of a game, or a comment after a move or a variation that is not closed",
        "the game is cut short: the moves before it are kept, the rest as a comment",
        "1. e4 e5 2. Ke3 *",
        "correct the move, or close the comment or the variation: the text after it is not part of the game";
    E_PGC_TRUNC "E-PGC-TRUNC"
        "the input ends inside a record",
        REFUSED,
        "01 01 3f",
        "get the whole file";
    E_PGC_MARKER "E-PGC-MARKER"
        "an unknown marker",
        "the reader stops: records have no length",
        "0b",
        "check whether the file is PGC";
    E_PGC_ORDINAL "E-PGC-ORDINAL"
        "a move ordinal that is not less than the number of legal moves",
        REFUSED,
        "05 03 01 c8 06",
        "the file is damaged, or its writer orders moves differently";
    E_PGC_ORDINAL255 "E-PGC-ORDINAL255"
        "a move whose ordinal is over 255",
        REFUSED,
        "…",
        "write the game as PGN, which can express the move";
    E_PGC_NEST "E-PGC-NEST"
        "a game begins inside a game",
        REFUSED,
        "05 05 06",
        "the file is damaged: the end of a game is missing";
    E_PGC_OUTSIDE "E-PGC-OUTSIDE"
        "a record of a game is outside of any game",
        REFUSED,
        "06",
        "the file is damaged: the start of a game is missing";
    E_PGC_NOEND "E-PGC-NOEND"
        "the input ends inside a game",
        REFUSED,
        "05 03 01 0d",
        "get the whole file";
    E_PGC_RAVEND "E-PGC-RAVEND"
        "the end of a variation that never began",
        REFUSED,
        "05 03 01 0d 09 06",
        "the file is damaged";
    E_PGC_RAVOPEN "E-PGC-RAVOPEN"
        "the game ends inside a variation",
        REFUSED,
        "05 03 01 0d 08 03 01 0b 06",
        "the file is damaged";
    E_PGC_RAVPLACE "E-PGC-RAVPLACE"
        "a variation before any move of its line, or too deep",
        REFUSED,
        "05 08 03 01 0b 09 06",
        "the file is damaged";
    E_PGC_RAVEMPTY "E-PGC-RAVEMPTY"
        "a variation without a move",
        REFUSED,
        "05 03 01 0d 08 09 06",
        "the file is damaged";
    E_PGC_NAGPLACE "E-PGC-NAGPLACE"
        "a NAG before any move of its line",
        REFUSED,
        "05 07 01 06",
        "the file is damaged";
    E_PGC_TAGORDER "E-PGC-TAGORDER"
        "a tag after the first move, NAG or variation",
        REFUSED,
        "05 03 01 0d 02 03 45 43 4f 03 43 32 30 06",
        "the file is damaged";
    E_PGC_TAGDUP "E-PGC-TAGDUP"
        "a tag is repeated",
        REFUSED,
        "05 02 03 45 43 4f 00 02 03 45 43 4f 00 06",
        "the file is damaged";
    E_PGC_SETUP "E-PGC-SETUP"
        "SetUp and FEN tags disagree, the FEN is not valid or not canonical, or moves follow a position that is not playable",
        REFUSED,
        "05 02 05 53 65 74 55 70 01 31 06",
        "the file is damaged";
    E_PGC_STRLEN "E-PGC-STRLEN"
        "a string is too long for its length field",
        REFUSED,
        "…",
        "shorten the tag, or write the game as PGN";
    E_PGC_CHARSET "E-PGC-CHARSET"
        "a character that Latin-1 does not have, or a control character",
        REFUSED,
        "…",
        "write `?` in its place, or write the game as PGN in UTF-8";
    E_PGC_CHECKSUM "E-PGC-CHECKSUM"
        "a game that does not match its checksum, two copies of a checksum that differ, or a game without a checksum after a game that has one",
        REFUSED,
        "0a0f00706763783a6b3a3030303030303030 0a0f00706763783a6b3a3030303030303030 05 06",
        "take the game from another copy";
    E_PGC_EXT "E-PGC-EXT"
        "an escape record whose text is not UTF-8, or does not agree with the tag pair before it",
        REFUSED,
        "05 0a0800706763783a753aff 06",
        "take the game from another copy";
    E_PGC_COMMENT "E-PGC-COMMENT"
        "a comment, for which PGC has no record",
        REFUSED,
        "1. e4 {good} *",
        "leave comments out (--lossy) or let escape records carry them (--ext)";
    E_PGC_NULL "E-PGC-NULL"
        "a null move, for which PGC has no record",
        REFUSED,
        "1. e4 -- 2. d4 *",
        "let escape records carry null moves (--ext), or write the game as PGN";
    E_PGC_SIZE "E-PGC-SIZE"
        "the game is larger than the limit",
        REFUSED,
        "…",
        "raise the limit of the reader";
    E_LINE_JSON "E-LINE-JSON"
        "a line of evaluations that is not a JSON object with fen and evals, or has no evaluation",
        REJECTED,
        "…",
        "check whether the file has the evaluations of lichess and is complete";
    E_LINE_CSV "E-LINE-CSV"
        "a line of a table with other columns than the header, a header without a required column, or a value that does not fit its column",
        REJECTED,
        "…",
        "check whether the file is complete, and one of the tables of `epdb help sources`";
    W_LINE_COLUMN "W-LINE-COLUMN"
        "a table or an object has a column or member that is not known",
        "the column or member is left out, and named once for each source",
        "…",
        "nothing, or rename the column if it is one of the known ones";
    W_LINE_CUT "W-LINE-CUT"
        "an impossible move in an evaluated line or in a solution",
        "the moves before it are kept",
        "…",
        "nothing, or correct the move";
    W_SOURCE_TRAILING "W-SOURCE-TRAILING"
        "bytes after the data of a compressed file",
        "left out",
        "…",
        "nothing, or check whether the file is complete";
    W_SOURCE_CHARSET "W-SOURCE-CHARSET"
        "bytes that are not a character of the named character set",
        "read as U+FFFD",
        "…",
        "check the name of the character set";
    W_SOURCE_MEMBERS "W-SOURCE-MEMBERS"
        "files in a zip or tar archive that do not have the suffix of a format",
        "not read",
        "…",
        "extract them, and name them to read them";
    E_REF_NOREFREQ "E-REF-NOREFREQ"
        "a message of a client has no refreq",
        FAULTED,
        "…",
        "write one request in each record: sign_on, reply, sign_off or fault";
    E_REF_NOREFCOM "E-REF-NOREFCOM"
        "a message of a referee has no refcom",
        FAULTED,
        "…",
        "write one command in each record, such as respond";
    E_REF_STATE "E-REF-STATE"
        "a message that is not expected now: a reply without a request, anything before sign_on, a second sign_on",
        FAULTED,
        "…",
        "sign on first, and reply once to each respond";
    E_REF_NOMOVE "E-REF-NOMOVE"
        "a reply that has no move, no resignation, no acceptance of a draw and no claim of a draw by insufficient material",
        FAULTED,
        "…",
        "write the move as sm";
    E_REF_POSITION "E-REF-POSITION"
        "a reply whose position is not the one that was sent to the client",
        FAULTED,
        "…",
        "send the position that came with respond, after the move that came with it";
    E_REF_EXTRA_SM "E-REF-EXTRA-SM"
        "a move together with conclude or disconnect",
        FAULTED,
        "…",
        "leave sm out";
}
