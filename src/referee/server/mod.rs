//! The referee as a program: channels, clients that are started, the log and the file of games
//! around an [`Arbiter`].

mod address;
mod channel;
mod children;
mod game_file;
mod input;
mod lobby;
mod observer;
mod tablebases;
mod token;

pub use input::{ControlCommand, Remote};
pub use observer::observe;
pub use tablebases::Tablebases;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::address::{Address, bind, listen};
use self::channel::{Channel, WRITE_WITHIN};
use self::children::Children;
use self::game_file::{GameFile, Score};
use self::input::{Input, Queue, Stopwatch};
use self::lobby::{Lobby, Refusal};
use super::arbiter::{Action, Arbiter, Event, fault, too_long};
use super::board::Place;
use super::log::{Entry, Log, Note, Recovered, SettingsText};
use super::openings::Opening;
use super::seat::ChannelId;
use super::settings::{Launch, Listen, SyzygyRule, Tournament};
use super::snapshot::Snapshot;
use super::wire::{Incoming, WireError, open_line};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{GameResult, Position};
use epdb_engine::{Engine, EngineErrorKind, SystemClock};

/// Maximum number of refused connections that are being closed. Further ones are cut at once.
const MAX_CLOSING: usize = 64;
/// Maximum number of characters of a reason that the supervisor gets for a refusal.
const REASON_CHARS: usize = 160;
/// Time for an engine to answer when its options are checked before the first game.
const OPTIONS_WITHIN: Duration = Duration::from_secs(20);
/// Interval between checks whether the last lines are written.
const LOOK: Duration = Duration::from_millis(10);
/// Maximum waiting time of a step if nothing happens.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The display of a tournament.
pub trait Watch {
    /// Shows a message to the supervisor.
    fn message(&mut self, text: &str);

    /// Redraws boards and clocks, at each interval and at the end of the tournament.
    fn show(&mut self, snapshot: &Snapshot<'_>);

    /// Shows the standings, because the supervisor asked for them.
    fn standings(&mut self, snapshot: &Snapshot<'_>);

    /// Interval between redraws of boards and clocks; `None` if they are not shown.
    fn refresh(&self) -> Option<Duration> {
        None
    }
}

/// A referee that holds the log of its tournament.
#[derive(Debug)]
pub struct Referee {
    arbiter: Arbiter,
    log: Log,
    watch_time: Stopwatch,
    queue: Queue,
    inputs: Receiver<(Duration, Input)>,
    /// The time at which the tournament was last shown.
    shown: Option<Duration>,
    has_tick: bool,
    channels: BTreeMap<ChannelId, Channel>,
    lobby: Lobby,
    last_channel: ChannelId,
    /// For each `respond` that is not written yet: the time by which it must be written.
    unwritten: BTreeMap<ChannelId, Duration>,
    /// Channels that are being closed.
    closing: Vec<thread::JoinHandle<()>>,
    address: Address,
    children: Children,
    games: GameFile,
    score: Score,
    openings: Vec<Opening>,
    /// Warnings about openings that are skipped, and about settings that do not take effect.
    remarks: Vec<String>,
    /// The tablebases that adjudicate games, if the tournament has any.
    tablebases: Option<Box<dyn Tablebases>>,
    waiting: VecDeque<(Duration, Event)>,
}

/// Opens the tablebases of a tournament.
pub type OpenTablebases = dyn Fn(&SyzygyRule) -> Result<Box<dyn Tablebases>>;

/// The next step of a referee, by the state of its log.
#[derive(Debug)]
pub enum Opened {
    /// This process is the referee now.
    Referee(Box<Referee>),
    /// Another process is the referee.
    Taken,
}

impl Referee {
    /// Begins a tournament, or resumes it from its log.
    ///
    /// # Errors
    /// The settings are invalid or differ from those of the log; the log is damaged; or the address
    /// cannot be bound.
    pub fn open(settings: &SettingsText) -> Result<Opened> {
        Referee::open_with(settings, &tablebases::open)
    }

    /// Like [`Referee::open`], with a function that opens the tablebases if the tournament needs
    /// any.
    ///
    /// # Errors
    /// The errors of [`Referee::open`], and the errors of `tablebases`.
    pub fn open_with(settings: &SettingsText, tablebases: &OpenTablebases) -> Result<Opened> {
        let tournament = settings.tournament()?;
        check_texts(&tournament)?;
        let Some(log) = Log::lock(&tournament.log)? else { return Ok(Opened::Taken) };
        Referee::with_log(log, settings, &tournament, tablebases).map(Opened::Referee)
    }

    fn with_log(
        mut log: Log,
        settings: &SettingsText,
        tournament: &Tournament,
        tablebases: &OpenTablebases,
    ) -> Result<Box<Referee>> {
        let recovered = log.recover(settings)?;
        let of_log = recovered.arbiter.tournament();
        if !of_log.has_same_games(tournament) {
            let differences = recovered.settings.difference(settings);
            let [log, games] = [&tournament.log, &tournament.pgn].map(|path| path.display());
            return Err(Error::new(format!(
                "the log of a tournament with other settings: {differences}; to go on, use the settings of the \
                 log; to start over, move {log} and {games} away"
            ))
            .in_source(tournament.log.display().to_string()));
        }
        if recovered.at.is_zero() {
            check_new(&tournament.pgn)?;
        }
        if !recovered.arbiter.has_moves() {
            check_engine_options(tournament)?;
        }
        let kept = of_log.kept_settings(tournament);
        let mut referee = Referee::go_on(log, recovered, tablebases, Some(&tournament.listen))?;
        referee.remarks.extend(kept);
        Ok(referee)
    }

    /// Resumes a tournament from the state that was recovered from its log. `listen` is the address
    /// for clients; `None` means the address that the log has.
    fn go_on(
        log: Log,
        recovered: Recovered,
        tablebases: &OpenTablebases,
        listen: Option<&Listen>,
    ) -> Result<Box<Referee>> {
        let Recovered { arbiter, at, last_channel, address, .. } = recovered;
        let watch_time = Stopwatch::starting_at(at + Duration::from_micros(1));
        let (queue, inputs) = input::queue(watch_time);
        // Openings and tablebases are read before clients can connect, so that no client waits for
        // them.
        let mut remarks = Vec::new();
        let openings = if arbiter.has_ended() {
            Vec::new()
        } else {
            arbiter.tournament().openings(&mut |why| remarks.push(why.to_string()))?
        };
        let tablebases = match &arbiter.tournament().syzygy {
            Some(rule) if !arbiter.has_ended() => Some(tablebases(rule)?),
            _ => None,
        };
        let games = GameFile::rewrite(arbiter.tournament(), arbiter.finished())?;
        let mut referee = Referee {
            log,
            watch_time,
            channels: BTreeMap::new(),
            lobby: Lobby::new(),
            last_channel,
            unwritten: BTreeMap::new(),
            closing: Vec::new(),
            address: Address::default(),
            children: Children::new(queue.clone()),
            games,
            score: Score::new(arbiter.finished()),
            openings,
            remarks,
            tablebases,
            waiting: VecDeque::new(),
            queue,
            inputs,
            shown: None,
            has_tick: false,
            arbiter,
        };
        if !referee.arbiter.has_ended() {
            let listen = listen.unwrap_or(&referee.arbiter.tournament().listen).clone();
            referee.listen(listen, address.as_deref())?;
        }
        Ok(Box::new(referee))
    }

    /// Listens for clients, if possible at the same address as before.
    fn listen(&mut self, listen_at: Listen, before: Option<&str>) -> Result<()> {
        match listen_at {
            Listen::Tcp(wanted) => {
                let listener: TcpListener = bind(&wanted, before)?;
                self.address = listen(listener, self.queue.clone())?;
                let note = Note::Listen(self.address.to_string());
                self.log.add(self.watch_time.now(), &Entry::Note(note))
            }
            Listen::Serial(paths) => paths.iter().try_for_each(|path| self.open_serial(path)),
        }
    }

    fn open_serial(&mut self, path: &Path) -> Result<()> {
        let opened = open_line(path).and_then(|(reader, writer)| {
            self.add_channel(|id, queue| Channel::serial(id, reader, writer, queue))
        });
        match opened {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::new("cannot open the line of a player")
                .because(error)
                .in_source(path.display().to_string())),
        }
    }

    /// The address for clients; empty if they are on serial lines.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The arbiter of the tournament.
    pub const fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    /// The handle by which supervisors send commands, from any thread.
    pub fn remote(&self) -> Remote {
        Remote::new(self.queue.clone())
    }

    /// Plays the tournament until it is over or stopped; returns true if it is over.
    ///
    /// # Errors
    /// The log or the file of games cannot be written, or a client cannot be started.
    pub fn run(mut self, watch: &mut dyn Watch) -> Result<bool> {
        let played = self.play(watch);
        if !matches!(played, Ok(true)) {
            // This note keeps observers from taking over. If it cannot be written, an observer may
            // take over.
            self.log.add(self.watch_time.now(), &Entry::Note(Note::Stopped)).ok();
            self.log.sync().ok();
            for (id, line) in self.arbiter.goodbyes() {
                if let Some(channel) = self.channels.get(&id) {
                    channel.send(line);
                }
            }
            self.say_goodbye();
            return played;
        }
        watch.show(&self.arbiter.snapshot(self.watch_time.now()));
        self.say_goodbye();
        Ok(true)
    }

    fn play(&mut self, watch: &mut dyn Watch) -> Result<bool> {
        self.greet(watch);
        if !self.arbiter.has_ended() {
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            self.happen(self.watch_time.now(), Event::Session { unix }, watch)?;
            self.read_tokens(watch)?;
            let serial: Vec<ChannelId> = self.channels.keys().copied().collect();
            for channel in serial {
                self.happen(self.watch_time.now(), Event::Opened(channel), watch)?;
            }
        }
        while !self.arbiter.has_ended() {
            if !self.step(watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the tokens of players whose clients connect by themselves.
    fn read_tokens(&mut self, watch: &mut dyn Watch) -> Result<()> {
        let files: Vec<Option<PathBuf>> = self
            .arbiter
            .tournament()
            .players
            .iter()
            .map(|player| player.token_file.clone())
            .collect();
        for (player, file) in files.iter().enumerate() {
            if let Some(file) = file {
                let token = token::read_or_make(file)?;
                self.happen(self.watch_time.now(), Event::Token(player, token), watch)?;
            }
        }
        Ok(())
    }

    /// Reports the state of the tournament and the missing players.
    fn greet(&self, watch: &mut dyn Watch) {
        let Tournament { players, concurrency, log, .. } = self.arbiter.tournament();
        let score = self.score.line(&self.arbiter);
        if self.arbiter.has_ended() {
            let log = log.display();
            return watch.message(&format!(
                "the tournament is over: {score}; move {log} away to start over"
            ));
        }
        let remarks = self.arbiter.tournament().remarks.iter().chain(&self.remarks);
        remarks.for_each(|remark| watch.message(remark));
        if !self.arbiter.finished().is_empty() {
            watch.message(&format!("the tournament goes on: {score}"));
        }
        let names = |holds: &dyn Fn(usize) -> bool| {
            let all = players.iter().enumerate().filter(|(player, _)| holds(*player));
            all.map(|(_, player)| player.name.as_str()).collect::<Vec<&str>>().join(", ")
        };
        let tournament = self.arbiter.tournament();
        let alone = names(&|player| tournament.max_clients(player) < *concurrency);
        if !alone.is_empty() && *concurrency > players.len() / 2 {
            watch.message(&format!(
                "one game at a time is played by {alone}: several clients of a player come over TCP, and a \
                 command for them has `token = true`"
            ));
        }
        let awaited = names(&|player| players[player].launch.is_none());
        if !awaited.is_empty() {
            let each = match concurrency {
                1 => String::new(),
                clients => format!(", each with up to {clients} clients"),
            };
            watch.message(&format!("waiting for players to sign on: {awaited}{each}"));
        }
    }

    /// Waits for the next input and handles it. Returns false if the referee is to stop.
    fn step(&mut self, watch: &mut dyn Watch) -> Result<bool> {
        self.tick_when_due();
        let deadline = self.deadline().unwrap_or(Duration::MAX);
        let until = deadline.saturating_sub(self.watch_time.now()).min(MAX_WAIT);
        match self.inputs.recv_timeout(until.min(self.until_shown(watch))) {
            Ok((_, Input::Control(ControlCommand::Stop))) => return Ok(false),
            Ok((at, input)) => self.take(at, input, watch)?,
            Err(_) => {}
        }
        if self.until_shown(watch).is_zero() {
            let now = self.watch_time.now();
            self.shown = Some(now);
            watch.show(&self.arbiter.snapshot(now));
        }
        Ok(true)
    }

    /// Time until the next redraw of boards and clocks.
    fn until_shown(&self, watch: &dyn Watch) -> Duration {
        let Some(refresh) = watch.refresh() else { return MAX_WAIT };
        let due = self.shown.map_or(Duration::ZERO, |shown| shown + refresh);
        due.saturating_sub(self.watch_time.now())
    }

    fn deadline(&self) -> Option<Duration> {
        let unwritten = self.unwritten.values().copied();
        unwritten.chain(self.arbiter.next_deadline()).chain(self.lobby.next_deadline()).min()
    }

    /// Queues a tick if a deadline has passed. Inputs that came in time are before it in the queue,
    /// so they are handled first.
    fn tick_when_due(&mut self) {
        let is_due = self.deadline().is_some_and(|deadline| deadline <= self.watch_time.now());
        if is_due && !self.has_tick {
            self.has_tick = self.queue.send(Input::Tick).is_ok();
        }
    }

    /// Handles a tick: the time is `at`, and all earlier inputs have been handled.
    fn tick(&mut self, at: Duration, watch: &mut dyn Watch) -> Result<()> {
        self.has_tick = false;
        let late = self.unwritten.iter().filter(|(_, until)| **until <= at);
        let late: Vec<ChannelId> = late.map(|(id, _)| *id).collect();
        for id in late {
            self.close(id, at);
            self.happen(at, Event::Closed(id), watch)?;
        }
        self.lobby.cut_late(at);
        if self.arbiter.next_deadline().is_some_and(|deadline| deadline <= at) {
            self.happen(at, Event::Tick, watch)
        } else {
            Ok(())
        }
    }

    fn take(&mut self, at: Duration, input: Input, watch: &mut dyn Watch) -> Result<()> {
        match input {
            Input::Accepted(stream) => {
                self.last_channel += 1;
                let id = self.last_channel;
                match Channel::tcp(id, stream, self.queue.clone()) {
                    Ok(channel) => self.lobby.admit(id, channel, at),
                    Err(why) => watch.message(&format!("a client is turned away: {why}")),
                }
                Ok(())
            }
            Input::Came(number, _permit, incoming) => self.hear(at, number.get(), incoming, watch),
            Input::Written(id) => match self.unwritten.remove(&id) {
                Some(_) => self.happen(at, Event::Written(id), watch),
                None => Ok(()),
            },
            Input::Closed(number) => match self.channels.remove(&number.get()) {
                Some(_) => {
                    self.unwritten.remove(&number.get());
                    self.happen(at, Event::Closed(number.get()), watch)
                }
                None => {
                    self.lobby.remove(number.get());
                    Ok(())
                }
            },
            Input::Exited(seat, start) if self.children.is_current(seat, start) => {
                self.happen(at, Event::Exited(seat), watch)
            }
            Input::Exited(..) | Input::Control(ControlCommand::Stop) => Ok(()),
            Input::Complaint(seat, _permit, text) => {
                let name = self.arbiter.tournament().client_name(seat);
                watch.message(&format!("{name}: {text}"));
                Ok(())
            }
            Input::Control(ControlCommand::Order(order)) => {
                self.happen(at, Event::Order(order), watch)
            }
            Input::Control(ControlCommand::Standings) => {
                watch.standings(&self.arbiter.snapshot(at));
                Ok(())
            }
            Input::Tick => self.tick(at, watch),
        }
    }

    fn hear(
        &mut self,
        at: Duration,
        id: ChannelId,
        incoming: Incoming,
        watch: &mut dyn Watch,
    ) -> Result<()> {
        if self.lobby.has(id) {
            return self.hear_stranger(at, id, incoming, watch);
        }
        if !self.channels.contains_key(&id) {
            return Ok(());
        }
        let event = match incoming {
            Incoming::Line(line) => Event::Line(id, line),
            Incoming::TooLong => Event::TooLong(id),
        };
        self.happen(at, event, watch)
    }

    /// Handles the first line of a connection. If the line is a valid `sign_on`, it is passed to
    /// the arbiter; otherwise the connection is refused.
    fn hear_stranger(
        &mut self,
        at: Duration,
        id: ChannelId,
        incoming: Incoming,
        watch: &mut dyn Watch,
    ) -> Result<()> {
        let Some(channel) = self.lobby.remove(id) else { return Ok(()) };
        let (line, error) = match incoming {
            Incoming::Line(line) => match self.arbiter.check_newcomer(&line) {
                Ok(()) => {
                    self.channels.insert(id, channel);
                    self.happen(at, Event::Opened(id), watch)?;
                    return self.happen(at, Event::Line(id, line), watch);
                }
                Err(error) => (line, error),
            },
            Incoming::TooLong => (Vec::new(), too_long()),
        };
        self.refuse(channel, &error);
        if let Some(Refusal { others, line }) = self.lobby.note(&line, at) {
            self.log.add(at, &Entry::Note(Note::Refused { others, line }))?;
            let reason: String = error.to_string().chars().take(REASON_CHARS).collect();
            watch.message(&format!("a connection is refused: {reason}"));
        }
        Ok(())
    }

    fn refuse(&mut self, channel: Channel, error: &WireError) {
        self.closing.retain(|thread| !thread.is_finished());
        if self.closing.len() >= MAX_CLOSING {
            return channel.cut();
        }
        channel.send(fault(Position::START, error).line());
        self.closing.extend(channel.close());
    }

    fn add_channel(
        &mut self,
        open: impl FnOnce(ChannelId, Queue) -> io::Result<Channel>,
    ) -> io::Result<ChannelId> {
        self.last_channel += 1;
        let id = self.last_channel;
        let channel = open(id, self.queue.clone())?;
        self.channels.insert(id, channel);
        Ok(id)
    }

    /// Handles an event. The event is logged before its actions are carried out.
    fn happen(&mut self, at: Duration, event: Event, watch: &mut dyn Watch) -> Result<()> {
        self.waiting.push_back((at, event));
        while let Some((at, event)) = self.waiting.pop_front() {
            self.log.add(at, &Entry::Event(event.clone()))?;
            for action in self.arbiter.take(at, event) {
                self.log.add(at, &Entry::Note(Note::Action(action.clone())))?;
                self.carry_out(at, action, watch)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, at: Duration, action: Action, watch: &mut dyn Watch) -> Result<()> {
        match action {
            Action::Send { channel: id, line, is_respond } => match self.channels.get(&id) {
                Some(channel) if is_respond => {
                    channel.send_respond(line);
                    self.unwritten.insert(id, self.watch_time.now() + WRITE_WITHIN);
                }
                Some(channel) => channel.send(line),
                None => {}
            },
            Action::Close(channel) => self.close(channel, at),
            Action::Start(seat) => self.start(seat, at, watch)?,
            Action::GiveUp(seat) => {
                let name = self.arbiter.tournament().client_name(seat);
                return Err(Error::new(format!(
                    "{name} was started and did not sign on: is it a UCI engine, and does it answer `uci` within a minute? Call again when its command is right"
                )));
            }
            Action::FetchOpening(number) => {
                let opening = self.opening(number)?;
                self.waiting.push_back((at, Event::Opening(number, opening)));
            }
            Action::Probe(game) => {
                let result = self.probe(game);
                self.waiting.push_back((at, Event::Tablebase { game, result }));
            }
            Action::GameOver { game: number, .. } => {
                // One event can end several games.
                let mut games = self.arbiter.finished().iter().rev();
                if let Some(game) = games.find(|game| game.pairing.game == number) {
                    self.log.sync()?;
                    self.games.add(self.arbiter.tournament(), game)?;
                    self.score.add(game);
                    watch.message(&self.score.line(&self.arbiter));
                }
            }
            Action::Message(text) => watch.message(&text),
            Action::Ended => self.log.sync()?,
        }
        Ok(())
    }

    fn close(&mut self, id: ChannelId, at: Duration) {
        self.unwritten.remove(&id);
        let Some(channel) = self.channels.remove(&id) else { return };
        match channel.reopen(self.last_channel + 1) {
            Ok(channel) => {
                // A serial line stays open under a new number.
                self.last_channel += 1;
                self.channels.insert(self.last_channel, channel);
                self.waiting.push_back((at, Event::Opened(self.last_channel)));
            }
            Err(channel) => self.closing.extend(channel.close()),
        }
    }

    /// Starts the client of a seat. The event with its token comes before all events of the client.
    fn start(&mut self, seat: usize, at: Duration, watch: &mut dyn Watch) -> Result<()> {
        let token = token::random()?;
        self.waiting.push_back((at, Event::Token(seat, token.clone())));
        let tournament = self.arbiter.tournament();
        if let Err(why) = self.children.start(seat, tournament, &self.address, &token) {
            watch.message(&format!("{} cannot be started: {why}", tournament.client_name(seat)));
            self.waiting.push_back((at, Event::Exited(seat)));
        }
        Ok(())
    }

    fn probe(&self, game: u32) -> GameResult {
        match (&self.tablebases, self.arbiter.place(game)) {
            (Some(tablebases), Some(Place { position, halfmove_clock, .. })) => {
                tablebases.result(&position, halfmove_clock)
            }
            _ => GameResult::Unknown,
        }
    }

    /// The opening with this number. If there are fewer openings, they are used again from the
    /// first.
    fn opening(&self, number: usize) -> Result<Opening> {
        let opening = self.openings.get(number % self.openings.len().max(1)).cloned();
        opening.ok_or_else(|| Error::new("there is no opening"))
    }

    /// Waits a limited time for the last lines to be written and for the clients to end.
    fn say_goodbye(mut self) {
        self.lobby = Lobby::new();
        let channels = std::mem::take(&mut self.channels);
        self.closing.extend(channels.into_values().flat_map(Channel::close));
        let until = Instant::now() + WRITE_WITHIN;
        while self.closing.iter().any(|it| !it.is_finished()) && Instant::now() < until {
            thread::sleep(LOOK);
        }
        self.children.end();
    }
}

/// Checks that the file of games has no games yet, for a tournament that has not begun.
fn check_new(games: &Path) -> Result<()> {
    match fs::metadata(games) {
        Ok(found) if found.len() > 0 => {
            let what = "there are games already, and the tournament is new: move them away, or name \
                        another file";
            Err(Error::new(what).in_source(games.display().to_string()))
        }
        _ => Ok(()),
    }
}

/// Before the first game, starts each engine for which options are set, and checks that the engine
/// has these options. An option that is set for all engines must exist in at least one engine. An
/// engine that cannot be started is reported when its first game begins.
fn check_engine_options(tournament: &Tournament) -> Result<()> {
    let engines = tournament.players.iter().filter_map(|player| match &player.launch {
        Some(Launch::Engine(engine)) => Some(engine),
        _ => None,
    });
    let mut lacked: HashMap<String, bool> = HashMap::new();
    let mut have_answered = true;
    for engine in engines {
        if engine.options.is_empty() {
            continue;
        }
        let mut engine = engine.clone();
        engine.optional.clone_from(&tournament.optional_options);
        match Engine::start(&engine, OPTIONS_WITHIN, Arc::new(SystemClock::new())) {
            Ok(started) => {
                for name in &engine.optional {
                    let is_lacked = started.identity().left_out.contains(name);
                    *lacked.entry(name.clone()).or_insert(true) &= is_lacked;
                }
            }
            Err(error) if matches!(error.kind, EngineErrorKind::Option(_)) => {
                return Err(Error::new(format!("{}: {error}", engine.label)));
            }
            Err(_) => have_answered = false,
        }
    }
    match tournament.optional_options.iter().find(|name| lacked.get(*name) == Some(&true)) {
        Some(name) if have_answered => Err(Error::new(format!(
            "no engine has the option `{name}` of -each; is its name misspelled?"
        ))),
        _ => Ok(()),
    }
}

/// Checks that all names can stand in messages.
fn check_texts(tournament: &Tournament) -> Result<()> {
    let names = tournament.players.iter().map(|player| &player.name);
    let mut texts = names.chain([&tournament.event, &tournament.site]);
    match texts.find(|text| !super::wire::fits_in_string(text)) {
        None => Ok(()),
        Some(text) => Err(Error::new(format!(
            "`{text}` cannot stand in a message: at most 255 bytes, without quotes and control characters"
        ))),
    }
}
