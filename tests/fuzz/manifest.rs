//! Invariants of arbitrary manifests, for the fuzz target and for tests with `seeds`.

use epdb_source::Manifest;

/// Text of a manifest without its hash: what is read of it comes back, and every key has its shard.
pub(super) fn manifest(body: &[u8]) {
    Manifest::from_bytes(body).ok();
    let check = blake3::hash(body).to_hex();
    let text = [body, b",\n  \"check\": \"", check.as_bytes(), b"\"\n}\n"].concat();
    let Ok(manifest) = Manifest::from_bytes(&text) else { return };
    assert_eq!(Manifest::from_bytes(&manifest.to_bytes()).ok().as_ref(), Some(&manifest));
    let shards = manifest.shards().iter().map(|shard| (shard.first_key, shard.last_key));
    let lists = manifest.lists().iter().map(|list| (list.first_key, list.last_key));
    let mut expected = Some(0);
    for (first, last) in shards.chain(lists) {
        assert_eq!(Some(first), expected);
        assert!(first <= last);
        expected = last.checked_add(1);
    }
    assert_eq!(expected, None);
    for file in manifest.files() {
        assert!(!file.contains(['/', '\\', '\0']), "{file}");
    }
    assert!(manifest.records() >= manifest.shards().iter().map(|it| it.records).max().unwrap_or(0));
}
