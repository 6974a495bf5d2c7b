//! The command line: arguments, commands, output, diagnostics. No chess knowledge.

mod args;
mod board;
mod columns;
mod command;
mod comments;
mod diagnostics;
mod engines;
mod expand;
mod games;
mod generated;
mod help;
mod job;
mod json;
mod lazy_help;
mod ledgers;
mod obeyed;
mod outcome;
mod output;
mod pages;
mod pipe;
mod places;
mod progress;
mod query_reader;
mod record_output;
mod referee;
mod repertoire;
mod search_target;
mod settings;
mod shell;
mod signals;
mod slice;
mod source;
mod spellings;
mod terminal;
mod values;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use command::*;
use expand::Expanded;
use lazy_help::LazyHelp;
use outcome::{Outcome, report};
use terminal::MessageForm;

use epdb_library::sets::Keep;

/// Keep everything that an EPD file holds in a small, fast database: read EPD and FEN text, store
/// positions as compact binary records, find them by position, and write them back as canonical
/// text.
///
/// Data goes to standard output, all else to standard error. Exit status: 0 done (also with repairs
/// or an empty result), 1 something was rejected, damaged, missing or different, 2 the command failed.
#[derive(Parser, Debug)]
#[command(name = "epdb", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print errors only, no warnings and no summaries
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Form of messages on standard error: text, or json for one object per line
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        default_value = "text",
        hide_default_value = true,
        hide_possible_values = true
    )]
    messages: MessageForm,
    /// Colours: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(
        id = "color",
        long = "color",
        global = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    _color: clap::ColorChoice,
}

/// The commands, in the order of their groups ([`help::GROUPS`]).
#[derive(Subcommand, Debug)]
enum Command {
    Explore(LazyHelp<explore::Args>),
    #[command(alias = "games")]
    Search(LazyHelp<search::Args>),
    #[cfg(feature = "server")]
    Serve(LazyHelp<serve::Args>),
    #[cfg(feature = "server")]
    Site(LazyHelp<site::Args>),
    Shell(LazyHelp<command::shell::Args>),
    Demo(LazyHelp<demo::Args>),

    #[command(alias = "normalise")]
    Normalize(LazyHelp<normalize::Args>),
    #[command(alias = "info")]
    Stats(LazyHelp<stats::Args>),
    Count(LazyHelp<count::Args>),
    #[command(aliases = ["validate", "check", "lint"])]
    Verify(LazyHelp<verify::Args>),
    Diff(LazyHelp<diff::Args>),

    Convert(LazyHelp<convert::Args>),
    Edit(LazyHelp<edit::Args>),
    #[command(alias = "name")]
    Classify(LazyHelp<classify::Args>),
    Join(LazyHelp<join::Args>),
    Table(LazyHelp<table::Args>),

    #[command(alias = "find")]
    Get(LazyHelp<get::Args>),
    Filter(LazyHelp<filter::Args>),
    #[command(
        alias = "merge",
        about = "Write the records of all sources, merged by position, or the games of all sources",
        after_help = sets::UNION_EXAMPLES
    )]
    Union(LazyHelp<sets::DedupeArgs>),
    #[command(
        about = "Write the records or games of the first source that are in all other sources",
        after_help = sets::INTERSECT_EXAMPLES
    )]
    Intersect(LazyHelp<sets::SelectionArgs>),
    #[command(
        about = "Write the records or games of the first source that are in no other source",
        after_help = sets::SUBTRACT_EXAMPLES
    )]
    Subtract(LazyHelp<sets::SelectionArgs>),
    #[command(
        about = "Write each position once, with its records merged (those in conflict stay), or each game once",
        after_help = sets::DEDUPE_EXAMPLES
    )]
    Dedupe(LazyHelp<sets::DedupeArgs>),
    // `spellings` adds --random and --first to the other names.
    #[command(alias = "shuffle")]
    Sort(LazyHelp<select::SortArgs>),
    #[command(alias = "head")]
    Sample(LazyHelp<select::SampleArgs>),
    Split(LazyHelp<split::Args>),

    Tally(LazyHelp<tally::Args>),
    Import(LazyHelp<import::Args>),
    Pack(LazyHelp<pack::Args>),

    Repertoire(LazyHelp<command::repertoire::Args>),
    Book(LazyHelp<book::Args>),
    // `spellings` adds --total to `elo` and `sprt`.
    #[command(aliases = ["results", "elo", "sprt"])]
    Openings(LazyHelp<openings::Args>),

    #[command(aliases = ["pfga", "analyse"])]
    Analyze(LazyHelp<engine::AnalyzeArgs>),
    #[command(alias = "pfts")]
    Solve(LazyHelp<engine::SolveArgs>),
    Report(LazyHelp<report::Args>),
    Referee(LazyHelp<command::referee::Args>),
    Client(LazyHelp<client::Args>),

    Help(LazyHelp<help::Args>),

    #[command(aliases = ["unpack", "cat"])]
    Export(LazyHelp<export::Args>),
    Shard(LazyHelp<shard::Args>),
    Backsolve(LazyHelp<backsolve::Args>),
    Mate(LazyHelp<engine::MateArgs>),
    Play(LazyHelp<transform::PlayArgs>),
    Flip(LazyHelp<transform::FlipArgs>),
    Moves(LazyHelp<moves::MovesArgs>),
    Perft(LazyHelp<moves::PerftArgs>),
    Registers(LazyHelp<registers::Args>),
    Dump(LazyHelp<dump::Args>),
    #[command(
        name = "pfdn",
        about = "Like normalize, but write counters as operations and sort some operands",
        after_help = "Example: epdb pfdn suite.epd -o pure.epd"
    )]
    Pfdn(LazyHelp<normalize::Args>),
    #[command(about = "Search for a mate in --length moves, as the EPD standard describes it")]
    Pfms(LazyHelp<engine::MateArgs>),
    #[command(alias = "pfop")]
    Purge(LazyHelp<purge::Args>),
    Tfgg(LazyHelp<transform::TfggArgs>),
    Completions(LazyHelp<generated::CompletionsArgs>),
    Man(LazyHelp<generated::ManArgs>),
}

/// Runs the command of the process arguments.
pub(crate) fn run() -> ExitCode {
    let ready = signals::install().map(|()| Outcome::Done).map_err(Into::into);
    match report(ready, "") {
        Outcome::Done => execute(std::env::args_os().collect()).into(),
        failed => failed.into(),
    }
}

/// Runs a command line and reports its error. The first word of the command line is the name of the program.
/// A shell calls this function many times in one process.
fn execute(args: Vec<OsString>) -> Outcome {
    if args.len() == 1 {
        help::short_page().lines().for_each(terminal::print_line);
        return Outcome::Failed;
    }
    let args = spellings::from_polyglot(args);
    let (args, note) = spellings::translated(args);
    let args = command::referee::with_options_first(engines::joined(args));
    let choice = terminal::choose_color(&args);
    if wants_json(&args) {
        terminal::print_messages_as_json();
    }
    let mut cli = help::with_first_page(Cli::command()).color(choice);
    if !names_command(&cli, &args) {
        cli.build();
        cli = help::on_first_page(cli);
    }
    let (mut matches, mut parsed) = match parse(&mut cli, &args) {
        Ok(parsed) => parsed,
        Err(error) => return refuse(error),
    };
    let Called { name, command, given } = called(&cli, &matches);
    let mut left_out = Expanded::default();
    match expand::expanded(command, given, &args) {
        Ok(None) => {}
        Ok(Some(expanded)) => match parse(&mut cli, &expanded.args) {
            Ok(again) => {
                (matches, parsed) = again;
                left_out = expanded;
            }
            Err(error) => return refuse(error),
        },
        Err(error) => return report(Err(error), &name),
    }
    let Cli { command, quiet, messages, .. } = parsed;
    if messages == MessageForm::Json {
        terminal::print_messages_as_json();
    }
    if quiet {
        terminal::be_quiet();
    }
    if let Some(note) = note {
        terminal::note!("epdb: {note}");
    }
    let ready = check(&cli, &matches);
    let keeps_all = matches!(&command, Command::Pack(args) if args.keeps_all());
    let outcome = report(ready.and_then(|()| call(command, cli)), &name);
    if let Some(hidden) = left_out.hidden {
        terminal::note!("epdb: {hidden}");
    }
    match left_out.others {
        Some(others) if keeps_all => {
            terminal::print_error(&others);
            return outcome.and(Outcome::Different);
        }
        Some(others) => terminal::note!("epdb: {others}"),
        None => {}
    }
    outcome
}

fn parse(cli: &mut clap::Command, args: &[OsString]) -> Result<(ArgMatches, Cli), clap::Error> {
    let matches = cli.try_get_matches_from_mut(args)?;
    let parsed = Cli::from_arg_matches(&matches).map_err(|error| error.format(cli))?;
    Ok((matches, parsed))
}

/// True if `--messages json` is given. It also applies to errors of the command line itself, which
/// cannot be parsed then.
fn wants_json(args: &[OsString]) -> bool {
    let words = args.iter().take_while(|word| *word != "--");
    let words: Vec<&OsString> = words.collect();
    words.iter().any(|word| *word == "--messages=json")
        || words.windows(2).any(|pair| pair[0] == "--messages" && pair[1] == "json")
}

/// True if the command line names a command, and does not request the first page before it. Then only this
/// command has to be built.
fn names_command(cli: &clap::Command, args: &[OsString]) -> bool {
    let Some(place) = spellings::command(args) else { return false };
    let is_plain = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_global = ["--color", "--messages"].iter().any(|name| word.starts_with(name));
        ["-q", "--quiet"].contains(&&*word) || is_global || !word.starts_with('-')
    };
    args[1..place].iter().all(is_plain) && cli.find_subcommand(&args[place]).is_some()
}

const GROUPED: &str = "results by opening, year or player: epdb table --group-by ECO --agg games,score FILE (`epdb \
                       classify` writes ECO and names of openings into games without them)";

/// Options of other programs, with what to write instead.
const MEANT_OPTIONS: [(&str, &str); 9] = [
    ("--by", GROUPED),
    ("--group-by", GROUPED),
    ("--reverse", "a minus sign before a field means descending order: sort --by=-Date"),
    ("--descending", "a minus sign before a field means descending order: sort --by=-Date"),
    ("-n", FIRST),
    ("--limit", FIRST),
    ("--head", FIRST),
    ("--sort", SORTED),
    ("--order-by", SORTED),
];

const FIRST: &str =
    "`epdb sample --first -n 10 FILE` writes the first records or games: pipe them to this command";
const SORTED: &str =
    "`epdb sort --by=FIELD FILE` writes records or games in order: pipe them to this command";

/// Prints the error of a command line that cannot be parsed, or the help that it requests.
fn refuse(error: clap::Error) -> Outcome {
    let error = shortened(error);
    if !error.use_stderr() {
        let shown = match error.kind() {
            ErrorKind::DisplayHelp => help::show(&help::colored(&error.render())),
            _ => output::print_line(error.render().to_string().trim_end()),
        };
        return report(shown.map(|()| Outcome::Done), "");
    }
    let text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        text.lines().for_each(terminal::print_line);
        return Outcome::Failed;
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    terminal::print_error(first);
    let unknown = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let meant = MEANT_OPTIONS.iter().find(|(option, _)| unknown == *option);
    let tip = meant.map(|(_, advice)| format!("\n  tip: {advice}"));
    let rest = tip.as_deref().unwrap_or(rest);
    let is_needed = |line: &&str| !terminal::prints_json() || !line.trim().is_empty();
    rest.lines().filter(is_needed).for_each(terminal::print_line);
    Outcome::Failed
}

/// The same error, with a long value shortened and an address without its secrets.
fn shortened(mut error: clap::Error) -> clap::Error {
    const MAX_SHOWN: usize = 120;
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let value = epdb_source::name_of(Path::new(value));
        let mut short: String = value.chars().take(MAX_SHOWN).map(plain).collect();
        if value.chars().nth(MAX_SHOWN).is_some() {
            short.push('…');
        }
        error.insert(ContextKind::InvalidValue, ContextValue::String(short));
    }
    error
}

/// Checks the files and options of a command.
fn check(cli: &clap::Command, matches: &ArgMatches) -> anyhow::Result<()> {
    let Called { name, command, given } = called(cli, matches);
    obeyed::check_needs(&name, command, given)?;
    places::check(command, given)?;
    obeyed::check(command, given)
}

/// The command named by a command line.
struct Called<'c> {
    /// The words of the command, such as `book list`.
    name: String,
    command: &'c clap::Command,
    /// The arguments of the command.
    given: &'c ArgMatches,
}

fn called<'c>(cli: &'c clap::Command, matches: &'c ArgMatches) -> Called<'c> {
    let mut called = Called { name: String::new(), command: cli, given: matches };
    while let Some((word, given)) = called.given.subcommand()
        && let Some(command) = called.command.find_subcommand(word)
    {
        let name = format!("{} {word}", called.name).trim_start().to_string();
        called = Called { name, command, given };
    }
    called
}

/// Runs a command; `cli` is the command line from which the command was parsed.
fn call(command: Command, cli: clap::Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Normalize(args) => normalize::run(&args),
        Command::Pfdn(args) => normalize::run(&args.0.in_normal_form()),
        Command::Purge(args) => purge::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Shard(args) => shard::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Search(args) => search::run(&args),
        Command::Openings(args) => openings::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Registers(args) => registers::run(&args),
        Command::Moves(args) => moves::moves(&args),
        Command::Tfgg(args) => transform::tfgg(&args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(&args),
        #[cfg(feature = "server")]
        Command::Site(args) => site::run(&args),
        Command::Demo(args) => demo::run(&args, execute),
        Command::Shell(args) => command::shell::run(&args, execute),
        Command::Tally(args) => tally::run(&args),
        Command::Backsolve(args) => backsolve::run(&args),
        Command::Analyze(args) => engine::analyze(&args),
        Command::Mate(args) => engine::mate(&args),
        Command::Pfms(args) => engine::mate(&args.0.with_length_for_all()),
        Command::Solve(args) => engine::solve(&args),
        Command::Referee(args) => command::referee::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Client(args) => client::run(&args),
        Command::Repertoire(args) => command::repertoire::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::Table(args) => table::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Union(args) | Command::Dedupe(args) => sets::dedupe(&args),
        Command::Intersect(args) => sets::select(&args, Keep::InAll),
        Command::Subtract(args) => sets::select(&args, Keep::InNone),
        Command::Sort(args) => select::sort(&args),
        Command::Sample(args) => select::sample(&args),
        Command::Split(args) => split::run(&args),
        Command::Edit(args) => edit::run(&args),
        Command::Classify(args) => classify::run(&args),
        Command::Play(args) => transform::play(&args),
        Command::Flip(args) => transform::flip(&args),
        Command::Perft(args) => moves::perft(&args),
        Command::Book(args) => book::run(&args),
        Command::Completions(args) => generated::completions(in_full(), &args),
        Command::Man(args) => generated::man(in_full(), &args),
        Command::Help(args) => help::run(cli, &args),
    }
}

/// The command line with all options of all commands.
fn in_full() -> clap::Command {
    lazy_help::describe_in_full();
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes each option of each command to `visit`, with the name of the command.
    fn each_option(command: &clap::Command, visit: &mut dyn FnMut(&str, &clap::Arg)) {
        command.get_opts().for_each(|option| visit(command.get_name(), option));
        command.get_subcommands().for_each(|one| each_option(one, visit));
    }

    #[test]
    fn options_of_one_meaning_have_one_name() {
        let mut cli = Cli::command();
        cli.build();
        each_option(&cli, &mut |command, option| {
            let is_limit = option.get_long() == Some("limit");
            assert_eq!(option.get_short() == Some('n'), is_limit, "{command}: {option}");
            let values: Vec<String> =
                option.get_possible_values().iter().map(|it| it.get_name().into()).collect();
            assert_eq!(
                values == ["auto", "always", "never"],
                option.get_long() == Some("color"),
                "{command}: {option}"
            );
            assert_eq!(
                values == ["white", "black"],
                option.get_long() == Some("side"),
                "{command}: {option}"
            );
        });
    }
}
