//! Typed operands: bytes with the number of their type. A program may keep such bytes without
//! knowing their meaning.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Prefix of the text of every typed operand.
const PREFIX: &[u8] = b"epdb:";

/// The bytes of a value, and the number of their type.
///
/// In text it is a quoted string: `epdb:`, the number in decimal, `:`, the bytes in Base64 (RFC
/// 4648, with padding). Every string of this form is a typed operand. So records hold a typed
/// operand as [`Operand::Str`](super::Operand::Str), and allow it wherever a string is allowed.
/// Binary records hold the bytes themselves.
///
/// ```
/// use epdb_chess::model::TypedOperand;
/// let operand = TypedOperand::new(7, *b"\x01\x02").expect("a number other than 0");
/// assert_eq!(operand.to_text(), b"epdb:7:AQI=");
/// assert_eq!(TypedOperand::from_text(b"epdb:7:AQI="), Some(operand));
/// assert_eq!(TypedOperand::from_text(b"epdb:7:AQI"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TypedOperand {
    number: u16,
    bytes: Box<[u8]>,
}

impl TypedOperand {
    /// Makes an operand of a number and bytes; `None` if the number is 0, which no type has.
    pub fn new(number: u16, bytes: impl Into<Vec<u8>>) -> Option<TypedOperand> {
        (number > 0).then(|| TypedOperand { number, bytes: bytes.into().into_boxed_slice() })
    }

    /// The number of the type, at least 1.
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// The bytes of the value.
    pub const fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the text between the quotes of a string; `None` if the string is not a typed operand.
    pub fn from_text(text: &[u8]) -> Option<TypedOperand> {
        let text = text.strip_prefix(PREFIX)?;
        let colon = text.iter().take(6).position(|&byte| byte == b':')?;
        let digits = &text[..colon];
        let base64 = &text[colon + 1..];
        if digits.first() == Some(&b'0') || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        TypedOperand::new(number, BASE64.decode(base64).ok()?)
    }

    /// Text of the operand, without quotes.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = format!("epdb:{}:", self.number);
        BASE64.encode_string(&self.bytes, &mut text);
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_spelling_only() {
        for text in [
            "epdb:0:",
            "epdb:01:",
            "epdb:+1:",
            "epdb:65536:",
            "epdb:1",
            "epdb:1:A",
            "epdb:1:AQ",
            "epdb:1:AR==",
            "epdb:1:AQ= =",
            "epdb:1:A_==",
            "epdb:1: ",
            "EPDB:1:",
            "epdb_chess::",
            "",
        ] {
            assert_eq!(TypedOperand::from_text(text.as_bytes()), None, "{text}");
        }
        assert_eq!(TypedOperand::from_text(b"epdb:65535:").unwrap().number(), 65_535);
        assert_eq!(TypedOperand::new(0, *b"x"), None);
    }

    proptest! {
        #[test]
        fn text_comes_back(number in 1u16.., bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let operand = TypedOperand::new(number, bytes).unwrap();
            prop_assert_eq!(TypedOperand::from_text(&operand.to_text()), Some(operand));
        }

        #[test]
        fn no_other_text_is_one(text in "epdb:[0-9]{0,6}:[A-Za-z0-9+/=]{0,9}") {
            if let Some(operand) = TypedOperand::from_text(text.as_bytes()) {
                prop_assert_eq!(operand.to_text(), text.as_bytes());
            }
        }
    }
}
