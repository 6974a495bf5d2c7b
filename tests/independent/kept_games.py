"""Kept games: formats/libraries.md, section 3."""
import blake3

import pgc
from bits import Items, crc32c, refuse_if, unpacked


def id_of(data):
    return blake3.blake3(data).digest()[:8]


def reduced(game):
    """What is kept of a game: its tags, its start and its main line."""
    kept = pgc.Game()
    kept.tags = dict(game.tags)
    kept.line.plies = [pgc.Ply(ply.position_before, ply.move) for ply in game.line.plies]
    return kept


def kept_bytes(game):
    return pgc.write_game(reduced(game), extended=True, checksum=False)


def read_game(data):
    """The game of these bytes; exactly one, and as a writer writes it."""
    games = pgc.read_games(data)
    refuse_if(len(games) != 1 or kept_bytes(games[0]) != data, "not exactly one game, or not canonical")
    return games[0]


def read_section(section):
    """Section 5: the bytes of each game by its id."""
    refuse_if(len(section) < 16, "kept games end early")
    count, blocks = int.from_bytes(section[-16:-8], "little"), int.from_bytes(section[-8:-4], "little")
    entries_at = len(section) - 16 - 24 * blocks
    refuse_if(entries_at < 0 or not blocks or not count, "numbers of games or blocks that are wrong")
    refuse_if(crc32c(section[entries_at:-4]) != int.from_bytes(section[-4:], "little"), "the check of kept games")
    items, begin, games, before = Items(section, entries_at), 0, {}, b""
    for _ in range(blocks):
        first, end, length, check = items.take(8), items.int(8), items.int(4), items.int(4)
        refuse_if(not begin <= end <= entries_at, "blocks that do not follow each other")
        frame = section[begin:end]
        refuse_if(crc32c(frame) != check, "the check of a block of games")
        for nth, data in enumerate(games_of(unpacked(frame, length))):
            id = id_of(data)
            refuse_if(id <= before or nth == 0 and id != first, "games that do not ascend")
            read_game(data)
            games[id], before = data, id
        begin = end
    refuse_if(begin != entries_at or len(games) != count, "numbers of games or blocks that are wrong")
    return games


def games_of(data):
    items, games = Items(data), []
    while not items.ends():
        games.append(bytes(items.string(4)))
    refuse_if(not games, "a block without a game")
    return games
