//! Memory that is reserved at once.

/// An empty list with room for so many values, if the system grants it; else it grows by itself.
pub(super) fn with_room<T>(values: usize) -> Vec<T> {
    let mut list = Vec::new();
    list.try_reserve_exact(values).ok();
    list
}
