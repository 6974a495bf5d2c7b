//! Options for writing an archive.

/// Coding of the records.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Level {
    /// Records are rows of fixed size. The archive is several times larger than at level default,
    /// and lookups are the fastest.
    Fast,
    /// Records are coded in blocks, by a model of the positions. The archive is small.
    #[default]
    Default,
}

/// Options for writing an archive. The default is level default, with an index of positions, and
/// blocks of 128 records, or fewer if they are long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackOptions {
    /// The coding of the records.
    pub level: Level,
    /// True if the archive has a position index; by default it has. Without an index, an archive is
    /// smaller by one to two bytes for each record, but a lookup by position reads the whole archive.
    pub index: bool,
    /// The number of records in a block, from 1 to 65,535. More records make a smaller archive and
    /// slower access. The default is 128. In segments with operations the default is 80. If the
    /// operations are long, it is 164 / (*a* + 1), where *a* is the average number of bytes of a
    /// record's coded operations.
    pub block_records: Option<u32>,
    /// True if the records are sorted. At level fast, with an index, a lookup then touches memory only
    /// once, and the archive is a seventh smaller. At level default, an archive of unrelated positions
    /// becomes smaller. But an archive of games grows, because in games each position predicts the next
    /// one. See [`Packed::sorted_sizes`](super::Packed::sorted_sizes).
    pub sorted: bool,
    /// True if the input can be restored byte for byte
    /// ([`Archive::restore`](super::Archive::restore)). The writer must then also get the files and
    /// the bytes that belong to no record: see [`begin_file`](super::ArchiveWriter::begin_file),
    /// [`push_line`](super::ArchiveWriter::push_line) and
    /// [`push_aside`](super::ArchiveWriter::push_aside). The records stay in their order.
    pub verbatim: bool,
    /// The maximum number of records of a segment. Each segment of level default has its own model.
    /// So more records make a smaller archive, and take more memory during writing.
    pub segment_records: u32,
    /// The approximate memory for writing, in bytes. The default is 256 MiB, and the minimum is
    /// 32 MiB.
    pub memory_bytes: usize,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions {
            level: Level::Default,
            index: true,
            block_records: None,
            sorted: false,
            verbatim: false,
            segment_records: 1 << 20,
            memory_bytes: 256 << 20,
        }
    }
}

/// Two sizes of the records of a sorted archive (level default): in the sorted order, and in the given order. Both
/// include the data by which records are found.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct SortedSizes {
    /// Size in bytes if the records are stored in the sorted order.
    pub sorted: u64,
    /// Size in bytes if the records are stored in the order in which they were added.
    pub given: u64,
}
