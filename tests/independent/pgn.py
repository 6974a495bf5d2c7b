"""The PGN of samples: formats/epd_text.md, section 4, and formats/golden/README.md. No reader of other people's PGN."""
import re

from bits import refuse_if
from moves import legal_moves
from pgc import RESULTS, SEVEN, Game, Line, Ply, normalized, read_fen

TOKEN = re.compile(r'\[(\w+) "((?:\\.|[^"\\])*)"\]|\{([^}]*)\}|;([^\n]*(?:\n[ \t]*;[^\n]*)*)'
                   r'|(?:(?<=\n)|^)%([^\n]*)|([()])|\$(\d+)|(\d+\.+)|(--)|([^\s(){}\[\];$]+)|\s+')
SUFFIXES = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}


def read_game(lines):
    """The game of a text."""
    game, text, at, stack, position = Game(), "\n".join(lines), 0, [], None
    line = game.line

    def begin():
        nonlocal position
        if position is None:
            for name, value in SEVEN.items():
                game.tags.setdefault(name, value)
            position = game.start()

    while at < len(text):
        match = TOKEN.match(text, at)
        refuse_if(not match, f"not PGN: {text[at:at + 20]!r}")
        at = match.end()
        name, value, brace, rest, escape, paren, nag, number, null, word = match.groups()
        comment = brace if rest is None else re.sub(r"\n[ \t]*;", " ", rest)
        if name:
            game.tags[name] = re.sub(r"\\(.)", r"\1", value)
        elif comment is not None or escape is not None:
            remark = ("escape", escape) if escape is not None else ("comment", normalized(comment))
            (line.plies[-1].remarks if line.plies else line.before).append(remark)
        elif paren == "(":
            stack.append((line, position))
            position = line.plies[-1].position_before
            line = Line()
            stack[-1][0].plies[-1].variations.append(line)
        elif paren:
            line, position = stack.pop()
        elif nag:
            line.plies[-1].nags.add(int(nag))
        elif word in RESULTS:
            game.tags["Result"] = word
            begin()
        elif null or word:
            begin()
            san, suffix = re.fullmatch(r"(.*?)[+#]*([!?]*)", word or "--").groups()
            move = next((move for move in legal_moves(position) if move.san == san), None)
            refuse_if(move is None and not null, f"not a legal move: {word}")
            line.plies.append(Ply(position, move))
            position = line.plies[-1].position
            if suffix:
                line.plies[-1].nags.add(SUFFIXES[suffix])
    begin()
    return game


def movetext(line, number, black):
    """Tokens of a line."""
    before, show = remarks_text(line.before), True
    yield from before
    for ply in line.plies:
        if not black or show:
            yield f"{number}..." if black else f"{number}."
        yield ply.move.text() if ply.move else "--"
        yield from (f"${nag}" for nag in sorted(ply.nags))
        yield from remarks_text(ply.remarks)
        for variation in ply.variations:
            yield "(" + " ".join(movetext(variation, number, black)) + ")"
        show = bool(ply.nags or ply.remarks or ply.variations)
        number, black = number + black, not black


def remarks_text(remarks):
    return ["{" + text + "}" if kind == "comment" else f"\n%{text}\n" for kind, text in remarks]


def game_text(game):
    """The game as PGN, its words with single blanks between them."""
    names = [*SEVEN, *sorted(set(game.tags) - set(SEVEN))]
    quoted = lambda value: value.replace("\\", "\\\\").replace('"', '\\"')
    tags = [f'[{name} "{quoted(game.tags[name])}"]' for name in names]
    number = read_fen(game.tags["FEN"])[1][1] if "FEN" in game.tags else 1
    return " ".join([*tags, *movetext(game.line, number, game.start().black), game.tags["Result"]])
