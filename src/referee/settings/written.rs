//! Settings as they were written, and the differences between two tournaments.

/// Keys of settings that may differ between a log and the call that resumes it.
const FREE: [&str; 5] = ["concurrency", "restarts", "listen", "-concurrency", "-listen"];

/// A setting in a file or on a command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WrittenSetting {
    /// Key, such as `rounds`; no other setting of the tournament has it.
    pub key: String,
    /// Value, whose spelling does not matter.
    pub(crate) value: String,
    /// Key and value as they were written, such as `rounds = 4`.
    pub(crate) text: String,
}

/// The settings of a log that differ from the settings in `place`, such as "in cup.toml". Settings
/// that may differ are left out.
pub(crate) fn differences(
    log: &[WrittenSetting],
    here: &[WrittenSetting],
    place: &str,
) -> Vec<String> {
    let with_key = |settings: &[WrittenSetting], key: &str| {
        settings.iter().find(|setting| setting.key == key).cloned()
    };
    let is_bound = |setting: &&WrittenSetting| !FREE.contains(&setting.key.as_str());
    let changed =
        log.iter().filter(is_bound).filter_map(|before| match with_key(here, &before.key) {
            Some(now) if now.value == before.value => None,
            Some(now) => Some(format!("`{}` in the log, `{}` {place}", before.text, now.text)),
            None => Some(format!("`{}` in the log, no `{}` {place}", before.text, before.key)),
        });
    let added = here.iter().filter(is_bound).filter(|now| with_key(log, &now.key).is_none());
    let added = added.map(|now| format!("no `{}` in the log, `{}` {place}", now.key, now.text));
    changed.chain(added).collect()
}
