//! The registers that annotate a sequence of records.

use super::opcode::Opcode;
use super::record::{EpdRecord, Operand, Operation};

/// A register: null, or a string, which may be empty.
pub type Register = Option<Box<[u8]>>;

/// The comment, variation, ECO and NIC registers after one record of a sequence of records.
///
/// They are a reading aid: nothing that epdb writes depends on them.
///
/// ```
/// use epdb_chess::model::registers::Registers;
/// let mut registers = Registers::default();
/// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
/// let first = epdb_chess::parse_epd(format!("{start} c0 \"a\"; c5 \"f\";").as_bytes())?;
/// let second = epdb_chess::parse_epd(format!("{start} c1;").as_bytes())?;
/// registers.apply(&first);
/// registers.apply(&second);
/// assert_eq!(registers.comments[0].as_deref(), Some(&b"a"[..]));
/// assert_eq!(registers.comments[5], None);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Registers {
    /// The registers `c0` to `c9`, for comments.
    pub comments: [Register; 10],
    /// The registers `v0` to `v9`, for names of variations.
    pub variations: [Register; 10],
    /// The register `eco`, for the ECO code of the opening.
    pub eco: Register,
    /// The register `nic`, for the NIC code of the opening.
    pub nic: Register,
}

impl Registers {
    /// Applies the operations of a record, in ASCII order of their opcodes. `cN` and `vN` first
    /// clear the registers from N on, and then set register N.
    pub fn apply(&mut self, record: &EpdRecord) {
        for operation in record.operations() {
            let value = || match operation.operands.first() {
                Some(Operand::Str(bytes)) => Some(bytes.clone()),
                _ => None,
            };
            match *operation.opcode.as_bytes() {
                [b'c', digit @ b'0'..=b'9'] => set(&mut self.comments, digit, value()),
                [b'v', digit @ b'0'..=b'9'] => set(&mut self.variations, digit, value()),
                [b'e', b'c', b'o'] => self.eco = value(),
                [b'n', b'i', b'c'] => self.nic = value(),
                _ => {}
            }
        }
    }

    /// The operations that set these values in registers that are all null. There is one operation
    /// for each register that is not null, in ASCII order of their opcodes.
    ///
    /// ```
    /// use epdb_chess::model::registers::Registers;
    /// let mut registers = Registers { eco: Some((*b"C65").into()), ..Registers::default() };
    /// registers.comments[2] = Some((*b"").into());
    /// let opcodes: Vec<_> = registers.operations().iter().map(|it| it.opcode.to_string()).collect();
    /// assert_eq!(opcodes, ["c2", "eco"]);
    /// ```
    pub fn operations(&self) -> Vec<Operation> {
        let numbered = |letter| (b'0'..=b'9').map(move |digit| vec![letter, digit]);
        let named = [&b"eco"[..], b"nic"].map(Vec::from);
        let opcodes = numbered(b'c').chain(named).chain(numbered(b'v'));
        let registers = self.comments.iter().chain([&self.eco, &self.nic]).chain(&self.variations);
        let operation = |(opcode, register): (Vec<u8>, &Register)| {
            let operands = vec![Operand::Str(register.clone()?)];
            Some(Operation { opcode: Opcode::new(&opcode).ok()?, operands })
        };
        opcodes.zip(registers).filter_map(operation).collect()
    }
}

fn set(registers: &mut [Register; 10], digit: u8, value: Register) {
    let place = usize::from(digit - b'0');
    registers[place..].fill(None);
    registers[place] = value;
}
