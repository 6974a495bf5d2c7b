//! The shards of a manifest by their index, their keys and their records. A list of shards is read when it is first
//! needed.

use std::sync::OnceLock;

use super::manifest::{Manifest, Shard};
use epdb_chess::error::Result;

/// The lists of a manifest. A manifest without lists counts as one list, which was read.
#[derive(Debug)]
pub(super) struct ShardLists {
    lists: Vec<List>,
}

/// Shards whose ranges of keys follow one another.
#[derive(Debug)]
struct List {
    last_key: u64,
    /// Index of its first shard.
    first_shard: usize,
    /// Number of its first record.
    first_record: u64,
    shards: OnceLock<Vec<NumberedShard>>,
}

/// A shard, and the number of its first record among the records of all shards.
#[derive(Debug)]
pub(super) struct NumberedShard {
    pub(super) shard: Shard,
    pub(super) first: u64,
}

impl ShardLists {
    pub(super) fn new(manifest: &Manifest) -> ShardLists {
        let mut lists = Vec::new();
        let mut first_shard = 0;
        let mut first_record = 0;
        for list in manifest.lists() {
            let last_key = list.last_key;
            lists.push(List { last_key, first_shard, first_record, shards: OnceLock::new() });
            first_shard += list.shards as usize;
            first_record += list.records;
        }
        if lists.is_empty() {
            let shards = numbered(manifest.shards().to_vec(), 0).into();
            lists.push(List { last_key: u64::MAX, first_shard: 0, first_record: 0, shards });
        }
        ShardLists { lists }
    }

    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(super) fn is_read(&self, list: usize) -> bool {
        self.lists[list].shards.get().is_some()
    }

    /// Index of the list whose ranges have a locality key.
    pub(super) fn list_of_key(&self, key: u64) -> usize {
        self.lists.partition_point(|list| list.last_key < key)
    }

    pub(super) fn list_of_shard(&self, shard: usize) -> usize {
        self.lists.partition_point(|list| list.first_shard <= shard).saturating_sub(1)
    }

    pub(super) fn list_of_record(&self, number: u64) -> usize {
        self.lists.partition_point(|list| list.first_record <= number).saturating_sub(1)
    }

    pub(super) fn first_shard(&self, list: usize) -> usize {
        self.lists[list].first_shard
    }

    /// The shards of a list; `read` reads them if they were not read yet.
    pub(super) fn shards(
        &self,
        list: usize,
        read: impl FnOnce() -> Result<Vec<Shard>>,
    ) -> Result<&[NumberedShard]> {
        let List { first_record, shards, .. } = &self.lists[list];
        if let Some(shards) = shards.get() {
            return Ok(shards);
        }
        let read = numbered(read()?, *first_record);
        Ok(shards.get_or_init(|| read))
    }
}

fn numbered(shards: Vec<Shard>, mut first: u64) -> Vec<NumberedShard> {
    let mut all = Vec::with_capacity(shards.len());
    for shard in shards {
        let records = shard.records;
        all.push(NumberedShard { shard, first });
        first += records;
    }
    all
}
