//! Arguments that several commands share.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, FromArgMatches, ValueEnum};

use super::outcome::Usage;
use super::values;
use crate::cli::values::{Words, one_of, word_of};
use epdb_archive::About;
use epdb_chess::codec::pgc::PgcEncodeOptions;
use epdb_chess::error::Place;
use epdb_chess::model::merge::{BestMoves, MergeRules, Prefer};
use epdb_chess::model::{EpdRecord, Game, Opcode, Speed};
use epdb_chess::text::pgn::{
    Charset, GamePosition, Language, PgnFormatOptions, PgnReadOptions, PositionOptions, Positions,
};
use epdb_chess::text::{
    CastlingForm, Compat, CounterForm, EnPassantForm, Format, FormatOptions, MateTargets,
    ParseOptions, Profile, ScoreView,
};
use epdb_library::explore::{CellFilter, YearMonth, parse_rating_group};
use epdb_library::expression::Expression;
use epdb_library::field::parse_opcode;
use epdb_source::{FileFormat, Filter, SourceOptions, Streams, TextCharset, TextEncoding};

/// Selection of records.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RecordFilter {
    /// Read only records for which this expression is true, such as `pieces < 8 && !check` (see
    /// `epdb help where`)
    #[arg(long = "where", value_name = "EXPR", help_heading = "Reading")]
    pub(crate) filter: Option<Expression>,
}

impl RecordFilter {
    /// This selection, limited to positions with a move that was played in at least `games` games.
    pub(crate) fn with_games(&self, games: u64) -> anyhow::Result<RecordFilter> {
        let filter = Expression::with_games(self.filter.as_ref(), games)?;
        Ok(RecordFilter { filter: Some(filter) })
    }

    /// The expression of --where as text.
    pub(crate) fn filter_text(&self) -> Option<&str> {
        self.filter.as_ref().map(Expression::text)
    }

    /// Whether a record from `place` is selected.
    pub(crate) fn takes(&self, record: &EpdRecord, place: &Place) -> bool {
        self.takes_of_game(record, place, None)
    }

    /// Whether a position of a game is selected.
    pub(crate) fn takes_of_game(
        &self,
        record: &EpdRecord,
        place: &Place,
        game: Option<GamePosition<'_>>,
    ) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.takes(record, game, place))
    }

    /// Checks that the expression can select games, or records.
    ///
    /// # Errors
    /// A term is not about them.
    pub(crate) fn check(&self, of_games: bool) -> anyhow::Result<()> {
        Ok(self.filter.as_ref().map_or(Ok(()), |filter| filter.check(of_games))?)
    }

    /// Whether a game is selected.
    pub(crate) fn takes_game(&self, game: &Game, place: &Place) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.takes_game(game, place))
    }
}

/// Selection and form of the input.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) wanted: RecordFilter,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// True if reading continues after damaged parts of archives.
    #[arg(skip)]
    pub(crate) skips_damage: bool,
    /// The sources that the command has opened, and opens again.
    #[arg(skip)]
    pub(crate) streams: Streams,
    #[command(flatten)]
    pub(crate) memory: ReadMemory,
}

/// The memory of a command that has [`MemoryArgs`], for its sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadMemory(Option<usize>);

impl Args for ReadMemory {
    /// The option is that of [`MemoryArgs`].
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

impl FromArgMatches for ReadMemory {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<ReadMemory, clap::Error> {
        // An error means that the command has no such option.
        Ok(ReadMemory(matches.try_get_one("memory").ok().flatten().copied()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = ReadMemory::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ReadArgs {
    /// Reads all records of a form.
    pub(crate) fn all(form: &FormArgs) -> ReadArgs {
        ReadArgs {
            wanted: RecordFilter::default(),
            form: form.clone(),
            skips_damage: false,
            streams: Streams::default(),
            memory: ReadMemory::default(),
        }
    }

    /// The same arguments, but reading continues after damaged parts of archives.
    pub(crate) fn past_damage(&self) -> ReadArgs {
        ReadArgs { skips_damage: true, ..self.clone() }
    }

    /// Options of sources; games are read as games, or as the positions that were asked for.
    pub(crate) fn source_options(&self, takes_games: bool) -> SourceOptions {
        let ReadArgs { wanted, form, skips_damage, memory, streams } = self;
        let mut options = SourceOptions {
            format: form.from,
            filter: wanted.filter.clone().map(|filter| Arc::new(filter) as Arc<dyn Filter>),
            max_line: form.max_line,
            skip_damage: *skips_damage,
            text: form.options(),
            games: form.pgn_options(),
            encoding: form.encoding(),
            deny_warnings: form.deny_warnings,
            streams: Some(streams.clone()),
            ..Default::default()
        };
        if !takes_games {
            options.positions = Some(form.games.position_options());
        }
        if let Some(bytes) = memory.0 {
            options.memory_bytes = bytes;
        }
        options
    }
}

/// Form of a position on the command line.
#[derive(Args, Clone, Debug)]
pub(crate) struct PositionArgs {
    /// Text to accept: `strict` is canonical text only, `standard` is all text that the standards allow,
    /// `lenient` is also other text
    #[arg(long, value_parser = word_of::<Profile>(), default_value = "lenient", value_name = "PROFILE")]
    profile: Profile,
}

impl PositionArgs {
    pub(crate) fn options(&self) -> ParseOptions {
        ParseOptions::new(self.profile)
    }
}

/// Form of the input.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct FormArgs {
    /// Text to accept: `strict` is canonical text only, `standard` is all text that the standards allow,
    /// `lenient` is also other text, which is repaired with a warning for each repair
    #[arg(long, value_parser = word_of::<Profile>(), default_value = "lenient", value_name = "PROFILE")]
    pub(crate) profile: Profile,
    /// Apply the EPD standard of this year. The standard of 1994 lacks cc, ptp, refcom, refreq, sv and ts
    #[arg(long, value_enum, default_value_t = Revision::R1995, value_name = "YEAR")]
    pub(crate) revision: Revision,
    /// Read labels of training files (`FEN [0.5]`, `FEN | 23 | 0.5`, `FEN; 0.5`, `FEN,23,0.5`, `FEN
    /// 1-0`) and of chessdb (`FEN ; 23;`)
    #[arg(long)]
    pub(crate) labels: bool,
    /// Take the scores in labelled files, in tables of evaluations and in Parquet files from this point of
    /// view: White's (white), or that of the side to move (mover)
    #[arg(long, value_parser = word_of::<ScoreView>(), value_name = "SIDE")]
    pub(crate) score_view: Option<ScoreView>,
    /// Read perft counts in any dialect as the operations D1 ... Dn
    #[arg(long)]
    pub(crate) perft: bool,
    /// Read `startpos moves e2e4` as the position before the moves, with the moves as pv
    #[arg(long)]
    pub(crate) keep_moves: bool,
    /// Accept moves in other notations. Only one command sets this.
    #[arg(skip)]
    pub(crate) repair_moves: bool,
    /// Store a mate such as `bm #5` unchanged, or as an operation dm or ce
    #[arg(long, value_parser = word_of::<MateTargets>(), default_value = "keep", value_name = "FORM")]
    pub(crate) mates: MateTargets,
    /// Reject lines that are longer than this [default: 1M, or 4095 with --profile strict]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) max_line: Option<usize>,
    /// Read files and standard input in this format, whatever their names. It is an error if their
    /// first bytes show another format
    #[arg(long, value_parser = word_of::<FileFormat>(), value_name = "FORMAT")]
    pub(crate) from: Option<FileFormat>,
    /// Read text in this character set: utf-8, latin-1, or a name such as windows-1251, gbk,
    /// shift_jis [default: UTF-8, or Windows-1252 for text that is not UTF-8]
    #[arg(long, value_name = "CHARSET")]
    pub(crate) charset: Option<TextCharset>,
    /// Write rejected lines and games, and games that are cut short, into this file, byte for byte. A line end
    /// separates sources that lack it
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Write every repair to this file: file, line, code, text before, text after
    #[arg(long, value_name = "FILE.tsv")]
    pub(crate) repairs: Option<PathBuf>,
    /// Reject every line that has a warning
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Keep exit status 0 if lines or games are rejected, or games are cut short
    #[arg(long)]
    pub(crate) allow_rejects: bool,
    /// Print every warning, not only the first 20 of each code
    #[arg(long)]
    pub(crate) all_warnings: bool,
    /// Read lines with this many threads, at most four per core [default: one per core]
    #[arg(long, value_name = "N", value_parser = values::parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) games: GameReadArgs,
}

/// Form of the games that are read, and the positions and operations that are taken from the games.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Games")]
pub(crate) struct GameReadArgs {
    /// Read positions of the main line, not whole games: all positions (the default), the final
    /// position, or the positions after A to B plies, such as --positions=10..20 (0 is the start).
    /// Positions after a null move are not read
    #[arg(long, value_name = "all|final|A..B", num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    pub(crate) positions: Option<Positions>,
    /// Read positions of variations too; with --positions=final, the last position of each line
    #[arg(long)]
    pub(crate) variations: bool,
    /// Store the tags of the game as ptp
    #[arg(long)]
    pub(crate) game_tags: bool,
    /// Store the opening tags of the game: ECO as eco; NIC as nic; Opening, Variation and
    /// SubVariation as v0, v1 and v2
    #[arg(long)]
    pub(crate) game_openings: bool,
    /// Store the evaluation in a comment as ce (side to move) and acd (depth). [%eval 0.34] and
    /// [%eval #-3,20] are about the position after the commented move; +0.35/20 1.2s (cutechess,
    /// fastchess) is about the position before the commented move
    #[arg(long)]
    pub(crate) game_evals: bool,
    /// Read piece letters of this language in games, such as german; figurines are always read
    #[arg(long, value_name = "LANGUAGE", default_value = "english")]
    pub(crate) language: Language,
    /// Reject games that are larger than this
    #[arg(long, value_name = "BYTES", value_parser = parse_size, default_value = "16M")]
    pub(crate) max_game: usize,
    /// Treat a game that is cut short at an illegal move like a complete game: tallies and books
    /// count it, and the exit status is 0
    #[arg(long)]
    pub(crate) truncate_games: bool,
}

impl GameReadArgs {
    /// The name of the first given option that concerns positions of games.
    pub(crate) fn of_positions(&self) -> Option<&'static str> {
        let options = [
            (self.variations, "variations"),
            (self.game_tags, "game-tags"),
            (self.game_openings, "game-openings"),
            (self.game_evals, "game-evals"),
        ];
        options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }

    /// Positions of games that become records, and their operations.
    pub(crate) fn position_options(&self) -> PositionOptions {
        PositionOptions {
            positions: self.positions.clone().unwrap_or_default(),
            variations: self.variations,
            tags: self.game_tags,
            names: self.game_openings,
            evaluations: self.game_evals,
        }
    }
}

/// Form of games that are written.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing games")]
pub(crate) struct GameWriteArgs {
    /// In PGN, write only the seven standard tags and the moves
    #[arg(long)]
    reduced: bool,
    #[command(flatten)]
    text: GameTextArgs,
    /// In PGC, leave out comments, because the format has no record for comments
    #[arg(long, conflicts_with = "ext")]
    lossy: bool,
    /// In PGC, store comments, null moves, text beyond Latin-1 and long tags in escape records, and
    /// a checksum for each game. Games that are missing at the end of the file are not noticed
    #[arg(long)]
    ext: bool,
}

/// Form of the text of games.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing games")]
pub(crate) struct GameTextArgs {
    /// In PGN, write this character set. With ascii, all other characters become ? and are counted
    #[arg(long, value_enum, default_value_t = ToCharset::Utf8, value_name = "CHARSET")]
    to_charset: ToCharset,
    /// In PGN, write the piece letters of this language, or figurines (figurine). Other programs
    /// read only english; the rest is for display
    #[arg(long, value_name = "LANGUAGE", default_value = "english")]
    to_language: Language,
    /// Keep escape lines, which begin with `%`
    #[arg(long)]
    escapes: bool,
    /// In PGC, or in PGN with --to-charset latin-1, write ? for characters that Latin-1 does not
    /// have, instead of refusing the game
    #[arg(long)]
    translit: bool,
}

/// Character sets that games are written in.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
enum ToCharset {
    #[value(name = "utf-8", alias = "utf8")]
    Utf8,
    #[value(name = "latin-1", alias = "latin1")]
    Latin1,
    Ascii,
}

impl GameTextArgs {
    pub(crate) fn pgn(&self, reduced: bool) -> PgnFormatOptions {
        let charset = match self.to_charset {
            ToCharset::Latin1 => Charset::Latin1,
            ToCharset::Utf8 | ToCharset::Ascii => Charset::Utf8,
        };
        PgnFormatOptions {
            reduced,
            charset,
            ascii: self.to_charset == ToCharset::Ascii,
            translit: self.translit,
            escapes: self.escapes,
            language: self.to_language,
        }
    }
}

impl GameWriteArgs {
    pub(crate) fn pgn(&self) -> PgnFormatOptions {
        self.text.pgn(self.reduced)
    }

    pub(crate) fn pgc(&self) -> PgcEncodeOptions {
        PgcEncodeOptions {
            extended: self.ext,
            drop_comments: self.lossy,
            escapes: self.text.escapes,
            translit: self.text.translit,
            ..Default::default()
        }
    }
}

impl FormArgs {
    pub(crate) fn pgn_options(&self) -> PgnReadOptions {
        PgnReadOptions {
            profile: self.profile,
            language: self.games.language,
            charset: self.text_charset(),
            limit: self.games.max_game,
            truncate: self.games.truncate_games.then_some(true),
            ..Default::default()
        }
    }

    pub(crate) fn options(&self) -> ParseOptions {
        ParseOptions {
            revision_1994: self.revision == Revision::R1994,
            labels: self.labels,
            score_view: self.score_view,
            perft: self.perft,
            mates: self.mates,
            keep_moves: self.keep_moves,
            repair_moves: self.repair_moves,
            charset: self.text_charset(),
            ..ParseOptions::new(self.profile)
        }
    }

    fn text_charset(&self) -> Option<Charset> {
        self.charset.and_then(TextCharset::charset)
    }

    /// The encoding from which text is decoded before it is read; `None` if the reader decodes it.
    pub(crate) fn encoding(&self) -> Option<TextEncoding> {
        self.charset.and_then(TextCharset::encoding)
    }
}

/// Text form of records.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteArgs {
    /// Write EPD, six-field FEN, or FEN followed by operations [default: by the output's suffix, or
    /// epd]
    #[arg(long, value_parser = word_of::<Format>(), value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Write the counters as they were (keep), as hmvc and fmvn (ops), as FEN fields (fen), or not
    /// at all (drop) [default: keep; ops in a file whose name ends in .epd]
    #[arg(long, value_parser = word_of::<CounterForm>(), value_name = "FORM")]
    pub(crate) counters: Option<CounterForm>,
    /// Write castling rights as KQkq with file letters for inner rooks (xfen), as file letters (shredder), or
    /// with unchanged letters (keep)
    #[arg(long, value_parser = word_of::<CastlingForm>(), default_value = "xfen", value_name = "FORM")]
    pub(crate) castling: CastlingForm,
    /// Write en passant squares as they were (keep), only where a capture is legal (legal), or only
    /// where an enemy pawn stands next to the pawn that moved (pseudo)
    #[arg(long, value_parser = word_of::<EnPassantForm>(), default_value = "keep", value_name = "FORM")]
    pub(crate) ep: EnPassantForm,
    /// Write text for a program that does not read all of standard EPD; see `epdb help compat`
    #[arg(long, value_parser = word_of::<Compat>(), value_name = "PROGRAM")]
    pub(crate) compat: Option<Compat>,
}

impl WriteArgs {
    /// Refuses output forms that the program at `--compat` cannot read.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.compat.is_none()
                || self.counters != Some(CounterForm::Fen) && self.format != Some(Format::FenOps),
            "python-chess takes counters only as hmvc and fmvn: --compat python-chess does not go \
             with --counters fen or --format fen+ops"
        );
        Ok(())
    }

    /// True if no option asks for another form of the text.
    pub(crate) fn is_usual(&self) -> bool {
        let WriteArgs { format, counters, castling, ep, compat } = self;
        format.is_none()
            && counters.is_none()
            && compat.is_none()
            && *castling == CastlingForm::default()
            && *ep == EnPassantForm::default()
    }

    /// The options of the text writer for an output of this format; `named` is the format that the
    /// name of the output shows.
    pub(crate) fn options(&self, output: FileFormat, named: Option<FileFormat>) -> FormatOptions {
        let usual = if output == FileFormat::Fen { Format::Fen } else { Format::Epd };
        let counters = match named {
            Some(FileFormat::Epd) => CounterForm::Ops,
            _ => CounterForm::Keep,
        };
        FormatOptions {
            format: self.format.unwrap_or(usual),
            counters: self.counters.unwrap_or(counters),
            castling: self.castling,
            en_passant: self.ep,
            compat: self.compat.unwrap_or_default(),
        }
    }
}

/// Destination of the output.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct OutputArgs {
    /// Write to this file instead of standard output; it appears only when it is complete
    #[arg(short, long, value_name = "FILE", help_heading = None::<&str>)]
    pub(crate) output: Option<PathBuf>,
    /// Write this format to standard output, or to a file whose name does not show its format
    #[arg(long, value_parser = written_formats(), value_name = "FORMAT")]
    pub(crate) to: Option<FileFormat>,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

impl OutputArgs {
    /// The format that `--schema`, `--to` or the name of the output says.
    pub(crate) fn format(&self) -> anyhow::Result<Option<FileFormat>> {
        let named = self.output.as_deref().and_then(FileFormat::from_name);
        self.schema.format(self.to.or(named))
    }
}

/// The table of a Parquet file.
#[derive(Args, Clone, Copy, Default, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct SchemaArgs {
    /// Table to write into a .parquet file [default: records]
    #[arg(long, value_parser = one_of(schemas()), value_name = "TABLE")]
    schema: Option<FileFormat>,
}

impl SchemaArgs {
    /// The format of an output. `said` is the format that the name of the output or `--to` gives.
    pub(crate) fn format(self, said: Option<FileFormat>) -> anyhow::Result<Option<FileFormat>> {
        match self.schema {
            None => Ok(said),
            Some(_) if !said.is_some_and(FileFormat::is_parquet) => anyhow::bail!(Usage(
                "--schema is for an output of Parquet: give the output the suffix .parquet, or use \
                 --to parquet"
                    .to_string()
            )),
            schema => Ok(schema),
        }
    }
}

/// The tables of Parquet files, by their words.
fn schemas() -> Vec<(PossibleValue, FileFormat)> {
    let table = |name: &'static str, format, help: &'static str| {
        (PossibleValue::new(name).help(help), format)
    };
    vec![
        table("records", FileFormat::Parquet, "Positions with all their operations"),
        table("records-all", FileFormat::ParquetAllRecords, "Positions with every column"),
        table("games", FileFormat::ParquetGames, "Games: tags, moves and evaluations"),
        table("moves", FileFormat::ParquetMoves, "The moves of a library, with their results"),
        table(
            "lichess-evals",
            FileFormat::ParquetLichessEvaluations,
            "Evaluations in the columns of lichess",
        ),
        table(
            "lichess-puzzles",
            FileFormat::ParquetLichessPuzzles,
            "Puzzles in the columns of lichess (only read)",
        ),
        table("lichess-games", FileFormat::ParquetLichessGames, "Games in the columns of lichess"),
    ]
}

/// Permission to replace files that are otherwise kept.
#[derive(Args, Clone, Copy, Default, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct ForceArgs {
    /// Replace an existing store or library, an archive with more records, or an input by some of its records.
    /// Other files are replaced without --force, except by `export --verbatim`
    #[arg(long)]
    pub(crate) force: bool,
}

/// Facts about the data of an archive.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct AboutArgs {
    /// Say in the archive what the data is: name=TEXT, source=TEXT, licence=TEXT or another key. It replaces
    /// what the sources say of KEY; the other facts of all sources are kept
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Writing", value_parser = parse_about)]
    about: Vec<About>,
}

/// Parses a fact. Archives have one spelling of `licence`.
fn parse_about(text: &str) -> Result<About, String> {
    match text.strip_prefix("license=") {
        Some(licence) => format!("licence={licence}").parse(),
        None => text.parse(),
    }
}

impl AboutArgs {
    /// The facts about an output of this format with the data of these sources.
    pub(crate) fn of(
        &self,
        format: FileFormat,
        files: &[impl AsRef<Path>],
        streams: &Streams,
    ) -> anyhow::Result<About> {
        let is_archive = matches!(format, FileFormat::Epa | FileFormat::Shards);
        anyhow::ensure!(
            is_archive || self.about.is_empty(),
            Usage("--about needs an archive (.epa), which can store it".into())
        );
        let mut all = About::default();
        for file in files.iter().filter(|_| is_archive) {
            let Some(source) = streams.library(file)? else { continue };
            // Damage is reported when the records are read.
            all.join(source.opened().and_then(|source| source.about()).unwrap_or_default());
        }
        let mut given = About::default();
        self.about.iter().cloned().for_each(|about| given.join(about));
        all.replace(given);
        Ok(all)
    }
}

pub(crate) fn written_formats() -> impl TypedValueParser<Value = FileFormat> {
    one_of(FileFormat::words().into_iter().filter(|(_, format)| format.is_written()).collect())
}

/// Merging of two records of one position.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Merging")]
pub(crate) struct MergeArgs {
    /// If the analyses (acd, acn, acs, ce, dm, pm, pv ...) of merged records differ in an operation that both
    /// have, keep that of the later record, the first record, the record with the greatest depth, or the
    /// record with the most nodes
    #[arg(long, value_parser = word_of::<Prefer>(), default_value = "later", value_name = "WHOSE")]
    prefer: Prefer,
    /// If the best moves of merged records differ, report a conflict, or write all of them, the
    /// first or the last
    #[arg(long, value_parser = word_of::<BestMoves>(), default_value = "conflict", value_name = "WHAT")]
    bm: BestMoves,
    /// When records are merged, store the sum of their numbers for each of these opcodes
    #[arg(long, value_delimiter = ',', value_parser = parse_opcode, value_name = "OPCODE[,...]")]
    add: Vec<Opcode>,
}

impl MergeArgs {
    /// True if an option differs from its default.
    pub(crate) fn is_asked(&self) -> bool {
        self.prefer != Prefer::default() || self.bm != BestMoves::default() || !self.add.is_empty()
    }

    pub(crate) fn rules(&self) -> MergeRules {
        MergeRules { prefer: self.prefer, best_moves: self.bm, counts: self.add.clone() }
    }

    /// Text after the number of merged records whose analyses differ.
    pub(crate) fn shown_analyses(&self, analyses: &str) -> String {
        let prefer = values::word(&self.prefer).unwrap_or_default();
        format!("with {analyses} (--prefer {prefer} kept one)")
    }
}

/// Games to count in a library whose counts are split (`tally --by`).
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Counted games")]
pub(crate) struct CellArgs {
    /// Count only games from this month or year on; this needs a library made with `tally --by`
    #[arg(long, value_name = "YYYY[-MM]")]
    since: Option<YearMonth>,
    /// Count only games up to the end of this month or year
    #[arg(long, value_name = "YYYY[-MM]")]
    until: Option<YearMonth>,
    /// Count only games with these classes of time controls
    #[arg(long, value_delimiter = ',', value_name = "SPEED[,...]", value_parser = speeds())]
    speeds: Vec<Speed>,
    /// Count only games whose mean rating is in one of these groups. The name of a group is the
    /// lowest rating in the group
    #[arg(long, value_delimiter = ',', value_name = "RATING[,...]",
          value_parser = parse_rating_group)]
    ratings: Vec<u16>,
}

fn speeds() -> impl TypedValueParser<Value = Speed> {
    PossibleValuesParser::new(Speed::ALL.map(Speed::name))
        .try_map(|name| Speed::from_name(&name).ok_or("not a class of time controls"))
}

impl CellArgs {
    /// The games that count.
    pub(crate) fn filter(&self) -> CellFilter {
        let CellArgs { since, until, speeds, ratings } = self.clone();
        CellFilter { since, until, speeds, ratings }
    }
}

/// Files that a command leaves out.
#[derive(Args, Clone, Debug)]
pub(crate) struct KeepGoingArgs {
    /// Leave out files that cannot be read, and end with exit status 1. Without this option, nothing is
    /// read if a file cannot be read. All such files are named
    #[arg(long, help_heading = "Reading")]
    pub(crate) keep_going: bool,
}

/// Memory of a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct MemoryArgs {
    /// Use about this memory at most; data that does not fit goes to temporary files. SIZE is in bytes,
    /// or has K, M or G
    #[arg(id = "memory", long = "memory", default_value = "256M", value_parser = parse_memory)]
    #[arg(value_name = "SIZE", help_heading = "Memory")]
    pub(crate) memory_bytes: usize,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
pub(crate) enum Revision {
    #[value(name = "1994")]
    R1994,
    #[value(name = "1995")]
    R1995,
}

/// The smallest useful size of memory.
const MIN_MEMORY: usize = 1 << 10;

pub(crate) fn parse_memory(text: &str) -> Result<usize, String> {
    match parse_size(text)? {
        size if size < MIN_MEMORY => Err("at least 1K; 256M is the default".to_string()),
        size => Ok(size),
    }
}

/// Reads `4096`, `64K`, `256M`, `2G` (powers of 1024; an `i` or `iB` may follow the letter).
fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1usize,
        "K" | "KI" | "KIB" | "KB" => 1 << 10,
        "M" | "MI" | "MIB" | "MB" => 1 << 20,
        "G" | "GI" | "GIB" | "GB" => 1 << 30,
        unit => return Err(format!("`{unit}` is not a unit of size: use K, M or G")),
    };
    let count: usize =
        digits.parse().map_err(|_| "expected a number such as 64K or 256M".to_string())?;
    count.checked_mul(factor).ok_or_else(|| "the size is too large".to_string())
}
