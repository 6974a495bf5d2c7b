"""The profiles strict and standard: formats/epd_text.md, section 3, and formats/notes/text_profiles.md, section 1. Moves are read in canonical SAN only."""
import re

import tally
from bits import refuse_if
from moves import playable
from record import INTEGERS, LINES, ONE_MOVE, SETS, STRINGS, TALLIES, WITHOUT, Operand, operand_of_string
from text import line_of, read_line

RANGES = {"acn": (0, 2**64 - 1), "acs": (0, 2**64 - 1), "ce": (-32768, 32766), "hmvc": (0, 2**63 - 1),
          **dict.fromkeys(("dm", "fmvn", "rc", "tcgs"), (1, 2**63 - 1))}
HOURS = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
CLOCK = rf"\d{{3}}:{HOURS}"
DATE = r"(?!0000)\d{4}\.(?:0[1-9]|1[0-2])\.(?:0[1-9]|[12]\d|3[01])"
WORDS = {
    "cc": (CLOCK, CLOCK), "ts": (DATE, HOURS), "refreq": ("fault|reply|sign_off|sign_on",),
    "refcom": ("conclude|disconnect|execute|fault|inform|reset|respond",),
}
TAG_NAME = re.compile(rb"[A-Za-z0-9_]{1,15}")


def read_strict(line):
    """Canonical text only, with the operands of the table."""
    record = read_line(line, fields_stay=False)
    check_record(record)
    refuse_if(line_of(record) != line, "E-EPD-NONCANON")
    return record


def read_standard(line):
    record = read_line(line, fields_stay=False)
    for nth, (opcode, operands) in enumerate(record.operations):
        record.operations[nth] = opcode, [as_standard(opcode, operand) for operand in operands]
    check_record(record)
    return record


def as_standard(opcode, operand):
    """Leading zeros and signs of integers, and words without quotes where strings belong."""
    if operand.kind != "unquoted":
        return operand
    if opcode in INTEGERS and re.fullmatch(rb"[+-]?[0-9]+", operand.value):
        return Operand("integer", int(operand.value))
    if opcode in STRINGS | {"tcri", "tcsi"}:
        return operand_of_string(operand.value)
    return operand


def check_record(record):
    for opcode, operands in record.operations:
        check_operation(record, opcode, operands)


def check_operation(record, opcode, operands):
    kinds = ["string" if operand.kind == "typed" else operand.kind for operand in operands]
    if opcode in WITHOUT:
        refuse_if(operands, "E-EPD-ARITY")
    elif opcode in INTEGERS:
        refuse_if(kinds != ["integer"], "E-EPD-TYPE")
        low, high = RANGES[opcode]
        refuse_if(not low <= operands[0].value <= high, "E-EPD-RANGE")
    elif opcode in SETS | LINES | ONE_MOVE:
        taken = "move" if playable(record.position) else "unquoted"
        refuse_if(any(kind != taken for kind in kinds), "E-MOVE-SYNTAX")
        refuse_if(opcode in ONE_MOVE and len(kinds) != 1, "E-EPD-ARITY")
    elif opcode in STRINGS:
        refuse_if(kinds != ["string"] and (kinds or opcode == "id"), "E-EPD-ARITY")
    elif opcode in ("tcri", "tcsi"):
        refuse_if(kinds != ["string"] * 2, "E-EPD-ARITY")
    elif opcode in WORDS:
        forms = WORDS[opcode]
        refuse_if(kinds != ["unquoted"] * len(forms), "E-EPD-ARITY")
        refuse_if(not all(re.fullmatch(form.encode(), operand.value) for form, operand in zip(forms, operands)),
                  "E-EPD-TYPE")
    elif opcode == "ptp":
        refuse_if(kinds != ["unquoted", "string"] * (len(kinds) // 2), "E-EPD-ARITY")
        refuse_if(not all(TAG_NAME.fullmatch(name.value) for name in operands[::2]), "E-EPD-TYPE")
    elif opcode in TALLIES or opcode == "kept_games":
        check_counting(record, opcode, operands, kinds)
    if opcode not in TALLIES | {"kept_games"}:
        refuse_if(any(operand.kind == "string" and len(operand.value) > 255 for operand in operands), "E-EPD-STRLEN")


def check_counting(record, opcode, operands, kinds):
    refuse_if(kinds != ["string"] or operands[0].kind != "string", "E-EPD-ARITY")
    text = operands[0].value.decode("latin-1")
    found = tally.parse_kept(text) if opcode == "kept_games" else tally.parse_tally(text, record.position)
    refuse_if(not found, "E-EPD-TYPE")
