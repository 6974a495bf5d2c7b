"""The modules of the package whose documentation is pages of the program and of `formats/`.

`EPDB_PROGRAM=target/debug/epdb python tests/python/pages.py` writes them again.
"""

import os
import re
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "python" / "epdb_chess"
PROGRAM = Path(os.environ.get("EPDB_PROGRAM", ROOT / "target" / "debug" / "epdb"))

WHERE = """\
The language of `where`: expressions that select records or games.

`epdb_chess.scan("games.pgn", where="pieces <= 7 and result == '1-0'")` is an example. Each field of this page is also a
column of `scan`; `help(epdb_chess.columns)` describes the other columns. Names of the command line (--where,
`epdb filter`, `count`, `search`) stand for the argument `where` and the functions of this package.
"""
COLUMNS = """\
The columns of `scan`, `Library.lookup`, `convert` and `from_arrow`, with their types and meanings.

`epdb_chess.scan("games.pgn", columns=["fen", "sm", "ply", "check", "White"])` takes columns of these tables and fields of
`help(epdb_chess.where)`. Of a position of a game, `sm` is the move that was played, in SAN, and `move` the same in UCI.
The points of its game are in `result`; the fields `score`, `white`, `draws`, `black` and `games` are those of a tally.
"""


def page(name: str) -> str:
    done = subprocess.run([PROGRAM, "help", name], capture_output=True, text=True, check=True)
    return done.stdout


def where() -> str:
    text = page("where").replace("`epdb help structures`", "`Structures` below")
    return module(f"{WHERE}\n{text}\nStructures\n==========\n{page('structures')}")


def columns() -> str:
    text = (ROOT / "formats" / "notes" / "tables.md").read_text()
    text = re.sub(r"\[([^\]]+)\]\(\S+?\)", r"\1", text)
    text = text.replace("`epdb help where`", "`help(epdb_chess.where)`")
    lines = [line for raw in text.splitlines() for line in laid_out(raw)]
    table = (ROOT / "src" / "chess" / "model" / "opcode.rs").read_text()
    opcodes = re.findall(r'^    \w+ = \d+, "(\w+)", .*, "(.*)";$', table, re.MULTILINE)
    lines += ["", "## Standard opcodes", "", *(f"  {name:<12} {meaning}" for name, meaning in opcodes)]
    return module(COLUMNS + "\n" + "\n".join(lines) + "\n")


def laid_out(line: str) -> list[str]:
    """A line of a page; the row of a table becomes a paragraph."""
    if not line.startswith("|") or set(line) <= set("|- "):
        return [] if line.startswith("|") else [line]
    first, *rest = [cell.strip() for cell in line.strip("|").split("|")]
    text = f"{first}: {'. '.join(cell.rstrip('.') for cell in rest if cell)}."
    return textwrap.wrap(text, 116, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)


def module(text: str) -> str:
    return f'# Made by tests/python/pages.py.\nr"""{text}"""\n'


if __name__ == "__main__":
    (PACKAGE / "where.py").write_text(where())
    (PACKAGE / "columns.py").write_text(columns())
