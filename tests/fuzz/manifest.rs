//! Invariants of arbitrary manifests, for the fuzz target and for tests with `seeds`.

use epdb_source::Manifest;

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
