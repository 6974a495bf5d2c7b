"""Tallies and lists of kept games: formats/epd_record.md, sections 8 and 9, formats/epd_text.md, sections 3.2 and 3.3."""
import re

from bits import Items, Refused, groups, little, refuse_if
from moves import legal_moves, move_at

SPEEDS = ["ultraBullet", "bullet", "blitz", "rapid", "classical", "correspondence"]
MOST_GAMES = 999_999_999_999_999
NONE = (None, None, None, None)


class Counts:
    """The games in which a move was played; `elo` and `opponents` are (rated players, sum of their ratings)."""

    def __init__(self, results, elo=(0, 0), opponents=(0, 0), years=None):
        self.results, self.elo, self.opponents, self.years = tuple(results), elo, opponents, years

    def games(self):
        return sum(self.results)

    def by_the_other_side(self):
        return Counts(self.results, self.opponents, self.elo, self.years)

    def fields(self):
        return (*self.results, *self.elo, *self.opponents)

    def less(self, other):
        """These counts without those of `other` and without years; None if something is below 0."""
        left = [a - b for a, b in zip(self.fields(), other.fields())]
        return None if min(left) < 0 else Counts(left[:4], tuple(left[4:6]), tuple(left[6:]))

    def check(self):
        refuse_if(any(count > MOST_GAMES for count in self.results) or not 1 <= self.games() <= MOST_GAMES,
                  "a number of games out of range")
        for games, total in (self.elo, self.opponents):
            refuse_if(games > self.games() or not games <= total <= 9999 * games, "ratings out of range")
        refuse_if(self.years is not None and not 1 <= self.years[0] <= self.years[1] <= 9999, "years out of range")


class Part:
    """The games of one cell, (year, month, class, group): `moves` are (move, counts)."""

    def __init__(self, cell, reached, moves):
        self.cell, self.reached, self.moves = cell, reached, moves

    def games_of_moves(self):
        return sum(counts.games() for _, counts in self.moves)

    def check(self):
        year, month, speed, group = self.cell
        refuse_if(year is not None and not 1 <= year <= 9999, "a year out of range")
        refuse_if(month is not None and (year is None or not 1 <= month <= 12), "a month out of range")
        refuse_if(speed is not None and speed > 5, "a class out of range")
        refuse_if(group is not None and group > 9999, "a group out of range")
        refuse_if(not 0 <= self.reached <= MOST_GAMES, "a number of games out of range")
        refuse_if(not self.reached and not self.moves, "a part without games")
        refuse_if(self.games_of_moves() > MOST_GAMES, "too many games")
        for move, counts in self.moves:
            refuse_if(move.nth > 255, "a move with an ordinal over 255")
            counts.check()
        order = [(-counts.games(), move.nth) for move, counts in self.moves]
        refuse_if(order != sorted(order), "moves stand from the one played most")
        refuse_if(len({move.nth for move, _ in self.moves}) != len(self.moves), "a move twice")


def cell_order(cell):
    return tuple(-1 if value is None else value for value in cell)


def check_tally(parts):
    for part in parts:
        part.check()
    order = [cell_order(part.cell) for part in parts]
    refuse_if(any(a >= b for a, b in zip(order, order[1:])), "the cells of a tally ascend")


# Bytes.

def signed(number):
    return 2 * number if number >= 0 else -2 * number - 1


def unsigned(number):
    return number // 2 if number % 2 == 0 else -(number + 1) // 2


def number(items):
    value = items.groups()
    refuse_if(value >= 2**64, "a number over 64 bits")
    return value


def read_tally(items, position):
    parts = []
    while True:
        bits = items.int(1)
        year = 2000 + unsigned(number(items)) if bits & 1 else None
        month = items.int(1) if bits & 2 else None
        speed = items.int(1) if bits & 4 else None
        group = number(items) if bits & 8 else None
        count = bits >> 5
        if count == 7:
            count += number(items)
            refuse_if(count > 262, "too many moves")
        beyond = unsigned(number(items))
        moves = [_read_move(items, position) for _ in range(count)]
        part = Part((year, month, speed, group), 0, moves)
        part.reached = part.games_of_moves() + beyond
        parts.append(part)
        if not bits & 16:
            check_tally(parts)
            return parts


def _read_move(items, position):
    move, bits = move_at(position, items.int(1)), items.int(1)
    results = [0] * 4
    if bits & 3 == 3:
        results = [number(items) for _ in range(4)]
    else:
        results[bits & 3] = 1
    games = sum(results)
    ratings = []
    for how in (bits >> 2 & 3, bits >> 4 & 3):
        refuse_if(how == 3, "an unknown number of rated players")
        rated = 0 if how == 0 else games if how == 1 else number(items)
        ratings.append((rated, number(items) if how else 0))
    years, how = None, bits >> 6
    refuse_if(how == 3, "an unknown number of years")
    if how:
        first = 2000 + unsigned(number(items))
        years = (first, first + (number(items) if how == 2 else 0))
    return move, Counts(results, *ratings, years)


def write_tally(parts):
    out = b""
    for part in parts:
        year, month, speed, group = part.cell
        bits = sum(1 << n for n, value in enumerate(part.cell) if value is not None)
        bits |= (part is not parts[-1]) << 4 | min(len(part.moves), 7) << 5
        out += bytes([bits])
        out += b"" if year is None else groups(signed(year - 2000))
        out += b"" if month is None else bytes([month])
        out += b"" if speed is None else bytes([speed])
        out += b"" if group is None else groups(group)
        out += groups(len(part.moves) - 7) if len(part.moves) >= 7 else b""
        out += groups(signed(part.reached - part.games_of_moves()))
        out += b"".join(_write_move(move, counts) for move, counts in part.moves)
    return out


def _write_move(move, counts):
    result = counts.results.index(1) if counts.games() == 1 and not counts.results[3] else 3
    bits, rest = result, b""
    if result == 3:
        rest += b"".join(map(groups, counts.results))
    for shift, (rated, total) in ((2, counts.elo), (4, counts.opponents)):
        how = 0 if rated == 0 else 1 if rated == counts.games() else 2
        bits |= how << shift
        rest += (groups(rated) if how == 2 else b"") + (groups(total) if how else b"")
    if counts.years:
        first, last = counts.years
        bits |= (1 if first == last else 2) << 6
        rest += groups(signed(first - 2000)) + (groups(last - first) if last > first else b"")
    return bytes([move.nth, bits]) + rest


# Text.

def mean_text(rated, total):
    """The mean with as many decimals as are needed to restore the sum."""
    for decimals in range(17):
        scale = 10**decimals
        mean = (2 * total * scale + rated) // (2 * rated)
        if decimals == 16 or (2 * mean * rated + scale) // (2 * scale) == total:
            whole, rest = divmod(mean, scale)
            return str(whole) + (f".{rest:0{decimals}}" if decimals else "")


def cell_text(cell):
    year, month, speed, group = cell
    words = []
    if year is not None:
        words.append(f"{year:04}" + ("" if month is None else f"-{month:02}"))
    if speed is not None:
        words.append(SPEEDS[speed])
    if group is not None:
        words.append(f"{group}+")
    return f"[{' '.join(words)}] " if words else ""


def counts_text(counts):
    white, draws, black, unknown = counts.results
    text = f"+{white}={draws}-{black}" + (f"*{unknown}" if unknown else "")
    for word, (rated, total) in (("elo", counts.elo), ("opp", counts.opponents)):
        if rated:
            text += f" {word} {mean_text(rated, total)}/{rated}"
    if counts.years:
        first, last = counts.years
        text += f" {first:04}" + (f"-{last:04}" if last > first else "")
    return text


def tally_text(parts):
    words = []
    for part in parts:
        words.append(f"{cell_text(part.cell)}reached {part.reached}")
        words += [f"{move.text()} {counts_text(counts)}" for move, counts in part.moves]
    return ", ".join(words)


REACHED = re.compile(r"(?:\[([^\]]*)\] )?reached (\d+)")
PLAYED = re.compile(r"(\S+) \+(\d+)=(\d+)-(\d+)(?:\*(\d+))?(?: elo ([\d.]+)/(\d+))?(?: opp ([\d.]+)/(\d+))?"
                    r"(?: (\d{4})(?:-(\d{4}))?)?")


def parse_tally(text, position):
    """The parts of a tally in canonical text, else None."""
    parts = []
    for item in text.split(", "):
        reached, played = REACHED.fullmatch(item), PLAYED.fullmatch(item)
        if reached:
            cell = _parse_cell(reached[1])
            if cell is None:
                return None
            parts.append(Part(cell, int(reached[2]), []))
        elif played and parts:
            move = find_san(position, played[1])
            if move is None:
                return None
            parts[-1].moves.append((move, _parse_counts(played)))
        else:
            return None
    try:
        check_tally(parts)
    except Refused:
        return None
    return parts if tally_text(parts) == text else None


def _parse_cell(text):
    cell = [None] * 4
    for word in text.split(" ") if text is not None else []:
        if match := re.fullmatch(r"(\d{4})(?:-(\d\d))?", word):
            cell[0], cell[1] = int(match[1]), match[2] and int(match[2])
        elif word in SPEEDS:
            cell[2] = SPEEDS.index(word)
        elif match := re.fullmatch(r"(\d{1,4})\+", word):
            cell[3] = int(match[1])
        else:
            return None
    return tuple(cell)


def _parse_counts(played):
    results = [int(played[n] or 0) for n in range(2, 6)]
    ratings = [_parse_mean(played[n], played[n + 1]) for n in (6, 8)]
    years = played[10] and (int(played[10]), int(played[11] or played[10]))
    return Counts(results, *ratings, years)


def _parse_mean(mean, rated):
    if mean is None:
        return 0, 0
    whole, _, decimals = mean.partition(".")
    scale = 10**len(decimals)
    value, rated = int((whole + decimals) or 0), int(rated)
    return rated, (2 * value * rated + scale) // (2 * scale)


def find_san(position, text):
    """The legal move with this canonical SAN, else None."""
    bare = text.rstrip("+#")
    for move in legal_moves(position):
        if move.san == bare:
            return move if move.text() == text else None
    return None


# Lists of kept games: (N, [(rating, (year, month, day), id)]).

def check_kept(most, games):
    refuse_if(not 1 <= most <= 100 or not 1 <= len(games) <= 200, "a list of kept games out of range")
    for rating, (year, month, day), _ in games:
        refuse_if(rating > 9999 or year > 9999 or month > 12 or day > 31, "a kept game out of range")
        refuse_if(month and not year or day and not month, "a part of a date without the one before")
    refuse_if(games != kept_of(most, games), "only the best rated and the latest games are kept, in their order")


def later(date):
    return tuple(-part for part in date)


def kept_of(most, games):
    """The best rated and the latest of these games, each once, the best rated first."""
    games = list({game[2]: game for game in reversed(games)}.values())
    rated = sorted(games, key=lambda game: (-game[0], later(game[1]), game[2]))
    latest = sorted(games, key=lambda game: (later(game[1]), -game[0], game[2]))
    chosen = {game[2] for game in rated[:most] + latest[:most]}
    return [game for game in rated if game[2] in chosen]


def read_kept(items):
    most, count, games = items.int(1), items.int(1), []
    for _ in range(count):
        rating, date, id = items.int(2), items.int(3), items.take(8)
        games.append((rating, (date // 32 // 13, date // 32 % 13, date % 32), bytes(id)))
    check_kept(most, games)
    return most, games


def write_kept(kept):
    most, games = kept
    out = bytes([most, len(games)])
    for rating, (year, month, day), id in games:
        out += little(rating, 2) + little((year * 13 + month) * 32 + day, 3) + id
    return out


def date_text(date):
    return ".".join(f"{part:0{size}}" if part else "?" * size for part, size in zip(date, (4, 2, 2)))


def kept_text(kept):
    most, games = kept
    words = [f"{rating or '-'} {date_text(date)} {id.hex()}" for rating, date, id in games]
    return ", ".join([f"keep {most}", *words])


KEPT = re.compile(r"(\d{1,4}|-) (\d{4}|\?{4})\.(\d\d|\?\?)\.(\d\d|\?\?) ([0-9a-f]{16})")


def parse_kept(text):
    """A list of kept games in canonical text, else None."""
    first, *items = text.split(", ")
    most = re.fullmatch(r"keep (\d{1,3})", first)
    games = [KEPT.fullmatch(item) for item in items]
    if not most or not all(games):
        return None
    number = lambda text: int(text) if text.isdigit() else 0
    kept = int(most[1]), [(number(game[1]), tuple(number(game[n]) for n in (2, 3, 4)), bytes.fromhex(game[5]))
                          for game in games]
    try:
        check_kept(*kept)
    except Refused:
        return None
    return kept if kept_text(kept) == text else None
