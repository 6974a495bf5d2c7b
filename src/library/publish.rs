//! Libraries for publication: their games keep only chosen facts, and their files suit hosts of static files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::jobs::{JobSink, ShardsJob, TallyJob};
use super::shards::{MANIFEST, ShardOptions};
use super::tally::TallyOptions;
use super::tally::ledger::{Allowed, LedgerError};
use epdb_archive::{About, Archive, PackOptions};
use epdb_base::new_file::NewFile;
use epdb_chess::codec::kept_game;
use epdb_chess::codec::tally_origin::{DeltaOrigin, TallyLedger, TallyOrigin};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{EpdRecord, Game, GameId, KeptGame, KeptGames, Opcode, Operand, Operation};
use epdb_source::{
    Collection, DeltaPath, Inputs, Item, MAX_YOUNG_LAYERS, Manifest, Shard, ShardedArchive,
    Streams, Target, TargetOptions, YoungLayer, name_of,
};

/// The tags that published games have, unless others are chosen.
pub const PUBLISHED_TAGS: [&str; 5] = ["Event", "Date", "White", "Black", "Result"];

/// Maximum size of a library in one file, for hosts that do not serve ranges of files.
pub const ONE_FILE: u64 = 4 << 20;

/// Size of the parts of a larger library. The parts that a game touches hardly become fewer with larger parts.
pub const PART: u64 = 64 << 10;
/// The fact of a manifest from what its shards were made.
const MADE_FROM: &str = "made-from";
/// Hosts limit the number of files, so larger libraries have larger parts.
const MAX_PARTS: u64 = 10_000;

/// Names of players in published games.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub enum PlayerNames {
    /// As the library has them.
    #[default]
    Keep,
    /// The first letter of each word.
    Initials,
    /// None.
    None,
}

/// The facts that published games keep.
#[derive(Clone, Debug)]
pub struct PublishedGames {
    /// The tags.
    pub tags: Vec<String>,
    /// The names of players.
    pub names: PlayerNames,
    /// True if the library keeps the digests by which a copy of a game is recognised.
    pub digests: bool,
}

impl PublishedGames {
    /// The game with the facts that it keeps.
    fn reduce(&self, game: &mut Game) {
        let is_left_out = |name: &str| match name {
            "White" | "Black" if self.names == PlayerNames::None => true,
            // Without these tags, the game would begin elsewhere for other programs.
            "FEN" | "SetUp" | "Variant" => false,
            _ => self.tags.iter().all(|tag| tag != name),
        };
        let tags: Vec<String> = game.tags().map(|(name, _)| name.to_string()).collect();
        tags.iter().filter(|name| is_left_out(name)).for_each(|name| game.remove_tag(name));
        if self.names == PlayerNames::Initials {
            for side in ["White", "Black"].into_iter().filter(|side| !is_left_out(side)) {
                let initials = initials(game.tag(side).unwrap_or_default());
                // Letters and points fit into any tag.
                let _ = game.set_tag(side, &initials);
            }
        }
    }
}

/// The first letter of each word of a name: `C. M.` for `Carlsen, Magnus`.
fn initials(name: &str) -> String {
    let words = name.split(|sign: char| !sign.is_alphanumeric());
    let letters: Vec<String> =
        words.filter_map(|word| Some(format!("{}.", word.chars().next()?))).collect();
    if letters.is_empty() { "?".to_string() } else { letters.join(" ") }
}

/// Writes a source as a library for publication. Games are counted first; other records are packed.
#[derive(Clone, Debug)]
pub struct PublishJob {
    /// The source, of any format.
    pub source: PathBuf,
    /// The folder that gets the files.
    pub folder: PathBuf,
    /// The name of the library, which its only file begins with.
    pub name: String,
    /// Facts about the data.
    pub about: About,
    /// The facts that games keep.
    pub games: PublishedGames,
    /// Maximum size of a library in one file. `u64::MAX` for one file in any case, also of a base and its delta.
    pub max_one_file: u64,
    /// Approximate size of the parts of a larger library.
    pub part_bytes: u64,
    /// The streams among the sources.
    pub streams: Streams,
    /// Approximate memory in bytes.
    pub memory_bytes: usize,
}

/// A library that was published.
#[derive(Clone, Debug, Default)]
pub struct PublishedLibrary {
    /// The name of the archive, or of the manifest.
    pub file: String,
    /// The names of all files.
    pub files: Vec<String>,
    /// Size of these files in bytes.
    pub bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Origin of the tallies; `None` if the records count no games.
    pub origin: Option<TallyOrigin>,
    /// Number of games with their moves.
    pub kept_games: u64,
    /// The names of players that anybody can read.
    pub players: BTreeSet<String>,
}

impl PublishJob {
    /// Writes the files, which have the hash of their content in their names, and then the manifest if there are
    /// several. Files that were there before and have the same content are not written again: if a delta grows, the
    /// files of its base stay, and the base is not read again.
    ///
    /// # Errors
    /// Errors of `sink` and of files; a library that lacks slices.
    pub fn run<S: JobSink>(self, sink: &mut S) -> Result<PublishedLibrary, S::Error>
    where
        S::Error: From<LedgerError>,
    {
        let scratch = tempfile::tempdir().map_err(Error::from)?;
        let (base, deltas) = self.layers();
        let mut young = Vec::new();
        for (number, delta) in deltas.iter().enumerate() {
            let packed = scratch.path().join(format!("young-{number}.epa"));
            let public = self.pack(delta, &packed, sink)?;
            if public.records > 0 {
                young.push((public, packed));
            }
        }
        let made_from = self.made_from(&base)?;
        // Parts take more than one file, but not twice as much.
        let min_parts = if deltas.is_empty() { self.max_one_file.saturating_mul(2) } else { 0 };
        let packed = scratch.path().join("packed.epa");
        let (mut published, manifest) = match self.earlier_base(&made_from, min_parts)? {
            Some((published, manifest)) => (published, Some(manifest)),
            None => {
                let base = self.library(&base, scratch.path(), sink)?;
                (self.pack(&base, &packed, sink)?, None)
            }
        };
        if published.records == 0 && young.is_empty() {
            let empty = Error::new("it has no records: there is nothing to publish");
            return Err(empty.in_source(name_of(&self.source)).into());
        }
        fs::create_dir_all(&self.folder).map_err(|error| {
            Error::new(format!("cannot create the folder {}", self.folder.display())).because(error)
        })?;
        if manifest.is_none() && deltas.is_empty() {
            let bytes = fs::metadata(&packed).map_err(Error::from)?.len();
            if bytes <= self.max_one_file {
                published.file = put(&packed, &hash_of(&packed)?, &self.folder, &self.name)?;
                published.files = vec![published.file.clone()];
                published.bytes = bytes;
                return Ok(published);
            }
        }
        let mut young_layers = Vec::new();
        for (public, packed) in young {
            published.add(public);
            young_layers.push(put_young(&packed, &self.folder)?);
        }
        match manifest {
            Some(base) => self.write_manifest(base, young_layers)?,
            None => self.cut(packed, made_from, young_layers, sink)?,
        }
        let written = ShardedArchive::at(&self.folder.join(MANIFEST))?;
        published.bytes = written.manifest().bytes();
        published.file = MANIFEST.to_string();
        published.files =
            written.files()?.into_iter().chain([MANIFEST]).map(String::from).collect();
        Ok(published)
    }

    /// The base and the deltas that become young layers, the older one first. A delta that is being folded, and all
    /// deltas if everything goes into one file, are read with their base.
    fn layers(&self) -> (PathBuf, Vec<PathBuf>) {
        let mut base = self.source.clone();
        let mut deltas = Vec::new();
        while self.max_one_file < u64::MAX
            && deltas.len() < MAX_YOUNG_LAYERS
            && let Some(pair) = DeltaPath::parse(&base)
            && !DeltaPath::folding(&pair.delta).exists()
        {
            base = pair.base;
            deltas.insert(0, pair.delta);
        }
        (base, deltas)
    }

    /// The fact from what a base is made: a hash of its file and of all settings. No fact if it is not one file.
    fn made_from(&self, base: &Path) -> Result<About> {
        let mut about = About::default();
        if base.is_file() {
            let source = hash_of(base)?;
            let settings = (&self.about, &self.games, self.part_bytes, env!("CARGO_PKG_VERSION"));
            let hash = blake3::hash(format!("{source} {settings:?}").as_bytes()).to_hex();
            about.join_texts(MADE_FROM, std::iter::once(hash.as_str()));
        }
        Ok(about)
    }

    /// The base that is in the folder already, if it was made from the same, has more than `min_bytes` bytes, and
    /// all of its files are whole.
    fn earlier_base(
        &self,
        made_from: &About,
        min_bytes: u64,
    ) -> Result<Option<(PublishedLibrary, Manifest)>> {
        let Ok(written) = ShardedArchive::at(&self.folder.join(MANIFEST)) else { return Ok(None) };
        let manifest = written.manifest();
        let about = manifest.about();
        let wanted = made_from.facts().next();
        let is_same = wanted.is_some_and(|fact| about.facts().any(|known| known == fact));
        let is_whole = |file: &str, blake3: &str| {
            hash_of(&self.folder.join(file)).is_ok_and(|hash| hash == blake3)
        };
        let are_whole = |shards: Vec<&Shard>| {
            shards.iter().all(|shard| is_whole(&shard.file, &shard.blake3))
                && manifest.library().is_none_or(|it| is_whole(&it.games.file, &it.games.blake3))
        };
        let base = manifest.base();
        if !is_same || base.bytes() <= min_bytes || !written.shards().is_ok_and(are_whole) {
            return Ok(None);
        }
        let mut published = PublishedLibrary { records: base.records(), ..Default::default() };
        if let Some(library) = base.library() {
            published.players.extend(library.origin.settings.players.iter().cloned());
            published.origin = Some(library.origin.clone());
            published.kept_games = library.kept_games;
        }
        if let Some((games, archive)) = written.open_games()? {
            let games = Collection::from_archive(&games.file, archive, self.memory_bytes / 2);
            games.each_kept_game(&mut |id, game| {
                published.players.extend(players_of(&kept_game(id, game)?));
                Ok(())
            })?;
        }
        Ok(Some((published, base)))
    }

    fn write_manifest(&self, base: Manifest, young_layers: Vec<YoungLayer>) -> Result<()> {
        let manifest =
            if young_layers.is_empty() { base } else { base.with_young_layers(young_layers)? };
        let mut file = NewFile::create(self.folder.join(MANIFEST))?;
        file.write_all(&manifest.to_bytes())?;
        Ok(file.finish()?)
    }

    /// The source, or the library of its games.
    fn library<S: JobSink>(
        &self,
        source: &Path,
        scratch: &Path,
        sink: &mut S,
    ) -> Result<PathBuf, S::Error> {
        if !self.streams.format(source, None)?.is_of_games() {
            return Ok(source.to_path_buf());
        }
        let counting = TallyOptions::for_explorers();
        let truncate_games = false;
        let deny_warnings = false;
        let job = TallyJob {
            inputs: Inputs::Files(vec![source.to_path_buf()]),
            settings: counting.settings(truncate_games, deny_warnings, None),
            counting,
            copies: None,
            digests: self.games.digests,
            memory_bytes: self.memory_bytes,
        };
        let library = scratch.join("counted.epa");
        let target = Target::create_with(&library, &job.target_options())?;
        job.run(&library, target, sink)?;
        Ok(library)
    }

    /// Writes the records, and the games with the facts that they keep, into one archive.
    fn pack<S: JobSink>(
        &self,
        source: &Path,
        packed: &Path,
        sink: &mut S,
    ) -> Result<PublishedLibrary, S::Error> {
        let archive = PackOptions { memory_bytes: self.memory_bytes / 2, ..Default::default() };
        let options = TargetOptions { archive, ..Default::default() };
        let mut target = Target::create_with(packed, &options)?;
        let mut published = PublishedLibrary::default();
        let mut ids = HashMap::new();
        let library = self.streams.library(source)?.map(|library| library.opened()).transpose()?;
        let mut about = About::default();
        if let Some(library) = &library {
            about = library.about()?;
            if let Some(ledger) = self.ledger(library)? {
                published.players.extend(ledger.origin.settings.players.iter().cloned());
                published.origin = Some(ledger.origin.clone());
                target.set_tally_ledger(ledger)?;
            }
            ids = self.keep_games(library, &mut target, &mut published.players)?;
        }
        about.replace(self.about.clone());
        target.set_about(about);
        sink.read_records(&Inputs::Files(vec![source.to_path_buf()]), None, &mut |item| {
            if let Item::Record { mut record, .. } = item {
                relist(&mut record, &ids);
                published.records += 1;
                target.write(&record)?;
            }
            Ok(())
        })?;
        sink.begin_writing(published.records);
        target.finish()?;
        let packed = Archive::open(packed).map_err(Error::from)?;
        published.kept_games = packed.kept_game_count().map_err(Error::from)?;
        Ok(published)
    }

    /// The ledger without digests, unless they are wanted. Of the names of counted files, the folders are left out.
    fn ledger(&self, library: &Collection) -> Result<Option<TallyLedger>> {
        let ledger = if self.games.digests {
            library.tally_ledger()?
        } else {
            library.tally_origin()?.map(|origin| TallyLedger { origin, games: None })
        };
        Ok(ledger.map(|mut ledger| {
            if !self.games.digests {
                // Without digests, the sets of games have no games.
                ledger.origin.games = None;
                ledger.origin.delta = ledger.origin.delta.map(|_| DeltaOrigin::default());
            }
            for source in &mut ledger.origin.sources {
                let start = source.name.rfind(['/', '\\']).map_or(0, |place| place + 1);
                source.name.drain(..start);
            }
            ledger
        }))
    }

    /// Writes the games with the facts that they keep. Returns the new id of each game.
    fn keep_games(
        &self,
        library: &Collection,
        target: &mut Target,
        players: &mut BTreeSet<String>,
    ) -> Result<HashMap<GameId, GameId>> {
        let mut ids = HashMap::new();
        let mut bytes = Vec::new();
        library.each_kept_game(&mut |id, game| {
            let mut game = kept_game(id, game)?;
            self.games.reduce(&mut game);
            players.extend(players_of(&game));
            bytes.clear();
            kept_game::encode(&game, &mut bytes).map_err(Error::from_cause)?;
            ids.insert(id, kept_game::id_of(&bytes));
            target.keep_game(&bytes)
        })?;
        Ok(ids)
    }

    fn cut<S: JobSink>(
        &self,
        packed: PathBuf,
        made_from: About,
        young_layers: Vec<YoungLayer>,
        sink: &mut S,
    ) -> Result<(), S::Error>
    where
        S::Error: From<LedgerError>,
    {
        let archive = Archive::open(&packed).map_err(Error::from)?;
        let parts = archive.bytes().div_ceil(self.part_bytes.max(1)).min(MAX_PARTS) as u32;
        let mut about = archive.about().map_err(Error::from)?;
        about.replace(made_from);
        let memory_bytes = self.memory_bytes / 2;
        let equal_bytes = true;
        let options = ShardOptions {
            about,
            memory_bytes,
            young_layers,
            equal_bytes,
            ..ShardOptions::new(parts)
        };
        let streams = Streams::default();
        let folder = self.folder.clone();
        let allowed = Allowed::ANY_GAMES;
        let job = ShardsJob::merging(vec![packed], folder, options, streams, None, allowed)?;
        job.run(sink).map(drop)
    }
}

impl PublishedLibrary {
    /// Adds what a young layer makes public.
    fn add(&mut self, young: PublishedLibrary) {
        self.records += young.records;
        self.kept_games += young.kept_games;
        self.players.extend(young.players);
        if let (Some(origin), Some(young)) = (&mut self.origin, young.origin) {
            young.sources.into_iter().for_each(|source| origin.add_source(source));
        }
    }
}

/// Decodes a kept game.
fn kept_game(id: GameId, game: &[u8]) -> Result<Game> {
    kept_game::decode(game).ok_or_else(|| Error::new(format!("the game {id} is damaged")))
}

/// The names of the players of a game, as far as they are known.
fn players_of(game: &Game) -> impl Iterator<Item = String> {
    let names = ["White", "Black"].into_iter().filter_map(|side| game.tag(side));
    names.filter(|name| *name != "?").map(String::from)
}

/// Gives the games in the list of a record their new ids.
fn relist(record: &mut EpdRecord, ids: &HashMap<GameId, GameId>) {
    let operands = record.operands(Opcode::KEPT_GAMES);
    let Some(kept) = operands.and_then(KeptGames::from_operands) else { return };
    let mut listed = HashSet::new();
    let renamed = kept
        .games()
        .iter()
        .map(|game| KeptGame { id: ids.get(&game.id).copied().unwrap_or(game.id), ..*game });
    // Games that differ only in facts that are left out are one game.
    let games = renamed.filter(|game| listed.insert(game.id)).collect();
    if let Some(kept) = KeptGames::new(kept.limit(), games) {
        record.set(Operation {
            opcode: Opcode::KEPT_GAMES,
            operands: vec![Operand::Str(kept.to_text().into_bytes().into())],
        });
    }
}

/// The hash of the content of a file, in hexadecimal digits.
fn hash_of(file: &Path) -> Result<String> {
    let mut hash = blake3::Hasher::new();
    io::copy(&mut File::open(file)?, &mut hash)?;
    Ok(hash.finalize().to_hex().to_string())
}

/// Copies a file into a folder under a name with the hash of its content. Returns the name.
fn put(file: &Path, hash: &str, folder: &Path, stem: &str) -> Result<String> {
    let name = format!("{stem}-{}.epa", &hash[..16]);
    let place = folder.join(&name);
    if !place.exists() {
        let mut copy = NewFile::create(&place)?;
        io::copy(&mut File::open(file)?, &mut copy)?;
        copy.flush()?;
        copy.finish()?;
    }
    Ok(name)
}

/// Copies a young layer into a folder. Returns its entry for the manifest.
fn put_young(packed: &Path, folder: &Path) -> Result<YoungLayer> {
    let blake3 = hash_of(packed)?;
    let archive = Archive::open(packed)?;
    Ok(YoungLayer {
        file: put(packed, &blake3, folder, "young")?,
        records: archive.len(),
        bytes: archive.bytes(),
        blake3,
        footer: archive.fingerprint(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_the_first_letters_of_words() {
        for (name, expected) in [
            ("Carlsen, Magnus", "C. M."),
            ("Šefčová-Ng", "Š. N."),
            ("magnus", "m."),
            ("?", "?"),
            ("", "?"),
        ] {
            assert_eq!(initials(name), expected);
        }
    }
}
