"""Games in binary: formats/pgc.md. A file with a fault is refused as a whole."""
import re

from bits import Items, Refused, crc32c, refuse_if
from moves import chess_board, legal_moves, playable
from text import board_text, read_position

NONE, REDUCED, TAG, SHORT, LONG, BEGIN, END, NAG, VARIATION, RETURN, ESCAPE = range(11)
SEVEN = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?", "Result": "*"}
RESULTS = {"1-0", "0-1", "1/2-1/2", "*", "0-0"}
KNOWN = set("""Annotator Date ECO Event EventDate EventSponsor EventType FEN GameId NIC Opening PlyCount Result Round
    SetUp Site Source SourceDate SubVariation Termination TimeControl UTCDate UTCTime Variant Variation""".split())
KNOWN |= {side + rest for side in ("White", "Black")
          for rest in ("", "Elo", "FideId", "NA", "RatingDiff", "Team", "Title", "Type", "USCF")}
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
MARKED = ("standard", "normal", "regular", "orthodox", "classical")
STANDARD = {"", "chess", "fromposition", "orthochess", "classicchess", *MARKED, *(name + "chess" for name in MARKED)}
FISCHER = ("fischerandom", "fischerrandom", "freestyle", "doublefischerrandom")
CHESS960 = {"960", "chess960", "frc", "dfrc", "chess9lx", "wildfr", "fischerrandom960", *FISCHER,
            *(name + "chess" for name in FISCHER)}
FULL = 65535 - 7


class Line:
    """`before` and `Ply.remarks` are lists of ("comment" or "escape", text)."""

    def __init__(self):
        self.before, self.plies = [], []


class Ply:
    """`move` is None for a null move; `position` is the one after it."""

    def __init__(self, before, move):
        self.position_before, self.move = before, move
        self.nags, self.remarks, self.variations = set(), [], []
        self.position = move.after() if move else before.same_but(black=not before.black, en_passant=None)


class Game:
    def __init__(self):
        self.tags, self.line = {}, Line()

    def start(self):
        """The first position, with SetUp and Variant as a reader takes them."""
        tags = self.tags
        check_tags(tags)
        fen = tags.get("FEN")
        if fen is None:
            refuse_if(tags.get("SetUp") == "1", "E-PGC-SETUP")
            return read_position(START.split())[0]
        position, counters = read_fen(fen)
        is_start = board_text(position) == START and counters == (0, 1)
        refuse_if(tags.get("SetUp") == "0" and not is_start, "E-PGC-SETUP")
        if tags.get("SetUp") != "0":
            tags["SetUp"] = "1"
        if needs_960(position):
            tags.setdefault("Variant", "Chess960")
        return position


def read_fen(fen):
    """The position and the counters of a FEN as section 4.2 has it."""
    fields = fen.split(" ")
    refuse_if(len(fields) not in (4, 6), "E-PGC-SETUP")
    try:
        position, _ = read_position(fields[:4])
    except Refused:
        raise Refused("E-PGC-SETUP") from None
    refuse_if(" ".join(fields[:4]) not in (board_text(position), board_text(position, shredder=True)), "E-PGC-SETUP")
    refuse_if(not all(re.fullmatch("0|[1-9][0-9]*", field) for field in fields[4:]), "E-PGC-SETUP")
    clock, number = map(int, fields[4:] or (0, 1))
    refuse_if(max(clock, number) >= 2**32 or number == 0, "E-PGC-SETUP")
    return position, (clock, number)


def needs_960(position):
    return any(rook is not None and (position.king(slot > 1) & 7 != 4 or rook & 7 not in (0, 7))
               for slot, rook in enumerate(position.rights))


def check_tags(tags):
    refuse_if(len(set(tags) - set(SEVEN)) > 4096, "E-PGN-TAG")
    refuse_if(tags["Result"] not in RESULTS, "E-PGN-RESULT")
    variant = "".join(c for c in tags.get("Variant", "") if c.isalnum()).lower()
    refuse_if(variant not in STANDARD | CHESS960, "E-PGN-VARIANT")


def check_name(name):
    refuse_if(not name or re.search(r'[^!-~]|["\[\](){};<>%]', name), "E-PGN-TAG")
    bare = re.sub("[^A-Za-z0-9_]", "", name)
    refuse_if(bare != name and bare in KNOWN, "E-PGN-TAG")


def check_value(value):
    refuse_if(re.search("[\0-\x1f\x7f]", value), "E-PGC-CHARSET")


def short_form(value):
    return "".join(c if ord(c) < 256 else "?" for c in value)[:255]


def normalized(comment):
    return " ".join(re.split("[\0-\x20\x7f]+", comment)).strip(" ")


# Reading.

class Reader:
    def __init__(self, data):
        self.items, self.games = Items(data), []
        self.pending, self.game = [], None          # remarks before the game
        self.sums, self.have_sums, self.covered = [], False, b""
        self.carried = None                          # (kind, bytes) that may be continued
        self.tag = self.is_null = None

    def read(self):
        items = self.items
        while not items.ends():
            start = items.at
            marker = items.int(1)
            refuse_if(marker > ESCAPE, "E-PGC-MARKER")
            payload = self.payload(marker)
            if marker == NONE:
                continue
            self.record(marker, payload, items.data[start:items.at])
        self.end_carried()
        refuse_if(self.game or self.sums, "E-PGC-NOEND")
        return self.games

    def payload(self, marker):
        items = self.items
        if marker == REDUCED:
            return [items.string(1) for _ in range(7)], items.string(2)
        if marker == TAG:
            return items.string(1), items.string(1)
        if marker in (SHORT, LONG, ESCAPE):
            return items.string(1 if marker == SHORT else 2)
        return items.int(1) if marker == NAG else None

    def record(self, marker, payload, data):
        if marker == ESCAPE and payload.startswith(b"pgcx:k:"):
            self.checksum(payload[7:])
            return
        refuse_if(len(self.sums) == 1, "E-PGC-CHECKSUM")
        self.cover(data)
        if marker == ESCAPE and payload.startswith(b"pgcx:+:") and self.carried:
            self.carried[1].extend(payload[7:])
            return
        self.end_carried()
        if marker != TAG and not (marker == ESCAPE and payload.startswith(b"pgcx:t:")):
            self.tag = None
        if marker == ESCAPE:
            self.escape(bytes(payload))
        elif self.game is None:
            self.outside(marker, payload)
        else:
            self.inside(marker, payload)

    def cover(self, data):
        self.covered += bytes(data) if self.sums else b""

    def checksum(self, text):
        refuse_if(self.game, "E-PGC-NEST")
        self.have_sums = True
        self.sums.append(bytes(text))
        refuse_if(len(self.sums) > 2 or self.covered, "E-PGC-CHECKSUM")

    def outside(self, marker, payload):
        refuse_if(marker not in (REDUCED, BEGIN), "E-PGC-OUTSIDE")
        self.game = Game()
        self.game.line.before, self.pending = self.pending, []
        self.stack, self.line, self.begun = [], self.game.line, False
        if marker == REDUCED:
            tags, moves = payload
            for name, value in zip(SEVEN, tags):
                self.game.tags[name] = value.decode("latin-1")
                check_value(self.game.tags[name])
            self.begin_moves()
            self.moves(moves)
            self.give_out()

    def inside(self, marker, payload):
        refuse_if(marker in (REDUCED, BEGIN), "E-PGC-NEST")
        if marker == TAG:
            self.tag_pair(*(text.decode("latin-1") for text in payload))
            return
        self.begin_moves()
        if marker in (SHORT, LONG):
            self.moves(payload)
        elif marker == NAG:
            refuse_if(not self.line.plies, "E-PGC-NAGPLACE")
            self.line.plies[-1].nags.add(payload)
        elif marker == VARIATION:
            refuse_if(not self.line.plies, "E-PGC-RAVPLACE")
            self.stack.append((self.line, self.position))
            self.position = self.line.plies[-1].position_before
            self.line = Line()
            self.stack[-1][0].plies[-1].variations.append(self.line)
        elif marker == RETURN:
            refuse_if(not self.stack, "E-PGC-RAVEND")
            refuse_if(not self.line.plies, "E-PGC-RAVEMPTY")
            self.line, self.position = self.stack.pop()
        else:
            refuse_if(self.stack, "E-PGC-RAVOPEN")
            self.give_out()

    def tag_pair(self, name, value):
        refuse_if(self.begun, "E-PGC-TAGORDER")
        check_name(name)
        check_value(value)
        refuse_if(name in self.game.tags, "E-PGC-TAGDUP")
        self.game.tags[name] = value
        self.tag = name

    def begin_moves(self):
        if not self.begun:
            self.begun = True
            for name, value in SEVEN.items():
                self.game.tags.setdefault(name, value)
            self.position = self.game.start()

    def moves(self, ordinals):
        for ordinal in ordinals:
            refuse_if(not playable(self.position), "E-PGC-SETUP")
            moves, move = legal_moves(self.position), None
            if self.is_null:
                refuse_if(ordinal != len(moves) or chess_board(self.position).is_check(), "E-PGC-ORDINAL")
                self.is_null = False
            else:
                refuse_if(ordinal >= len(moves), "E-PGC-ORDINAL")
                move = moves[ordinal]
            self.line.plies.append(Ply(self.position, move))
            self.position = self.line.plies[-1].position

    def give_out(self):
        if self.sums:
            refuse_if(self.sums[0] != self.sums[1] or not re.fullmatch(b"[0-9A-F]{8}", self.sums[0]),
                      "E-PGC-CHECKSUM")
            refuse_if(int(self.sums[0], 16) != crc32c(self.covered), "E-PGC-CHECKSUM")
        refuse_if(self.have_sums and not self.sums, "E-PGC-CHECKSUM")
        self.games.append(self.game)
        self.game, self.sums, self.covered = None, [], b""

    # Escapes.

    def escape(self, payload):
        kind, text = payload[5:7], payload[7:]
        if payload.startswith(b"pgcx:"):
            if kind in (b"c:", b"s:", b"u:", b"e:") or kind == b"t:" and self.tag:
                self.carried = kind, bytearray(text)
                return
            if payload == b"pgcx:n:" and self.game and self.null_follows():
                self.is_null = True
                return
            if payload[5:].startswith(b"pgcx:"):
                payload = payload[5:]
        refuse_if(re.search(b"[\0\n\r]", payload), "E-PGC-CHARSET")
        self.tag = None
        self.remark("escape", payload.decode("latin-1"))

    def null_follows(self):
        """The next record other than 0x00 is of moves, and has one."""
        rest = self.items.data[self.items.at:].lstrip(b"\0")
        return rest[:1] == b"\x03" and rest[1:2] > b"\0" or rest[:1] == b"\x04" and rest[1:3] > b"\0\0"

    def end_carried(self):
        if not self.carried:
            return
        (kind, text), self.carried = self.carried, None
        try:
            text = text.decode("latin-1" if kind in (b"c:", b"s:") else "utf-8")
        except UnicodeDecodeError:
            raise Refused("E-PGC-EXT") from None
        if kind == b"t:":
            refuse_if(short_form(text) != self.game.tags[self.tag], "E-PGC-EXT")
            check_value(text)
            self.game.tags[self.tag], self.tag = text, None
        elif kind == b"e:":
            refuse_if(re.search("[\0\n\r]", text), "E-PGC-CHARSET")
            self.remark("escape", text)
        elif normalized(text):
            self.remark("comment", normalized(text))

    def remark(self, kind, text):
        if self.game is None:
            self.pending.append((kind, text))
        elif self.line.plies:
            self.line.plies[-1].remarks.append((kind, text))
        else:
            self.line.before.append((kind, text))


def read_games(data):
    return Reader(data).read()


# Writing.

def write_game(game, extended=False, checksum=True):
    """The canonical bytes; escapes are kept, carried text and null moves need the extended form."""
    before = list(game.line.before)
    escapes = b""
    while before and before[0][0] == "escape":
        escapes += escape_bytes(before.pop(0)[1])
    body = reduced_bytes(game, before) or general_bytes(game, before)
    if not (extended and checksum):
        return escapes + body
    return 2 * record(ESCAPE, b"pgcx:k:%08X" % crc32c(escapes, body)) + escapes + body


def record(marker, text):
    return bytes([marker]) + len(text).to_bytes(2, "little") + text


def string(text):
    return bytes([len(text)]) + text


def reduced_bytes(game, before):
    plies = game.line.plies
    if set(game.tags) != set(SEVEN) or before or len(plies) > 65535:
        return None
    if any(ply.move is None or ply.nags or ply.remarks or ply.variations for ply in plies):
        return None
    if any(short_form(value) != value for value in game.tags.values()):
        return None
    tags = b"".join(string(game.tags[name].encode("latin-1")) for name in SEVEN)
    return bytes([REDUCED]) + tags + record(ESCAPE, bytes(ply.move.nth for ply in plies))[1:]


def general_bytes(game, before):
    out = bytes([BEGIN])
    for name in [*SEVEN, *sorted(set(game.tags) - set(SEVEN))]:
        value = game.tags[name]
        short = short_form(value)
        out += bytes([TAG]) + string(name.encode()) + string(short.encode("latin-1"))
        out += carried(b"t:", value.encode()) if short != value else b""
    return out + line_bytes(game.line, before) + bytes([END])


def carried(kind, text):
    out = record(ESCAPE, b"pgcx:" + kind + text[:FULL])
    for at in range(FULL, len(text), FULL):
        out += record(ESCAPE, b"pgcx:+:" + text[at:at + FULL])
    return out


def escape_bytes(text):
    try:
        latin = text.encode("latin-1")
    except UnicodeEncodeError:
        return carried(b"e:", text.encode())
    latin = b"pgcx:" * latin.startswith(b"pgcx:") + latin
    return record(ESCAPE, latin) if len(latin) <= 65535 else carried(b"e:", text.encode())


def remarks_bytes(remarks, kind):
    out = b""
    for what, text in remarks:
        if what == "escape":
            out += escape_bytes(text)
        elif max(map(ord, text)) < 256:
            out += carried(kind, text.encode("latin-1"))
        else:
            out += carried(b"u:", text.encode())
    return out


def line_bytes(line, before):
    out, run = remarks_bytes(before, b"s:"), b""

    def end_run():
        nonlocal out, run
        for at in range(0, len(run), 65535):
            part = run[at:at + 65535]
            out += bytes([SHORT]) + string(part) if len(part) < 256 else record(LONG, part)
        run = b""

    for ply in line.plies:
        if ply.move is None:
            end_run()
            out += record(ESCAPE, b"pgcx:n:")
        run += bytes([ply.move.nth if ply.move else len(legal_moves(ply.position_before))])
        if not (ply.nags or ply.remarks or ply.variations):
            continue
        end_run()
        out += b"".join(bytes([NAG, nag]) for nag in sorted(ply.nags)) + remarks_bytes(ply.remarks, b"c:")
        for variation in ply.variations:
            out += bytes([VARIATION]) + line_bytes(variation, variation.before) + bytes([RETURN])
    end_run()
    return out
