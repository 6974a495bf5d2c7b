//! Invariants of arbitrary plans, for the fuzz target and for tests with `seeds`.

use std::sync::Arc;

use epdb_source::{Slice, SlicePlan};

/// Text of a plan: what is read of it comes back, and its slices can be named.
pub(super) fn plan(bytes: &[u8]) {
    let Ok(plan) = SlicePlan::from_json(&String::from_utf8_lossy(bytes)) else { return };
    assert_eq!(SlicePlan::from_json(&plan.to_json()).ok().as_ref(), Some(&plan));
    assert!(!plan.is_empty());
    let plan = Arc::new(plan);
    for number in 0..plan.len() {
        let slice = Slice::new(Arc::clone(&plan), number).expect("a slice of the plan");
        assert!(slice.parts().iter().all(|part| !slice.name(part).is_empty()));
        assert_eq!(slice.origin().is_empty(), plan.len() == 1);
    }
    assert!(Slice::new(Arc::clone(&plan), plan.len()).is_none());
}
