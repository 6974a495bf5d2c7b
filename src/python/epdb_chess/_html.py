"""What notebooks show of a record and of the moves of a position."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import Record
    from ._values import Explored

_PIECES = dict(zip("KQRBNPkqrbnp", "♔♕♖♗♘♙♚♛♜♝♞♟", strict=True))
_CELL = "width:1.5em;height:1.5em;padding:0;text-align:center;font-size:1.4em;color:#000;background:"


def record(shown: Record) -> str:
    """The board and the text of a record."""
    rows = []
    for rank, row in enumerate(shown.fen.split()[0].split("/")):
        squares = "".join(" " * int(letter) if letter.isdigit() else letter for letter in row)
        cells = (
            f'<td style="{_CELL}{"#eee" if (rank + file) % 2 == 0 else "#bbb"}">{_PIECES.get(square, "")}</td>'
            for file, square in enumerate(squares.replace("~", ""))
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    board = f'<table style="border-collapse:collapse">{"".join(rows)}</table>'
    return f"{board}<code>{escape(str(shown))}</code>"


def explored(shown: Explored) -> str:
    """A table of moves."""
    names = ("move", "games", "white", "draws", "black", "rating", "reached", "ce")
    rows = [_row("th", names)]
    for row in shown.moves:
        rating = None if row.rating is None else round(row.rating)
        values = (row.move.san, row.games, row.white, row.draws, row.black, rating, row.reached, row.ce)
        rows.append(_row("td", ["" if value is None else str(value) for value in values]))
    return f"<table>{''.join(rows)}</table>"


def _row(tag: str, texts: tuple[str, ...] | list[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"
