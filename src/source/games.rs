//! Reading of games, as games or as their positions.

use std::cmp::Ordering;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::game_batches::{self, Extent, PgcStart, Prepared, Rest, as_game_read};
use super::item::{Item, Summary, VisitItem};
use super::options::SourceOptions;
use epdb_chess::codec::pgc::reader_from;
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::Game;
use epdb_chess::text::Setting;
use epdb_chess::text::pgn::{self, Finding, GameRead, GameReader, PositionOptions, game_positions};

/// Passes games to the visitor.
struct Games<'o> {
    place: Place,
    /// The unit of places: [`At::Line`], or [`At::Game`] in PGC.
    unit: fn(u64) -> At,
    options: &'o SourceOptions,
    summary: Summary,
}

struct TakenGame<'g> {
    game: &'g Game,
    is_cut_short: bool,
    prepared: Prepared<'g>,
}

/// Reads games in PGN. All threads read, unless reading may block.
pub(super) fn read_pgn<E: From<Error>>(
    input: Box<dyn Read + Send>,
    may_block: bool,
    extent: Extent,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let mut games = Games::new(name, At::Line, options);
    let rest = games.read_parts(Rest { input, extent }, may_block, visit)?;
    let Some(Rest { input, extent }) = rest else { return Ok(games.stopped()) };
    let mut reader = GameReader::new(input, options.games.clone()).first_line(extent.line);
    loop {
        if let Some(length) = extent.length {
            match reader.offset().cmp(&length) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(games.summary),
                Ordering::Greater => return Err(games.goes_beyond().into()),
            }
        }
        let read = reader.next_game().map_err(|error| games.cannot_read_on("line", error))?;
        let Some(read) = read else {
            if extent.length.is_some() {
                return Err(games.ends_early().into());
            }
            let raw = reader.rest();
            let is_stopped = !raw.is_empty()
                && visit(Item::Skipped { raw, is_game: true, aside: None })?.is_break();
            return Ok(if is_stopped { games.stopped() } else { games.summary });
        };
        if let (Err(error), []) = (&read.game, read.raw) {
            let mut error = error.clone();
            error.diagnostic.setting = Some(Setting::GameLimit);
            games.report_finding(&error, visit)?;
            games.reject_long_game(&mut reader, visit)?;
        } else if games.take(read, Prepared::default(), visit)?.is_break() {
            return Ok(games.stopped());
        }
    }
}

/// Reads games in PGC. All threads read, unless reading may block.
pub(super) fn read_pgc<E: From<Error>>(
    input: Box<dyn Read + Send>,
    may_block: bool,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let mut games = Games::new(name, At::Game, options);
    let all = Rest { input, extent: Extent::of_pgc() };
    let Some(Rest { input, extent }) = games.read_parts(all, may_block, visit)? else {
        return Ok(games.stopped());
    };
    let PgcStart { offset, has_checksums } = extent.pgc.unwrap_or_default();
    let mut reader = reader_from(input, options.games.limit, offset, has_checksums);
    loop {
        let read = reader.next_game().map_err(|error| games.cannot_read_on("game", error))?;
        let Some(read) = read else { return Ok(games.summary) };
        let prepared = Prepared { is_unchecked: !read.has_checksum, ..Prepared::default() };
        let read = as_game_read(read, extent.line - 1);
        if games.take(read, prepared, visit)?.is_break() {
            return Ok(games.stopped());
        }
    }
}

impl<'o> Games<'o> {
    fn new(name: Arc<str>, unit: fn(u64) -> At, options: &'o SourceOptions) -> Games<'o> {
        Games { place: Place::new(name, At::Whole), unit, options, summary: Summary::default() }
    }

    /// Reads the games that all threads can read, unless reading may block. Returns the rest; `None` if the
    /// visitor stops the reading.
    fn read_parts<E: From<Error>>(
        &mut self,
        all: Rest,
        may_block: bool,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<Option<Rest>, E> {
        if may_block {
            return Ok(Some(all));
        }
        let options = self.options;
        let take =
            &mut |read: GameRead<'_>, prepared: Prepared<'_>| self.take(read, prepared, visit);
        game_batches::read(all, options, take)
    }

    /// Passes a game with its diagnostics to the visitor.
    fn take<E: From<Error>>(
        &mut self,
        read: GameRead<'_>,
        prepared: Prepared<'_>,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        for warning in read.warnings {
            self.report_finding(warning, visit)?;
        }
        let may_stand = read.warnings.is_empty() || !self.options.deny_warnings;
        self.place.at = (self.unit)(read.line);
        let game = match read.game {
            Ok(game) if may_stand => {
                self.summary.unchecked_games += u64::from(prepared.is_unchecked);
                Some(TakenGame { game, is_cut_short: read.is_cut_short, prepared })
            }
            Ok(_) => None,
            Err(error) => {
                self.report_finding(&error, visit)?;
                None
            }
        };
        self.hand_on(game, read.raw, visit)
    }

    /// The error of an input that can no longer be read; `unit` is the unit in which places are
    /// counted: line or game.
    fn cannot_read_on(&self, unit: &str, error: io::Error) -> Error {
        let what = match self.place.number() {
            0 => "cannot read on".to_string(),
            number => format!("cannot read on after {unit} {number}"),
        };
        Error::new(what).because(error).in_source(Arc::clone(&self.place.source))
    }

    /// The error of a part that ends within a game.
    fn goes_beyond(&self) -> Error {
        let what = "a line within this game begins with `[Event `, and a slice ends there";
        Error::new(format!("{what}: plan a different number of slices")).at(self.place.clone())
    }

    /// The error of a part that ends before its last byte.
    fn ends_early(&self) -> Error {
        let what = "the file ends before the end of the slice: plan again";
        Error::new(what).in_source(Arc::clone(&self.place.source))
    }

    fn stopped(&self) -> Summary {
        Summary { was_stopped: true, ..self.summary }
    }

    /// Reports a finding, with the ply if it has one.
    fn report_finding<E>(
        &mut self,
        finding: &Finding,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<(), E> {
        self.place.at = (self.unit)(finding.line);
        let mut diagnostic = finding.diagnostic.clone();
        if let Some(ply) = finding.ply {
            diagnostic.message += &format!(" (ply {ply})");
        }
        // A visitor that stops here is asked again with the game itself.
        let _ = visit(Item::Diagnostic { diagnostic: &diagnostic, place: &self.place })?;
        Ok(())
    }

    fn takes_games(&self) -> bool {
        self.options.positions.is_none()
    }

    /// Passes the bytes of a game that is longer than the limit to the visitor.
    fn reject_long_game<R: Read, E: From<Error>>(
        &self,
        reader: &mut GameReader<R>,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<(), E> {
        let mut pieces = Pieces::new(&self.place, self.takes_games(), visit);
        let copied = reader.copy_long_game(&mut pieces);
        pieces.finish(copied)
    }

    /// Passes a game to the visitor, or its positions, or the bytes of a refused game.
    fn hand_on<E: From<Error>>(
        &mut self,
        game: Option<TakenGame<'_>>,
        raw: &[u8],
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let place = &self.place;
        let is_game = self.takes_games();
        let Some(TakenGame { game, is_cut_short, prepared }) = game else {
            return visit(Item::Rejected { raw, place, is_more: false, is_game });
        };
        match &self.options.positions {
            Some(options) => {
                if is_cut_short && visit(Item::CutShort { raw, place })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.hand_on_positions(game, raw, options, visit)
            }
            None if prepared.is_taken.unwrap_or_else(|| self.options.takes_game(game, place)) => {
                let encoded = prepared.encoded;
                visit(Item::Game { game, place, raw, is_cut_short, encoded })
            }
            None => visit(Item::LeftOut { record: None, place, raw }),
        }
    }

    /// Passes the positions of a game to the visitor, as records. Each record gets a part of the
    /// bytes of the game. So each record has its own place in the source, and an interrupted import
    /// can resume in the middle of a game.
    fn hand_on_positions<E: From<Error>>(
        &mut self,
        game: &Game,
        raw: &[u8],
        options: &PositionOptions,
        visit: &mut VisitItem<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let left_out = pgn::positions_left_out(game, options);
        self.summary.variation_positions += left_out.of_variations;
        self.summary.null_move_positions += left_out.behind_null_moves;
        self.summary.unread_evaluations += pgn::evaluations_unread(game, options);
        let place = &self.place;
        let mut rest = raw;
        let mut records = game_positions(game, options).peekable();
        if records.peek().is_none() {
            return visit(Item::Skipped { raw, is_game: true, aside: None });
        }
        while let Some((record, position)) = records.next() {
            // One byte for each record; the last one gets the rest.
            let is_last = records.peek().is_none();
            let (raw, behind) = rest.split_at(if is_last { rest.len() } else { rest.len().min(1) });
            rest = behind;
            let flow = if self.options.takes(&record, Some(position), place) {
                visit(Item::Record { record, place, raw, game: Some(position) })?
            } else {
                visit(Item::LeftOut { record: Some(record), place, raw })?
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Passes a line or a game that is longer than the limit to the visitor, in pieces.
pub(super) struct Pieces<'p, 'v, E> {
    place: &'p Place,
    is_game: bool,
    is_more: bool,
    visit: &'p mut VisitItem<'v, E>,
    failure: Option<E>,
}

impl<'p, 'v, E: From<Error>> Pieces<'p, 'v, E> {
    pub(super) fn new(place: &'p Place, is_game: bool, visit: &'p mut VisitItem<'v, E>) -> Self {
        Pieces { place, is_game, is_more: false, visit, failure: None }
    }

    /// Result of the copying: the error of the visitor or, if there is none, the error of the
    /// input.
    pub(super) fn finish(self, copied: io::Result<()>) -> Result<(), E> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(copied.map_err(Error::from)?),
        }
    }
}

impl<E> Write for Pieces<'_, '_, E> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let Pieces { place, is_game, is_more, .. } = *self;
        self.is_more = true;
        match (self.visit)(Item::Rejected { raw: piece, place, is_more, is_game }) {
            Ok(_) => Ok(piece.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
