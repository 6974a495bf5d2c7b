//! Invariants of arbitrary manifests and plans, for the fuzz targets and for tests with `seeds`.

use std::sync::Arc;

use epdb::source::{Manifest, Slice, SlicePlan};

/// Text of a manifest without its hash: what is read of it comes back, and every key has its shard.
pub(super) fn manifest(body: &[u8]) {
    Manifest::from_bytes(body).ok();
    let check = blake3::hash(body).to_hex();
    let text = [body, b",\n  \"check\": \"", check.as_bytes(), b"\"\n}\n"].concat();
    let Ok(manifest) = Manifest::from_bytes(&text) else { return };
    assert_eq!(Manifest::from_bytes(&manifest.to_bytes()).ok().as_ref(), Some(&manifest));
    let shards = manifest.shards();
    for (index, shard) in shards.iter().enumerate() {
        assert_eq!(manifest.shard_of(shard.first_key), index);
        assert_eq!(manifest.shard_of(shard.last_key), index);
        assert!(!shard.file.contains(['/', '\\', '\0']), "{}", shard.file);
    }
    assert!(manifest.records() >= shards.iter().map(|shard| shard.records).max().unwrap_or(0));
}

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
