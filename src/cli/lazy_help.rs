//! Commands whose options are built on demand. Building the options of all commands would take
//! longer than most commands run.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::help;

static IN_FULL: AtomicBool = AtomicBool::new(false);

/// Makes commands also list their shared options, for manual pages and completions.
pub(crate) fn describe_in_full() {
    IN_FULL.store(true, Ordering::Relaxed);
}

/// Arguments of a command. They are built only when the command line is parsed or the page of the command is
/// shown.
#[derive(Clone, Debug)]
pub(crate) struct LazyHelp<A>(pub(crate) A);

impl<A> Deref for LazyHelp<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A: Args> Args for LazyHelp<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(describe::<A>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        A::augment_args_for_update(command)
    }
}

impl<A: Args> FromArgMatches for LazyHelp<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<LazyHelp<A>, Error> {
        A::from_arg_matches(matches).map(LazyHelp)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<LazyHelp<A>, Error> {
        A::from_arg_matches_mut(matches).map(LazyHelp)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Builds a command. Commands with the same arguments may have their own first sentence and examples.
fn describe<A: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let examples = command.get_after_help().cloned();
    let mut command = A::augment_args(command);
    if let Some(about) = about {
        let text = command.get_long_about().map(ToString::to_string).unwrap_or_default();
        if let Some((_, rest)) = text.split_once("\n\n") {
            command = command.long_about(format!("{about}\n\n{rest}"));
        }
        command = command.about(about);
    }
    if let Some(examples) = examples {
        command = command.after_help(examples);
    }
    if IN_FULL.load(Ordering::Relaxed) { command } else { help::with_short_page(command) }
}
