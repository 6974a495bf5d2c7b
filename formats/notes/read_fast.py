#!/usr/bin/env python3
"""Prints the boards of an archive of level fast: read_fast.py FILE. By ../archive.md, 2 and 4, and ../chess.md, 2."""
import re, struct, sys

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8): crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

def number(data): return int.from_bytes(data, "little")

def check(holds, part):
    if not holds: sys.exit(f"not sound: {part}")

def read_sections(data):  # the bytes of a section by its kind and segment
    check(data[:10] == b"\x89EPA\r\n\x1a\n\1\0" and crc32c(data[:28]) == number(data[28:32]), "header")
    length, _, own_id, _, count, table_check, _ = struct.unpack("<QQ8sIIIH", data[-52:-14])
    check(length == len(data) and data[-14:-4] == b"\1\0\nEPA-END" and crc32c(data[-52:-4]) == number(data[-4:]), "footer")
    check(data[12:20] in (own_id, bytes(8)), "header or footer, which are of two files")
    table = data[-52 - 32 * count:-52]
    check(crc32c(table) == table_check, "section table")
    return {(kind, owner): data[at:at + n] for kind, _, owner, _, at, n in struct.iter_unpack("<IIIIQQ", table)}

def text_of(board):  # the four fields of a packed board
    occupied = number(board[:8])
    squares = [n for n in range(64) if occupied >> n & 1 or not occupied]
    codes = {square: board[8 + n // 2] >> n % 2 * 4 & 15 for n, square in enumerate(squares)}
    black = 15 in codes.values() if occupied else board[40] & 1
    letters = "pPnNbBrRqQkK" + (("P" if black else "p") if occupied else "1") + "Rrk"
    rows = ["".join(letters[codes[n]] if n in codes else "1" for n in range(first, first + 8)) for first in range(0, 64, 8)]
    rights = ""
    for row, king, rook, code in ((rows[0], "K", "R", 13), (rows[7], "k", "r", 14)):
        for n in sorted((n for n, own in codes.items() if own == code), reverse=True):
            is_inner = rook in (row[n % 8 + 1:] if n % 8 > row.index(king) else row[:n % 8])
            letter = "abcdefgh"[n % 8] if is_inner else "q" if n % 8 < row.index(king) else "k"
            rights += letter.upper() if code == 13 else letter
    passed = [n % 8 for n, code in codes.items() if code == 12] if occupied else [(board[40] >> 1) - 1]
    target = "abcdefgh"[passed[0]] + ("3" if black else "6") if passed and passed[0] >= 0 else "-"
    placement = re.sub("1+", lambda run: str(len(run[0])), "/".join(reversed(rows)))
    return f"{placement} {'b' if black else 'w'} {rights or '-'} {target}"

parts = read_sections(open(sys.argv[1], "rb").read())
for nth, entry in enumerate(struct.iter_unpack("<QQIIIBBH", parts[1, 0xFFFFFFFF])):
    first, _, records, _, identity, coder, _, _ = entry
    check(coder == 0, f"segment {nth} is not of level fast")
    for n in range(records):
        row = parts[5, nth][32 * n:32 * n + 32]
        prefix = struct.pack("<Q", first + n + (identity << 32) & 2**64 - 1)
        check(crc32c(prefix + row[:29] + bytes(3)) >> 8 == number(row[29:]), f"row {first + n}")
        if not any(row[:24]):  # the escape form: the board is in the heap, after check, further records and marker
            rest = number(row[24:29])
            row = parts[6, nth][(rest & (1 << 32) - 1) + 5 + 8 * (rest >> 38 & 1):]
        print(text_of(row))
