//! Parts of equal size for keys, which are spread evenly.

/// Spreads fractions of 2^64 evenly over parts: the part, and the fraction within it. In each
/// part the order of the fractions stays.
#[inline]
pub(crate) fn spread(fraction: u64, parts: u64) -> (u64, u64) {
    let product = u128::from(fraction) * u128::from(parts);
    ((product >> 64) as u64, product as u64)
}
