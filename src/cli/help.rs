//! `epdb help`: the first page, pages of commands that show only their own options, and the other
//! pages.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{self, Stdio};

use clap::builder::StyledStr;
use clap::builder::styling::Style;
use clap::{Arg, ArgAction, Args as _, Command};

use crate::cli::args::{
    AboutArgs, CellArgs, KeepGoingArgs, MemoryArgs, MergeArgs, OutputArgs, ReadArgs, WriteArgs,
};
use crate::cli::command::tally::COUNTING;
use crate::cli::engines::ProcessArgs;
use crate::cli::games::GamesArgs;
use crate::cli::ledgers::LibraryArgs;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::open_page;
use crate::cli::slice::{SliceArgs, SliceGamesArgs};
use crate::cli::{pages, signals, terminal};

/// Show the page of a command, or another page
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb help options")]
pub(crate) struct Args {
    /// A command, or a page listed by `epdb help`
    #[arg(value_name = "COMMAND|PAGE")]
    page: Vec<String>,
}

/// A page that does not belong to a command.
pub(crate) struct Page {
    /// The word after `epdb help`.
    pub(crate) name: &'static str,
    /// Subject, for the list of pages.
    pub(crate) about: &'static str,
    pub(crate) text: fn() -> String,
}

/// All pages that do not belong to a command.
pub(crate) const PAGES: &[Page] = &[
    Page {
        name: "options",
        about: "options that many commands share: reading, writing, games, engines",
        text: shared_options,
    },
    Page {
        name: "units",
        about: "games or positions: what a command works on, and what it writes",
        text: pages::units_page,
    },
    Page {
        name: "sources",
        about: "formats of other projects: lichess, chessdb, Polyglot, [%eval] in games",
        text: pages::sources_page,
    },
    Page {
        name: "remote",
        about: "sources on web servers and in object storage",
        text: pages::remote_page,
    },
    Page {
        name: "delta",
        about: "a library and the games that came later, read as one",
        text: pages::delta_page,
    },
    Page {
        name: "costs",
        about: "size, processor time and memory of a large library, from two samples",
        text: pages::costs_page,
    },
    Page { name: "where", about: "the expressions of --where", text: pages::where_page },
    Page {
        name: "structures",
        about: "names of pawns, structures and endings for --where, with examples",
        text: pages::structures_page,
    },
    Page {
        name: "tournament",
        about: "the tournament file of `epdb referee`",
        text: pages::tournament_page,
    },
    Page { name: "json", about: "the output of --json", text: pages::json_page },
    Page {
        name: "compat",
        about: "output for programs that do not read all of EPD, such as python-chess",
        text: pages::compat_page,
    },
    Page {
        name: "codes",
        about: "the codes of errors and warnings; `epdb help CODE` explains one code",
        text: pages::codes_page,
    },
];

/// A page by its name, if the page is neither in [`PAGES`] nor the page of a command.
fn found_page(name: &str) -> Option<String> {
    pages::code_page(name)
}

/// The headings of options that many commands share. On the page of a command these options are
/// only named.
const SHARED: [&str; 10] = [
    "Engines",
    "Reading",
    "Games",
    "Counted games",
    "Writing",
    "Writing games",
    "Merging",
    "Libraries",
    "Slices",
    "Memory",
];

/// All shared options.
#[derive(clap::Args)]
struct Shared {
    #[command(flatten)]
    _engines: ProcessArgs,
    #[command(flatten)]
    _read: ReadArgs,
    #[command(flatten)]
    _refused: KeepGoingArgs,
    #[command(flatten)]
    _cells: CellArgs,
    #[command(flatten)]
    _games: GamesArgs,
    #[command(flatten)]
    _write: WriteArgs,
    #[command(flatten)]
    _about: AboutArgs,
    #[command(flatten)]
    _output: OutputArgs,
    #[command(flatten)]
    _merge: MergeArgs,
    #[command(flatten)]
    _libraries: LibraryArgs,
    #[command(flatten)]
    _slices: SliceArgs,
    #[command(flatten)]
    _slice_games: SliceGamesArgs,
    #[command(flatten)]
    _memory: MemoryArgs,
}

/// The heading of an option that many commands share.
fn shared_heading(arg: &Arg) -> Option<&'static str> {
    let heading = arg.get_help_heading()?;
    SHARED.into_iter().find(|shared| *shared == heading)
}

/// The command line with its first page.
pub(crate) fn with_first_page(cli: Command) -> Command {
    let cli = cli.after_help(pages()).max_term_width(100).disable_help_flag(true);
    let cli = cli.disable_version_flag(true).args(hidden_flags());
    let cli = ["quiet", "color", "messages"]
        .into_iter()
        .fold(cli, |cli, id| cli.mut_arg(id, |arg| arg.hide(true)));
    OTHERS
        .commands
        .iter()
        .fold(cli, |cli, name| cli.mut_subcommand(*name, |command| command.hide(true)))
}

/// A command with a short page: shared options are only named, in a list at the end.
pub(crate) fn with_short_page(command: Command) -> Command {
    match command.get_name() {
        "import" => without_counting(with_named_options(command)),
        "book" => with_named_options(command).mut_subcommand("make", with_side),
        _ => with_named_options(command),
    }
}

/// Flags hidden on the first page, because its end describes them.
fn hidden_flags() -> [Arg; 2] {
    let flag =
        |name, short, action| Arg::new(name).short(short).long(name).action(action).hide(true);
    [flag("help", 'h', ArgAction::Help), flag("version", 'V', ArgAction::Version)]
}

/// Hides the options of counting, because the page of `tally` has them.
fn without_counting(command: Command) -> Command {
    command.mut_args(|arg| {
        let is_hidden = arg.is_hide_set() || arg.get_help_heading() == Some(COUNTING);
        arg.hide(is_hidden)
    })
}

/// The page of `book make`. Its --side is also the side of a repertoire.
fn with_side(make: Command) -> Command {
    let help =
        "Make a book for this side of a repertoire, or count only games of --player with this side";
    without_counting(make).mut_arg("side", |side| side.hide(false).help_heading(None).help(help))
}

fn with_named_options(command: Command) -> Command {
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .hide(true)
        .help_heading(None::<&str>);
    let command = command.disable_help_flag(true).arg(help).mut_subcommands(with_named_options);
    let Some(list) = shared_list(&command) else { return command };
    let end = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let hidden = |arg: Arg| {
        let is_hidden = arg.is_hide_set() || shared_heading(&arg).is_some();
        arg.hide(is_hidden)
    };
    command.after_help(end + &list).mut_args(hidden)
}

/// Names of the shared options of a command by heading; `None` if it has none.
fn shared_list(command: &Command) -> Option<String> {
    let mut list = String::from("Shared options (see `epdb help options`):\n");
    let before = list.len();
    for heading in SHARED {
        let mut names = command
            .get_arguments()
            .filter(|arg| shared_heading(arg) == Some(heading) && !arg.is_hide_set())
            .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
            .peekable();
        if names.peek().is_none() {
            continue;
        }
        let mut line = format!("  {:<15}", format!("{heading}:"));
        let mut width = line.len();
        for name in names {
            if width + 1 + name.len() > 98 {
                line += &format!("\n{:<17}", "");
                width = 17;
            }
            line += " ";
            line += &name;
            width += 1 + name.len();
        }
        list += &line;
        list.push('\n');
    }
    (list.len() > before).then(|| list.trim_end().to_string())
}

/// End of the first page: formats and pages.
pub(crate) fn pages() -> String {
    let mut text = String::from(
        "The suffix of a file gives its format: .epd .fen .epb .epdb .epa, or .pgn and .pgc for games; .gz or\n\
         .zst may follow. `-` is standard input or output. An argument that names a file is that file.\n\
         Any other argument with a space, or that is a move, gives a position: a FEN, or moves as '1. e4 c5'.\n\
         Every command takes -q (print errors only), -h, --color auto|always|never and --messages text|json.\n\
         `epdb help COMMAND` explains a command, and `epdb help all` lists all commands. `epdb -V` prints the\n\
         version. `epdb help PAGE` shows a page:\n",
    );
    for Page { name, about, .. } in PAGES {
        text += &format!("  {name:<12}{about}\n");
    }
    text.trim_end().to_string()
}

fn shared_options() -> String {
    let mut page = String::from(
        "Options that many commands share. The page of a command names the shared options that it has.\n\n",
    );
    let options = Shared::augment_args(Command::new("epdb"))
        .disable_help_flag(true)
        .max_term_width(100)
        .help_template("{all-args}")
        .render_help();
    page += options.to_string().trim_end();
    page += "\n\nEvery command has -q, --quiet: print errors only, no warnings and no summaries.\n\
             Every command has --color WHEN. WHEN is always, never, or auto: colours on a terminal, unless NO_COLOR is set.\n\n\
             On a terminal, pages of help are shown in the pager that the variable PAGER names; without it, in less.\n\
             PAGER=cat turns the pager off.\n";
    page
}

/// Prints the page of a command (of one or more words), another page, or the first page.
pub(crate) fn run(mut cli: Command, Args { page: words }: &Args) -> anyhow::Result<Outcome> {
    cli.build();
    let mut cli = on_first_page(cli);
    let page = page(&mut cli, words).ok_or_else(|| unknown(&cli, &words.join(" ")))?;
    show(&page)?;
    Ok(Outcome::Done)
}

/// Prints a page; on a terminal, in a pager.
pub(crate) fn show(page: &str) -> anyhow::Result<()> {
    let page = format!("{}\n", page.trim_end_matches('\n'));
    if !show_in_pager(&page) {
        let mut out = open_page();
        out.write_all(page.as_bytes())?;
        out.finish()?;
    }
    Ok(())
}

/// Shows a page in the pager that `PAGER` names, by default `less`, which ends if the page fits on the
/// screen. False if standard output is not a terminal, or there is no pager.
fn show_in_pager(page: &str) -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    let pager = env::var("PAGER").unwrap_or_else(|_| "less".into());
    let words = shell_words::split(&pager).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else { return false };
    if !io::stdout().is_terminal() || is_dumb || program == "cat" {
        return false;
    }
    let mut command = process::Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    // Ctrl-C is for the pager.
    let Ok(mut pager) = signals::interrupt_work_only().and_then(|()| command.spawn()) else {
        return false;
    };
    if let Some(mut input) = pager.stdin.take() {
        // A pager that is left early does not read to the end.
        input.write_all(page.as_bytes()).ok();
    }
    pager.wait().is_ok()
}

fn page(cli: &mut Command, words: &[String]) -> Option<String> {
    if words == ["all"] {
        let all = cli.clone().mut_subcommands(|command| command.hide(false));
        return Some(command_page(&mut on_first_page(all)));
    }
    let command = words.iter().try_fold(cli, |command, word| command.find_subcommand_mut(word));
    if let Some(command) = command {
        return Some(command_page(command));
    }
    let [name] = words else { return None };
    let page = PAGES.iter().find(|page| page.name == name);
    page.map(|page| (page.text)()).or_else(|| found_page(name))
}

fn command_page(command: &mut Command) -> String {
    colored(&command.render_long_help())
}

/// A page with colours if standard output wants them.
pub(crate) fn colored(page: &StyledStr) -> String {
    if terminal::wants_color(io::stdout().is_terminal()) {
        page.ansi().to_string()
    } else {
        page.to_string()
    }
}

/// Words that are neither pages nor commands, and where to read about them.
const MEANT: [(&str, &[&str]); 8] = [
    ("format", &["sources", "convert", "units"]),
    ("archive", &["pack", "convert", "stats"]),
    ("store", &["import", "get", "stats"]),
    ("library", &["tally", "explore", "delta"]),
    ("game", &["search", "filter", "units"]),
    ("position", &["get", "filter", "units"]),
    ("expression", &["where", "structures"]),
    ("engine", &["analyze", "solve", "referee"]),
];

fn unknown(cli: &Command, name: &str) -> anyhow::Error {
    let one = name.strip_suffix('s').unwrap_or(name);
    if let Some((_, pages)) = MEANT.iter().find(|(word, _)| *word == one) {
        let pages = pages.iter().map(|page| format!("`epdb help {page}`")).collect::<Vec<_>>();
        let text = format!("there is no page about `{name}`; see {}", pages.join(", "));
        return usage(text);
    }
    let commands = cli.get_subcommands().map(Command::get_name);
    let names = commands.chain(PAGES.iter().map(|page| page.name));
    let near = names
        .map(|known| (strsim::jaro(known, name), known))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .filter(|(likeness, _)| *likeness > 0.7)
        .map(|(_, known)| format!("; is it `{known}`?"))
        .unwrap_or_default();
    let text = format!("there is no page about `{name}`{near}; see `epdb help`");
    usage(text)
}

/// Commands listed together.
pub(crate) struct Group {
    pub(crate) heading: &'static str,
    /// The commands, in the order in which they are listed.
    pub(crate) commands: &'static [&'static str],
}

/// The groups of the first page, in the order of declaration.
pub(crate) const GROUPS: [Group; 8] = [
    Group {
        heading: "Explore",
        commands: &[
            "explore",
            "search",
            #[cfg(feature = "server")]
            "serve",
            #[cfg(feature = "server")]
            "site",
            "shell",
            "demo",
        ],
    },
    Group {
        heading: "Check and count",
        commands: &["normalize", "stats", "count", "verify", "diff"],
    },
    Group {
        heading: "Convert and change",
        commands: &["convert", "edit", "classify", "join", "table"],
    },
    Group {
        heading: "Select and order",
        commands: &[
            "get",
            "filter",
            "union",
            "intersect",
            "subtract",
            "dedupe",
            "sort",
            "sample",
            "split",
        ],
    },
    Group { heading: "Make libraries", commands: &["tally", "import", "pack"] },
    Group { heading: "Openings", commands: &["repertoire", "book", "openings"] },
    Group {
        heading: "Engines and tournaments",
        commands: &["analyze", "solve", "report", "referee", "client"],
    },
    Group { heading: "Help", commands: &["help"] },
];

/// Commands that are seldom needed, and those that have the names of standards. Only `epdb help all` lists
/// them.
pub(crate) const OTHERS: Group = Group {
    heading: "Other commands",
    commands: &[
        "export",
        "shard",
        "backsolve",
        "mate",
        "play",
        "flip",
        "moves",
        "perft",
        "registers",
        "dump",
        "pfdn",
        "pfms",
        "purge",
        "tfgg",
        "completions",
        "man",
    ],
};

/// The page of `epdb` alone. It fits on a terminal of 24 lines and 80 columns.
pub(crate) fn short_page() -> String {
    let mut page = String::from(
        "epdb keeps chess games and positions in small files that answer at once.\n\n\
         Usage: epdb COMMAND ...\n\n",
    );
    for Group { heading, commands } in &GROUPS {
        let mut line = format!("  {heading:<24}");
        for name in *commands {
            if line.len() + name.len() > SHORT_WIDTH {
                page += &format!("{}\n", line.trim_end());
                line = format!("  {:<24}", "");
            }
            line += &format!("{name} ");
        }
        page += &format!("{}\n", line.trim_end());
    }
    page + "\nGames to an explorer: epdb tally games.pgn -o lib.epa && epdb serve lib.epa\n\
            A suite to a report:  epdb solve suite.epd --engine PROGRAM -o run.epd\n\
            Text to an archive:   epdb pack book.epd -o book.epa\n\n\
            `epdb help` says what each command does, `epdb help COMMAND` explains one,\n\
            and `epdb help all` lists those that are not named here.\n"
}

/// Columns of the page of `epdb` alone.
const SHORT_WIDTH: usize = 79;

/// The command line with its commands in groups on the first page. Call [`Command::build`] on `cli`
/// before this function.
pub(crate) fn on_first_page(cli: Command) -> Command {
    let mut cli = cli.help_template("{subcommands}");
    let list = cli.render_help();
    let list = with_headings(&list, cli.get_styles().get_header());
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{after-help}}");
    cli.help_template(template)
}

/// The list of commands, wrapped by clap, with headings.
fn with_headings(list: &StyledStr, style: &Style) -> String {
    let (plain, styled) = (list.to_string(), list.ansi().to_string());
    let mut lines = Vec::new();
    for (plain, styled) in plain.trim_end().lines().zip(styled.lines()) {
        let mut groups = GROUPS.iter().chain([&OTHERS]);
        if let Some(group) = groups.find(|group| begins(plain, group.commands[0])) {
            lines.push(format!("{style}{}:{style:#}", group.heading));
        }
        lines.push(styled.to_string());
    }
    lines.join("\n")
}

/// Whether a line of the list is the first one about a command.
fn begins(line: &str, command: &str) -> bool {
    let word = line.strip_prefix("  ").and_then(|rest| rest.split(' ').next());
    word == Some(command)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn each_command_stands_in_one_group_in_the_order_of_the_list() {
        let cli = crate::cli::Cli::command();
        let shown: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
        let groups = GROUPS.iter().chain([&OTHERS]);
        let grouped: Vec<&str> = groups.flat_map(|group| group.commands).copied().collect();
        assert_eq!(grouped, shown);
    }
}
