//! Rows of redb that stay readable.

use redb::OwnedAccessGuard;

/// The bytes of a row, for as long as they are needed.
pub(super) type RowGuard = OwnedAccessGuard<&'static [u8]>;

/// Looks at a value once where redb may still panic: what it gives later it cut out now.
pub(super) fn sized(guard: RowGuard) -> RowGuard {
    std::hint::black_box(guard.value().len());
    guard
}
