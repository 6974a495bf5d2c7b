//! Results of the games that reached a position: the operand of `tally`.

use std::cmp::Reverse;
use std::fmt::{self, Write};

use super::rules::Move;
use super::san::San;

/// The results of the games that reached a position, by the move that was played there.
///
/// A tally has a part for each [`Cell`], which is a group of games. If games are not split into
/// groups, there is one part, with the empty cell. The text is canonical: cells ascend, and the
/// moves with the most games come first. Moves with equally many games are in ASCII order.
///
/// ```
/// use epdb_chess::model::Position;
/// use epdb_chess::model::rules::Playable;
/// use epdb_chess::text::epd;
/// let text = b"reached 5, e4 +2=1-0 elo 2450.5/2 opp 2400/1 1987-2024, d4 +0=0-1*1 2020";
/// let start = Playable::new(&Position::START).expect("playable");
/// let tally = epd::parse_tally(Some(&start), text).expect("a tally");
/// assert_eq!(tally.to_text(), text);
/// let all = tally.total();
/// assert_eq!((all.reached, all.games()), (5, 5));
/// assert_eq!(all.moves[0].counts.elo.sum, 4901);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tally {
    parts: Vec<TallyPart>,
}

/// The games of one cell that reached a position.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TallyPart {
    /// The group of games.
    pub cell: Cell,
    /// Number of the games that reached the position, by any order of moves.
    pub reached: u64,
    /// Moves that were played in the position.
    pub moves: Vec<MoveTally>,
}

/// The games in which a move was played in a position.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct MoveTally {
    /// The move, legal in the position.
    pub mv: Move,
    /// The canonical SAN of the move. Moves with equally many games are sorted by their SAN.
    pub san: San,
    /// Results of the games.
    pub counts: GameCounts,
}

/// Results of a number of games.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GameCounts {
    /// Number of games that White won.
    pub white: u64,
    /// Number of drawn games.
    pub draws: u64,
    /// Number of games that Black won.
    pub black: u64,
    /// Number of games whose result is not known.
    pub unknown: u64,
    /// Ratings of the side to move.
    pub elo: Ratings,
    /// Ratings of the other side.
    pub opponents: Ratings,
    /// First and last year of the games whose year is known.
    pub years: Option<(u16, u16)>,
}

/// Ratings of the players who have one.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ratings {
    /// Number of games with a rating.
    pub games: u64,
    /// The sum of these ratings.
    pub sum: u64,
}

/// The group in which a game is counted if games are split into groups. A property is `None` if
/// games are not split by it, or if it is unknown.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cell {
    /// The year, 1 to 9999.
    pub year: Option<u16>,
    /// The month of the year, 1 to 12. It is `None` if the year is `None`.
    pub month: Option<u8>,
    /// The class of the time control.
    pub speed: Option<Speed>,
    /// The lower bound of the rating group: a game belongs to it if the mean rating of its players
    /// is at least this number, 0 to 9999.
    pub rating: Option<u16>,
}

/// Maximum of each count of games.
pub const MAX_GAMES: u64 = 999_999_999_999_999;
/// Maximum of ratings and of years.
pub const MAX_RATING: u16 = 9999;

/// More games than [`MAX_GAMES`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a tally counts no more than {MAX_GAMES} games")]
pub struct TallyOverflow;

impl Tally {
    /// Makes a tally of parts in any order. Parts of the same cell are added, and so are the counts
    /// of the same move. `None` if a value is out of range, a sum is too large, or no games are
    /// left.
    pub fn new(parts: Vec<TallyPart>) -> Option<Tally> {
        let is_valid = |part: &TallyPart| {
            part.cell.is_valid()
                && part.reached <= MAX_GAMES
                && part.moves.iter().all(|it| it.counts.is_valid())
        };
        if !parts.iter().all(is_valid) {
            return None;
        }
        let mut tally = Tally { parts };
        if !matches!(&tally.parts[..], [part] if part.is_merged()) {
            tally.merge().ok()?;
        }
        tally.parts.retain(|part| part.reached > 0 || !part.moves.is_empty());
        (!tally.parts.is_empty()).then_some(tally)
    }

    /// Takes parts that are already in the canonical order; `None` if there are none.
    pub(crate) fn from_sorted(parts: Vec<TallyPart>) -> Option<Tally> {
        (!parts.is_empty()).then_some(Tally { parts })
    }

    /// The parts, by ascending cells.
    pub fn parts(&self) -> &[TallyPart] {
        &self.parts
    }

    /// Whether a game continued with a move.
    pub fn has_moves(&self) -> bool {
        self.parts.iter().any(|part| !part.moves.is_empty())
    }

    /// All games together.
    pub fn total(&self) -> TallyPart {
        self.total_of(|_| true)
    }

    /// The games of the wanted cells together.
    pub fn total_of(&self, is_wanted: impl Fn(&Cell) -> bool) -> TallyPart {
        let mut total = TallyPart::default();
        for part in self.parts.iter().filter(|part| is_wanted(&part.cell)) {
            // Counts beyond the maximum are left out, here and when moves are merged.
            let _ = total.add(part);
        }
        let _ = total.merge();
        total
    }

    /// Adds the games of another tally of the position.
    ///
    /// # Errors
    /// [`TallyOverflow`] if there would be too many games; the tally is then unchanged.
    pub fn add(&mut self, other: &Tally) -> Result<(), TallyOverflow> {
        let mut sum = Tally { parts: [&self.parts[..], &other.parts[..]].concat() };
        sum.merge()?;
        *self = sum;
        Ok(())
    }

    /// Subtracts the games of another tally; the years stay. `None` if the other tally has games
    /// that this tally lacks, or if no games are left.
    #[must_use]
    pub fn minus(&self, less: &Tally) -> Option<Tally> {
        let mut left = self.clone();
        for less in &less.parts {
            let place = left.parts.binary_search_by_key(&less.cell, |part| part.cell).ok()?;
            let part = left.parts.get_mut(place)?;
            part.reached = part.reached.checked_sub(less.reached)?;
            part.moves.sort_unstable_by_key(|one| one.san);
            for one in &less.moves {
                let place = part.moves.binary_search_by_key(&one.san, |own| own.san).ok()?;
                let own = part.moves.get_mut(place)?;
                own.counts = own.counts.minus(&one.counts)?;
            }
        }
        Tally::new(left.parts)
    }

    /// Sorts parts and moves, and adds parts of the same cell and counts of the same move.
    fn merge(&mut self) -> Result<(), TallyOverflow> {
        merge_by_key(&mut self.parts, |part| part.cell, TallyPart::add)?;
        self.parts.iter_mut().try_for_each(TallyPart::merge)
    }

    /// Reads the text between the quotes of the operand, with cells and moves in any order.
    /// `move_of` returns the move that a SAN names in the position. The result is `None` if the
    /// text is not a tally, or if `move_of` returns `None`.
    /// [`epd::parse_tally`](crate::text::epd::parse_tally) reads the tally of a position.
    pub fn from_text(text: &[u8], mut move_of: impl FnMut(&San) -> Option<Move>) -> Option<Tally> {
        let mut parts: Vec<TallyPart> = Vec::new();
        for item in std::str::from_utf8(text).ok()?.split(", ") {
            match read_head(item) {
                Some(head) => parts.push(head),
                None => parts.last_mut()?.moves.push(read_move(item, &mut move_of)?),
            }
        }
        Tally::new(parts)
    }

    /// Text of the operand, without quotes.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = String::with_capacity(64);
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text.into_bytes()
    }
}

impl TallyPart {
    /// Number of games in which a move was played in the position. A game with several moves in the
    /// position counts once for each of them.
    pub fn games(&self) -> u64 {
        self.counts().games()
    }

    /// The counts of all moves together.
    pub fn counts(&self) -> GameCounts {
        let mut counts = GameCounts::default();
        for one in &self.moves {
            counts = counts.plus(&one.counts).unwrap_or(counts);
        }
        counts
    }

    /// Adds the games of another part. The caller then calls [`TallyPart::merge`].
    fn add(&mut self, other: &TallyPart) -> Result<(), TallyOverflow> {
        self.reached = sum(self.reached, other.reached)?;
        self.moves.extend_from_slice(&other.moves);
        Ok(())
    }

    /// A quick test: if true, [`TallyPart::merge`] would change nothing. False proves nothing.
    fn is_merged(&self) -> bool {
        match &self.moves[..] {
            [] => true,
            [one] => one.counts.games() > 0,
            _ => false,
        }
    }

    /// Sorts the moves, adds the counts of the same move, and removes moves without games.
    fn merge(&mut self) -> Result<(), TallyOverflow> {
        let merged = merge_by_key(
            &mut self.moves,
            |one| one.san,
            |sum, one| {
                sum.counts = sum.counts.plus(&one.counts)?;
                Ok(())
            },
        );
        self.moves.retain(|one| one.counts.games() > 0);
        self.moves.sort_by_key(|one| (Reverse(one.counts.games()), one.san));
        merged
    }
}

impl GameCounts {
    /// Number of all games.
    pub const fn games(&self) -> u64 {
        // No overflow: each count is far below a quarter of the largest value.
        self.white + self.draws + self.black + self.unknown
    }

    /// The share of the points that White made in the games whose result is known, 0 to 1. `None`
    /// if there is no such game.
    pub fn score_of_white(&self) -> Option<f64> {
        let known = self.white + self.draws + self.black;
        (known > 0).then(|| (self.white as f64 + self.draws as f64 / 2.0) / known as f64)
    }

    /// The counts of both together.
    ///
    /// # Errors
    /// [`TallyOverflow`] if there would be too many games.
    pub fn plus(&self, other: &GameCounts) -> Result<GameCounts, TallyOverflow> {
        let years = match (self.years, other.years) {
            (Some((first, last)), Some(other)) => Some((first.min(other.0), last.max(other.1))),
            (one, None) | (None, one) => one,
        };
        let both = GameCounts {
            white: sum(self.white, other.white)?,
            draws: sum(self.draws, other.draws)?,
            black: sum(self.black, other.black)?,
            unknown: sum(self.unknown, other.unknown)?,
            elo: self.elo.plus(other.elo),
            opponents: self.opponents.plus(other.opponents),
            years,
        };
        if both.games() > MAX_GAMES { Err(TallyOverflow) } else { Ok(both) }
    }

    /// Subtracts counts; the years stay. `None` if a difference is below 0 or not valid in a tally.
    #[must_use]
    pub fn minus(&self, less: &GameCounts) -> Option<GameCounts> {
        let left = GameCounts {
            white: self.white.checked_sub(less.white)?,
            draws: self.draws.checked_sub(less.draws)?,
            black: self.black.checked_sub(less.black)?,
            unknown: self.unknown.checked_sub(less.unknown)?,
            elo: self.elo.minus(less.elo)?,
            opponents: self.opponents.minus(less.opponents)?,
            years: self.years,
        };
        left.is_valid().then_some(left)
    }

    /// Whether a tally can have these counts.
    pub fn is_valid(&self) -> bool {
        let counts = [self.white, self.draws, self.black, self.unknown];
        let are_counts =
            counts.iter().all(|&count| count <= MAX_GAMES) && self.games() <= MAX_GAMES;
        let are_ratings = |ratings: Ratings| ratings.games <= self.games() && ratings.is_valid();
        let are_years = self
            .years
            .is_none_or(|(first, last)| (1..=last).contains(&first) && last <= MAX_RATING);
        are_counts && are_ratings(self.elo) && are_ratings(self.opponents) && are_years
    }
}

impl Ratings {
    /// The mean; `None` if nobody has a rating.
    pub fn mean(self) -> Option<f64> {
        (self.games > 0).then(|| self.sum as f64 / self.games as f64)
    }

    /// Adds two sums of ratings. They do not saturate: at most [`MAX_GAMES`] games are ever added.
    const fn plus(self, other: Ratings) -> Ratings {
        Ratings {
            games: self.games.saturating_add(other.games),
            sum: self.sum.saturating_add(other.sum),
        }
    }

    fn minus(self, less: Ratings) -> Option<Ratings> {
        let games = self.games.checked_sub(less.games)?;
        Some(Ratings { games, sum: self.sum.checked_sub(less.sum)? })
    }

    const fn is_valid(self) -> bool {
        self.games <= self.sum && self.sum <= self.games.saturating_mul(MAX_RATING as u64)
    }
}

impl Cell {
    /// Whether a tally can have such a cell.
    pub fn is_valid(&self) -> bool {
        let is_year = self.year.is_none_or(|year| (1..=MAX_RATING).contains(&year));
        let is_month = self.month.is_none_or(|month| (1..=12).contains(&month));
        let is_rating = self.rating.is_none_or(|rating| rating <= MAX_RATING);
        is_year && is_month && is_rating && (self.month.is_none() || self.year.is_some())
    }
}

/// Sorts items by key and adds items of the same key. If a sum is too large, the item is left out
/// and the result is an error. Items are sorted because a text may have very many, and comparing
/// each item with all others would take too long.
fn merge_by_key<T, K: Ord>(
    items: &mut Vec<T>,
    mut key: impl FnMut(&T) -> K,
    mut add: impl FnMut(&mut T, &T) -> Result<(), TallyOverflow>,
) -> Result<(), TallyOverflow> {
    items.sort_unstable_by_key(&mut key);
    let mut added = Ok(());
    items.dedup_by(|item, sum| {
        let is_same = key(item) == key(sum);
        if is_same {
            added = added.and(add(sum, item));
        }
        is_same
    });
    added
}

fn sum(a: u64, b: u64) -> Result<u64, TallyOverflow> {
    a.checked_add(b).filter(|&sum| sum <= MAX_GAMES).ok_or(TallyOverflow)
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Display for TallyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = self.year.map(|year| match self.month {
            Some(month) => format!("{year:04}-{month:02}"),
            None => format!("{year:04}"),
        });
        let speed = self.speed.map(|speed| speed.name().to_string());
        let rating = self.rating.map(|rating| format!("{rating}+"));
        let words: Vec<String> = [date, speed, rating].into_iter().flatten().collect();
        f.write_str(&words.join(" "))
    }
}

impl fmt::Display for GameCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Display for Ratings {
    /// Writes the mean, `/`, and the number of games. The mean has the fewest decimals from which
    /// the sum can be computed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

// Tallies are written very often. The format macros would take most of the time, so these functions
// write numbers and names themselves.

impl Tally {
    fn write(&self, f: &mut impl Write) -> fmt::Result {
        for (nth, part) in self.parts.iter().enumerate() {
            if nth > 0 {
                f.write_str(", ")?;
            }
            part.write(f)?;
        }
        Ok(())
    }
}

impl TallyPart {
    fn write(&self, f: &mut impl Write) -> fmt::Result {
        if self.cell != Cell::default() {
            write!(f, "[{}] ", self.cell)?;
        }
        f.write_str("reached ")?;
        write_count(self.reached, f)?;
        for MoveTally { san, counts, .. } in &self.moves {
            f.write_str(", ")?;
            san.as_bytes().iter().try_for_each(|&byte| f.write_char(char::from(byte)))?;
            f.write_char(' ')?;
            counts.write(f)?;
        }
        Ok(())
    }
}

impl GameCounts {
    fn write(&self, f: &mut impl Write) -> fmt::Result {
        for (sign, count) in [('+', self.white), ('=', self.draws), ('-', self.black)] {
            f.write_char(sign)?;
            write_count(count, f)?;
        }
        if self.unknown > 0 {
            f.write_char('*')?;
            write_count(self.unknown, f)?;
        }
        for (name, ratings) in [(" elo ", self.elo), (" opp ", self.opponents)] {
            if ratings.games > 0 {
                f.write_str(name)?;
                ratings.write(f)?;
            }
        }
        let Some((first, last)) = self.years else { return Ok(()) };
        f.write_char(' ')?;
        write_padded(first.into(), YEAR_DIGITS, f)?;
        if first == last {
            return Ok(());
        }
        f.write_char('-')?;
        write_padded(last.into(), YEAR_DIGITS, f)
    }
}

impl Ratings {
    fn write(self, f: &mut impl Write) -> fmt::Result {
        let Ratings { games, sum } = self;
        if sum.is_multiple_of(games.max(1)) {
            write_count(sum / games.max(1), f)?;
        } else {
            let keeps_sum = |&decimals: &u32| {
                sum_of(mean_in_units(sum, games, decimals), games, decimals) == u128::from(sum)
            };
            let decimals = (1..MAX_DECIMALS).find(keeps_sum).unwrap_or(MAX_DECIMALS);
            let mean = mean_in_units(sum, games, decimals);
            let unit = 10_u128.pow(decimals);
            write_count((mean / unit) as u64, f)?;
            f.write_char('.')?;
            write_padded((mean % unit) as u64, decimals as usize, f)?;
        }
        f.write_char('/')?;
        write_count(games, f)
    }
}

fn write_count(count: u64, f: &mut impl Write) -> fmt::Result {
    write_padded(count, 1, f)
}

const YEAR_DIGITS: usize = 4;

/// Writes a number with at least `min_digits` digits, which are at most [`MAX_DECIMALS`].
fn write_padded(mut count: u64, min_digits: usize, f: &mut impl Write) -> fmt::Result {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while count > 0 {
        start -= 1;
        digits[start] = b'0' + (count % 10) as u8;
        count /= 10;
    }
    start = start.min(digits.len() - min_digits);
    f.write_str(std::str::from_utf8(&digits[start..]).unwrap_or_default())
}

/// Number of decimals of a mean that is enough to compute every sum of ratings.
const MAX_DECIMALS: u32 = 16;

/// The mean in units of the last decimal, rounded to the nearest.
fn mean_in_units(sum: u64, games: u64, decimals: u32) -> u128 {
    let games = u128::from(games.max(1));
    (2 * u128::from(sum) * 10_u128.pow(decimals) + games) / (2 * games)
}

/// The sum of ratings, from a mean in units of the last decimal.
fn sum_of(mean: u128, games: u64, decimals: u32) -> u128 {
    let unit = 10_u128.pow(decimals);
    (2 * mean * u128::from(games) + unit) / (2 * unit)
}

/// Reads the beginning of a part: `reached 5`, `[2024 blitz] reached 5`.
fn read_head(item: &str) -> Option<TallyPart> {
    let (cell, reached) = match item.strip_prefix('[') {
        Some(rest) => rest.split_once("] ")?,
        None => ("", item),
    };
    let reached = read_count(reached.strip_prefix("reached ")?)?;
    Some(TallyPart { cell: read_cell(cell)?, reached, moves: Vec::new() })
}

fn read_cell(text: &str) -> Option<Cell> {
    let mut cell = Cell::default();
    for word in text.split_ascii_whitespace() {
        if let Some(rating) = word.strip_suffix('+') {
            cell.rating = Some(read_small(rating)?);
        } else if let Some(speed) = Speed::from_name(word) {
            cell.speed = Some(speed);
        } else {
            let (year, month) = match word.split_once('-') {
                Some((year, month)) => (year, Some(u8::try_from(read_small(month)?).ok()?)),
                None => (word, None),
            };
            cell.year = Some(read_small(year)?);
            cell.month = month;
        }
    }
    Some(cell)
}

/// Reads the results of a move, such as `e4 +2=1-0*1 elo 2450.5/2 opp 2400/1 1987-2024`.
fn read_move(item: &str, move_of: &mut impl FnMut(&San) -> Option<Move>) -> Option<MoveTally> {
    let mut words = item.split(' ').peekable();
    let san = San::new(words.next()?.as_bytes()).ok()?;
    let mut counts = read_results(words.next()?)?;
    for (name, ratings) in [("elo", &mut counts.elo), ("opp", &mut counts.opponents)] {
        if words.next_if_eq(&name).is_some() {
            *ratings = read_ratings(words.next()?)?;
        }
    }
    if let Some(years) = words.next() {
        let (first, last) = years.split_once('-').unwrap_or((years, years));
        counts.years = Some((read_small(first)?, read_small(last)?));
    }
    if words.next().is_some() {
        return None;
    }
    Some(MoveTally { mv: move_of(&san)?, san, counts })
}

fn read_results(text: &str) -> Option<GameCounts> {
    let (white, rest) = text.strip_prefix('+')?.split_once('=')?;
    let (draws, rest) = rest.split_once('-')?;
    let (black, unknown) = rest.split_once('*').unwrap_or((rest, "0"));
    Some(GameCounts {
        white: read_count(white)?,
        draws: read_count(draws)?,
        black: read_count(black)?,
        unknown: read_count(unknown)?,
        ..GameCounts::default()
    })
}

fn read_ratings(text: &str) -> Option<Ratings> {
    let (mean, games) = text.split_once('/')?;
    let (whole, fraction) = mean.split_once('.').unwrap_or((mean, ""));
    if fraction.len() > MAX_DECIMALS as usize || whole.len() > 4 {
        return None;
    }
    if fraction.is_empty() {
        let games = read_count(games)?;
        let sum = read_count(whole)?.checked_mul(games)?;
        return Some(Ratings { games, sum });
    }
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mean: u128 = digits.parse().ok()?;
    let games = read_count(games)?;
    let sum = u64::try_from(sum_of(mean, games, fraction.len() as u32)).ok()?;
    Some(Ratings { games, sum })
}

fn read_count(text: &str) -> Option<u64> {
    // `parse` would also take a plus sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|&count| count <= MAX_GAMES)
}

fn read_small(text: &str) -> Option<u16> {
    u16::try_from(read_count(text)?).ok()
}

/// The class of a time control, as lichess.org defines it. Classes are in order from the fastest.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Speed {
    /// Less than half a minute for forty moves.
    UltraBullet,
    /// Less than 3 minutes for forty moves.
    Bullet,
    /// Less than 8 minutes for forty moves.
    Blitz,
    /// Less than 25 minutes for forty moves.
    Rapid,
    /// Less than 6 hours for forty moves.
    Classical,
    /// 6 hours or more for forty moves, or days for a move.
    Correspondence,
}

impl Speed {
    /// All six classes.
    pub const ALL: [Speed; 6] = [
        Speed::UltraBullet,
        Speed::Bullet,
        Speed::Blitz,
        Speed::Rapid,
        Speed::Classical,
        Speed::Correspondence,
    ];

    /// The name of the class.
    pub const fn name(self) -> &'static str {
        match self {
            Speed::UltraBullet => "ultraBullet",
            Speed::Bullet => "bullet",
            Speed::Blitz => "blitz",
            Speed::Rapid => "rapid",
            Speed::Classical => "classical",
            Speed::Correspondence => "correspondence",
        }
    }

    /// The class of a name.
    pub fn from_name(name: &str) -> Option<Speed> {
        Speed::ALL.into_iter().find(|speed| speed.name() == name)
    }

    /// The class of a time control. `is_below` tells whether its time for forty moves is below a number of
    /// seconds.
    pub fn from_time(is_below: impl Fn(u32) -> bool) -> Speed {
        const LIMITS: [u32; 5] = [30, 180, 480, 1500, 21_600];
        let passed = LIMITS.iter().filter(|&&limit| !is_below(limit)).count();
        Speed::ALL[passed]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::model::Square;

    /// A move made from the bytes of a SAN, so that different SANs have different moves.
    fn move_of(san: &San) -> Move {
        let number = san.as_bytes().iter().fold(0_u32, |sum, &byte| sum * 31 + u32::from(byte));
        let square = |number: u32| Square::new((number % 64) as u8).unwrap();
        Move { from: square(number), to: square(number / 64), promotion: None }
    }

    fn counted(san: San, counts: GameCounts) -> MoveTally {
        MoveTally { mv: move_of(&san), san, counts }
    }

    fn read(text: &[u8]) -> Option<Tally> {
        Tally::from_text(text, |san| Some(move_of(san)))
    }

    fn any_ratings(games: u64) -> impl Strategy<Value = Ratings> {
        (0..=games).prop_flat_map(|games| {
            (games..=games * u64::from(MAX_RATING)).prop_map(move |sum| Ratings { games, sum })
        })
    }

    fn any_counts() -> impl Strategy<Value = GameCounts> {
        let count = || prop_oneof![Just(0), Just(1), 0..1000_u64, 0..=MAX_GAMES / 16];
        let years = prop::option::of((1..=9999_u16, 0..200_u16));
        (count(), count(), count(), 1..3_u64, years).prop_flat_map(
            |(white, draws, black, unknown, years)| {
                let games = white + draws + black + unknown;
                let years = years.map(|(first, more)| (first, (first + more).min(9999)));
                (any_ratings(games), any_ratings(games)).prop_map(move |(elo, opponents)| {
                    GameCounts { white, draws, black, unknown, elo, opponents, years }
                })
            },
        )
    }

    fn any_cell() -> impl Strategy<Value = Cell> {
        let date = prop::option::of((1..=9999_u16, prop::option::of(1..=12_u8)));
        let speed = prop::option::of(prop::sample::select(Speed::ALL.to_vec()));
        let rating = prop::option::of(0..=9999_u16);
        (date, speed, rating).prop_map(|(date, speed, rating)| Cell {
            year: date.map(|(year, _)| year),
            month: date.and_then(|(_, month)| month),
            speed,
            rating,
        })
    }

    prop_compose! {
        fn any_tally()(parts in prop::collection::vec(
            (any_cell(), 1..9_u64, prop::collection::vec(
                (prop::sample::select(vec!["e4", "d4", "O-O", "Nbxd7+", "e8=Q#"]), any_counts()),
                0..4)),
            1..4)) -> Tally
        {
            let parts = parts.into_iter().map(|(cell, reached, moves)| TallyPart {
                cell,
                reached,
                moves: moves.into_iter()
                    .map(|(san, counts)| counted(san.parse().unwrap(), counts))
                    .collect(),
            });
            Tally::new(parts.collect()).unwrap()
        }
    }

    proptest! {
        #[test]
        fn text_comes_back(tally in any_tally()) {
            prop_assert_eq!(read(&tally.to_text()), Some(tally));
        }

        #[test]
        fn adding_has_no_order(a in any_tally(), b in any_tally(), c in any_tally()) {
            let sum = |tallies: [&Tally; 3]| {
                let mut sum = tallies[0].clone();
                tallies[1..].iter().try_for_each(|it| sum.add(it)).map(|()| sum)
            };
            prop_assert_eq!(sum([&a, &b, &c]), sum([&c, &a, &b]));
        }

        #[test]
        fn no_text_panics(text in "(reached|e4|\\[|\\]|[ +=*/.,0-9-]|elo|opp|blitz){0,12}") {
            if let Some(tally) = read(text.as_bytes()) {
                prop_assert_eq!(read(&tally.to_text()), Some(tally));
            }
        }
    }

    #[test]
    fn the_mean_has_as_many_decimals_as_tell_the_sum() {
        for (games, sum, text) in [
            (1, 2451, "2451/1"),
            (2, 4901, "2450.5/2"),
            (3, 7354, "2451.3/3"),
            (705, 1_727_955, "2451/705"),
            (705, 1_727_956, "2451.001/705"),
            (MAX_GAMES, MAX_GAMES * 2000 + 1, "2000.000000000000001/999999999999999"),
        ] {
            let ratings = Ratings { games, sum };
            assert_eq!(ratings.to_string(), text);
            assert_eq!(read_ratings(text), Some(ratings));
        }
    }

    #[test]
    fn no_item_is_compared_with_all_others() {
        const ITEMS: u64 = 1 << 14;
        let mut items: Vec<u64> = (0..ITEMS).map(|nth| nth * 7919 % (ITEMS / 2)).collect();
        let mut looks = 0;
        let key = |item: &u64| {
            looks += 1;
            *item
        };
        merge_by_key(&mut items, key, |_, _| Ok(())).unwrap();
        assert!(items.iter().copied().eq(0..ITEMS / 2));
        assert!(looks < 64 * ITEMS, "{looks} looks at {ITEMS} items");
    }

    #[test]
    fn what_does_not_fit_is_left_out_of_a_total() {
        let text = format!("[2020] reached {MAX_GAMES}, e4 +1=0-0, [2021] reached 1, d4 +1=0-0");
        let tally = read(text.as_bytes()).unwrap();
        assert_eq!(tally.total().to_string(), format!("reached {MAX_GAMES}, e4 +1=0-0"));
        let mut sum = tally.clone();
        assert_eq!(sum.add(&tally), Err(TallyOverflow));
        assert_eq!(sum, tally);
    }

    #[test]
    fn what_is_no_tally() {
        for text in [
            "",
            "e4 +1=0-0",
            "reached",
            "reached 0",
            "reached 1, e4",
            "reached 1, e4 +1=0",
            "reached 1, e4 +1=0-0 1700-",
            "reached 1, e4 +1=0-0 1800-1700",
            "reached 1, e4 +1=0-0 elo 2400/2",
            "reached 1, e4 +1=0-0 elo 0/1",
            "reached 1, e4 +1=0-0 2020 2021",
            "reached 1000000000000000",
            "[2024-13] reached 1",
            "[fast] reached 1",
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn cells_are_kept_apart_and_summed() {
        let text = b"[2024-03 blitz 1600+] reached 2, e4 +1=0-0, [2024-04 rapid] reached 1, d4 \
            +0=1-0, e4 +1=0-0";
        let tally = read(text).unwrap();
        assert_eq!(tally.to_text(), text);
        assert_eq!(tally.total().to_string(), "reached 3, e4 +2=0-0, d4 +0=1-0");
        let april = tally.total_of(|cell| cell.month == Some(4));
        assert_eq!(april.to_string(), "reached 1, d4 +0=1-0, e4 +1=0-0");
    }
}
