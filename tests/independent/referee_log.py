"""The log of a tournament: formats/notes/referee_log.md. That the notes follow from the events is not checked."""
import re

from bits import crc32c, little, refuse_if

CHANNEL = SEAT = GAME = NUMBER = r"\d+"
TEXT = r"(?:[ -\[\]-~]|\\\\|\\x[0-9a-f]{2})*"
RESULT = r"(?:1-0|0-1|1/2-1/2|\*)"
# The rest of each word, behind a blank if it is not empty.
WORDS = {
    "settings": rf"toml {TEXT}\t{TEXT}|words {TEXT}(?:\t{TEXT})*",
    "session": r"\d+", "opened": CHANNEL, "from": rf"{CHANNEL} {TEXT}", "too_long": CHANNEL, "written": CHANNEL,
    "closed": CHANNEL, "exited": SEAT, "token": rf"{SEAT} [0-9a-f]{{32}}",
    "opening": rf"{NUMBER} {TEXT}(?:\t{TEXT})?", "tablebase": rf"{GAME} {RESULT}",
    "order": rf"attend|leave|pause|resume|adjudicate {GAME} {RESULT}|restart {SEAT}|silences \d+ \d+", "tick": "",
    "listen": TEXT, "stopped": "", "refused": rf"{NUMBER} {TEXT}", "to": rf"{CHANNEL} {TEXT}",
    "ask": rf"{CHANNEL} {TEXT}", "close": CHANNEL, "start": SEAT, "give_up": SEAT, "fetch": NUMBER, "probe": GAME,
    "over": rf"{GAME} \S+", "say": TEXT, "ended": "",
}
FIRST = b"epdb referee log 3"


def check_of(before, text):
    """The check of a line, from that of the line above."""
    return crc32c(little(before, 4), text)


def read_log(data):
    """The lines as (time, word, rest); a last line without LF does not count, but its bytes do."""
    refuse_if(re.search(rb"[^ -~\t\n]", data), "a byte that is not allowed")
    first, *lines = data.split(b"\n")
    refuse_if(first != FIRST, "not a log of version 3")
    before, out = crc32c(first), []
    for line in lines[:-1]:
        match = re.fullmatch(rb"([0-9a-f]{8}) ((\d+) ([a-z_]+)(?: (.*))?)", line)
        refuse_if(not match, "not a line of a log")
        refuse_if(int(match[1], 16) != check_of(before, match[2]), "a check is wrong")
        before = int(match[1], 16)
        word, rest = match[4].decode(), (match[5] or b"").decode()
        refuse_if(word not in WORDS or not re.fullmatch(WORDS[word], rest), f"not the rest of {word}")
        refuse_if((word == "settings") != (not out), "settings are in the second line and nowhere else")
        out.append((int(match[3]), word, rest))
    return out


def write_log(lines):
    before, out = crc32c(FIRST), FIRST + b"\n"
    for time, word, rest in lines:
        text = f"{time} {word} {rest}".rstrip(" ").encode() if not rest else f"{time} {word} {rest}".encode()
        before = check_of(before, text)
        out += b"%08x " % before + text + b"\n"
    return out
