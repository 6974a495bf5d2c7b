//! The built-in model.

use std::sync::LazyLock;

use super::model::PositionModel;

/// The built-in model, for archives that are too small for a model of their own.
pub(in crate::archive) fn shipped() -> Option<&'static PositionModel> {
    const SHIPPED_BYTES: &[u8] = include_bytes!("../../../formats/data/shipped.bin");
    static SHIPPED: LazyLock<Option<PositionModel>> =
        LazyLock::new(|| PositionModel::read(SHIPPED_BYTES, usize::MAX).ok());
    SHIPPED.as_ref()
}
