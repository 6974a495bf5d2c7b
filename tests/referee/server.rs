//! A referee with channels, a log and a file of games.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use epdb_chess::model::GameResult;
use epdb_referee::log::{Entry, LogReader, Note, Recovered, SettingsText};
use epdb_referee::server::{ControlCommand, Opened, Referee, Remote, Watch, observe};
use epdb_referee::wire::{Command, Directive, Incoming, Lines};
use epdb_referee::{Action, Arbiter, Event, Order, Snapshot, Termination};

use crate::hall::START;
use crate::referee_client;

/// Hands messages on.
struct Told {
    sender: Sender<String>,
    dies_of_standings: bool,
}

impl Told {
    const fn new(sender: Sender<String>) -> Told {
        Told { sender, dies_of_standings: false }
    }
}

impl Watch for Told {
    fn message(&mut self, text: &str) {
        self.sender.send(text.into()).unwrap_or(());
    }

    fn show(&mut self, _: &Snapshot<'_>) {}

    fn standings(&mut self, snapshot: &Snapshot<'_>) {
        assert!(!self.dies_of_standings, "as a referee does that is killed");
        self.sender.send(format!("{} finished", snapshot.finished.len())).unwrap_or(());
    }
}

/// A tournament that runs in a thread.
pub(crate) struct Running {
    address: String,
    remote: Remote,
    messages: Receiver<String>,
    pub(crate) thread: JoinHandle<bool>,
}

pub(crate) fn settings(folder: &Path, text: &str) -> SettingsText {
    let name = folder.join("t.toml").display().to_string();
    let silences = "silences = { conclude = '0s', reset = '0s' }\n";
    SettingsText::Toml { name, text: format!("{silences}{text}") }
}

fn open(settings: &SettingsText) -> Box<Referee> {
    match Referee::open(settings).unwrap() {
        Opened::Referee(referee) => referee,
        Opened::Taken => panic!("there is another referee"),
    }
}

pub(crate) fn run(referee: Box<Referee>) -> Running {
    run_with(referee, Told::new)
}

fn run_with(referee: Box<Referee>, watch: fn(Sender<String>) -> Told) -> Running {
    let (sender, messages) = channel();
    let (address, remote) = (referee.address(), referee.remote());
    let thread = thread::spawn(move || referee.run(&mut watch(sender)).unwrap());
    Running { address, remote, messages, thread }
}

impl Running {
    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// A client that plays well.
    pub(crate) fn player(&self, name: &'static str) -> JoinHandle<()> {
        let stream = self.connect();
        thread::spawn(move || referee_client::play(&stream, name, 9).unwrap_or(()))
    }

    fn sign_on(&self, name: &str) -> TcpStream {
        let mut stream = self.connect();
        writeln!(stream, "{START} refreq sign_on; tcsi \"x\" \"{name}\";").unwrap();
        stream
    }

    /// Waits for a message that has this text.
    fn wait_for(&self, text: &str) {
        assert!(self.messages.iter().any(|message| message.contains(text)), "never told: {text}");
    }
}

fn entries(log: &Path) -> Vec<Entry> {
    let mut reader = LogReader::open(log).unwrap();
    std::iter::from_fn(|| reader.next_entry().unwrap()).map(|(_, entry)| entry).collect()
}

/// The arbiter that a log makes, the actions that it wanted, and those that the log has.
fn replayed(log: &Path) -> (Arbiter, Vec<Action>, Vec<Action>) {
    let mut reader = LogReader::open(log).unwrap();
    let (_, Entry::Settings(settings)) = reader.next_entry().unwrap().unwrap() else {
        panic!("no settings")
    };
    let mut arbiter = Recovered::begin(settings).unwrap().arbiter;
    let (mut wanted, mut noted) = (Vec::new(), Vec::new());
    while let Some((at, entry)) = reader.next_entry().unwrap() {
        match entry {
            Entry::Event(event) => wanted.extend(arbiter.take(at, event)),
            Entry::Note(Note::Action(action)) => noted.push(action),
            Entry::Note(_) | Entry::Settings(_) => {}
        }
    }
    (arbiter, wanted, noted)
}

const FOUR: &str = "concurrency = 2\ntime = '60'\n\
    [[player]]\nname = 'A'\n[[player]]\nname = 'B'\n[[player]]\nname = 'C'\n[[player]]\nname = 'D'\n";
const TWO: &str = "games = 1\ntime = '60'\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";

/// All that is said is in the log, of which the games and the actions can
/// be made again.
#[test]
fn a_tournament_over_tcp_is_in_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), FOUR);
    let running = run(open(&settings));
    let players = ["A", "B", "C", "D"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let log = folder.path().join("t.log");
    let (arbiter, wanted, noted) = replayed(&log);
    assert!(arbiter.has_ended());
    assert_eq!(arbiter.finished().len(), 12);
    // Openings are fetched while an event is processed; here there are none, so everything comes in order.
    assert_eq!(wanted, noted);
    let games = std::fs::read_to_string(folder.path().join("t.pgn")).unwrap();
    assert_eq!(games.matches("[Event ").count(), 12);
    assert_eq!(games.matches("[Termination \"normal\"]").count(), 12);
    // The same again: nothing is left to do, and lost games are written again from the log.
    std::fs::write(folder.path().join("t.pgn"), &games[..games.len() / 2]).unwrap();
    assert!(run(open(&settings)).thread.join().unwrap());
    assert_eq!(std::fs::read_to_string(folder.path().join("t.pgn")).unwrap(), games);
}

/// A log whose end is lost is sound, but the games that it does not have any more stay in their file.
#[test]
fn games_that_are_not_in_the_log_are_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &TWO.replace("games = 1", "games = 2"));
    let running = run(open(&settings));
    let players = ["A", "B"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let [log, pgn] = ["t.log", "t.pgn"].map(|name| folder.path().join(name));
    let (whole, games) = (std::fs::read_to_string(&log).unwrap(), std::fs::read(&pgn).unwrap());
    let refused = |told: &str| {
        let error = Referee::open(&settings).unwrap_err().to_string();
        assert!(
            error.contains("t.pgn: the file has games that") && error.contains(told),
            "{error}"
        );
    };
    let end_of_one = whole.find(" over 1 ").unwrap();
    let cut = &whole[..end_of_one + whole[end_of_one..].find('\n').unwrap() + 1];
    std::fs::write(&log, cut).unwrap();
    refused("it has more than the 1 of the log");
    assert_eq!(std::fs::read(&pgn).unwrap(), games);
    std::fs::write(&log, &whole).unwrap();
    std::fs::write(&pgn, "{mine} 1. e4 *\n").unwrap();
    refused("game 1 is another");
    assert_eq!(std::fs::read(&pgn).unwrap(), b"{mine} 1. e4 *\n");
}

/// A match of two players with two clients each: two games are in progress at once, and the log has all of it.
#[test]
fn a_match_is_played_on_two_boards() {
    let folder = tempfile::tempdir().unwrap();
    let text = TWO.replace("games = 1", "games = 8\nconcurrency = 2");
    let running = run(open(&settings(folder.path(), &text)));
    let players = ["A", "B", "B", "A"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let log = folder.path().join("t.log");
    let (arbiter, wanted, noted) = replayed(&log);
    assert_eq!((arbiter.finished().len(), wanted == noted), (8, true));
    assert_eq!(most_at_once(&log), 2);
    let games = std::fs::read_to_string(folder.path().join("t.pgn")).unwrap();
    for tag in ["[White \"A\"]\n[Black \"B\"]", "[White \"B\"]\n[Black \"A\"]"] {
        assert_eq!(games.matches(tag).count(), 4, "{games}");
    }
    let standings = arbiter.snapshot(Duration::ZERO).standings();
    assert_eq!(standings.rows[0].pairs.iter().sum::<u64>(), 4, "whatever the order of the games");
}

/// As many games as were in progress at one moment of a log.
fn most_at_once(log: &Path) -> usize {
    let mut reader = LogReader::open(log).unwrap();
    let (_, Entry::Settings(settings)) = reader.next_entry().unwrap().unwrap() else {
        panic!("no settings")
    };
    let mut recovered = Recovered::begin(settings).unwrap();
    let mut most = 0;
    while let Some((at, entry)) = reader.next_entry().unwrap() {
        recovered.take(at, entry).unwrap();
        most = most.max(recovered.arbiter.snapshot(at).running.len());
    }
    most
}

/// Games that are there already are not written over by a tournament that is new.
#[test]
fn a_new_tournament_writes_over_no_games() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.pgn"), "1. e4 *\n").unwrap();
    for _ in 0..2 {
        let error = Referee::open(&settings(folder.path(), TWO)).unwrap_err();
        assert!(error.to_string().contains("t.pgn: there are games already"), "{error}");
    }
    assert_eq!(std::fs::read(folder.path().join("t.pgn")).unwrap(), b"1. e4 *\n");
    std::fs::remove_file(folder.path().join("t.pgn")).unwrap();
    drop(open(&settings(folder.path(), TWO)));
}

/// Two games that one event ends are both in the file of games, each once.
#[test]
fn games_that_end_together_are_each_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let bare = folder.path().join("bare.epd");
    std::fs::write(&bare, "8/8/8/4k3/8/8/8/K7 w - -\n").unwrap();
    let openings = format!("openings = {{ file = '{}' }}\n", bare.display());
    let text = openings + &TWO.replace("games = 1", "games = 2");
    let running = run(open(&settings(folder.path(), &text)));
    let players = ["A", "B"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let games = std::fs::read_to_string(folder.path().join("t.pgn")).unwrap();
    for white in ["A", "B"] {
        assert_eq!(games.matches(&format!("[White \"{white}\"]")).count(), 1, "{games}");
    }
}

/// Games have the tags ECO and Opening where the tournament says which names openings have.
#[test]
fn games_have_the_names_of_their_openings() {
    let folder = tempfile::tempdir().unwrap();
    let names = folder.path().join("a.tsv");
    std::fs::write(&names, "eco\tname\tpgn\nA00\tAny Opening: Of Tests\t1. a3\n").unwrap();
    let book = folder.path().join("book.pgn");
    std::fs::write(&book, "1. a3 a6 *\n").unwrap();
    let text =
        format!("eco = '{}'\nopenings = {{ file = '{}' }}\n{TWO}", names.display(), book.display());
    let running = run(open(&settings(folder.path(), &text)));
    let players = ["A", "B"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let path = folder.path().join("t.pgn");
    let games = std::fs::read_to_string(&path).unwrap();
    for tag in ["[ECO \"A00\"]", "[Opening \"Any Opening\"]", "[Variation \"Of Tests\"]"] {
        assert_eq!(games.matches(tag).count(), 1, "{games}");
    }
    // Written again from the log, they have them too.
    assert!(run(open(&settings(folder.path(), &text))).thread.join().unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), games);
    // Unreadable names are reported before anything else.
    std::fs::remove_file(&names).unwrap();
    let error = Referee::open(&settings(folder.path(), &text)).unwrap_err();
    assert!(error.to_string().contains("a.tsv"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), games);
}

/// Unreadable openings are reported before clients can connect.
#[test]
fn openings_are_read_before_clients_are_awaited() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("openings = {{ file = '/none/bare.epd' }}\n{TWO}");
    let error = Referee::open(&settings(folder.path(), &text)).unwrap_err();
    assert!(error.to_string().contains("bare.epd"), "{error}");
}

/// Another tournament does not go on with the log.
#[test]
fn a_log_is_of_one_tournament() {
    let folder = tempfile::tempdir().unwrap();
    // A log without moves does not count.
    drop(open(&settings(folder.path(), FOUR)));
    let running = run(open(&settings(folder.path(), TWO)));
    let players = ["A", "B"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let other = TWO.replace("games = 1", "games = 2");
    let error = Referee::open(&settings(folder.path(), &other)).unwrap_err();
    let place = folder.path().join("t.toml").display().to_string();
    let told =
        format!("with other settings: `games = 1` in the log, `games = 2` in {place}; to go on,");
    assert!(error.to_string().contains(&told), "{error}");
    let words = SettingsText::Words(
        [
            "-engine",
            "cmd=a",
            "-engine",
            "cmd=b",
            "-log",
            &format!("{}/t.log", folder.path().display()),
        ]
        .map(String::from)
        .to_vec(),
    );
    let error = Referee::open(&words).unwrap_err().to_string();
    let told = format!("they were in {place}, and are on the command line now");
    assert!(error.contains(&told), "{error}");
    std::fs::write(folder.path().join("t.log"), "hello\n").unwrap();
    let error = Referee::open(&settings(folder.path(), TWO)).unwrap_err();
    assert!(error.to_string().contains("t.log:1: expected `epdb referee log 3`"), "{error}");
}

/// The lock of the log says who is the referee; who looks on takes over when it is free.
#[test]
fn an_observer_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), FOUR);
    let first = run_with(open(&settings), |sender| Told { dies_of_standings: true, sender });
    assert!(matches!(Referee::open(&settings).unwrap(), Opened::Taken));
    let players = ["A", "B"].map(|name| first.player(name));
    first.wait_for("A - B");
    let log = folder.path().join("t.log");
    let observer = thread::spawn(move || {
        let (sender, _messages) = channel();
        observe(&log, &mut Told::new(sender)).unwrap()
    });
    first.remote.say(ControlCommand::Standings);
    assert!(first.thread.join().is_err(), "it has died");
    players.into_iter().for_each(|player| player.join().unwrap());
    let second = observer.join().unwrap().expect("the tournament is not over");
    assert_eq!(second.address(), first.address, "clients know where to go");
    let second = run(second);
    let players = ["A", "B", "C", "D"].map(|name| second.player(name));
    assert!(second.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let (arbiter, ..) = replayed(&folder.path().join("t.log"));
    let mut games: Vec<u32> = arbiter.finished().iter().map(|game| game.pairing.game).collect();
    games.sort_unstable();
    assert_eq!(games, (1..=12).collect::<Vec<u32>>());
    // An observer at the end sees that the tournament is over.
    let (sender, _messages) = channel();
    assert!(observe(&folder.path().join("t.log"), &mut Told::new(sender)).unwrap().is_none());
}

/// The directives that come on a channel until it is closed.
fn directives(stream: TcpStream) -> Vec<Directive> {
    let mut lines = Lines::new(stream);
    let next = || match lines.next_line() {
        Ok(Some(Incoming::Line(line))) => Some(Directive::parse(&line).unwrap()),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

/// A line of a megabyte, half a line, a flood, noise: each costs its sender something and nobody else.
#[test]
fn misbehaving_channels_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let running = run(open(&settings(folder.path(), FOUR)));
    // Strangers.
    let mut long = running.connect();
    long.write_all(&vec![b'x'; 1 << 20]).unwrap_or(());
    long.write_all(b"\n").unwrap_or(());
    running.wait_for("E-EPD-LINELEN");
    let mut half = running.connect();
    half.write_all(START.as_bytes()).unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert_eq!(directives(half), []);
    let mut flood = running.sign_on("A");
    let mut noise = flood.try_clone().unwrap();
    // A system may take a minute to say that nobody reads any more.
    noise.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let flooding = thread::spawn(move || while noise.write_all(&b"x\n".repeat(1000)).is_ok() {});
    let heard = directives(flood.try_clone().unwrap());
    assert_eq!(heard.iter().filter(|it| it.command == Command::Fault).count(), 8);
    flood.flush().unwrap_or(());
    flooding.join().unwrap();
    // The others.
    let players = ["A", "B", "C", "D"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let log = folder.path().join("t.log");
    let (arbiter, ..) = replayed(&log);
    let is_normal = |termination| termination == Termination::Normal;
    assert!(arbiter.finished().iter().all(|it| is_normal(it.outcome.termination)));
    assert!(std::fs::metadata(log).unwrap().len() < 1 << 20);
}

/// A supervisor is heard while games are played, and stops without loss.
#[test]
fn a_supervisor_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), TWO);
    let running = run(open(&settings));
    let (a, b) = (running.sign_on("A"), running.sign_on("B"));
    running.wait_for("game 1: A - B");
    running.remote.say(ControlCommand::Standings);
    running.wait_for("0 finished");
    running.remote.say(ControlCommand::Stop);
    assert!(!running.thread.join().unwrap());
    for stream in [a, b] {
        let commands: Vec<Command> = directives(stream).iter().map(|it| it.command).collect();
        assert_eq!(commands.last(), Some(&Command::Disconnect));
    }
    // An observer does not take over a stopped tournament.
    let (sender, messages) = channel();
    let observed = observe(&folder.path().join("t.log"), &mut Told::new(sender)).unwrap();
    assert!(observed.is_none());
    assert!(messages.iter().any(|message| message.contains("was stopped")));
    let running = run(open(&settings));
    let a = running.sign_on("A");
    running.wait_for("A has signed on");
    let b = running.sign_on("B");
    running.wait_for("B has signed on");
    running
        .remote
        .say(ControlCommand::Order(Order::Adjudicate { game: 1, result: GameResult::Draw }));
    assert!(running.thread.join().unwrap());
    for stream in [a, b] {
        let commands: Vec<Command> = directives(stream).iter().map(|it| it.command).collect();
        assert_eq!(commands.last(), Some(&Command::Disconnect));
    }
    let sessions = entries(&folder.path().join("t.log"));
    let is_session = |entry: &&Entry| matches!(entry, Entry::Event(Event::Session { .. }));
    assert_eq!(sessions.iter().filter(is_session).count(), 2);
}

/// Under the name of a player that comes by itself and has a token, nobody signs on without it, neither as its
/// first client nor as a further one; the file of the token is made where there is none.
#[test]
fn a_player_that_comes_by_itself_can_have_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.token");
    let text = format!(
        "games = 2\nrounds = 4\nconcurrency = 2\nlisten = '127.0.0.1:0'\n[[player]]\nname = 'A'\n[[player]]\n\
         name = 'B'\ntoken-file = '{}'\n",
        file.display()
    );
    let settings = settings(folder.path(), &text);
    let mut tokens = Vec::new();
    for _session in 0..2 {
        let running = run(open(&settings));
        running.wait_for("waiting for players to sign on");
        let stranger = || running.sign_on("B");
        let refused =
            |stream: TcpStream| directives(stream).last().unwrap().reason.clone().unwrap();
        assert!(
            refused(stranger()).contains("a client of B signs on with the token of the player")
        );
        let token = std::fs::read_to_string(&file).unwrap().trim_end().to_string();
        let clients = [(); 2].map(|()| {
            let mut stream = running.connect();
            writeln!(stream, "{START} refreq sign_on; tcsi \"{token}\" \"B\";").unwrap();
            stream
        });
        running.wait_for("B has signed on");
        running.wait_for("B (2) has signed on");
        assert!(
            refused(stranger()).contains("a client of B signs on with the token of the player")
        );
        running.remote.say(ControlCommand::Stop);
        assert!(!running.thread.join().unwrap());
        drop(clients);
        tokens.push(token);
    }
    assert!(tokens[0].len() == 32 && tokens[0] == tokens[1], "{tokens:?}");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap()) & 0o777, 0o600);
    let found = replayed(&folder.path().join("t.log"));
    assert_eq!(found.1, found.2);
}

/// An invalid token file does not let everybody in.
#[test]
fn a_file_that_holds_no_token_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.token");
    let text = format!(
        "games = 2\nlisten = '127.0.0.1:0'\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\ntoken-file = '{}'\n",
        file.display()
    );
    let long = "a".repeat(101);
    for content in
        ["", "\n", "short", "0123456789abcdef\n0123456789abcdef\n", "0123456789\"abcdef\n", &long]
    {
        std::fs::write(&file, content).unwrap();
        let referee = open(&settings(folder.path(), &text));
        let (sender, _messages) = channel();
        let error = referee.run(&mut Told::new(sender)).unwrap_err().to_string();
        assert!(error.contains("b.token: expected a token: one line of 16 to 100"), "{error}");
    }
}

/// Strangers that say nothing take no place that a player needs, however many they are.
#[test]
fn silent_connections_keep_no_player_out() {
    let folder = tempfile::tempdir().unwrap();
    let running = run(open(&settings(folder.path(), FOUR)));
    let mut strangers: Vec<TcpStream> = (0..200).map(|_| running.connect()).collect();
    let players = ["A", "B", "C", "D"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let log = folder.path().join("t.log");
    let (arbiter, ..) = replayed(&log);
    assert_eq!(arbiter.finished().len(), 12);
    let is_normal = |termination| termination == Termination::Normal;
    assert!(arbiter.finished().iter().all(|it| is_normal(it.outcome.termination)));
    // Nobody heard of them, and the first of them were cut to make room.
    let opened =
        entries(&log).into_iter().filter(|it| matches!(it, Entry::Event(Event::Opened(_))));
    assert_eq!(opened.count(), 4);
    assert_eq!(strangers[0].read(&mut [0; 1]).unwrap_or(0), 0);
}

/// Whatever strangers say, a small part of it is noted.
#[test]
fn lines_of_strangers_do_not_fill_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let running = run(open(&settings(folder.path(), FOUR)));
    for number in 0..300 {
        let mut stranger = running.connect();
        let name = "x".repeat(4000);
        // Not even a message that is well formed, but for nobody.
        let line = match number % 2 {
            0 => format!("{name}\n"),
            _ => format!("{START} refreq sign_on; tcsi \"x\" \"{}\";\n", &name[..200]),
        };
        stranger.write_all(line.as_bytes()).unwrap();
        let faults = directives(stranger);
        assert!(faults.iter().all(|fault| fault.command == Command::Fault), "{faults:?}");
    }
    let players = ["A", "B", "C", "D"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    let refused: Vec<Entry> = entries(&folder.path().join("t.log"))
        .into_iter()
        .filter(|entry| matches!(entry, Entry::Note(Note::Refused { .. })))
        .collect();
    assert!(!refused.is_empty());
    for entry in refused {
        let Entry::Note(Note::Refused { line, .. }) = entry else { unreachable!() };
        assert!(line.len() <= 100);
    }
    let written = std::fs::read_to_string(folder.path().join("t.log")).unwrap();
    assert!(written.lines().filter(|line| line.contains("xxxx")).count() < 100);
}
