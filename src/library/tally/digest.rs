//! Digests of games, by which the same game is counted once.

use foldhash::HashSet;

/// Which games were counted.
#[derive(Clone, Default, Debug)]
pub(super) struct Digests(HashSet<Digest>);

/// The first bytes of a BLAKE3 hash of what makes a game the same as another.
pub(super) type Digest = [u8; 16];

impl Digests {
    /// Whether a game is new.
    pub(super) fn insert(&mut self, game: &[u8]) -> bool {
        let mut digest = Digest::default();
        digest.copy_from_slice(&blake3::hash(game).as_bytes()[..16]);
        self.0.insert(digest)
    }

    /// About how many bytes of memory they take.
    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * (size_of::<Digest>() + 2)
    }
}
