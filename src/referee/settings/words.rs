//! Tournaments from command-line words in the style of cutechess and fastchess.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::written::WrittenSetting;
use super::{
    Launch, Listen, MAX_AT_ONCE, MAX_PLIES, Player, QuietTimeouts, Sprt, SyzygyRule, Tournament,
    of_name, unknown,
};
use crate::adjudication::{DrawRule, ResignRule};
use crate::openings::{OpeningOrder, OpeningsSource};
use crate::pairing::PairingRule;
use crate::time_control::TimeControl;
use epdb_chess::error::{Error, Result};
use epdb_engine::{EngineSpec, SearchLimits};

/// Names of options. An option is written with `-` or `--`, and its words follow.
const FLAGS: &[&str] = &[
    "engine",
    "each",
    "games",
    "rounds",
    "repeat",
    "concurrency",
    "openings",
    "eco",
    "tb",
    "tbpieces",
    "tbignore50",
    "tbadjudicate",
    "draw",
    "resign",
    "maxmoves",
    "sprt",
    "pgnout",
    "event",
    "site",
    "srand",
    "tournament",
    "seeds",
    "recover",
    "listen",
    "log",
    "variant",
    "quick",
];

/// Options of other managers that have no effect here, with the reason.
const IDLE_FLAGS: &[(&str, &str)] = &[
    ("autosaveinterval", "each event is logged at once"),
    ("bookmode", "openings are read once"),
    ("check-mate-pvs", "lines of engines are not checked"),
    ("crc32", "the log has a checksum for each line"),
    ("debug", "the log has all messages"),
    ("epdout", "the file of games has the final positions"),
    ("force-concurrency", "-concurrency may exceed the number of cores"),
    ("livepgnout", "a game is written when it is over"),
    ("noswap", "colours alternate in any case"),
    ("outcomeinterval", "the score follows each game"),
    ("ping-ms", "an engine has a minute to answer"),
    ("output", "the table has one form; see --json and --tsv"),
    ("randomseed", "the seed is that of -srand, so that the match can be resumed"),
    ("ratinginterval", "the score follows each game"),
    ("report", "pairs of games are counted in any case"),
    ("resultformat", "the table has one form; see --json and --tsv"),
    ("reverse", "colours alternate in any case"),
    ("scoreinterval", "the score follows each game"),
    ("show-latency", "the file of games has the time of each move"),
    ("startup-ms", "an engine has a minute to get ready"),
    ("testEnv", "the table has one form; see --json and --tsv"),
    ("ucinewgame-ms", "an engine has a minute to get ready"),
    ("use-affinity", "the system chooses the cores of engines"),
    ("wait", "games follow each other at once"),
];

/// Parts of an engine's description that other managers use but that have no effect here, with the reason.
const IDLE_PARTS: &[(&str, &str)] = &[
    ("book", "engines play without books of the referee"),
    ("bookdepth", "engines play without books of the referee"),
    ("ponder", "engines do not think on the opponent's time"),
    ("restart", "an engine that has ended is started again in any case"),
    ("whitepov", "scores are read as UCI has them, from the view of the side to move"),
    ("stderr", "the referee repeats what engines write there"),
    ("trust", "the referee decides by the rules"),
    ("tscale", "an engine has a minute to get ready"),
];

impl Tournament {
    /// Reads a tournament from words such as `-engine cmd=./a -engine cmd=./b name=B -each
    /// tc=10+0.1 -rounds 50 -pgnout games.pgn`. `name` names the file of games unless the words do.
    /// If the words do not name the log, it is named after the file of games.
    ///
    /// # Errors
    /// A word is unknown or has an invalid value; the error names it.
    ///
    /// ```
    /// use epdb_referee::{PairingRule, Tournament};
    /// let line = "--engine cmd=./a --engine cmd=./b name=B tc=5+0.1 --each st=1 --rounds 5";
    /// let words: Vec<String> = line.split(' ').map(String::from).collect();
    /// let tournament = Tournament::from_words(&words, "match")?;
    /// assert_eq!(tournament.pairing, PairingRule::RoundRobin { cycles: 5 });
    /// assert_eq!(tournament.time.to_string(), "1/move");
    /// assert_eq!(tournament.players[1].time, Some("5+0.1".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_words(words: &[String], name: &str) -> Result<Tournament> {
        of_groups(groups(words).map_err(Error::new)?, name).map_err(Error::new)
    }
}

fn of_groups(groups: Vec<Group<'_>>, name: &str) -> Result<Tournament, String> {
    let mut tournament = Tournament::new(name);
    let mut rule = RuleWords::default();
    let mut engines = Vec::new();
    let mut each = EngineWords::default();
    let mut log = None;
    let mut tablebases = TablebaseWords::default();
    for group in groups {
        match group.flag {
            "engine" => engines.push(group.engine()?),
            "each" => each.add(group.engine()?),
            "quick" => engines.extend(quick(&group, &mut tournament, &mut rule)?),
            "games" => tournament.games_per_encounter = group.number()?,
            "rounds" => rule.rounds = Some(group.number()?),
            "seeds" => rule.challengers = Some(group.number()?),
            "tournament" => rule.name = Some(group.one()?.to_string()),
            "concurrency" => tournament.concurrency = group.number_to(MAX_AT_ONCE)? as usize,
            "openings" => {
                let (source, is_by_round) = openings(group)?;
                tournament.openings = Some(source);
                tournament.opening_by_round = is_by_round;
            }
            "eco" => tournament.eco.extend(group.files()?),
            "tb" => tablebases.path = Some(group.one()?),
            "tbpieces" => tablebases.pieces = Some(group.pieces()?),
            "tbignore50" => {
                group.only("")?;
                tablebases.ignores_fifty_moves = true;
            }
            "draw" => tournament.adjudication.draw = Some(draw(group)?),
            "resign" => tournament.adjudication.resign = Some(resign(group)?),
            "maxmoves" => tournament.adjudication.max_moves = Some(group.number()?),
            "sprt" => tournament.sprt = Some(sprt(group)?),
            "pgnout" => {
                tournament.pgn = group.games_file()?.into();
                if group.words.len() > 1 {
                    let what = "-pgnout takes the file here, and games have all that is known";
                    tournament.remarks.push(format!("{what}: the other words have no effect"));
                }
            }
            "log" => {
                log = Some(group.log_file()?.into());
                if group.words.len() > 1 {
                    let what = "-log takes the file here, and the log has all messages";
                    tournament.remarks.push(format!("{what}: the other words have no effect"));
                }
            }
            "event" => tournament.event = group.one()?.into(),
            "site" => tournament.site = group.one()?.into(),
            "srand" => tournament.seed = group.parsed(group.one()?)?,
            "listen" => tournament.listen = Listen::Tcp(group.one()?.into()),
            // Tablebases decide wins and draws.
            "tbadjudicate" => group.only("BOTH")?,
            // An opening is played twice in any case.
            "repeat" => group.only("2")?,
            "variant" => {
                of_name(&[("standard", ()), ("fischerandom", ()), ("chess960", ())], group.one()?)
                    .map_err(|error| format!("-variant: {error}"))?;
            }
            flag => match idle_flag(flag) {
                Some(why) => tournament.remarks.push(format!("-{flag} has no effect: {why}")),
                None => group.only("")?,
            },
        }
    }
    let remarks = engines.iter().chain([&each]).flat_map(|engine| &engine.idle);
    for (part, why) in remarks {
        let remark = format!("{part} has no effect: {why}");
        if !tournament.remarks.contains(&remark) {
            tournament.remarks.push(remark);
        }
    }
    tournament.pairing = rule.rule()?;
    tournament.syzygy = tablebases.rule()?;
    tournament.log = log.unwrap_or_else(|| tournament.pgn.with_extension("log"));
    if each.search != SearchLimits::default() {
        tournament.time = TimeControl::Unlimited;
    }
    let time = each.time.take();
    let has_clocks = time.is_some();
    if let Some(time) = time {
        tournament.time = time;
    }
    tournament.optional_options = each.options();
    tournament.search = engines.iter().map(|engine| engine.search_of(&each)).collect();
    if let Some(margin) = each.margin {
        tournament.time_margin = margin;
    }
    let player = |engine: EngineWords| {
        if engine.margin.is_some() {
            return Err("-engine: timemargin= is the same for all here: say it behind -each".into());
        }
        // The first part has no blanks, so that the description is recognised as one with parts.
        let words: Vec<&str> =
            ["proto=uci"].iter().chain(&each.words).chain(&engine.words).copied().collect();
        let spec: EngineSpec = words.join(" ").parse()?;
        Ok(Player {
            name: spec.label.clone(),
            launch: Some(Launch::Engine(spec)),
            token_file: None,
            time: engine.time,
        })
    };
    tournament.players = engines.into_iter().map(player).collect::<Result<_, String>>()?;
    if !has_clocks {
        tournament.stop_clocks_of_limited();
    }
    tournament.silences = QuietTimeouts::for_players(&tournament.players);
    tournament.checked()
}

/// An option and the words after it.
struct Group<'w> {
    flag: &'static str,
    words: Vec<&'w str>,
}

/// Groups the words by option. A word that begins with `-` is an option, unless it has `=` or is a
/// number.
fn groups(words: &[String]) -> Result<Vec<Group<'_>>, String> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for word in words {
        match word.strip_prefix('-') {
            Some(name) if !word.contains('=') && !is_number(word) => {
                let name = name.strip_prefix('-').unwrap_or(name);
                let idle = IDLE_FLAGS.iter().map(|(flag, _)| flag);
                let known = FLAGS.iter().chain(idle).find(|flag| **flag == name);
                let flag = known.ok_or_else(|| unknown("option", word, FLAGS))?;
                groups.push(Group { flag, words: Vec::new() });
            }
            _ => match groups.last_mut() {
                Some(group) => group.words.push(word),
                None => return Err(format!("expected an option such as -engine, found `{word}`")),
            },
        }
    }
    Ok(groups)
}

/// The settings on a command line, in its order. Empty if the words are not options.
pub(crate) fn written_on_line(words: &[String]) -> Vec<WrittenSetting> {
    let mut groups = groups(words).unwrap_or_default();
    groups.retain(|group| group.flag != "recover" && idle_flag(group.flag).is_none());
    let mut settings: Vec<WrittenSetting> = Vec::new();
    for (place, Group { flag, words }) in groups.iter().enumerate() {
        let repeats = groups[..place].iter().filter(|before| before.flag == *flag).count();
        let key = match repeats {
            0 => format!("-{flag}"),
            repeats => format!("-{flag} {}", repeats + 1),
        };
        let value = words.join(" ");
        let text = format!("-{flag} {value}").trim_end().to_string();
        settings.push(WrittenSetting { key, value, text });
    }
    settings
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

impl<'w> Group<'w> {
    /// The only word after the option.
    fn one(&self) -> Result<&'w str, String> {
        match self.words[..] {
            [word] => Ok(word),
            _ => Err(format!("-{}: expected one word, found {}", self.flag, self.words.len())),
        }
    }

    /// Checks that there is no word, or only this one.
    fn only(&self, word: &str) -> Result<(), String> {
        match self.words[..] {
            [] => Ok(()),
            [found] if found == word => Ok(()),
            [found, ..] => Err(format!("-{}: `{found}` is not known here", self.flag)),
        }
    }

    /// The log: the only word, or the value of the word with `file=`. Other tournament managers also take
    /// words such as `level=`, which select the content of the log.
    fn log_file(&self) -> Result<&'w str, String> {
        let mut file = None;
        let known = ["file", "level", "append", "compress", "realtime", "engine"];
        if let [word] = self.words[..]
            && !word.contains('=')
        {
            return Ok(word);
        }
        self.each_part(&known, |name, value| {
            if name == "file" {
                file = Some(value);
            }
            Ok(known.contains(&name))
        })?;
        file.ok_or_else(|| "-log: expected the name of a file".into())
    }

    fn pieces(&self) -> Result<u32, String> {
        const MAX: u32 = SyzygyRule::MAX_PIECES;
        let word = self.one()?;
        let pieces = word.parse().ok().filter(|pieces| (3..=MAX).contains(pieces));
        pieces.ok_or_else(|| {
            format!("-{}: expected a number of pieces from 3 to {MAX}, found `{word}`", self.flag)
        })
    }

    /// The words as files, at least one.
    fn files(&self) -> Result<Vec<PathBuf>, String> {
        let file = |word: &&str| PathBuf::from(word.strip_prefix("file=").unwrap_or(word));
        if self.words.is_empty() {
            Err(format!("-{}: expected the name of a file", self.flag))
        } else {
            Ok(self.words.iter().map(file).collect())
        }
    }

    /// The file of games: the first word, or the word with `file=`. Other tournament managers also take words
    /// such as `min`, which select the form of the file.
    fn games_file(&self) -> Result<&'w str, String> {
        let file = self.words.iter().find_map(|word| word.strip_prefix("file="));
        let is_form = |word: &&str| matches!(*word, "min" | "fi") || word.contains('=');
        let first = self.words.first().copied().filter(|word| !is_form(word));
        let others =
            if file.is_some() { &self.words[..] } else { self.words.get(1..).unwrap_or_default() };
        let file = file.or(first).ok_or("-pgnout: expected the name of a file")?;
        match others.iter().find(|word| !is_form(word)) {
            None => Ok(file),
            Some(other) => Err(format!("-pgnout: `{other}` is not known here")),
        }
    }

    /// The only word, a number of rounds, games or moves.
    fn number(&self) -> Result<u32, String> {
        self.number_to(1_000_000)
    }

    fn number_to(&self, max: u32) -> Result<u32, String> {
        let word = self.one()?;
        let number = word.parse().ok().filter(|number| (1..=max).contains(number));
        number.ok_or_else(|| {
            format!("-{}: expected a whole number from 1 to {max}, found `{word}`", self.flag)
        })
    }

    fn parsed<T: FromStr<Err: ToString>>(&self, text: &str) -> Result<T, String> {
        text.parse()
            .map_err(|error: T::Err| format!("-{}: `{text}`: {}", self.flag, error.to_string()))
    }

    /// Calls `take` for the name and the value of each word `NAME=VALUE`. `take` returns false if
    /// it does not know the name.
    fn each_part(
        &self,
        known: &[&str],
        mut take: impl FnMut(&str, &'w str) -> Result<bool, String>,
    ) -> Result<(), String> {
        for word in &self.words {
            let is_known = match word.split_once('=') {
                Some((name, value)) => take(name, value)?,
                None => false,
            };
            if !is_known {
                let name = word.split('=').next().unwrap_or_default();
                return Err(format!("-{}: {}", self.flag, unknown("part", name, known)));
            }
        }
        Ok(())
    }

    fn engine(self) -> Result<EngineWords<'w>, String> {
        let mut engine = EngineWords::default();
        // True if the next word may continue a value, or the name of an option.
        let mut is_value = false;
        let mut is_name = false;
        for word in &self.words {
            let part = word.split_once('=');
            let begins_name = part.is_none() && word.starts_with("option.");
            match part {
                Some(("tc", value)) => engine.time = Some(self.parsed(value)?),
                Some(("st", value)) => engine.time = Some(self.parsed(&format!("{value}/move"))?),
                Some(("depth", value)) => engine.search.depth = Some(self.depth(value)?),
                Some(("nodes", value)) => engine.search.nodes = Some(self.nodes(value)?),
                Some(("timemargin", value)) => engine.margin = Some(self.margin(word, value)?),
                _ if EngineSpec::is_part(word) || begins_name || is_name => engine.words.push(word),
                _ if idle_part(word).is_some() => engine.idle.extend(idle_part(word)),
                None if is_value => engine.words.push(word),
                _ => {
                    let name = word.split('=').next().unwrap_or_default();
                    let known = [
                        "cmd",
                        "name",
                        "dir",
                        "arg",
                        "args",
                        "proto",
                        "option.NAME",
                        "tc",
                        "st",
                        "depth",
                        "nodes",
                        "timemargin",
                    ];
                    return Err(format!("-{}: {}", self.flag, unknown("part", name, &known)));
                }
            }
            is_name = begins_name || (is_name && part.is_none());
            let ends_value =
                matches!(part, Some(("tc" | "st" | "depth" | "nodes" | "timemargin", _)));
            is_value = !ends_value && idle_part(word).is_none();
        }
        Ok(engine)
    }

    fn depth(&self, value: &str) -> Result<u32, String> {
        let depth = value.parse().ok().filter(|depth| (1..=MAX_PLIES).contains(&u64::from(*depth)));
        depth.ok_or_else(|| {
            format!("-{}: `depth={value}`: expected plies up to {MAX_PLIES}", self.flag)
        })
    }

    fn nodes(&self, value: &str) -> Result<u64, String> {
        let nodes = value.parse().ok().filter(|nodes| *nodes > 0);
        nodes.ok_or_else(|| format!("-{}: `nodes={value}`: expected a number of nodes", self.flag))
    }

    /// Reads a time margin in milliseconds, at most an hour.
    fn margin(&self, word: &str, value: &str) -> Result<Duration, String> {
        const MAX: u64 = 3_600_000;
        let milliseconds = value.parse().ok().filter(|milliseconds| *milliseconds <= MAX);
        let wrong = || format!("-{}: `{word}`: expected milliseconds up to {MAX}", self.flag);
        milliseconds.map(Duration::from_millis).ok_or_else(wrong)
    }
}

/// The parts of an engine's description, its time control, its search limits and its time margin.
#[derive(Default)]
struct EngineWords<'w> {
    words: Vec<&'w str>,
    time: Option<TimeControl>,
    search: SearchLimits,
    margin: Option<Duration>,
    /// Parts without effect, with the reason.
    idle: Vec<(&'w str, &'static str)>,
}

/// The reason why an option has no effect, if it has none.
fn idle_flag(flag: &str) -> Option<&'static str> {
    IDLE_FLAGS.iter().find(|(idle, _)| *idle == flag).map(|(_, why)| *why)
}

/// A part that has no effect, with the reason.
fn idle_part(word: &str) -> Option<(&str, &'static str)> {
    let name = word.split('=').next().unwrap_or_default();
    IDLE_PARTS.iter().find(|(idle, _)| *idle == name).map(|(_, why)| (name, *why))
}

impl<'w> EngineWords<'w> {
    fn options(&self) -> Vec<String> {
        let text = self.words.join(" ");
        let spec: Option<EngineSpec> = format!("proto=uci cmd=x {text}").parse().ok();
        spec.map_or(Vec::new(), |spec| spec.options.into_iter().map(|(name, _)| name).collect())
    }

    /// The search limits of this engine. If the engine has no limits of its own, the limits of `each` apply.
    fn search_of(&self, each: &EngineWords<'_>) -> SearchLimits {
        SearchLimits {
            nodes: self.search.nodes.or(each.search.nodes),
            depth: self.search.depth.or(each.search.depth),
        }
    }

    fn add(&mut self, more: EngineWords<'w>) {
        self.search = more.search_of(self);
        self.words.extend(more.words);
        self.time = more.time.or(self.time.take());
        self.margin = more.margin.or(self.margin);
        self.idle.extend(more.idle);
    }
}

/// Reads `cmd=A cmd=B book=FILE`, which stands for a long match of two engines with the settings of
/// fastchess.
fn quick<'w>(
    group: &Group<'w>,
    tournament: &mut Tournament,
    rule: &mut RuleWords,
) -> Result<Vec<EngineWords<'w>>, String> {
    let mut engines = Vec::new();
    for word in &group.words {
        match word.split_once('=') {
            Some(("cmd", _)) => {
                engines.push(EngineWords { words: vec![word], ..EngineWords::default() });
            }
            Some(("book", file)) => {
                tournament.openings = Some(OpeningsSource {
                    file: file.into(),
                    order: OpeningOrder::Random,
                    plies: None,
                    first: 1,
                });
            }
            _ => return Err(format!("-quick: expected cmd= or book=, found `{word}`")),
        }
    }
    rule.rounds = Some(25_000);
    tournament.adjudication.draw = Some(DrawRule { from_move: 30, moves: 8, score: 8 });
    Ok(engines)
}

/// The options of the pairing system.
#[derive(Default)]
struct RuleWords {
    name: Option<String>,
    rounds: Option<u32>,
    challengers: Option<u32>,
}

impl RuleWords {
    fn rule(self) -> Result<PairingRule, String> {
        let cycles = self.rounds.unwrap_or(1);
        let challengers = self.challengers.unwrap_or(1);
        let rule = match self.name.as_deref().unwrap_or("round-robin") {
            // A pyramid has the games of a round robin in another order.
            "round-robin" | "roundrobin" | "pyramid" => PairingRule::RoundRobin { cycles },
            "gauntlet" => PairingRule::Gauntlet { challengers, cycles },
            "knockout" => PairingRule::Knockout { tie_breaks: PairingRule::TIE_BREAKS },
            "swiss" => match self.rounds {
                Some(rounds) => PairingRule::Swiss { rounds },
                None => return Err("-tournament swiss needs -rounds".into()),
            },
            other => {
                let known = ["round-robin", "gauntlet", "knockout", "swiss"];
                return Err(format!("-tournament: {}", unknown("pairing", other, &known)));
            }
        };
        match (rule, self.rounds, self.challengers) {
            (PairingRule::Knockout { .. }, Some(_), _) => {
                Err("-rounds means nothing with -tournament knockout".into())
            }
            (PairingRule::Gauntlet { .. }, _, _) | (_, _, None) => Ok(rule),
            (_, _, Some(_)) => Err("-seeds means nothing without -tournament gauntlet".into()),
        }
    }
}

#[derive(Default)]
struct TablebaseWords<'w> {
    path: Option<&'w str>,
    pieces: Option<u32>,
    ignores_fifty_moves: bool,
}

impl TablebaseWords<'_> {
    fn rule(self) -> Result<Option<SyzygyRule>, String> {
        let TablebaseWords { path, pieces, ignores_fifty_moves } = self;
        let rule = path.map(SyzygyRule::new).filter(|rule| !rule.folders.is_empty());
        match (rule, path) {
            (Some(rule), _) => {
                let pieces = pieces.unwrap_or(rule.pieces);
                Ok(Some(SyzygyRule { pieces, ignores_fifty_moves, ..rule }))
            }
            (None, None) if pieces.is_none() && !ignores_fifty_moves => Ok(None),
            (None, None) => Err("-tbpieces and -tbignore50 mean nothing without -tb".into()),
            (None, Some(_)) => Err("-tb: expected the folders of tablebases".into()),
        }
    }
}

/// The source of openings, and whether all games of a round have the same opening.
fn openings(group: Group<'_>) -> Result<(OpeningsSource, bool), String> {
    let mut source = OpeningsSource {
        file: Default::default(),
        order: Default::default(),
        plies: None,
        first: 1,
    };
    let mut is_by_round = false;
    group.each_part(&["file", "order", "plies", "start", "format", "policy"], |name, value| {
        match name {
            "file" => source.file = value.into(),
            "order" => source.order = group.parsed(value)?,
            "plies" => source.plies = Some(group.parsed(value)?),
            "start" => source.first = group.parsed(value)?,
            // The format is recognised from the file. By default, each encounter has its own
            // openings.
            "format" => of_name(&[("epd", ()), ("pgn", ())], value)?,
            "policy" => {
                let names = &[("encounter", false), ("default", false), ("round", true)];
                is_by_round = of_name(names, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if source.file.as_os_str().is_empty() || source.first == 0 {
        return Err("-openings: expected file=FILE, and start=NUMBER from 1".into());
    }
    Ok((source, is_by_round))
}

fn draw(group: Group<'_>) -> Result<DrawRule, String> {
    let mut rule = DrawRule { from_move: 0, ..DrawRule::default() };
    group.each_part(&["movenumber", "movecount", "score"], |name, value| {
        match name {
            "movenumber" => rule.from_move = group.parsed(value)?,
            "movecount" => rule.moves = group.parsed(value)?,
            "score" => rule.score = group.parsed(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(rule)
}

fn resign(group: Group<'_>) -> Result<ResignRule, String> {
    // One-sided by default, as in other managers.
    let mut rule = ResignRule { two_sided: false, ..ResignRule::default() };
    group.each_part(&["movecount", "score", "twosided"], |name, value| {
        match name {
            "movecount" => rule.moves = group.parsed(value)?,
            "score" => rule.score = group.parsed(value)?,
            "twosided" => rule.two_sided = group.parsed(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(rule)
}

impl FromStr for Sprt {
    type Err = String;

    /// Parses `elo0=0 elo1=5 alpha=0.05 beta=0.05 model=logistic`; each part may be missing.
    fn from_str(text: &str) -> Result<Sprt, String> {
        sprt(Group { flag: "sprt", words: text.split_whitespace().collect() })
    }
}

fn sprt(group: Group<'_>) -> Result<Sprt, String> {
    let mut sprt = Sprt::default();
    group.each_part(&["elo0", "elo1", "alpha", "beta", "model"], |name, value| {
        match name {
            "elo0" => sprt.elo0 = group.parsed(value)?,
            "elo1" => sprt.elo1 = group.parsed(value)?,
            "alpha" => sprt.alpha = group.parsed(value)?,
            "beta" => sprt.beta = group.parsed(value)?,
            "model" => sprt.model = group.parsed(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    sprt.checked().map_err(|error| format!("-sprt: {error}"))
}
