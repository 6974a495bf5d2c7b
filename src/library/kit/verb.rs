//! The commands by name.

/// A command of the processor.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Verb {
    /// Sets the position.
    Svfe,
    /// Shows the position as FEN.
    Dvfe,
    /// Begins with the start array.
    New,
    /// Shows the board.
    Board,
    /// Turns the board around.
    Flip,
    /// Plays moves.
    Move,
    /// Takes moves back.
    Back,
    /// Plays moves again that were taken back.
    Forward,
    /// Takes all moves back.
    Start,
    /// Lists the legal moves.
    Moves,
    /// Counts lines of legal moves.
    Perft,
    /// Shows the record.
    Record,
    /// Sets an operation.
    Set,
    /// Removes operations.
    Remove,
    /// Shows the registers.
    Registers,
    /// Appends the record to a file.
    Write,
    /// Writes the line to a file.
    Save,
    /// Opens sources.
    Open,
    /// Goes to the next record of the sources.
    Next,
    /// Goes to the previous record.
    Previous,
    /// Goes to a record by its number.
    Goto,
    /// Finds the records of the position.
    Get,
    /// Shows what a library knows of the position.
    Explore,
    /// Shows the positions of a library from which a move leads to the current position.
    Parents,
    /// Shows the games that reached the position.
    Games,
    /// Normalizes games.
    Tfgg,
    /// Lists the commands.
    Help,
    /// Ends the session.
    Quit,
}

/// Properties of a command.
struct Facts {
    verb: Verb,
    name: &'static str,
    aliases: &'static [&'static str],
    operands: &'static str,
    about: &'static str,
}

const fn facts(
    verb: Verb,
    name: &'static str,
    operands: &'static str,
    about: &'static str,
) -> Facts {
    Facts { verb, name, aliases: &[], operands, about }
}

const fn or(aliases: &'static [&'static str], facts: Facts) -> Facts {
    Facts { aliases, ..facts }
}

/// One row per command, in the order of [`Verb`].
const FACTS: [Facts; 28] = [
    or(
        &["svde", "fen"],
        facts(
            Verb::Svfe,
            "svfe",
            "FEN",
            "set the position, with its operations; a FEN alone does the same",
        ),
    ),
    facts(Verb::Dvfe, "dvfe", "", "show the position as FEN"),
    facts(Verb::New, "new", "", "begin again with the start array"),
    facts(Verb::Board, "board", "", "show the board"),
    facts(Verb::Flip, "flip", "", "turn the board around"),
    facts(
        Verb::Move,
        "move",
        "MOVE...",
        "play moves, in any notation; they need no `move` before them",
    ),
    facts(Verb::Back, "back", "[N]", "take moves back"),
    facts(Verb::Forward, "forward", "[N]", "make moves again that were taken back"),
    facts(Verb::Start, "start", "", "take all moves back"),
    facts(Verb::Moves, "moves", "[OPTION...]", "list the legal moves in ordinal order"),
    facts(Verb::Perft, "perft", "N [OPTION...]", "count the lines of N legal moves"),
    or(
        &["record"],
        facts(Verb::Record, "epd", "", "show the record: the position and its operations"),
    ),
    facts(Verb::Set, "set", "OPCODE [OPERAND...]", "set an operation of the record"),
    facts(Verb::Remove, "remove", "OPCODE...", "remove operations of the record"),
    facts(
        Verb::Registers,
        "registers",
        "",
        "show the registers that are set, from the first record on",
    ),
    facts(Verb::Write, "write", "FILE", "append the record to a file of EPD or FEN"),
    facts(Verb::Save, "save", "FILE", "write the moves of the line (.pgn, .pgc) or its records"),
    facts(Verb::Open, "open", "SOURCE...", "open sources, for the commands below"),
    facts(Verb::Next, "next", "[N]", "go to the next record of the sources, or N records on"),
    facts(Verb::Previous, "previous", "[N]", "go to the previous record, or N records back"),
    facts(Verb::Goto, "goto", "N", "go to the record with number N, from 1"),
    facts(Verb::Get, "get", "[SOURCE] [OPTION...]", "find the records of the position"),
    facts(
        Verb::Explore,
        "explore",
        "[SOURCE] [OPTION...]",
        "show the moves of the position in a library",
    ),
    facts(
        Verb::Parents,
        "parents",
        "[SOURCE] [OPTION...]",
        "show the positions that lead to this one",
    ),
    facts(Verb::Games, "games", "[SOURCE] [OPTION...]", "show the games that reached the position"),
    facts(Verb::Tfgg, "tfgg", "FILE [OUT]", "write games with only the seven tags and the moves"),
    facts(Verb::Help, "help", "[COMMAND]", "show the commands, or one of them"),
    or(&["exit"], facts(Verb::Quit, "quit", "", "end; so do Ctrl-D and the end of a script")),
];

const _: () = {
    let mut row = 0;
    while row < FACTS.len() {
        assert!(FACTS[row].verb as usize == row);
        row += 1;
    }
};

impl Verb {
    /// All commands.
    pub fn all() -> impl Iterator<Item = Verb> {
        FACTS.iter().map(|facts| facts.verb)
    }

    /// The command that has this name, or has it as an alias.
    ///
    /// ```
    /// use epdb_library::kit::Verb;
    /// assert_eq!(Verb::named("svde"), Some(Verb::Svfe));
    /// assert_eq!(Verb::named("e4"), None);
    /// ```
    pub fn named(name: &str) -> Option<Verb> {
        let has_name = |facts: &&Facts| facts.name == name || facts.aliases.contains(&name);
        FACTS.iter().find(has_name).map(|facts| facts.verb)
    }

    /// The command with a name similar to an unknown word.
    ///
    /// ```
    /// use epdb_library::kit::Verb;
    /// assert_eq!(Verb::nearest("baord"), Some(Verb::Board));
    /// assert_eq!(Verb::nearest("Nf3"), None);
    /// ```
    pub fn nearest(word: &str) -> Option<Verb> {
        const ALIKE: f64 = 0.8;
        let likeness = |facts: &Facts| (strsim::jaro(facts.name, word), facts.verb);
        let nearest =
            FACTS.iter().map(likeness).max_by(|(one, _), (other, _)| one.total_cmp(other));
        nearest.filter(|(likeness, _)| *likeness > ALIKE).map(|(_, verb)| verb)
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The other names of the command.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.facts().aliases
    }

    /// The operands; optional ones are in brackets.
    pub const fn operands(self) -> &'static str {
        self.facts().operands
    }

    /// The name and the operands.
    pub fn usage(self) -> String {
        format!("{} {}", self.name(), self.operands()).trim_end().to_string()
    }

    /// The description.
    pub const fn about(self) -> &'static str {
        self.facts().about
    }

    const fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }
}
