//! Opcodes and the table of the fifty standard ones.

use std::fmt;

/// The name of an operation: a letter, then up to fourteen letters, digits or underscores. Ordered
/// by bytes, which is the order of the canonical form.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode {
    /// The name, padded with zero bytes, which sort before every letter.
    name: [u8; 15],
    len: u8,
}

impl Opcode {
    /// The longest opcode in bytes.
    pub const MAX_LEN: usize = 15;

    /// Checks a name; `None` when it is no opcode.
    ///
    /// ```
    /// use epdb::model::Opcode;
    /// assert_eq!(Opcode::new(b"bm").map(|opcode| opcode.to_string()), Some("bm".into()));
    /// assert_eq!(Opcode::new(b"9x"), None);
    /// assert_eq!(Opcode::new(b"a_very_long_opcode_name"), None);
    /// ```
    pub const fn new(text: &[u8]) -> Option<Opcode> {
        if text.is_empty() || text.len() > Opcode::MAX_LEN || !text[0].is_ascii_alphabetic() {
            return None;
        }
        let mut name = [0; Opcode::MAX_LEN];
        let mut i = 0;
        while i < text.len() {
            if !text[i].is_ascii_alphanumeric() && text[i] != b'_' {
                return None;
            }
            name[i] = text[i];
            i += 1;
        }
        Some(Opcode { name, len: text.len() as u8 })
    }

    /// The bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.name[..usize::from(self.len)]
    }

    /// The entry of the table of standard opcodes, or `None` for any other opcode.
    pub fn standard(&self) -> Option<&'static StandardOpcode> {
        let place = STANDARD.binary_search_by(|entry| entry.opcode.cmp(self)).ok()?;
        STANDARD.get(place)
    }

    /// Whether this is the opcode with this name.
    pub fn is(&self, name: &str) -> bool {
        self.as_bytes() == name.as_bytes()
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

/// Which operands a standard opcode takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Operands {
    /// None.
    None,
    /// One integer from the first to the last value.
    Integer(i128, i128),
    /// One string, which may be missing where `optional`.
    Str {
        /// Whether the operand may be missing (the registers).
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
    /// Anything, kept as it stands.
    Any,
}

/// One row of the table of standard opcodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StandardOpcode {
    /// The opcode.
    pub opcode: Opcode,
    /// Whether the revision of 1994 has it too.
    pub in_1994: bool,
    /// What operands it takes.
    pub operands: Operands,
    number: u8,
}

impl StandardOpcode {
    /// The number that stands for the opcode in binary records. It stands in files, so it never
    /// changes.
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// The opcode with this number.
    pub fn with_number(number: u8) -> Option<&'static StandardOpcode> {
        let place = *PLACES.get(usize::from(number))?;
        STANDARD.get(usize::from(place))
    }
}

/// The places in the table of the opcodes with the numbers from 0 on.
static PLACES: [u8; STANDARD.len()] = places();

const fn places() -> [u8; STANDARD.len()] {
    let mut places = [u8::MAX; STANDARD.len()];
    let mut place = 0;
    while place < STANDARD.len() {
        let number = STANDARD[place].number as usize;
        assert!(places[number] == u8::MAX, "two opcodes have one number");
        places[number] = place as u8;
        place += 1;
    }
    places
}

const fn both(number: u8, name: &str, operands: Operands) -> StandardOpcode {
    row(number, name, true, operands)
}

const fn since_1995(number: u8, name: &str, operands: Operands) -> StandardOpcode {
    row(number, name, false, operands)
}

const fn row(number: u8, name: &str, in_1994: bool, operands: Operands) -> StandardOpcode {
    match Opcode::new(name.as_bytes()) {
        Some(opcode) => StandardOpcode { opcode, in_1994, operands, number },
        None => panic!("not an opcode"),
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

/// The fifty opcodes of the 1995 text, in ASCII order, each with the number that stands for it in
/// files. A row that is added takes the next number, wherever its name belongs.
pub static STANDARD: [StandardOpcode; 50] = [
    both(0, "acn", COUNT),
    both(1, "acs", COUNT),
    both(2, "am", Operands::MoveSet),
    both(3, "bm", Operands::MoveSet),
    both(4, "c0", REGISTER),
    both(5, "c1", REGISTER),
    both(6, "c2", REGISTER),
    both(7, "c3", REGISTER),
    both(8, "c4", REGISTER),
    both(9, "c5", REGISTER),
    both(10, "c6", REGISTER),
    both(11, "c7", REGISTER),
    both(12, "c8", REGISTER),
    both(13, "c9", REGISTER),
    since_1995(14, "cc", Operands::Clocks),
    both(15, "ce", Operands::Integer(-32768, 32766)),
    both(16, "dm", POSITIVE),
    both(17, "draw_accept", Operands::None),
    both(18, "draw_claim", Operands::None),
    both(19, "draw_offer", Operands::None),
    both(20, "draw_reject", Operands::None),
    both(21, "eco", REGISTER),
    both(22, "fmvn", POSITIVE),
    both(23, "hmvc", NATURAL),
    both(24, "id", STRING),
    both(25, "nic", REGISTER),
    both(26, "noop", Operands::Any),
    both(27, "pm", Operands::Move),
    since_1995(28, "ptp", Operands::TagPairs),
    both(29, "pv", Operands::MoveLine),
    both(30, "rc", POSITIVE),
    since_1995(31, "refcom", REFCOM),
    since_1995(32, "refreq", REFREQ),
    both(33, "resign", Operands::None),
    both(34, "sm", Operands::Move),
    since_1995(35, "sv", Operands::MoveLine),
    both(36, "tcgs", POSITIVE),
    both(37, "tcri", Operands::TwoStrings),
    both(38, "tcsi", Operands::TwoStrings),
    since_1995(39, "ts", Operands::Timestamp),
    both(40, "v0", REGISTER),
    both(41, "v1", REGISTER),
    both(42, "v2", REGISTER),
    both(43, "v3", REGISTER),
    both(44, "v4", REGISTER),
    both(45, "v5", REGISTER),
    both(46, "v6", REGISTER),
    both(47, "v7", REGISTER),
    both(48, "v8", REGISTER),
    both(49, "v9", REGISTER),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_ascii_order_and_has_44_opcodes_of_1994() {
        assert!(STANDARD.is_sorted_by(|a, b| a.opcode < b.opcode));
        assert_eq!(STANDARD.iter().filter(|entry| entry.in_1994).count(), 44);
        for entry in &STANDARD {
            assert_eq!(entry.opcode.standard(), Some(entry));
            assert_eq!(StandardOpcode::with_number(entry.number()), Some(entry));
        }
    }
}
