//! Looking for a byte in sixteen at once.

/// A 1 as the highest bit of each byte that is this one: no jump that has to be guessed.
#[inline]
pub(crate) fn equal_bytes(bytes: u128, byte: u8) -> u128 {
    const LOW_BITS: u128 = u128::MAX / 255 * 0x7f;
    let differ = bytes ^ (u128::MAX / 255 * u128::from(byte));
    !(((differ & LOW_BITS) + LOW_BITS) | differ | LOW_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found() {
        let bytes = [0, 1, 0x80, 0x7f, 0x81, 0, 255, 1, 0, 254, 0, 1, 0x80, 0, 255, 0x7f];
        for byte in 0..=255 {
            let found = equal_bytes(u128::from_le_bytes(bytes), byte);
            for (nth, &own) in bytes.iter().enumerate() {
                assert_eq!(found >> (8 * nth) & 0xff == 0x80, own == byte, "{byte} at {nth}");
            }
        }
    }
}
