//! Opcodes and the table of the fifty standard ones (SPEC section 6).

use std::fmt;

/// The name of an operation: a letter, then up to fourteen letters, digits or underscores
/// (EPD-12). Ordered by bytes, which is the order of the canonical form (NRM-14).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode {
    /// The name, padded with zero bytes, which sort before every letter.
    name: [u8; 15],
    len: u8,
}

impl Opcode {
    /// The longest opcode in bytes.
    pub const MAX_LEN: usize = 15;

    /// Checks a name (EPD-12); `None` when it is no opcode.
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
    /// Any number of moves without an order; canonical form sorts them (NRM-15).
    MoveSet,
    /// Any number of moves in playing order.
    MoveLine,
    /// Two clocks `DDD:HH:MM:SS` (BT-07): White's and Black's.
    Clocks,
    /// A date `YYYY.MM.DD` and a time of day `HH:MM:SS` (BT-05, BT-06).
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
    /// Whether the revision of 1994 has it too (OP-04).
    pub in_1994: bool,
    /// What operands it takes.
    pub operands: Operands,
}

impl StandardOpcode {
    /// The place in the table in ASCII order of opcodes, 0 (`acn`) to 49 (`v9`): the number that
    /// stands for the opcode in binary records.
    pub fn index(&self) -> u8 {
        STANDARD.iter().position(|entry| entry == self).unwrap_or(0) as u8
    }

    /// The opcode with this place in the table.
    pub fn at(index: u8) -> Option<&'static StandardOpcode> {
        STANDARD.get(usize::from(index))
    }
}

const fn both(name: &str, operands: Operands) -> StandardOpcode {
    row(name, true, operands)
}

const fn since_1995(name: &str, operands: Operands) -> StandardOpcode {
    row(name, false, operands)
}

const fn row(name: &str, in_1994: bool, operands: Operands) -> StandardOpcode {
    match Opcode::new(name.as_bytes()) {
        Some(opcode) => StandardOpcode { opcode, in_1994, operands },
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

/// The fifty opcodes of the 1995 text, in ASCII order.
pub static STANDARD: [StandardOpcode; 50] = [
    both("acn", COUNT),
    both("acs", COUNT),
    both("am", Operands::MoveSet),
    both("bm", Operands::MoveSet),
    both("c0", REGISTER),
    both("c1", REGISTER),
    both("c2", REGISTER),
    both("c3", REGISTER),
    both("c4", REGISTER),
    both("c5", REGISTER),
    both("c6", REGISTER),
    both("c7", REGISTER),
    both("c8", REGISTER),
    both("c9", REGISTER),
    since_1995("cc", Operands::Clocks),
    both("ce", Operands::Integer(-32768, 32766)),
    both("dm", POSITIVE),
    both("draw_accept", Operands::None),
    both("draw_claim", Operands::None),
    both("draw_offer", Operands::None),
    both("draw_reject", Operands::None),
    both("eco", REGISTER),
    both("fmvn", POSITIVE),
    both("hmvc", NATURAL),
    both("id", STRING),
    both("nic", REGISTER),
    both("noop", Operands::Any),
    both("pm", Operands::Move),
    since_1995("ptp", Operands::TagPairs),
    both("pv", Operands::MoveLine),
    both("rc", POSITIVE),
    since_1995("refcom", REFCOM),
    since_1995("refreq", REFREQ),
    both("resign", Operands::None),
    both("sm", Operands::Move),
    since_1995("sv", Operands::MoveLine),
    both("tcgs", POSITIVE),
    both("tcri", Operands::TwoStrings),
    both("tcsi", Operands::TwoStrings),
    since_1995("ts", Operands::Timestamp),
    both("v0", REGISTER),
    both("v1", REGISTER),
    both("v2", REGISTER),
    both("v3", REGISTER),
    both("v4", REGISTER),
    both("v5", REGISTER),
    both("v6", REGISTER),
    both("v7", REGISTER),
    both("v8", REGISTER),
    both("v9", REGISTER),
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
            assert_eq!(StandardOpcode::at(entry.index()), Some(entry));
        }
    }
}
