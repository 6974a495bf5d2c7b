//! Settings as they were written, and the differences between two tournaments.

/// Longest list of differences in a message.
const MAX_LISTED: usize = 3;

/// A setting in a file or on a command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::referee) struct WrittenSetting {
    /// Key, such as `rounds`; no other setting of the tournament has it.
    pub(in crate::referee) key: String,
    /// Value, whose spelling does not matter.
    pub(in crate::referee) value: String,
    /// Key and value as they were written, such as `rounds = 4`.
    pub(in crate::referee) text: String,
}

/// The settings of a log that differ from those in `place`, such as "in cup.toml".
pub(in crate::referee) fn differences(
    log: &[WrittenSetting],
    here: &[WrittenSetting],
    place: &str,
) -> Vec<String> {
    let with_key = |settings: &[WrittenSetting], key: &str| {
        settings.iter().find(|setting| setting.key == key).cloned()
    };
    let changed = log.iter().filter_map(|before| match with_key(here, &before.key) {
        Some(now) if now.value == before.value => None,
        Some(now) => Some(format!("`{}` in the log, `{}` {place}", before.text, now.text)),
        None => Some(format!("`{}` in the log, no `{}` {place}", before.text, before.key)),
    });
    let added = here.iter().filter(|now| with_key(log, &now.key).is_none());
    let added = added.map(|now| format!("no `{}` in the log, `{}` {place}", now.key, now.text));
    changed.chain(added).collect()
}

/// The first differences, for a message.
pub(in crate::referee) fn listed(differences: &[String]) -> String {
    let mut list = differences[..differences.len().min(MAX_LISTED)].join("; ");
    if let Some(more @ 1..) = differences.len().checked_sub(MAX_LISTED) {
        list += &format!("; and {more} more");
    }
    list
}
