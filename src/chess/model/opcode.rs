//! Opcodes and the table of opcodes with a known meaning: the fifty standard ones and epdb's own.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The name of an operation: a letter, then up to fourteen letters, digits or underscores. Ordered
/// by bytes, which is the order of the canonical form.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// The name, padded with zero bytes, which sort before every letter. The last byte is the length
    /// of the name. A processor copies and compares 16 bytes at once.
    bytes: [u8; 16],
}

impl Ord for Opcode {
    /// The order of the bytes. As numbers they are compared without a call of a function.
    fn cmp(&self, other: &Opcode) -> Ordering {
        u128::from_be_bytes(self.bytes).cmp(&u128::from_be_bytes(other.bytes))
    }
}

impl PartialOrd for Opcode {
    fn partial_cmp(&self, other: &Opcode) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Opcode {
    /// Maximum length of an opcode in bytes.
    pub const MAX_LEN: usize = 15;

    /// The depth of an analysis in plies. The standard does not have this opcode, but programs
    /// write it.
    pub const ACD: Opcode = known("acd");
    /// The time of an analysis in milliseconds; `acs` has it in seconds.
    pub const ACMS: Opcode = known("acms");
    /// Nodes, milliseconds and depth at which an engine first chose a solution.
    pub const SOLVE_FIRST: Opcode = known("solve_first");
    /// Nodes, milliseconds and depth from which on an engine kept a solution to the end.
    pub const SOLVE_HELD: Opcode = known("solve_held");
    /// The reason why the search of an engine failed.
    pub const RUN_ERROR: Opcode = known("run_error");

    /// Checks a name.
    ///
    /// # Errors
    /// [`OpcodeError`] says what is wrong with it.
    ///
    /// ```
    /// use epdb_chess::model::{Opcode, OpcodeError};
    /// assert_eq!(Opcode::new(b"bm"), Ok(Opcode::BM));
    /// assert_eq!(Opcode::new(b"9x"), Err(OpcodeError::FirstByte));
    /// assert_eq!(Opcode::new(b"a_very_long_opcode_name"), Err(OpcodeError::Length));
    /// ```
    pub const fn new(text: &[u8]) -> Result<Opcode, OpcodeError> {
        if text.is_empty() || text.len() > Opcode::MAX_LEN {
            return Err(OpcodeError::Length);
        }
        if !text[0].is_ascii_alphabetic() {
            return Err(OpcodeError::FirstByte);
        }
        let mut bytes = (text.len() as u128) << (8 * Opcode::MAX_LEN);
        let mut i = 0;
        while i < text.len() {
            if !text[i].is_ascii_alphanumeric() && text[i] != b'_' {
                return Err(OpcodeError::Byte);
            }
            bytes |= (text[i] as u128) << (8 * i);
            i += 1;
        }
        Ok(Opcode { bytes: bytes.to_le_bytes() })
    }

    /// The bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        let [name @ .., len] = &self.bytes;
        &name[..usize::from(*len)]
    }

    /// Whether the opcode belongs to a line of an analysis other than the best line: `pv2` and
    /// `ce2` (its moves and its score), `pv3` and so on.
    ///
    /// ```
    /// use epdb_chess::model::Opcode;
    /// assert!(Opcode::new(b"pv2").is_ok_and(|opcode| opcode.is_of_further_line()));
    /// assert!(!Opcode::PV.is_of_further_line());
    /// ```
    pub fn is_of_further_line(&self) -> bool {
        let name = self.as_bytes();
        let number = name.strip_prefix(b"pv").or(name.strip_prefix(b"ce")).unwrap_or_default();
        match number {
            [b'1'] => false,
            [b'1'..=b'9', more @ ..] => more.iter().all(u8::is_ascii_digit),
            _ => false,
        }
    }

    /// The row of the table of standard opcodes, or `None` for any other opcode.
    pub fn standard(&self) -> Option<&'static StandardOpcode> {
        let mut slot = self.slot();
        loop {
            let entry = TABLE.get(usize::from(SLOTS[slot]))?;
            if entry.opcode == *self {
                return Some(entry);
            }
            slot = (slot + 1) % SLOTS.len();
        }
    }

    /// Index in [`SLOTS`] at which the search for the opcode begins.
    const fn slot(&self) -> usize {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes;
        let begins = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        (begins.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }
}

/// Hash table from an opcode to its index in the table of standard opcodes. An index is in the slot
/// of the opcode's hash, or in the next free slot after it.
static SLOTS: [u8; 256] = slots();

const fn slots() -> [u8; 256] {
    let mut slots = [u8::MAX; 256];
    let mut place = 0;
    while place < TABLE.len() {
        let mut slot = TABLE[place].opcode.slot();
        while slots[slot] != u8::MAX {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = place as u8;
        place += 1;
    }
    slots
}

/// Reason why bytes are not an opcode.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpcodeError {
    /// No bytes, or more than [`Opcode::MAX_LEN`].
    #[error("an opcode has 1 to 15 characters")]
    Length,
    /// The first byte is not a letter.
    #[error("an opcode begins with a letter")]
    FirstByte,
    /// A byte is not a letter, digit or underscore.
    #[error("an opcode has letters, digits and underscores only")]
    Byte,
}

impl TryFrom<&[u8]> for Opcode {
    type Error = OpcodeError;

    fn try_from(text: &[u8]) -> Result<Opcode, OpcodeError> {
        Opcode::new(text)
    }
}

impl FromStr for Opcode {
    type Err = OpcodeError;

    fn from_str(text: &str) -> Result<Opcode, OpcodeError> {
        Opcode::new(text.as_bytes())
    }
}

impl Opcode {
    /// True if this opcode takes a line of moves: `pv` or `sv`, alone or with a number, as in
    /// `pv2`.
    pub fn is_line(self) -> bool {
        let name = self.as_bytes();
        let number = name.strip_prefix(b"pv").or_else(|| name.strip_prefix(b"sv"));
        number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|&byte| write!(f, "{}", char::from(byte)))
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opcode({self})")
    }
}

/// The operands that a standard opcode takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Operands {
    /// No operands.
    None,
    /// One integer. The fields are the smallest and the largest value.
    Integer(i128, i128),
    /// One string, which may be missing if `optional` is true.
    Str {
        /// Whether the operand may be missing, as for the registers.
        optional: bool,
    },
    /// Two strings: address and name.
    TwoStrings,
    /// One move.
    Move,
    /// Any number of moves without an order; canonical form sorts them.
    MoveSet,
    /// Any number of moves in playing order.
    MoveLine,
    /// Two clocks `DDD:HH:MM:SS`: White's and Black's.
    Clocks,
    /// A date `YYYY.MM.DD` and a time of day `HH:MM:SS`.
    Timestamp,
    /// Pairs of a tag name and a string.
    TagPairs,
    /// One identifier of this list.
    Identifier(&'static [&'static str]),
    /// One string with the results of the games that reached the position: a
    /// [`Tally`](super::Tally).
    Tally,
    /// One string, which lists games that reached the position: [`KeptGames`](super::KeptGames).
    KeptGames,
    /// Any operands, kept unchanged.
    Any,
}

/// One row of the table of standard opcodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StandardOpcode {
    /// The opcode.
    pub opcode: Opcode,
    /// Whether the revision of 1994 has the opcode too.
    pub in_1994: bool,
    /// Kind of the operands.
    pub operands: Operands,
    number: u8,
}

impl StandardOpcode {
    /// The fifty opcodes of the 1995 text and epdb's own opcodes, in ASCII order.
    pub const ALL: &'static [StandardOpcode] = &TABLE;

    /// The number of the opcode in binary records. It is stored in files, so it never changes.
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// The opcode with this number.
    pub fn with_number(number: u8) -> Option<&'static StandardOpcode> {
        let place = *PLACES.get(usize::from(number))?;
        TABLE.get(usize::from(place))
    }
}

/// Index of each opcode in the table, in the order of the opcodes' numbers.
static PLACES: [u8; TABLE.len()] = places();

const fn places() -> [u8; TABLE.len()] {
    let mut places = [u8::MAX; TABLE.len()];
    let mut place = 0;
    while place < TABLE.len() {
        let number = TABLE[place].number as usize;
        assert!(places[number] == u8::MAX, "two opcodes have one number");
        places[number] = place as u8;
        place += 1;
    }
    places
}

const fn known(name: &str) -> Opcode {
    match Opcode::new(name.as_bytes()) {
        Ok(opcode) => opcode,
        Err(_) => panic!("not an opcode"),
    }
}

const COUNT: Operands = Operands::Integer(0, u64::MAX as i128);
const NATURAL: Operands = Operands::Integer(0, i64::MAX as i128);
const POSITIVE: Operands = Operands::Integer(1, i64::MAX as i128);
const REGISTER: Operands = Operands::Str { optional: true };
const STRING: Operands = Operands::Str { optional: false };
const REFCOM: Operands = Operands::Identifier(&[
    "conclude",
    "disconnect",
    "execute",
    "fault",
    "inform",
    "reset",
    "respond",
]);
const REFREQ: Operands = Operands::Identifier(&["fault", "reply", "sign_off", "sign_on"]);

/// The table. Each row has the constant of an opcode, its number in files, its name, a year, its
/// kind of operands, and its meaning. The year tells which text of the standard has the opcode
/// first; it is 0 for epdb's own opcodes.
macro_rules! standard_opcodes {
    ($($constant:ident = $number:literal, $name:literal, $text:literal, $operands:expr, $meaning:literal;)*) => {
        /// The opcodes of the 1995 text and those of epdb.
        impl Opcode {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                pub const $constant: Opcode = known($name);
            )*
        }

        static TABLE: [StandardOpcode; [$($number),*].len()] = [
            $(StandardOpcode {
                opcode: Opcode::$constant,
                in_1994: $text == 1994,
                operands: $operands,
                number: $number,
            }),*
        ];
    };
}

// In ASCII order of the names. A new row takes the next free number, whatever its place, and gets a
// line in `formats/epd_record.md`.
standard_opcodes! {
    ACN = 0, "acn", 1994, COUNT, "the nodes that an analysis searched";
    ACS = 1, "acs", 1994, COUNT, "the seconds that an analysis took";
    AM = 2, "am", 1994, Operands::MoveSet, "moves to avoid";
    BM = 3, "bm", 1994, Operands::MoveSet, "best moves";
    C0 = 4, "c0", 1994, REGISTER, "a comment, register 0";
    C1 = 5, "c1", 1994, REGISTER, "a comment, register 1";
    C2 = 6, "c2", 1994, REGISTER, "a comment, register 2";
    C3 = 7, "c3", 1994, REGISTER, "a comment, register 3";
    C4 = 8, "c4", 1994, REGISTER, "a comment, register 4";
    C5 = 9, "c5", 1994, REGISTER, "a comment, register 5";
    C6 = 10, "c6", 1994, REGISTER, "a comment, register 6";
    C7 = 11, "c7", 1994, REGISTER, "a comment, register 7";
    C8 = 12, "c8", 1994, REGISTER, "a comment, register 8";
    C9 = 13, "c9", 1994, REGISTER, "a comment, register 9";
    CC = 14, "cc", 1995, Operands::Clocks, "the clocks of both sides";
    CE = 15, "ce", 1994, Operands::Integer(-32768, 32766), "the evaluation in centipawns, seen by the side to move";
    DM = 16, "dm", 1994, POSITIVE, "the number of moves to a direct mate";
    DRAW_ACCEPT = 17, "draw_accept", 1994, Operands::None, "the side to move accepts a draw";
    DRAW_CLAIM = 18, "draw_claim", 1994, Operands::None, "the side to move claims a draw";
    DRAW_OFFER = 19, "draw_offer", 1994, Operands::None, "the side to move offers a draw";
    DRAW_REJECT = 20, "draw_reject", 1994, Operands::None, "the side to move rejects a draw";
    ECO = 21, "eco", 1994, REGISTER, "the code of the opening in the Encyclopaedia of Chess Openings";
    FMVN = 22, "fmvn", 1994, POSITIVE, "the fullmove number";
    HMVC = 23, "hmvc", 1994, NATURAL, "the halfmove clock";
    ID = 24, "id", 1994, STRING, "the name of the record";
    KEPT_GAMES = 51, "kept_games", 0, Operands::KeptGames, "games that reached the position and were kept";
    NIC = 25, "nic", 1994, REGISTER, "the code of the opening in the New in Chess yearbooks";
    NOOP = 26, "noop", 1994, Operands::Any, "no meaning, any operands";
    PM = 27, "pm", 1994, Operands::Move, "the move that is expected";
    PTP = 28, "ptp", 1995, Operands::TagPairs, "tags of a game, with their values";
    PV = 29, "pv", 1994, Operands::MoveLine, "the principal variation";
    RC = 30, "rc", 1994, POSITIVE, "how often the position has arisen";
    REFCOM = 31, "refcom", 1995, REFCOM, "a command of a referee";
    REFREQ = 32, "refreq", 1995, REFREQ, "a request to a referee";
    RESIGN = 33, "resign", 1994, Operands::None, "the side to move resigns";
    SM = 34, "sm", 1994, Operands::Move, "the move that is made";
    SV = 35, "sv", 1995, Operands::MoveLine, "the line that is played";
    TALLY = 50, "tally", 0, Operands::Tally, "what became of the games that reached the position";
    TALLY_LESS = 52, "tally_less", 0, Operands::Tally, "what is to be taken off the tally of the record that this one is merged with";
    TCGS = 36, "tcgs", 1994, POSITIVE, "the number of a game between programs";
    TCRI = 37, "tcri", 1994, Operands::TwoStrings, "who receives: address and name";
    TCSI = 38, "tcsi", 1994, Operands::TwoStrings, "who sends: address and name";
    TS = 39, "ts", 1995, Operands::Timestamp, "date and time of day";
    V0 = 40, "v0", 1994, REGISTER, "the name of a variation, register 0";
    V1 = 41, "v1", 1994, REGISTER, "the name of a variation, register 1";
    V2 = 42, "v2", 1994, REGISTER, "the name of a variation, register 2";
    V3 = 43, "v3", 1994, REGISTER, "the name of a variation, register 3";
    V4 = 44, "v4", 1994, REGISTER, "the name of a variation, register 4";
    V5 = 45, "v5", 1994, REGISTER, "the name of a variation, register 5";
    V6 = 46, "v6", 1994, REGISTER, "the name of a variation, register 6";
    V7 = 47, "v7", 1994, REGISTER, "the name of a variation, register 7";
    V8 = 48, "v8", 1994, REGISTER, "the name of a variation, register 8";
    V9 = 49, "v9", 1994, REGISTER, "the name of a variation, register 9";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;

    #[test]
    fn the_table_is_in_ascii_order_and_has_44_opcodes_of_1994() {
        assert!(TABLE.is_sorted_by(|a, b| a.opcode < b.opcode));
        assert_eq!(TABLE.iter().filter(|entry| entry.in_1994).count(), 44);
        for entry in &TABLE {
            assert_eq!(entry.opcode.standard(), Some(entry));
            assert_eq!(StandardOpcode::with_number(entry.number()), Some(entry));
        }
    }

    #[test]
    fn the_numbers_are_those_of_the_page() {
        let page = include_str!("../../../formats/epd_record.md");
        let (_, section) = page.split_once("## 3. Opcodes").expect("section 3");
        let block = section.split("```").nth(1).expect("the list of numbers");
        let mut listed: Vec<(u8, String)> = Vec::new();
        let mut words = block.split_whitespace();
        let mut is_range = false;
        while let Some(word) = words.next() {
            if word == "…" {
                is_range = true;
                continue;
            }
            let last: u8 = word.parse().expect("a number");
            let name = words.next().expect("a name");
            let first = if std::mem::take(&mut is_range) { listed.len() as u8 } else { last };
            // A range counts registers: `4 c0 … 13 c9`.
            listed.extend(
                (first..last).zip(1..).map(|(n, digit)| (n, format!("{}{digit}", &name[..1]))),
            );
            listed.push((last, name.to_owned()));
        }
        let mut table: Vec<_> = TABLE.iter().map(|it| (it.number, it.opcode.to_string())).collect();
        table.sort();
        assert_eq!(listed, table);
    }
}
