#!/usr/bin/env python3
"""Reads every sample of formats/golden (formats/golden/README.md), or prints the records of files as EPD text."""
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import archive
import board
import kept_games
import moves
import pgc
import pgn
import polyglot
import profiles
import record
import redb
import referee_log
import shards
import store
import tally_origin
import text
from bits import Refused, refuse_if

GOLDEN = Path(__file__).resolve().parents[2] / "formats" / "golden"


def sample_bytes(sample):
    if "file" in sample:
        return (GOLDEN / sample["file"]).read_bytes()
    return b"".join(bytes.fromhex(piece["hex"]) * piece.get("times", 1) for piece in sample["bytes"])


def sample_lines(sample):
    if "text_file" in sample:
        return (GOLDEN / sample["text_file"]).read_bytes().decode("utf-8").splitlines()
    return sample["text"]


def expect(what, found, expected):
    if found != expected and isinstance(found, list) and len(found) == len(expected):
        nth = next(nth for nth in range(len(found)) if found[nth] != expected[nth])
        raise AssertionError(f"{what}, number {nth}: found {found[nth]!r}, expected {expected[nth]!r}")
    if found != expected:
        raise AssertionError(f"{what}: found {str(found)[:300]!r}, expected {str(expected)[:300]!r}")


# One function for each file of samples: it reads a valid sample and compares it, or reads an invalid one.

def check_packed_board(sample, valid):
    data = sample_bytes(sample)
    position, length = board.unpack(data)
    if valid:
        expect("length", length, len(data))
        expect("text", text.board_text(position), sample["text"][0])
        expect("bytes", board.pack(text.read_position(sample["text"][0].split())[0]), data)


def check_position_key(sample, valid):
    position, _ = text.read_position(sample["text"][0].split())
    expect("key", f"{board.key(moves.identity(position)):016x}", sample["key"])
    expect("key of Polyglot", f"{board.polyglot_key(position):016x}", sample["polyglot_key"])
    expect("locality key", f"{board.locality_key(moves.identity(position)):016x}", sample["locality_key"])


def check_move_ordinal(sample, valid):
    position, _ = text.read_position(sample["text"][0].split())
    expect("moves", [move.text() for move in moves.legal_moves(position)], sample["moves"])


def check_epd_record(sample, valid):
    data = sample_bytes(sample)
    read, end = record.read_record(data)
    if valid:
        expect("length", end, len(data))
        expect("text", text.line_of(read, letters_as_read=True).decode(), sample["text"][0])
        expect("bytes of the text", record.write_record(text.read_line(sample["text"][0].encode())), data)


def check_epb_stream(sample, valid):
    data = sample_bytes(sample)
    records = record.read_stream(data)
    if valid:
        expect("text", [text.line_of(read).decode() for read in records], sample["text"])
        if sample.get("written", True):
            lines = [text.read_line(line.encode()) for line in sample["text"]]
            expect("bytes of the text", record.write_stream(lines), data)


def check_polyglot(sample, valid):
    entries = polyglot.read_book(sample_bytes(sample))
    if valid:
        expect("entries", [polyglot.entry_text(entry) for entry in entries], sample["text"])
        if sample.get("written", True):
            expect("bytes", polyglot.write_book(reversed(entries)), sample_bytes(sample))


def check_tally_origin(sample, valid):
    origin = tally_origin.read_origin(sample_bytes(sample))
    if valid:
        expect("settings", [tally_origin.options(origin.settings)], sample["text"])
        expect("bytes", tally_origin.write_origin(origin), sample_bytes(sample))


def check_shards(sample, valid):
    def lines(text):
        return "".join(f"{line}\n" for line in text).encode()
    data = lines(sample["text"])
    manifest = shards.read_manifest(data)
    for entry in manifest.get("lists", []):
        list_text = lines(sample["lists"][entry["file"]])
        listed = shards.read_list(entry, list_text)
        if valid:
            expect("text of a list", json.dumps(listed, indent=2).encode() + b"\n", list_text)
    if valid:
        expect("text", shards.write_manifest(manifest), data)


def check_archive(sample, valid):
    read = archive.Archive(sample_bytes(sample))
    if valid:
        lines = sample_lines(sample)
        expected = [text.read_line(line.encode(), drop=True) for line in lines]
        expect("records", [text.line_of(read, letters_as_read=True) for read in read.records],
               [text.line_of(line, letters_as_read=True) for line in expected])
        expect("bytes of records", *([record.write_record(read) for read in records]
                                     for records in (read.records, expected)))
        if read.files is not None:
            expect("files", read.files, verbatim_sample(expected))
        if read.games is not None and not sample["file"].startswith("archive/library"):
            games = json.loads((GOLDEN / "kept_games.json").read_text("utf-8"))["valid"]
            expect("games", {id.hex(): data for id, data in read.games.items()},
                   {game["key"]: sample_bytes(game) for game in games})


def verbatim_sample(lines):
    """What the name of the sample says: a line `# lines`, then the canonical lines, all with CR LF."""
    return [("lines.epd", b"".join(line + b"\r\n" for line in [b"# lines", *map(text.line_of, lines)]))]


def check_pgc(sample, valid):
    data = sample_bytes(sample)
    games = pgc.read_games(data)
    if valid:
        extended = data.startswith(b"\x0a\x0f\x00pgcx:k:")
        expect("bytes", b"".join(pgc.write_game(game, extended) for game in games), data)
        expect("bytes of the text", pgc.write_game(pgn.read_game(sample["text"]), extended), data)


def check_kept_games(sample, valid):
    data = sample_bytes(sample)
    game = kept_games.read_game(data)
    if valid:
        came, kept = sample["text"]
        expect("id", kept_games.id_of(data).hex(), sample["key"])
        expect("bytes of the game that comes", kept_games.kept_bytes(pgn.read_game([came])), data)
        expect("text", pgn.game_text(game), kept)


def check_store(sample, valid):
    tables = redb.read_tables(sample_bytes(sample)) if "file" in sample else {"blocks": [], "crowded": [], "imports": []}
    for row in sample.get("rows", []):
        named = {"epdb": str, "crowded": bytes.fromhex}.get(row["table"], int)
        tables.setdefault(row["table"], []).append((named(row["key"]), sample_bytes(row)))
    read = store.Store(tables, sample_bytes({"bytes": sample["runs"]}) if "runs" in sample else None)
    if valid:
        expect("records", [text.line_of(entry.record).decode() for entry in read.entries], sample_lines(sample))


def check_epd_text(sample, valid):
    """Canonical text is read and written again; the line itself as far as a profile is read here."""
    named = sample.get("profiles", ["strict", "standard", "lenient"])
    line = sample["line"].encode() if "line" in sample else \
        sample_bytes(sample) if "bytes" in sample else sample["text"][0].encode()
    expected = sample["text"][0].encode() if "text" in sample else line
    if not valid:
        refuse_all([profiles.read_strict] * ("strict" in named) + [profiles.read_standard] * ("standard" in named), line)
    if "strict" in named:
        expect("text", text.line_of(profiles.read_strict(line)), expected)
    if "standard" in named:
        expect("text", text.line_of(profiles.read_standard(line)), expected)
    expect("text read again", text.line_of(text.read_line(expected)), expected)


def refuse_all(readers, line):
    """Refuses if each of them does."""
    for read in readers:
        try:
            read(line)
        except Refused as refusal:
            last = refusal
        else:
            return
    raise last


CHECKS = {
    "packed_board": check_packed_board,
    "position_key": check_position_key,
    "move_ordinal": check_move_ordinal,
    "epd_record": check_epd_record,
    "epb_stream": check_epb_stream,
    "polyglot": check_polyglot,
    "tally_origin": check_tally_origin,
    "pgc": check_pgc,
    "kept_games": check_kept_games,
    "shards": check_shards,
    "archive": check_archive,
    "store": check_store,
    "epd_text": check_epd_text,
}


class Tally:
    """The samples of a file: how many were read and refused as they should, and the faults."""

    def __init__(self):
        self.read = self.refused = 0
        self.faults, self.left_out = [], []

    def sample(self, check, sample, valid):
        try:
            skipped = check(sample, valid)
        except Refused as refusal:
            if valid:
                self.faults.append(f"{sample['name']}: refused: {refusal}")
            else:
                self.refused += 1
            return
        except Exception as fault:
            self.faults.append(f"{sample['name']}: {type(fault).__name__}: {fault}")
            return
        if skipped:
            self.left_out.append(skipped)
        elif valid:
            self.read += 1
        else:
            self.faults.append(f"{sample['name']}: read, although it is invalid")


def check_file(name):
    tally, samples = Tally(), json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    for valid in (True, False):
        for sample in samples["valid" if valid else "invalid"]:
            tally.sample(CHECKS[name], sample, valid)
    return tally


def check_log():
    """The golden log as it is, and with one byte of each line changed."""
    tally, data = Tally(), (GOLDEN / "referee.log").read_bytes()
    read = lambda sample, valid: expect("bytes", referee_log.write_log(referee_log.read_log(sample["data"])), data)
    tally.sample(read, {"name": "the log", "data": data}, True)
    lines = data.split(b"\n")[:-1]
    for nth, line in enumerate(lines):
        changed = b"\n".join([*lines[:nth], line[:-1] + bytes([line[-1] ^ 1]), *lines[nth + 1:], b""])
        tally.sample(read, {"name": f"line {nth + 1} changed", "data": changed}, False)
    return tally


def check_golden():
    faults = total = 0
    for name in [*CHECKS, "referee.log"]:
        begin = time.monotonic()
        tally = check_log() if name == "referee.log" else check_file(name)
        left_out = f", {len(tally.left_out)} left out" if tally.left_out else ""
        print(f"{name:14} {tally.read:3} read, {tally.refused:3} refused{left_out}, {len(tally.faults)} faults"
              f" ({time.monotonic() - begin:.1f} s)")
        for fault in tally.faults:
            print(f"    {fault}")
        faults += len(tally.faults)
        total += tally.read + tally.refused
    for name in sorted({path.stem for path in GOLDEN.glob("*.json")} - set(CHECKS)):
        print(f"{name}: no reader")
        faults += 1
    print(f"{total} samples as they should be, {faults} faults")
    return faults == 0


# Files.

def runs_of(store):
    runs = store.with_name(store.name + ".runs")
    return runs.read_bytes() if runs.exists() else None


def records_of(path):
    data = path.read_bytes()
    if path.suffix == ".epb":
        return [text.line_of(read) for read in record.read_stream(data)]
    if path.suffix == ".epa":
        return [text.line_of(read) for read in archive.Archive(data).records]
    if path.suffix == ".epdb":
        return [text.line_of(entry.record) for entry in store.Store(redb.read_tables(data), runs_of(path)).entries]
    if path.suffix == ".pgc":
        return [pgn.game_text(game).encode() for game in pgc.read_games(data)]
    if path.suffix == ".bin":
        return [polyglot.entry_text(entry).encode() for entry in polyglot.read_book(data)]
    raise Refused(f"{path}: no reader for this suffix")


def print_files(names):
    for name in names:
        for line in records_of(Path(name)):
            sys.stdout.buffer.write(line + b"\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        try:
            print_files(sys.argv[1:])
        except Refused as refusal:
            sys.exit(f"refused: {refusal}")
    else:
        sys.exit(0 if check_golden() else 1)
