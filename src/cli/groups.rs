//! The commands by what they are for, as the first page, the manual and the README list them.

use clap::Command;

/// Commands that are looked for together.
pub(crate) struct Group {
    pub(crate) heading: &'static str,
    /// In the order in which they are listed.
    pub(crate) commands: &'static [&'static str],
}

/// All groups. Each command that is shown stands in one, in the order in which commands are declared.
pub(crate) const GROUPS: [Group; 8] = [
    Group {
        heading: "Read and check",
        commands: &[
            "normalize",
            "pfdn",
            "purge",
            "stats",
            "count",
            "verify",
            "dump",
            "registers",
            "moves",
            "perft",
        ],
    },
    Group {
        heading: "Convert and change",
        commands: &["convert", "import", "export", "pack", "tfgg", "edit", "play", "flip"],
    },
    Group { heading: "Find", commands: &["get", "filter", "table"] },
    Group {
        heading: "Sets and order",
        commands: &[
            "union",
            "intersect",
            "subtract",
            "dedupe",
            "join",
            "diff",
            "sort",
            "shuffle",
            "sample",
            "head",
            "split",
        ],
    },
    Group {
        heading: "Openings and libraries",
        commands: &["tally", "explore", "games", "repertoire", "name", "book", "backsolve"],
    },
    Group { heading: "Engines and suites", commands: &["analyze", "mate", "solve", "report"] },
    Group {
        heading: "Tournaments and servers",
        commands: &[
            "referee",
            "client",
            #[cfg(feature = "server")]
            "serve",
        ],
    },
    Group { heading: "Shell and help", commands: &["shell", "completions", "man", "help"] },
];

/// The command line with its commands in groups on the first page. It must be built.
pub(crate) fn on_first_page(cli: Command) -> Command {
    let list = list(&cli);
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{after-help}}");
    cli.help_template(template)
}

/// The list of commands as clap breaks its lines, with the headings between them.
fn list(cli: &Command) -> String {
    let list = cli.clone().help_template("{subcommands}").render_help();
    let (plain, styled) = (list.to_string(), list.ansi().to_string());
    let style = cli.get_styles().get_header();
    let mut lines = Vec::new();
    for (plain, styled) in plain.trim_end().lines().zip(styled.lines()) {
        if let Some(group) = GROUPS.iter().find(|group| begins(plain, group.commands[0])) {
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
        let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
        let shown: Vec<&str> = shown.map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        assert_eq!(grouped, shown);
    }
}
