//! The manifest of a sharded archive, which lists its shards. The format is `formats/shards.md`.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use epdb_archive::{About, Archive};
use epdb_chess::codec::tally_origin::{
    DeltaOrigin, GameSet, PlanSlices, TallyOrigin, TallySource, slices_are_in_order,
};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, ErrorKind, Result};

/// Maximum number of shards.
pub const MAX_SHARDS: u32 = 1 << 16;
/// Maximum number of young layers.
pub const MAX_YOUNG_LAYERS: usize = 2;
/// Value of the first member of every manifest.
const FORMAT: &str = "epdb-ranges";
/// Version that is written, and the newest version that is read.
const VERSION: u32 = 1;

/// The list of the shards of a sharded archive, in the order of their keys.
///
/// ```
/// use epdb_source::{Manifest, Shard};
/// let shard = Shard {
///     first_key: 0,
///     last_key: u64::MAX,
///     file: "1-of-1.epa".into(),
///     records: 0,
///     bytes: 80,
///     blake3: "0".repeat(64),
///     footer: 7,
/// };
/// let manifest = Manifest::new(None, vec![shard])?;
/// assert_eq!(Manifest::from_bytes(&manifest.to_bytes())?, manifest);
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    about: Map<String, Value>,
    library: Option<ShardedLibrary>,
    shards: Vec<Shard>,
    young_layers: Vec<YoungLayer>,
}

/// A shard: an archive with the records of a range of [locality keys](epdb_chess::codec::key::locality_key).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The lowest key of the range.
    #[serde(with = "hexadecimal")]
    pub first_key: u64,
    /// The highest key of the range.
    #[serde(with = "hexadecimal")]
    pub last_key: u64,
    /// Name of the file, which is in the folder of the manifest.
    pub file: String,
    /// Number of records.
    pub records: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// BLAKE3 hash of the file: 64 hexadecimal digits.
    pub blake3: String,
    /// Checksum of the footer of the archive (see `Archive::fingerprint`). It is compared whenever the
    /// shard is opened.
    pub footer: u32,
}

impl Shard {
    /// True if the size, the number of records and the footer of an archive are those of this
    /// entry.
    pub fn is(&self, archive: &Archive) -> bool {
        (self.bytes, self.records) == (archive.bytes(), archive.len())
            && self.footer == archive.fingerprint()
    }
}

impl GamesFile {
    /// True if the size and the footer of an archive are those of this entry, and it has no records.
    pub fn is(&self, archive: &Archive) -> bool {
        (self.bytes, 0) == (archive.bytes(), archive.len()) && self.footer == archive.fingerprint()
    }
}

/// A young layer: an archive with the records that came after those of the shards. In a library it is a delta of
/// the shards and of the layers before it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YoungLayer {
    /// Name of the file, which is in the folder of the manifest.
    pub file: String,
    /// Number of records.
    pub records: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// BLAKE3 hash of the file: 64 hexadecimal digits.
    pub blake3: String,
    /// Checksum of the footer of the archive (see `Archive::fingerprint`). It is compared whenever the file is
    /// opened.
    pub footer: u32,
}

impl YoungLayer {
    /// True if the size, the number of records and the footer of an archive are those of this entry.
    pub fn is(&self, archive: &Archive) -> bool {
        (self.bytes, self.records) == (archive.bytes(), archive.len())
            && self.footer == archive.fingerprint()
    }
}

/// The data of a library that its shards do not repeat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardedLibrary {
    /// The origin of the tallies, with the games whose digests `games` has.
    pub origin: TallyOrigin,
    /// Number of games that are kept because positions list them.
    pub kept_games: u64,
    /// The file of the games.
    pub games: GamesFile,
}

/// The file of the games of a sharded library: an archive without records, which has the digests of the games that
/// the tallies count, and the kept games.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GamesFile {
    /// Name of the file, which is in the folder of the manifest.
    pub file: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// BLAKE3 hash of the file: 64 hexadecimal digits.
    pub blake3: String,
    /// Checksum of the footer of the archive (see `Archive::fingerprint`). It is compared whenever the file is
    /// opened.
    pub footer: u32,
}

impl Manifest {
    /// A manifest of these shards. `library` is `None` if they are not a library of tallies.
    ///
    /// # Errors
    /// The ranges of keys leave a gap or overlap, a file name is not a plain name, or there are no
    /// shards or too many.
    pub fn new(library: Option<ShardedLibrary>, shards: Vec<Shard>) -> Result<Manifest> {
        let manifest = Manifest { about: Map::new(), library, shards, young_layers: Vec::new() };
        manifest.check().map(|()| manifest)
    }

    /// The same manifest with young layers, the older one first.
    ///
    /// # Errors
    /// There are none or more than [`MAX_YOUNG_LAYERS`], or a file name is not a plain name.
    pub fn with_young_layers(self, young_layers: Vec<YoungLayer>) -> Result<Manifest> {
        let count = young_layers.len();
        if count == 0 || count > MAX_YOUNG_LAYERS {
            let what = format!("{count} young layers: 1 to {MAX_YOUNG_LAYERS} are possible");
            return Err(invalid(what));
        }
        let manifest = Manifest { young_layers, ..self };
        manifest.check().map(|()| manifest)
    }

    /// The same manifest with facts about the data, and this program as its writer.
    #[must_use]
    pub fn with_about(self, about: About) -> Manifest {
        let mut members = Map::new();
        for (key, value) in about.written().facts() {
            let values = members.entry(key).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(values) = values {
                values.push(value.into());
            }
        }
        Manifest { about: members, ..self }
    }

    /// Facts about the data. What this program does not understand of them is left out.
    pub fn about(&self) -> About {
        let mut about = About::default();
        for (key, values) in &self.about {
            let texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
            about.join_texts(key, texts);
        }
        about
    }

    /// The data of the whole library; `None` if the shards are not a library of tallies.
    pub const fn library(&self) -> Option<&ShardedLibrary> {
        self.library.as_ref()
    }

    /// The shards, by ascending keys.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The young layers, the older one first.
    pub fn young_layers(&self) -> &[YoungLayer] {
        &self.young_layers
    }

    /// The names of all files that the manifest lists.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let games = self.library.iter().map(|library| library.games.file.as_str());
        let young = self.young_layers.iter().map(|layer| layer.file.as_str());
        self.shards.iter().map(|shard| shard.file.as_str()).chain(games).chain(young)
    }

    /// Number of records of all shards.
    pub fn records(&self) -> u64 {
        self.shards.iter().map(|shard| shard.records).sum()
    }

    /// Size in bytes of all files that the manifest lists.
    pub fn bytes(&self) -> u64 {
        let games = self.library.as_ref().map_or(0, |library| library.games.bytes);
        let young: u64 = self.young_layers.iter().map(|layer| layer.bytes).sum();
        games + young + self.shards.iter().map(|shard| shard.bytes).sum::<u64>()
    }

    /// Index of the shard whose range has a locality key.
    pub fn shard_of(&self, key: u64) -> usize {
        self.shards.partition_point(|shard| shard.last_key < key)
    }

    /// The text of the manifest. Its last member is a hash of the text before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = ManifestText {
            format: FORMAT.to_string(),
            version: VERSION,
            about: self.about.clone(),
            library: self.library.as_ref().map(LibraryText::from),
            young_layers: Some(self.young_layers.clone()).filter(|layers| !layers.is_empty()),
            shards: self.shards.clone(),
            check: String::new(),
        };
        // Texts and numbers always have a form in JSON.
        let mut bytes = serde_json::to_vec_pretty(&text).unwrap_or_default();
        bytes.truncate(bytes.len().saturating_sub(EMPTY_CHECK.len()));
        let check = blake3::hash(&bytes).to_hex();
        bytes.extend_from_slice(CHECK.as_bytes());
        bytes.extend_from_slice(check.as_bytes());
        bytes.extend_from_slice(END.as_bytes());
        bytes
    }

    /// Reads the text that [`Manifest::to_bytes`] writes.
    ///
    /// # Errors
    /// The text is damaged, of a later version, or not a manifest.
    pub fn from_bytes(bytes: &[u8]) -> Result<Manifest> {
        let damaged = || invalid("damaged: the manifest differs from the hash at its end");
        let len = bytes.len().checked_sub(CHECK.len() + HASH + END.len()).ok_or_else(damaged)?;
        let (body, tail) = bytes.split_at(len);
        let expected = format!("{CHECK}{}{END}", blake3::hash(body).to_hex());
        if tail != expected.as_bytes() {
            return Err(damaged());
        }
        let not_valid = |error: serde_json::Error| invalid("not a valid manifest").because(error);
        let Kind { format, version } = serde_json::from_slice(bytes).map_err(not_valid)?;
        if format != FORMAT {
            return Err(invalid(format!("the format is {format:?}, not {FORMAT:?}")));
        }
        if version != VERSION {
            let message =
                format!("manifest of version {version}; this epdb reads version {VERSION}");
            return Err(Error::new(message).with_kind(ErrorKind::Unsupported));
        }
        let ManifestText { about, library, shards, young_layers, .. } =
            serde_json::from_slice(bytes).map_err(not_valid)?;
        let library = library.map(ShardedLibrary::try_from).transpose()?;
        let mut manifest = Manifest::new(library, shards)?;
        if let Some(young_layers) = young_layers {
            manifest = manifest.with_young_layers(young_layers)?;
        }
        Ok(Manifest { about, ..manifest })
    }

    fn check(&self) -> Result<()> {
        let count = self.shards.len();
        if count == 0 || count > MAX_SHARDS as usize {
            return Err(invalid(format!("{count} shards: 1 to {MAX_SHARDS} are possible")));
        }
        let mut expected = Some(0);
        let games = self.library.as_ref().map(|library| &library.games);
        let mut records = 0_u64;
        let mut bytes = games.map_or(0, |games| games.bytes);
        if let Some(GamesFile { file, blake3, .. }) = games {
            check_file(file, blake3)?;
        }
        for layer in &self.young_layers {
            check_file(&layer.file, &layer.blake3)?;
            records = sum(records, layer.records)?;
            bytes = sum(bytes, layer.bytes)?;
        }
        for shard in &self.shards {
            let Shard { first_key, last_key, file, .. } = shard;
            if Some(*first_key) != expected || last_key < first_key {
                return Err(invalid(format!(
                    "{file}: the keys {first_key:016x} to {last_key:016x} leave a gap or overlap"
                )));
            }
            expected = last_key.checked_add(1);
            check_file(file, &shard.blake3)?;
            records = sum(records, shard.records)?;
            bytes = sum(bytes, shard.bytes)?;
        }
        match expected {
            None => Ok(()),
            Some(next) => Err(invalid(format!("no shard has the keys from {next:016x} on"))),
        }
    }
}

/// Adds numbers of records, or of bytes.
fn sum(one: u64, other: u64) -> Result<u64> {
    one.checked_add(other).ok_or_else(|| invalid("more than 2^64 records or bytes"))
}

/// Checks the name and the hash of a file that a manifest lists.
fn check_file(file: &str, blake3: &str) -> Result<()> {
    if !is_plain_name(file) {
        return Err(invalid(format!("{file:?} is not a plain file name ending in .epa")));
    }
    if !is_hexadecimal(blake3, HASH) {
        return Err(invalid(format!(
            "{file}: the hash is not 64 hexadecimal digits in lower case"
        )));
    }
    Ok(())
}

/// A folder in object storage, to which a sharded archive is written.
pub trait ObjectFolder: fmt::Debug + Send + Sync {
    /// True if the folder had a manifest when it was opened.
    fn has_manifest(&self) -> bool;

    /// Stores a file under a name that has the hash of its content. If there is an object with this
    /// name, it stays.
    ///
    /// # Errors
    /// The file cannot be read or stored.
    fn store(&self, name: &str, file: &Path) -> Result<()>;

    /// Writes the manifest. The existing manifest must be the same as when the folder was opened.
    ///
    /// # Errors
    /// The manifest cannot be stored, or another one was written meanwhile.
    fn publish(&self, manifest: &[u8]) -> Result<()>;
}

pub(super) fn invalid(what: impl Into<String>) -> Error {
    Error::new(what).with_kind(ErrorKind::InvalidData)
}

/// True if a name is a plain file name on every system, so that the file is in the same folder.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    name.ends_with(".epa") && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// Text before the hash at the end of a manifest. The next constants are the number of digits of
/// the hash, and the text after it.
const CHECK: &str = ",\n  \"check\": \"";
const HASH: usize = 64;
const END: &str = "\"\n}\n";
/// The end of a manifest whose hash is still empty.
const EMPTY_CHECK: &str = ",\n  \"check\": \"\"\n}";

#[derive(Deserialize)]
struct Kind {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestText {
    format: String,
    version: u32,
    about: Map<String, Value>,
    library: Option<LibraryText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    young_layers: Option<Vec<YoungLayer>>,
    shards: Vec<Shard>,
    check: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LibraryText {
    settings: TallySettings,
    mixed: bool,
    pruned: Option<String>,
    sources: Vec<SourceText>,
    delta: Option<DeltaText>,
    slices: Vec<PlanText>,
    digests: Option<GameSetText>,
    kept_games: u64,
    games: GamesFile,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GameSetText {
    games: u64,
    #[serde(with = "long_hexadecimal")]
    sum: u128,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaText {
    base: GameSetText,
    both: GameSetText,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanText {
    plan: String,
    slices: u32,
    present: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceText {
    name: String,
    games: u64,
    duplicates: u64,
    left_out: u64,
}

impl From<GameSet> for GameSetText {
    fn from(GameSet { games, sum }: GameSet) -> GameSetText {
        GameSetText { games, sum }
    }
}

impl From<GameSetText> for GameSet {
    fn from(GameSetText { games, sum }: GameSetText) -> GameSet {
        GameSet { games, sum }
    }
}

impl From<&ShardedLibrary> for LibraryText {
    fn from(library: &ShardedLibrary) -> LibraryText {
        let ShardedLibrary { origin, kept_games, games } = library.clone();
        let TallyOrigin { settings, is_mixed: mixed, pruned, sources, .. } = origin;
        let source = |TallySource { name, games, duplicates, left_out }| SourceText {
            name,
            games,
            duplicates,
            left_out,
        };
        let sources = sources.into_iter().map(source).collect();
        let delta = origin
            .delta
            .map(|DeltaOrigin { base, both }| DeltaText { base: base.into(), both: both.into() });
        let plan = |PlanSlices { plan, slices, present }| PlanText {
            plan: blake3::Hash::from_bytes(plan).to_hex().to_string(),
            slices,
            present,
        };
        let slices = origin.slices.into_iter().map(plan).collect();
        let digests = origin.games.map(GameSetText::from);
        LibraryText { settings, mixed, pruned, sources, delta, slices, digests, kept_games, games }
    }
}

impl TryFrom<LibraryText> for ShardedLibrary {
    type Error = Error;

    fn try_from(text: LibraryText) -> Result<ShardedLibrary> {
        let LibraryText { settings, mixed, pruned, sources, kept_games, .. } = text;
        if !settings.is_sound() {
            return Err(invalid("the settings of the library do not fit together"));
        }
        let file = text.games;
        let source = |SourceText { name, games, duplicates, left_out }| TallySource {
            name,
            games,
            duplicates,
            left_out,
        };
        let sources = sources.into_iter().map(source).collect();
        let delta = text
            .delta
            .map(|DeltaText { base, both }| DeltaOrigin { base: base.into(), both: both.into() });
        let slices = text.slices.into_iter().map(PlanSlices::try_from);
        let slices = slices.collect::<Result<Vec<PlanSlices>>>()?;
        if !slices.is_empty() && !slices_are_in_order(&slices) {
            return Err(invalid("the plans of the slices do not ascend"));
        }
        let games = text.digests.map(GameSet::from);
        let is_mixed = mixed;
        let origin = TallyOrigin { settings, is_mixed, pruned, sources, games, delta, slices };
        Ok(ShardedLibrary { origin, kept_games, games: file })
    }
}

impl TryFrom<PlanText> for PlanSlices {
    type Error = Error;

    fn try_from(PlanText { plan, slices, present }: PlanText) -> Result<PlanSlices> {
        // `from_hex` also takes digits in upper case, which no writer writes.
        if let Ok(hash) = blake3::Hash::from_hex(&plan)
            && is_hexadecimal(&plan, HASH)
        {
            let slices = PlanSlices { plan: *hash.as_bytes(), slices, present };
            if slices.is_sound() {
                return Ok(slices);
            }
        }
        Err(invalid("the slices are not some of the slices of a plan"))
    }
}

/// True if a text has this number of hexadecimal digits in lower case, and nothing else.
fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Keys as sixteen hexadecimal digits.
mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::manifest::is_hexadecimal;

    pub(super) fn serialize<S: Serializer>(key: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{key:016x}"))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(input: D) -> Result<u64, D::Error> {
        let text = String::deserialize(input)?;
        match u64::from_str_radix(&text, 16) {
            Ok(key) if is_hexadecimal(&text, 16) => Ok(key),
            _ => Err(D::Error::custom(format!("{text:?} is not sixteen hexadecimal digits"))),
        }
    }
}

/// Sums as thirty-two hexadecimal digits.
mod long_hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::manifest::is_hexadecimal;

    pub(super) fn serialize<S: Serializer>(sum: &u128, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{sum:032x}"))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(input: D) -> Result<u128, D::Error> {
        let text = String::deserialize(input)?;
        match u128::from_str_radix(&text, 16) {
            Ok(sum) if is_hexadecimal(&text, 32) => Ok(sum),
            _ => Err(D::Error::custom(format!("{text:?} is not thirty-two hexadecimal digits"))),
        }
    }
}

/// The begin of a manifest; white space may stand in between.
const BEGIN: [&str; 4] = ["{", "\"format\"", ":", "\"epdb-ranges\""];

/// Whether a text begins like a manifest: with the member `format`, whose value is [`FORMAT`]. `None` if the text is
/// too short to tell.
pub(super) fn begins_manifest(mut text: &[u8]) -> Option<bool> {
    for part in BEGIN.map(str::as_bytes) {
        text = text.trim_ascii_start();
        match text.strip_prefix(part) {
            Some(rest) => text = rest,
            None if part.starts_with(text) => return None,
            None => return Some(false),
        }
    }
    Some(true)
}
