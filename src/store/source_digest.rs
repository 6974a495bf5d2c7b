//! Digests of sources, by which they are known whatever their name.

use std::io::{self, Read};

/// What all bytes of a source are: their number and their BLAKE3 hash.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceDigest {
    length: u64,
    hash: [u8; 32],
}

impl SourceDigest {
    pub(super) const fn new(length: u64, hash: [u8; 32]) -> SourceDigest {
        SourceDigest { length, hash }
    }

    /// Reads a source to its end.
    ///
    /// # Errors
    /// Those of `source`.
    ///
    /// ```
    /// use epdb::store::SourceDigest;
    /// let digest = SourceDigest::of(&b"4k3/8/8/8/8/8/8/4K3 w - -\n"[..])?;
    /// assert_eq!(digest.length(), 26);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(source: impl Read) -> io::Result<SourceDigest> {
        digests(source, &[]).map(|(whole, _)| whole)
    }

    /// How many bytes they are.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Their BLAKE3 hash.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The hash in hexadecimal.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }
}

/// The digest of a source, and those of its beginnings of these lengths, which ascend.
pub(super) fn digests(
    mut source: impl Read,
    lengths: &[u64],
) -> io::Result<(SourceDigest, Vec<SourceDigest>)> {
    let mut hasher = blake3::Hasher::new();
    let mut beginnings = Vec::new();
    let mut lengths = lengths.iter().copied().peekable();
    let mut buffer = vec![0; 64 << 10];
    let digest = |hasher: &blake3::Hasher| SourceDigest {
        length: hasher.count(),
        hash: *hasher.finalize().as_bytes(),
    };
    loop {
        while lengths.next_if(|&length| length <= hasher.count()).is_some() {
            beginnings.push(digest(&hasher));
        }
        let to_next = lengths.peek().map_or(u64::MAX, |&length| length - hasher.count());
        let room = usize::try_from(to_next).map_or(buffer.len(), |most| most.min(buffer.len()));
        match source.read(&mut buffer[..room]) {
            Ok(0) => return Ok((digest(&hasher), beginnings)),
            Ok(read) => drop(hasher.update(&buffer[..read])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
