//! The client's side of a conversation with a referee.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use super::conduct::{Conduct, Scores};
use super::known_game::KnownGame;
use super::thinker::{Thinker, Thought, Turn};
use crate::board::Ending;
use crate::wire::{
    Command, Directive, DrawWord, Incoming, Lines, MAX_LINE, NOT_SIGNED_ON, Reply, Request,
    SearchReport, write_line,
};
use epdb_chess::model::rules::is_insufficient_material;

/// Maximum number of queued messages.
const WAITING: usize = 64;

/// A program that takes part in a tournament.
#[derive(Debug)]
pub struct Client<T> {
    thinker: T,
    conduct: Conduct,
    /// Thinking time for a move if the referee sends no time.
    usual_time: Duration,
    game: KnownGame,
    scores: Scores,
    concluded: u64,
}

/// The end of a conversation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The referee disconnected.
    Disconnected,
    /// The client signed off after its last game.
    SignedOff,
    /// The channel was closed, or broke.
    Closed,
    /// The channel was closed before any message other than a fault arrived.
    Refused,
}

/// Events for a human.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// A game between these players begins.
    Begins {
        /// The tag `White`.
        white: String,
        /// The tag `Black`.
        black: String,
    },
    /// A game ended, with this result if the referee sent it.
    Ends(Option<String>),
    /// The referee sent a fault, with this reason if it gave one.
    Fault(Option<String>),
    /// No move was found, for this reason; the game is lost.
    NoMove(String),
    /// The engine writes something that cannot be read and is ignored.
    Remark(String),
}

/// The reason why a message has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The message is invalid or does not fit the game.
    #[error("{0}")]
    Message(String),
    /// No move was found.
    #[error("{0}")]
    Move(String),
}

/// The reason why a client cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClientError(String);

/// Messages from the referee that were not answered yet.
struct Inbox {
    incoming: Receiver<Incoming>,
    waiting: VecDeque<Result<Directive, NoAnswer>>,
    is_closed: bool,
}

impl<T: Thinker> Client<T> {
    /// A client.
    pub fn new(thinker: T, conduct: Conduct, usual_time: Duration) -> Client<T> {
        let game = KnownGame::new();
        let scores = Scores::default();
        Client { thinker, conduct, usual_time, game, scores, concluded: 0 }
    }

    /// Number of finished games.
    pub const fn concluded(&self) -> u64 {
        self.concluded
    }

    /// Signs on under a name and answers the referee's messages until one of the two ends the conversation.
    /// If `games` is given, the client ends the conversation after this number of games.
    ///
    /// # Errors
    /// The referee sent an invalid message; this is reported to the referee. If no move is found, this is
    /// reported to the referee too. It is not an error, because the next game may follow.
    pub fn converse<R: Read + Send + 'static>(
        &mut self,
        (reader, mut writer): (R, impl Write),
        (address, name): (&str, &str),
        games: Option<u64>,
        note: &mut dyn FnMut(Note),
    ) -> Result<End, ClientError> {
        let mut inbox = Inbox::new(reader);
        let request = Request::SignOn { address: address.into(), name: name.into() };
        let sign_on =
            if self.thinker.takes_time() { request.line_with_ready() } else { request.line() };
        let mut closed = End::Refused;
        if write_line(&mut writer, &sign_on).is_err() {
            return Ok(closed);
        }
        loop {
            let Some(directive) = inbox.next() else { return Ok(closed) };
            let mut is_unknown = false;
            let answer = directive.and_then(|directive| {
                let reason = directive.reason.as_deref().unwrap_or_default();
                is_unknown = reason.contains(NOT_SIGNED_ON);
                if directive.command != Command::Fault {
                    closed = End::Closed;
                }
                let answer = self.take(&directive, &mut || inbox.has_ended_the_game(), note);
                answer.map(|answer| match answer {
                    None if directive.ready => (directive.command, Some(Request::Ready)),
                    reply => (directive.command, reply.map(Request::Reply)),
                })
            });
            let request = match answer {
                Err(NoAnswer::Message(reason)) => {
                    send(&mut writer, &Request::Fault { reason: Some(reason.clone()) }).ok();
                    return Err(ClientError(reason));
                }
                Err(NoAnswer::Move(reason)) => {
                    note(Note::NoMove(reason.clone()));
                    // The game may be lost on time already. The fault would lose the next game.
                    if inbox.has_ended_the_game() {
                        continue;
                    }
                    Request::Fault { reason: Some(reason) }
                }
                // A channel such as a serial line stays open when its referee ends. The next
                // referee does not know the client yet, so the client signs on again.
                Ok((Command::Fault, _)) if is_unknown => {
                    if write_line(&mut writer, &sign_on).is_err() {
                        return Ok(closed);
                    }
                    continue;
                }
                Ok((Command::Disconnect, _)) => return Ok(End::Disconnected),
                Ok((Command::Conclude, _))
                    if games.is_some_and(|games| self.concluded >= games) =>
                {
                    send(&mut writer, &Request::SignOff).ok();
                    return Ok(End::SignedOff);
                }
                // A reply is not sent if its game is over.
                Ok((_, Some(Request::Reply(_)))) if inbox.has_ended_the_game() => continue,
                Ok((_, None)) => continue,
                Ok((_, Some(request))) => request,
            };
            if send(&mut writer, &request).is_err() {
                return Ok(closed);
            }
        }
    }

    /// Takes a message and returns the reply, if the message requires one. `interrupt` is called
    /// repeatedly during a search; if it returns true, the search ends.
    ///
    /// # Errors
    /// The message cannot be followed, or no move was found.
    pub fn take(
        &mut self,
        directive: &Directive,
        interrupt: &mut dyn FnMut() -> bool,
        note: &mut dyn FnMut(Note),
    ) -> Result<Option<Reply>, NoAnswer> {
        self.game.inform(directive);
        match directive.command {
            Command::Reset => {
                self.game = KnownGame::new();
                self.scores = Scores::default();
                self.thinker.forget();
            }
            Command::Inform => {
                self.tell_players(directive, note);
                if directive.ready {
                    self.thinker.prepare(&directive.position);
                }
            }
            Command::Execute => {
                self.game.set(directive).map_err(NoAnswer::Message)?;
            }
            Command::Respond => return self.reply(directive, interrupt, note).map(Some),
            Command::Conclude => {
                self.concluded += 1;
                let result = self.game.tag("Result").filter(|result| *result != "*");
                note(Note::Ends(result.map(String::from)));
            }
            Command::Fault => note(Note::Fault(directive.reason.clone())),
            Command::Disconnect => {}
        }
        Ok(None)
    }

    fn tell_players(&self, directive: &Directive, note: &mut dyn FnMut(Note)) {
        // A later message with other tags, such as the result, does not begin the game again.
        let has_players = directive.tags.iter().any(|(tag, _)| tag == "White");
        if has_players
            && let Some(white) = self.game.tag("White")
            && let Some(black) = self.game.tag("Black")
        {
            note(Note::Begins { white: white.into(), black: black.into() });
        }
    }

    fn reply(
        &mut self,
        directive: &Directive,
        interrupt: &mut dyn FnMut() -> bool,
        note: &mut dyn FnMut(Note),
    ) -> Result<Reply, NoAnswer> {
        let board = self.game.set(directive).map_err(NoAnswer::Message)?.clone();
        let position = board.place().position;
        let search = SearchReport::default();
        let without_move = Reply { position, mv: None, draw: None, resigns: false, search };
        if !board.playable().has_move() {
            return Ok(without_move);
        }
        if self.conduct.claims && is_insufficient_material(position.board()) {
            return Ok(Reply { draw: Some(DrawWord::Claim), ..without_move });
        }
        let time = self.game.move_time(directive, self.usual_time);
        let Thought { mv, search } = self
            .thinker
            .think(&Turn { board, time, search: directive.left.search }, interrupt)
            .map_err(NoAnswer::Move)?;
        if let Some(remark) = self.thinker.remark() {
            note(Note::Remark(remark));
        }
        self.scores.add(&self.conduct, search.ce);
        if self.scores.resigns(&self.conduct) {
            return Ok(Reply { resigns: true, search, ..without_move });
        }
        if directive.draw_offer && self.scores.takes_draw() {
            return Ok(Reply { draw: Some(DrawWord::Accept), search, ..without_move });
        }
        self.game.play(mv);
        let draw = self.draw_word(directive);
        Ok(Reply { mv: Some(mv), draw, search, ..without_move })
    }

    /// The claim, rejection or offer of a draw that is sent with the last move.
    fn draw_word(&self, directive: &Directive) -> Option<DrawWord> {
        let ending = self.game.board().and_then(|board| board.ending());
        let may_claim = matches!(ending, Some(Ending::Repetition | Ending::FiftyMoves));
        if may_claim && self.conduct.claims {
            Some(DrawWord::Claim)
        } else if directive.draw_offer {
            Some(DrawWord::Reject)
        } else if self.scores.offers_draw(&self.conduct) {
            Some(DrawWord::Offer)
        } else {
            None
        }
    }
}

impl Inbox {
    /// Reads messages in a separate thread, so that a message can end a search. The thread stops
    /// reading while [`WAITING`] messages are queued; the referee then has to wait.
    fn new(reader: impl Read + Send + 'static) -> Inbox {
        let (sender, incoming) = sync_channel(WAITING);
        std::thread::spawn(move || {
            let mut lines = Lines::new(reader);
            while let Ok(Some(line)) = lines.next_line() {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Inbox { incoming, waiting: VecDeque::new(), is_closed: false }
    }

    /// Waits for the next message. Returns it, or the reason why it is invalid; `None` if no
    /// further message can arrive.
    fn next(&mut self) -> Option<Result<Directive, NoAnswer>> {
        self.waiting.pop_front().or_else(|| self.incoming.recv().ok().map(read))
    }

    /// True if a message that ends the game has arrived, or if no further message can arrive.
    fn has_ended_the_game(&mut self) -> bool {
        use std::sync::mpsc::TryRecvError;
        while self.waiting.len() < WAITING {
            match self.incoming.try_recv() {
                Ok(line) => self.waiting.push_back(read(line)),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.is_closed = true;
                    break;
                }
            }
        }
        let ends = |directive: &Directive| {
            matches!(directive.command, Command::Conclude | Command::Reset | Command::Disconnect)
        };
        self.is_closed || self.waiting.iter().any(|next| next.as_ref().is_ok_and(ends))
    }
}

fn read(line: Incoming) -> Result<Directive, NoAnswer> {
    let directive = match line {
        Incoming::Line(line) => Directive::parse(&line).map_err(|error| error.to_string()),
        Incoming::TooLong => Err(format!("a line of more than {MAX_LINE} bytes")),
    };
    directive.map_err(NoAnswer::Message)
}

fn send(writer: &mut impl Write, request: &Request) -> io::Result<()> {
    write_line(writer, &request.line())
}
