//! Numbers as LEB128, and bytes that are preceded by their length.

/// Appends a number in groups of seven bits.
pub(in crate::archive) fn put_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of bytes as LEB128, then the bytes.
pub(in crate::archive) fn put_sized(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Takes a number; `None` if it is not encoded as by [`put_number`].
pub(in crate::archive) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..9 {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            // Leading zeros are refused, so that each number has one encoding.
            return (byte > 0 || place == 0).then_some(value);
        }
    }
    None
}

/// Takes bytes that are preceded by their length.
pub(in crate::archive) fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_number(bytes)?).ok()?;
    bytes.split_off(..len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_encoding() {
        for value in [0, 1, 127, 128, 300, 1 << 62] {
            let mut bytes = Vec::new();
            put_number(value, &mut bytes);
            assert_eq!(take_number(&mut &bytes[..]), Some(value));
            if let Some(last) = bytes.last_mut() {
                *last |= 0x80;
            }
            bytes.push(0);
            assert_eq!(take_number(&mut &bytes[..]), None, "{value}");
        }
    }
}
