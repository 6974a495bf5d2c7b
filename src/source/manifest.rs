//! The manifest of a sharded archive, which lists its shards. The format is `formats/shards.md`.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use epdb_archive::{About, Archive};
use epdb_chess::codec::tally_origin::{
    DeltaOrigin, GameSet, PlanSlices, TallyOrigin, TallySource, slices_are_in_order,
};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::{Error, ErrorKind, Result};

/// Maximum number of shards of a sharded archive.
pub const MAX_SHARDS: u32 = 1 << 18;
/// Maximum number of shards, or of lists, in one file.
const MAX_ENTRIES: usize = 1 << 16;
/// Maximum size of a manifest, and of a list of shards, in bytes.
pub(super) const MAX_BYTES: u64 = 64 << 20;
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
    /// Empty if there are lists.
    shards: Vec<Shard>,
    lists: Vec<ShardList>,
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

/// A file with the entries of shards whose ranges of keys follow one another. A large sharded archive has its
/// shards in lists, so that a lookup reads a small manifest and one list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardList {
    /// The lowest key of the ranges.
    #[serde(with = "hexadecimal")]
    pub first_key: u64,
    /// The highest key of the ranges.
    #[serde(with = "hexadecimal")]
    pub last_key: u64,
    /// Name of the file, which is in the folder of the manifest.
    pub file: String,
    /// Number of shards.
    pub shards: u32,
    /// Number of records of these shards.
    pub records: u64,
    /// Size of these shards in bytes.
    pub shard_bytes: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// BLAKE3 hash of the file: 64 hexadecimal digits. It is compared whenever the list is read.
    pub blake3: String,
}

impl ShardList {
    /// The text of a list of shards.
    pub fn text(shards: &[Shard]) -> Vec<u8> {
        // Texts and numbers always have a form in JSON.
        let mut text = serde_json::to_vec_pretty(shards).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// The entry of a list of these shards with this text. The name of the file has the hash of the text.
    pub fn new(shards: &[Shard], text: &[u8]) -> ShardList {
        let blake3 = blake3::hash(text).to_hex().to_string();
        ShardList {
            first_key: shards.first().map_or(0, |shard| shard.first_key),
            last_key: shards.last().map_or(u64::MAX, |shard| shard.last_key),
            file: format!("list-{}.json", &blake3[..16]),
            shards: shards.len() as u32,
            records: shards.iter().map(|shard| shard.records).sum(),
            shard_bytes: shards.iter().map(|shard| shard.bytes).sum(),
            bytes: text.len() as u64,
            blake3,
        }
    }

    /// Reads the text of the list.
    ///
    /// # Errors
    /// It is not the text that the manifest lists, or not a list of the shards that the manifest counts.
    pub fn read(&self, text: &[u8]) -> Result<Vec<Shard>> {
        let is_listed =
            text.len() as u64 == self.bytes && blake3::hash(text).to_hex().as_str() == self.blake3;
        if !is_listed {
            return Err(invalid(
                "not the list of shards that the manifest lists: it was replaced or damaged",
            ));
        }
        let not_valid = |error| invalid("not a valid list of shards").because(error);
        let shards: Vec<Shard> = serde_json::from_slice(text).map_err(not_valid)?;
        let ranges = shards.iter().map(|shard| (shard.first_key..=shard.last_key, &*shard.file));
        check_ranges(ranges, self.first_key..=self.last_key)?;
        let mut sums = Sums::default();
        for shard in &shards {
            check_file(&shard.file, ".epa", &shard.blake3)?;
            sums.add(shard.records, shard.bytes)?;
        }
        let listed = Sums { records: self.records, bytes: self.shard_bytes };
        if shards.len() != self.shards as usize || sums != listed {
            return Err(invalid("its shards, records and bytes are not those of the manifest"));
        }
        Ok(shards)
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
        Manifest::with_entries(library, shards, Vec::new())
    }

    /// A manifest of the shards of these lists.
    ///
    /// # Errors
    /// The errors of [`Manifest::new`].
    pub fn of_lists(library: Option<ShardedLibrary>, lists: Vec<ShardList>) -> Result<Manifest> {
        Manifest::with_entries(library, Vec::new(), lists)
    }

    fn with_entries(
        library: Option<ShardedLibrary>,
        shards: Vec<Shard>,
        lists: Vec<ShardList>,
    ) -> Result<Manifest> {
        let about = Map::new();
        let manifest = Manifest { about, library, shards, lists, young_layers: Vec::new() };
        manifest.check().map(|()| manifest)
    }

    /// The same manifest without young layers.
    #[must_use]
    pub fn base(&self) -> Manifest {
        Manifest { young_layers: Vec::new(), ..self.clone() }
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

    /// The shards that the manifest itself has, by ascending keys. None if it has lists: see
    /// [`ShardedArchive::shards`](crate::ShardedArchive::shards).
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The lists of shards, by ascending keys. None if the manifest has the shards itself.
    pub fn lists(&self) -> &[ShardList] {
        &self.lists
    }

    /// Number of shards, those of lists included.
    pub fn shard_count(&self) -> u64 {
        let of_lists = self.lists.iter().map(|list| u64::from(list.shards));
        self.shards.len() as u64 + of_lists.sum::<u64>()
    }

    /// The young layers, the older one first.
    pub fn young_layers(&self) -> &[YoungLayer] {
        &self.young_layers
    }

    /// The names of the files that the manifest itself lists.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let games = self.library.iter().map(|library| library.games.file.as_str());
        let young = self.young_layers.iter().map(|layer| layer.file.as_str());
        let lists = self.lists.iter().map(|list| list.file.as_str());
        let shards = self.shards.iter().map(|shard| shard.file.as_str());
        shards.chain(lists).chain(games).chain(young)
    }

    /// Number of records of all shards.
    pub fn records(&self) -> u64 {
        let of_lists = self.lists.iter().map(|list| list.records);
        self.shards.iter().map(|shard| shard.records).chain(of_lists).sum()
    }

    /// Size in bytes of all files that the manifest and its lists name.
    pub fn bytes(&self) -> u64 {
        let games = self.library.as_ref().map_or(0, |library| library.games.bytes);
        let young: u64 = self.young_layers.iter().map(|layer| layer.bytes).sum();
        let lists: u64 = self.lists.iter().map(|list| list.bytes + list.shard_bytes).sum();
        games + young + lists + self.shards.iter().map(|shard| shard.bytes).sum::<u64>()
    }

    /// The text of the manifest. Its last member is a hash of the text before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = ManifestText {
            format: FORMAT.to_string(),
            version: VERSION,
            about: self.about.clone(),
            library: self.library.as_ref().map(LibraryText::from),
            young_layers: Some(self.young_layers.clone()).filter(|layers| !layers.is_empty()),
            shards: Some(self.shards.clone()).filter(|_| self.lists.is_empty()),
            lists: Some(self.lists.clone()).filter(|lists| !lists.is_empty()),
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
        let ManifestText { about, library, shards, lists, young_layers, .. } =
            serde_json::from_slice(bytes).map_err(not_valid)?;
        let library = library.map(ShardedLibrary::try_from).transpose()?;
        let mut manifest = match (shards, lists) {
            (Some(shards), None) => Manifest::new(library, shards)?,
            (None, Some(lists)) => Manifest::of_lists(library, lists)?,
            _ => return Err(invalid("a manifest has either shards or lists of shards")),
        };
        if let Some(young_layers) = young_layers {
            manifest = manifest.with_young_layers(young_layers)?;
        }
        Ok(Manifest { about, ..manifest })
    }

    fn check(&self) -> Result<()> {
        let is_in_lists = !self.lists.is_empty();
        let count = if is_in_lists { self.lists.len() } else { self.shards.len() };
        if count == 0 || count > MAX_ENTRIES {
            let what = if is_in_lists { "lists of shards" } else { "shards" };
            return Err(invalid(format!("{count} {what}: 1 to {MAX_ENTRIES} are possible")));
        }
        if self.shard_count() > u64::from(MAX_SHARDS) {
            return Err(invalid(format!("the lists have more than {MAX_SHARDS} shards")));
        }
        let shards = self.shards.iter().map(|it| (it.first_key..=it.last_key, &*it.file));
        let lists = self.lists.iter().map(|it| (it.first_key..=it.last_key, &*it.file));
        check_ranges(shards.chain(lists), 0..=u64::MAX)?;
        let mut sums = Sums::default();
        if let Some(ShardedLibrary { games, .. }) = &self.library {
            check_file(&games.file, ".epa", &games.blake3)?;
            sums.add(0, games.bytes)?;
        }
        for layer in &self.young_layers {
            check_file(&layer.file, ".epa", &layer.blake3)?;
            sums.add(layer.records, layer.bytes)?;
        }
        for shard in &self.shards {
            check_file(&shard.file, ".epa", &shard.blake3)?;
            sums.add(shard.records, shard.bytes)?;
        }
        for list in &self.lists {
            check_file(&list.file, ".json", &list.blake3)?;
            sums.add(list.records, list.shard_bytes)?;
            sums.add(0, list.bytes)?;
            if list.bytes > MAX_BYTES {
                let what = format!("{}: a list has at most {MAX_BYTES} bytes", list.file);
                return Err(Error::new(what).with_kind(ErrorKind::LimitExceeded));
            }
        }
        Ok(())
    }
}

/// Checks that ranges of keys, each with the name of its file, follow one another and cover `whole`.
fn check_ranges<'f>(
    ranges: impl Iterator<Item = (RangeInclusive<u64>, &'f str)>,
    whole: RangeInclusive<u64>,
) -> Result<()> {
    let mut expected = Some(*whole.start());
    for (range, file) in ranges {
        let (first, last) = range.into_inner();
        if Some(first) != expected || last < first || last > *whole.end() {
            return Err(invalid(format!(
                "{file}: the keys {first:016x} to {last:016x} leave a gap or overlap"
            )));
        }
        expected = last.checked_add(1);
    }
    match expected {
        Some(next) if next <= *whole.end() => {
            Err(invalid(format!("no shard has the keys from {next:016x} on")))
        }
        _ => Ok(()),
    }
}

/// Numbers of records and bytes that were added.
#[derive(PartialEq, Eq, Default)]
struct Sums {
    records: u64,
    bytes: u64,
}

impl Sums {
    fn add(&mut self, records: u64, bytes: u64) -> Result<()> {
        let too_many = || invalid("more than 2^64 records or bytes");
        self.records = self.records.checked_add(records).ok_or_else(too_many)?;
        self.bytes = self.bytes.checked_add(bytes).ok_or_else(too_many)?;
        Ok(())
    }
}

/// Checks the name and the hash of a file that a manifest lists.
fn check_file(file: &str, ending: &str, blake3: &str) -> Result<()> {
    if !is_plain_name(file, ending) {
        return Err(invalid(format!("{file:?} is not a plain file name ending in {ending}")));
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

/// True if a name with this ending is a plain file name on every system, so that the file is in the same folder.
fn is_plain_name(name: &str, ending: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    name.ends_with(ending) && !name.starts_with('.') && name.bytes().all(is_plain)
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
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<Vec<Shard>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lists: Option<Vec<ShardList>>,
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
    #[serde(with = "hexadecimal")]
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

/// Keys as sixteen hexadecimal digits, and sums as thirty-two.
mod hexadecimal {
    use std::fmt::LowerHex;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::manifest::is_hexadecimal;

    pub(super) fn serialize<N: LowerHex, S: Serializer>(
        number: &N,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{number:0digits$x}", digits = 2 * size_of::<N>()))
    }

    pub(super) fn deserialize<'d, N: TryFrom<u128>, D: Deserializer<'d>>(
        input: D,
    ) -> Result<N, D::Error> {
        let text = String::deserialize(input)?;
        let number = u128::from_str_radix(&text, 16).ok().and_then(|it| N::try_from(it).ok());
        match number {
            Some(number) if is_hexadecimal(&text, 2 * size_of::<N>()) => Ok(number),
            _ => {
                let digits = if size_of::<N>() == 8 { "sixteen" } else { "thirty-two" };
                Err(D::Error::custom(format!("{text:?} is not {digits} hexadecimal digits")))
            }
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
