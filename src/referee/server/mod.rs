//! The referee as a program: channels, clients that are started, the log and the file of games around an
//! [`Arbiter`].

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

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
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
use super::settings::{Listen, SyzygyRule, Tournament};
use super::snapshot::Snapshot;
use super::wire::{Incoming, WireError, open_line};
use crate::error::{Error, Result};
use crate::model::{GameResult, Position};

/// Refused connections that may take their time to end.
const MAX_CLOSING: usize = 64;
/// Maximum length of the reason of a refusal for the supervisor, in characters.
const REASON_CHARS: usize = 160;
/// Interval between checks whether the last lines are written.
const LOOK: Duration = Duration::from_millis(10);
/// So long a step waits at most where nothing happens.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The display of a tournament.
pub trait Watch {
    /// Something for the supervisor to know.
    fn message(&mut self, text: &str);

    /// Redraws boards and clocks, at each interval and at the end of the tournament.
    fn show(&mut self, snapshot: &Snapshot<'_>);

    /// The standings are asked for.
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
    /// When the tournament was last shown.
    shown: Option<Duration>,
    /// Whether a tick is behind other inputs.
    has_tick: bool,
    channels: BTreeMap<ChannelId, Channel>,
    lobby: Lobby,
    last_channel: ChannelId,
    /// Until when each `respond` must be written that is not.
    unwritten: BTreeMap<ChannelId, Duration>,
    /// Channels that are being closed.
    closing: Vec<thread::JoinHandle<()>>,
    address: Address,
    children: Children,
    games: GameFile,
    score: Score,
    openings: Vec<Opening>,
    /// Warnings about openings that are skipped.
    left_out: Vec<String>,
    /// The tablebases that adjudicate games, if the tournament has any.
    tablebases: Option<Box<dyn Tablebases>>,
    waiting: VecDeque<(Duration, Event)>,
}

/// Opens the tablebases of a tournament.
pub type OpenTablebases = dyn Fn(&SyzygyRule) -> Result<Box<dyn Tablebases>>;

/// The next step of a referee, by the state of its log.
#[derive(Debug)]
pub enum Opened {
    /// It is the referee now.
    Referee(Box<Referee>),
    /// Another one is.
    Taken,
}

impl Referee {
    /// Begins a tournament, or goes on with one that its log has begun.
    ///
    /// # Errors
    /// The settings describe no tournament, or not that of the log; the log is damaged; the address cannot
    /// be had.
    pub fn open(settings: &SettingsText) -> Result<Opened> {
        Referee::open_with(settings, &tablebases::open)
    }

    /// [`Referee::open`] with tablebases from elsewhere, if the tournament wants any.
    ///
    /// # Errors
    /// As there, and those of `tablebases`.
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
        if recovered.arbiter.tournament() != tournament {
            let [there, here] = recovered.settings.difference(settings);
            let what = format!(
                "the log of a tournament with other settings: `{there}` there, `{here}` here; move it \
                 away to start over"
            );
            return Err(Error::new(what).in_source(tournament.log.display().to_string()));
        }
        if recovered.at.is_zero() {
            check_new(&tournament.pgn)?;
        }
        Referee::go_on(log, recovered, tablebases)
    }

    /// Goes on with what was found in a log.
    fn go_on(log: Log, recovered: Recovered, tablebases: &OpenTablebases) -> Result<Box<Referee>> {
        let Recovered { arbiter, at, last_channel, address, .. } = recovered;
        let watch_time = Stopwatch::starting_at(at + Duration::from_micros(1));
        let (queue, inputs) = input::queue(watch_time);
        // Clients wait for nothing that is read.
        let mut left_out = Vec::new();
        let openings = match arbiter.has_ended() {
            true => Vec::new(),
            false => arbiter.tournament().openings(&mut |why| left_out.push(why.to_string()))?,
        };
        let wanted = arbiter.tournament().syzygy.as_ref().filter(|_| !arbiter.has_ended());
        let tablebases = wanted.map(tablebases).transpose()?;
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
            left_out,
            tablebases,
            waiting: VecDeque::new(),
            queue,
            inputs,
            shown: None,
            has_tick: false,
            arbiter,
        };
        if !referee.arbiter.has_ended() {
            referee.listen(address.as_deref())?;
        }
        Ok(Box::new(referee))
    }

    /// Awaits clients, where they were awaited before if that can be.
    fn listen(&mut self, before: Option<&str>) -> Result<()> {
        match self.arbiter.tournament().listen.clone() {
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
        opened.map(drop).map_err(|error| {
            let what = "cannot open the line of a player";
            Error::new(what).because(error).in_source(path.display().to_string())
        })
    }

    /// The address for clients; `None` if they are on serial lines.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The tournament.
    pub const fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    /// The handle by which supervisors send commands, from any thread.
    pub fn remote(&self) -> Remote {
        Remote::new(self.queue.clone())
    }

    /// Plays the tournament until it is over or stopped; true if it is over.
    ///
    /// # Errors
    /// The log or the file of games cannot be written, or an opening not be read.
    pub fn run(mut self, watch: &mut dyn Watch) -> Result<bool> {
        let played = self.play(watch);
        if !matches!(played, Ok(true)) {
            // Whoever looks on is not to take over. Where even this cannot be written it may.
            self.log.add(self.watch_time.now(), &Entry::Note(Note::Stopped)).ok();
            self.log.sync().ok();
            for (id, line) in self.arbiter.goodbyes() {
                if let Some(channel) = self.channels.get(&id) {
                    channel.send(line, false);
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

    /// The tokens of players that come by themselves.
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
        let remarks = self.arbiter.tournament().remarks.iter().chain(&self.left_out);
        remarks.for_each(|remark| watch.message(remark));
        if !self.arbiter.finished().is_empty() {
            watch.message(&format!("the tournament goes on: {score}"));
        }
        let names = |holds: &dyn Fn(usize) -> bool| {
            let all = players.iter().enumerate().filter(|(player, _)| holds(*player));
            all.map(|(_, player)| player.name.as_str()).collect::<Vec<&str>>().join(", ")
        };
        let tournament = self.arbiter.tournament();
        let alone = names(&|player| tournament.most_clients(player) < *concurrency);
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
                most => format!(", each with up to {most} clients"),
            };
            watch.message(&format!("waiting for players to sign on: {awaited}{each}"));
        }
    }

    /// Waits for what happens next; false when it is to stop.
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

    /// Time until the next redraw of clocks.
    fn until_shown(&self, watch: &dyn Watch) -> Duration {
        let Some(refresh) = watch.refresh() else { return MAX_WAIT };
        let due = self.shown.map_or(Duration::ZERO, |shown| shown + refresh);
        due.saturating_sub(self.watch_time.now())
    }

    fn deadline(&self) -> Option<Duration> {
        let unwritten = self.unwritten.values().copied();
        unwritten.chain(self.arbiter.next_deadline()).chain(self.lobby.next_deadline()).min()
    }

    /// When time is over, what came in time is taken first: the tick goes behind it.
    fn tick_when_due(&mut self) {
        let is_due = self.deadline().is_some_and(|deadline| deadline <= self.watch_time.now());
        if is_due && !self.has_tick {
            self.has_tick = self.queue.send(Input::Tick).is_ok();
        }
    }

    /// So late is it, and all is taken that came before.
    fn tick(&mut self, at: Duration, watch: &mut dyn Watch) -> Result<()> {
        self.has_tick = false;
        let late = |(id, until): (&ChannelId, &Duration)| (*until <= at).then_some(*id);
        let late: Vec<ChannelId> = self.unwritten.iter().filter_map(late).collect();
        for id in late {
            self.close(id, at);
            self.happen(at, Event::Closed(id), watch)?;
        }
        self.lobby.cut_late(at);
        match self.arbiter.next_deadline().is_some_and(|deadline| deadline <= at) {
            true => self.happen(at, Event::Tick, watch),
            false => Ok(()),
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

    /// The first line of a connection: who signs on by it becomes a client, of which the arbiter hears now.
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
        channel.send(fault(Position::START, error).line(), false);
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

    /// Something happens: it is written down before anything is done about it.
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
            Action::Send { channel: id, line, is_respond } => {
                if let Some(channel) = self.channels.get(&id) {
                    channel.send(line, is_respond);
                    if is_respond {
                        self.unwritten.insert(id, self.watch_time.now() + WRITE_WITHIN);
                    }
                }
            }
            Action::Close(channel) => self.close(channel, at),
            Action::Start(seat) => self.start(seat, at, watch)?,
            Action::GiveUp(seat) => {
                let name = self.arbiter.tournament().client_name(seat);
                return Err(Error::new(format!(
                    "{name} was started and did not sign on; call again when its command is right"
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
                // A serial line stays.
                self.last_channel += 1;
                self.channels.insert(self.last_channel, channel);
                self.waiting.push_back((at, Event::Opened(self.last_channel)));
            }
            Err(channel) => self.closing.extend(channel.close()),
        }
    }

    /// Starts the client of a seat. What comes from it is taken behind its token.
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

    /// The result of a game according to the tablebases.
    fn probe(&self, game: u32) -> GameResult {
        match (&self.tablebases, self.arbiter.place(game)) {
            (Some(tablebases), Some(Place { position, halfmove_clock, .. })) => {
                tablebases.result(&position, halfmove_clock)
            }
            _ => GameResult::Unknown,
        }
    }

    /// An opening by its place; where there are fewer they begin again.
    fn opening(&self, number: usize) -> Result<Opening> {
        let opening = self.openings.get(number % self.openings.len().max(1)).cloned();
        opening.ok_or_else(|| Error::new("there is no opening"))
    }

    /// Lets the last lines be written, and clients end by themselves.
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

/// Looks whether there are games already where those of a tournament go that has not begun.
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

/// Looks whether all names can stand in messages.
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
