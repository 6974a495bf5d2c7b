//! `epdb verify`: every checksum and every invariant.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::cli::args::{FormArgs, MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::{Outcome, message, print_error};
use crate::cli::output::open_output;
use crate::cli::source::{OpenSource, Reading, Visited};
use crate::cli::terminal::many;
use epdb_archive::{Archive, ArchiveError, Salvaged};
use epdb_chess::error::Error;
use epdb_chess::text::Profile;
use epdb_source::{CollectionFile, Content, Output, ShardedArchive, name_of};
use epdb_store::{StoreError, StoreOptions};

/// Check files: every checksum and invariant, every line of text, every record and move
///
/// Checks the checksums and structure of streams, stores and archives, and the moves of games. --profile sets
/// how strictly text is checked. Nonstandard values of tags, and positions that are not legal, cause warnings,
/// which are counted and printed last. Nothing is written. The verdict for each file is: no damage found; illegal moves (in
/// operations such as bm), damaged, not canonical (with --profile strict) or not standard text (with
/// --profile standard), each with exit status 1; or not checked because it cannot be read (exit status 2). All files are checked, even after an error. PGC and text have no end mark: whole games or lines
/// that are missing at the end of such a file are not noticed.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example: epdb verify book.epdb suite.epb\n         epdb verify --profile strict suite.epd"
)]
pub(crate) struct Args {
    /// Files to check
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object per file, with the fields file, verdict, findings, warnings and
    /// games_without_checksum
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// The verdict on text that is whole, but has operands that have to be legal moves and are not.
const ILLEGAL_MOVES: &str = "illegal moves";

/// Note about a missing checksum.
const UNCHECKED: &str = "PGC has none of its own, so damage shows only where it breaks the rules \
                         (`epdb convert IN.pgc OUT.pgc --ext` adds checksums)";

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.form)?;
    let mut out = open_output(None)?;
    let mut outcome = Outcome::Done;
    for path in &args.files {
        let name = name_of(path).into_owned();
        let text = (!args.json).then_some(&mut out);
        let mut findings = Findings { name: name.clone(), text, found: Vec::new() };
        let before = diagnostics.tally;
        let warnings = diagnostics.warnings_found();
        if args.json {
            diagnostics.list_errors();
        }
        diagnostics.begin_verified_file();
        let checked = check(path, args, &mut diagnostics, &mut findings);
        diagnostics.end_verified_file();
        let tally = diagnostics.tally;
        let illegal_moves = tally.illegal_moves - before.illegal_moves;
        let is_whole = findings.found.is_empty() && tally.not_whole() == before.not_whole();
        let verdict = match checked {
            Ok(()) if is_whole && illegal_moves == 0 => "no damage found",
            Ok(()) if is_whole => ILLEGAL_MOVES,
            // A profile refuses text that is sound.
            Ok(()) if findings.found.is_empty() && args.form.profile == Profile::Strict => {
                "not canonical"
            }
            Ok(()) if findings.found.is_empty() && args.form.profile == Profile::Standard => {
                "not standard text"
            }
            Ok(()) => "damaged",
            Err(error) => {
                print_error(&error);
                outcome = Outcome::Failed;
                "not checked"
            }
        };
        if verdict != "no damage found" && outcome == Outcome::Done {
            outcome = Outcome::Different;
        }
        let mut found = findings.found;
        if args.json {
            found.splice(..0, diagnostics.list_errors());
        }
        let warnings = diagnostics.warnings_found() - warnings - illegal_moves;
        let games_without_checksum = tally.unchecked_games - before.unchecked_games;
        if args.json {
            let file = name.as_str();
            let findings = found.as_slice();
            let verified =
                json::Verified { file, verdict, findings, warnings, games_without_checksum };
            json::line(&mut out, &verified)?;
        } else {
            let rejected = tally.rejected - before.rejected;
            let mut parts = Vec::new();
            if verdict != ILLEGAL_MOVES {
                parts.push(verdict.to_string());
            }
            if rejected > 0 {
                parts.push(format!("{rejected} not read"));
            }
            for (count, what) in [(illegal_moves, "illegal move"), (warnings, "warning")] {
                if count > 0 {
                    parts.push(many(count, what));
                }
            }
            writeln!(out, "{name}: {}", parts.join(", "))?;
            if games_without_checksum > 0 {
                let games = many(games_without_checksum, "game");
                writeln!(out, "{name}: {games} without a checksum; {UNCHECKED}")?;
            }
        }
        out.hand_on()?;
    }
    out.finish()?;
    let rejects = diagnostics.finish()?;
    Ok(if outcome == Outcome::Done { rejects } else { outcome })
}

/// Damage of a file.
struct Findings<'a> {
    name: String,
    /// The output, if it is text.
    text: Option<&'a mut Output>,
    found: Vec<String>,
}

impl Findings<'_> {
    fn put(&mut self, finding: impl std::fmt::Display) -> anyhow::Result<()> {
        let finding = finding.to_string();
        if let Some(out) = &mut self.text {
            writeln!(out, "{}: {finding}", self.name)?;
        }
        self.found.push(finding);
        Ok(())
    }

    /// Turns damage into a finding. Any other reason why a file cannot be read is an error.
    fn put_damage(&mut self, error: anyhow::Error, is_open: bool) -> anyhow::Result<()> {
        if !is_damage(&error, is_open) {
            return Err(error);
        }
        let text = message(&error);
        let name = format!("{}: ", self.name);
        self.put(text.strip_prefix(&name).unwrap_or(&text))
    }
}

/// Checks a file.
///
/// # Errors
/// The file cannot be read. Damage is reported, and is not an error.
fn check(
    path: &Path,
    args: &Args,
    diagnostics: &mut Diagnostics,
    findings: &mut Findings<'_>,
) -> anyhow::Result<()> {
    let read = ReadArgs::all(&args.form);
    let takes_games = args.form.games.positions.is_none();
    let mut options = read.source_options(takes_games);
    options.games.check_tags = true;
    options.check_all = true;
    let opened = match OpenSource::open(path, options) {
        Ok(opened) => opened,
        Err(error) => return findings.put_damage(error, false),
    };
    if !opened.source.format().is_indexed() {
        let checked = Reading::of_open(opened, &read, diagnostics)
            .visit_games(|_| Ok(Visited::Taken))
            .items(|_| Ok(ControlFlow::Continue(())));
        return checked.or_else(|error| findings.put_damage(error, true));
    }
    let checked = match opened.source.into_content() {
        Content::Collection(CollectionFile::Store(local)) => {
            let options =
                StoreOptions { memory_bytes: args.memory.memory_bytes, ..Default::default() };
            match epdb_store::verify(local.path(), &options) {
                Ok(found) => return found.iter().try_for_each(|finding| findings.put(finding)),
                Err(error) => Err(local.failed(error).into()),
            }
        }
        Content::Collection(CollectionFile::Archive(local)) => {
            let failed = |error: ArchiveError| Error::from(error).in_source(local.name());
            local.cut_archive().map_err(anyhow::Error::from).and_then(|archive| {
                let archive = archive.memory_bytes(args.memory.memory_bytes);
                let Err(error) = archive.verify() else { return Ok(()) };
                if error.is_damage() {
                    put_lost_records(&archive, findings)?;
                }
                Err(failed(error).into())
            })
        }
        Content::Collection(CollectionFile::Shards(shards)) => {
            return check_shards(&shards, args, findings);
        }
        Content::Collection(CollectionFile::Layers(layers)) => {
            if let Some(shards) = layers.manifest() {
                return check_shards(shards, args, findings);
            }
            anyhow::bail!("a base and its delta are two files: verify each file by itself")
        }
        _ => Ok(()),
    };
    checked.or_else(|error| findings.put_damage(error, true))
}

/// Checks all shards. A shard or a list that is missing or cannot be read is damage of the sharded archive.
fn check_shards(
    shards: &ShardedArchive,
    args: &Args,
    findings: &mut Findings<'_>,
) -> anyhow::Result<()> {
    let memory_bytes = args.memory.memory_bytes;
    let mut errors: Vec<Error> = Vec::new();
    for list in shards.lists() {
        match list {
            Ok(list) => errors
                .extend(list.iter().filter_map(|shard| shards.verify(shard, memory_bytes).err())),
            Err(error) => errors.push(error),
        }
    }
    errors.extend(shards.verify_games(memory_bytes).err());
    let young = shards.manifest().young_layers().iter();
    errors.extend(young.filter_map(|layer| shards.verify_young(layer, memory_bytes).err()));
    for error in errors {
        let name = format!("{}: ", shards.name());
        let text = error.to_string();
        findings.put(text.strip_prefix(&name).unwrap_or(&text))?;
    }
    Ok(())
}

/// Reports the damaged blocks of an archive with the records that are lost.
fn put_lost_records(archive: &Archive, findings: &mut Findings<'_>) -> anyhow::Result<()> {
    archive.salvage(0..archive.len(), &mut |next| {
        if let Salvaged::Damage(damage) = next {
            findings.put(damage)?;
        }
        Ok::<_, anyhow::Error>(ControlFlow::Continue(()))
    })
}

/// True if the content of a file is the reason why it could not be read. `is_open` says whether its first
/// bytes could be read.
fn is_damage(error: &anyhow::Error, is_open: bool) -> bool {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<StoreError>() {
            return matches!(error, StoreError::Damaged { .. } | StoreError::NotAStore { .. });
        }
        if let Some(
            ArchiveError::UnsupportedVersion { .. }
            | ArchiveError::MemoryExceeded { .. }
            | ArchiveError::LimitExceeded { .. },
        ) = cause.downcast_ref()
        {
            return false;
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            // An error without an error number of the system comes from a decoder.
            return error.raw_os_error().is_none();
        }
    }
    is_open
}
