//! `epdb site`: libraries as a folder for a host of static files, or as one page.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cli::args::{AboutArgs, FormArgs, MemoryArgs, ReadArgs};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::job::CommandSink;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::places;
use crate::cli::terminal::{many, note, shortened};
use crate::cli::values::{self, word_of};
use epdb_archive::About;
use epdb_base::new_file::NewFile;
use epdb_library::publish::{
    ONE_FILE, PART, PUBLISHED_TAGS, PlayerNames, PublishJob, PublishedGames,
};
use epdb_server::SourceSpec;
use epdb_server::site::{self, DATA, SiteSource};
use epdb_source::{FileFormat, name_of};

/// Publish libraries as a web page that needs no server
///
/// A folder can be put on any host of static files, under any path: it has the page of `epdb serve`, which
/// reads the libraries in the browser. `epdb serve FOLDER` shows it on this machine. A library up to 4 MB is one
/// file; a larger one has parts of about 64 kB, of which a visitor loads those that the moves need. With the
/// suffix .html, one page has everything in it, for libraries up to 4 MB in total. It opens by a double-click.
///
/// Run the command again to publish a newer library in the same folder. Files that did not change stay as they are;
/// files that the new site lacks are removed. Of LIBRARY+DELTA.epdb, each delta is a file of its own: when games were
/// added to it, only this file and lists of files change, and the library is not packed again.
///
/// The page shows the source and the licence of the data, which --about gives, or which the library has from
/// `epdb tally` or `epdb pack`. What becomes public is printed.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb site club=games.pgn -o public --about 'source=games of our club' --about licence=CC0-1.0
  epdb site games.pgn -o club.html --names initials --about source=club --about licence=CC0-1.0
  epdb site library.epa suite.epd -o public --ranges --about source=club --about licence=CC0-1.0")]
pub(crate) struct Args {
    /// Publish these sources: libraries, games, suites, LIBRARY+DELTA.epdb; see `epdb serve`
    #[arg(required = true, value_name = "[NAME=]FILE")]
    sources: Vec<SourceSpec>,
    /// Folder or page (.html) to write
    #[arg(short, long, value_name = "FOLDER|FILE.html")]
    output: PathBuf,
    /// Publish the names of players, their initials, or no names
    #[arg(long, value_parser = word_of::<PlayerNames>(), default_value = "keep", value_name = "WHAT")]
    names: PlayerNames,
    /// Publish these tags of games
    #[arg(long, value_delimiter = ',', value_name = "TAG[,...]", default_values = PUBLISHED_TAGS)]
    tags: Vec<String>,
    /// Also publish the digests of all games, by which games that are added later are recognised
    #[arg(long)]
    digests: bool,
    /// Write each library as one file, for hosts that serve ranges of files
    #[arg(long)]
    ranges: bool,
    #[command(flatten)]
    about: AboutArgs,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// More records than this take seconds to be sorted and packed.
const MANY_RECORDS: u64 = 300_000;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    values::start_threads(args.form.threads)?;
    let read = ReadArgs::all(&args.form);
    let mut diagnostics = Diagnostics::new(&args.form)?;
    diagnostics.comments().follow(CommentOrder::Drop);
    check_names(&args.sources)?;
    let abouts = args.abouts(&read)?;
    let is_page = args.output.extension().is_some_and(|suffix| suffix == "html");
    if is_page {
        places::claim(&args.output)?;
        let scratch = tempfile::tempdir()?;
        let sources = args.publish(scratch.path(), u64::MAX, abouts, &read, &mut diagnostics)?;
        write_page(&args.output, scratch.path(), &sources)?;
        sources.iter().for_each(|source| args.note_public(source));
    } else {
        site::check_folder(&args.output)?;
        let max_one_file = if args.ranges { u64::MAX } else { ONE_FILE };
        let sources = args.publish(&args.output, max_one_file, abouts, &read, &mut diagnostics)?;
        let size = site::write_folder(&args.output, &sources)?;
        sources.iter().for_each(|source| args.note_public(source));
        let folder = args.output.display();
        let removed = match size.removed {
            0 => String::new(),
            removed => format!("; {} of the earlier site removed", many(removed, "file")),
        };
        note!("{folder}: {}, {} bytes{removed}", many(size.files, "file"), size.bytes);
        note!("{folder}: `epdb serve {folder}` shows it here; it runs on any web host");
    }
    diagnostics.finish()
}

impl Args {
    /// Facts about each source and its data, which a site must have.
    fn abouts(&self, read: &ReadArgs) -> anyhow::Result<Vec<About>> {
        let about = |spec: &SourceSpec| {
            let about = self.about.of(FileFormat::Epa, &[&spec.path], &read.streams)?;
            check_about(spec, &about)?;
            Ok(about)
        };
        self.sources.iter().map(about).collect()
    }

    /// Writes the libraries below a folder.
    fn publish(
        &self,
        folder: &Path,
        max_one_file: u64,
        abouts: Vec<About>,
        read: &ReadArgs,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Vec<SiteSource>> {
        let mut sources = Vec::new();
        for (spec, about) in self.sources.iter().zip(abouts) {
            let job = PublishJob {
                source: spec.path.clone(),
                folder: folder.join(DATA).join(&spec.name),
                name: spec.name.clone(),
                about,
                games: PublishedGames {
                    tags: self.tags.clone(),
                    names: self.names,
                    digests: self.digests,
                },
                max_one_file,
                part_bytes: PART,
                streams: read.streams.clone(),
                memory_bytes: self.memory.memory_bytes,
            };
            let sink = &mut CommandSink::new(read, diagnostics, "packing", MANY_RECORDS);
            let library = job.run(sink)?;
            sources.push(SiteSource {
                name: spec.name.clone(),
                library,
                is_by_ranges: self.ranges,
            });
        }
        Ok(sources)
    }

    /// Prints what became public of a library.
    fn note_public(&self, SiteSource { name, library, .. }: &SiteSource) {
        let records = many(library.records, "record");
        match &library.origin {
            Some(origin) => {
                note!("{name}: public: {records}, results of {}", many(origin.games(), "game"));
                let files: Vec<&str> =
                    origin.sources.iter().map(|source| source.name.as_str()).collect();
                note!("{name}: public: the names of the counted files: {}", shortened(&files));
            }
            None => note!("{name}: public: {records}, with their operations"),
        }
        if library.kept_games > 0 {
            let counted = library.origin.as_ref().map_or(0, |origin| origin.games());
            let games = if library.kept_games < counted {
                format!("{} of these games (only they can be searched)", library.kept_games)
            } else {
                many(library.kept_games, "game")
            };
            let names = match library.players.len() {
                0 => "no names of players".to_string(),
                count => format!("{} of players", many(count as u64, "name")),
            };
            note!(
                "{name}: public: the moves of {games}, their tags {}; {names}",
                self.tags.join(", ")
            );
        }
    }
}

/// Refuses names that are given twice: each source has its own folder.
fn check_names(sources: &[SourceSpec]) -> anyhow::Result<()> {
    for (place, spec) in sources.iter().enumerate() {
        let is_again = sources[..place].iter().any(|other| other.name == spec.name);
        let what = format!("two sources are named {}: say NAME=FILE", spec.name);
        anyhow::ensure!(!is_again, Usage(what));
    }
    Ok(())
}

/// Refuses data of which nobody says where it comes from and who may use it.
fn check_about(spec: &SourceSpec, about: &About) -> anyhow::Result<()> {
    let needed = [("source", "source='games of our club'"), ("licence", "licence=CC0-1.0")];
    let is_missing = |key: &str| about.facts().all(|(known, _)| known != key);
    let missing = needed.iter().filter(|(key, _)| is_missing(key));
    let (keys, options): (Vec<&str>, Vec<String>) =
        missing.map(|(key, example)| (*key, format!("--about {example}"))).unzip();
    let what = format!(
        "{}: the page has to show the {} of the data: give {}",
        name_of(&spec.path),
        keys.join(" and the "),
        options.join(" ")
    );
    anyhow::ensure!(keys.is_empty(), Usage(what));
    Ok(())
}

/// Writes one page with libraries that are in a folder.
fn write_page(page: &Path, folder: &Path, sources: &[SiteSource]) -> anyhow::Result<()> {
    let bytes: u64 = sources.iter().map(|source| source.library.bytes).sum();
    let page_name = page.display();
    anyhow::ensure!(
        bytes <= ONE_FILE,
        "{page_name}: the libraries have {bytes} bytes, and one page takes up to {ONE_FILE}: name a folder instead"
    );
    let text = site::single_page(folder, sources)?;
    let mut file = NewFile::create(page)?;
    file.write_all(text.as_bytes())?;
    file.finish()?;
    note!("{page_name}: {} bytes; it opens by a double-click", text.len());
    Ok(())
}
