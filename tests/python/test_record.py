"""The class Record."""

import copy
import pickle

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, Move, Record, Token

chess = pytest.importorskip("chess")

WAC = '2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - bm Qg6; id "WAC.001";'


def test_fields() -> None:
    record = Record(WAC)
    assert record.fen == WAC.split(" bm")[0] + " 0 1"
    assert record.epd == WAC
    assert str(record) == WAC
    assert repr(record) == f"Record({WAC!r})"
    assert record.turn
    assert record.key == epdb_chess.key(WAC) == epdb_chess.key(chess.Board(record.fen))
    assert Record(record.packed).fen == record.fen
    assert Record(samples.START).fullmove_number == 1
    assert Record(chess.Board()).key == 0x463B96181691FC9C


def test_values() -> None:
    text = (
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - acd 12; bm O-O Rxa8+; D1 26; draw_claim; my_word word; "
        'hmvc 0; id "a b"; pv O-O Rxh1+ Kxh1; ptp "White" "A"; sm Rb1;'
    )
    record = Record(text.replace('ptp "White"', "ptp White"))
    assert record["bm"] == ["e1g1", "a1a8"]
    assert [move.san for move in record["bm"]] == ["O-O", "Rxa8+"]
    assert isinstance(record["sm"], Move)
    assert record["sm"] == "a1b1"
    assert record["sm"].uci == "a1b1"
    assert record["acd"] == 12
    assert record["id"] == "a b"
    assert record["D1"] == 26
    assert record["my_word"] == "word"
    assert isinstance(record["my_word"], Token)
    assert record["draw_claim"] is True
    assert record["ptp"] == {"White": "A"}
    assert chess.Move.from_uci(record["pv"][0]) == chess.Move.from_uci("e1g1")
    assert record.get("ce") is None
    assert record.get("ce", 5) == 5
    assert "bm" in record
    assert "ce" not in record
    assert "no opcode!" not in record
    assert len(record) == len(list(record)) == len(record.items())
    assert record.keys()[0] == "D1"
    with pytest.raises(KeyError, match="ce"):
        record["ce"]


def test_edits() -> None:
    record = Record(samples.START)
    record["bm"] = ["e2e4", "Nf3"]
    record["id"] = "an id"
    record["ce"] = -30
    record["pv"] = [chess.Move.from_uci("e2e4"), "e5"]
    record["my_word"] = Token("word")
    record["my_text"] = "a text"
    record["draw_claim"] = True
    record["ptp"] = {"White": "Ada L."}
    assert "bm Nf3 e4;" in str(record)
    assert "pv e4 e5;" in str(record)
    assert 'my_text "a text"; my_word word;' in str(record)
    assert record["bm"] == ["g1f3", "e2e4"]
    assert Record(str(record)) == record
    for opcode, value in record.items():
        other = Record(record.packed)
        other[opcode] = value
        assert other[opcode] == value
    del record["bm"]
    assert "bm" not in record
    with pytest.raises(KeyError):
        del record["bm"]


@pytest.mark.parametrize(
    ("opcode", "value"),
    [
        ("bm", ["e2e5"]),
        ("ce", "much"),
        ("ce", 1 << 70),
        ("id", 'a "quote"'),
        ("id", "a\nline"),
        ("no opcode!", 1),
        ("sm", "e4; id x"),
    ],
)
def test_wrong_edits(opcode: str, value: object) -> None:
    record = Record(samples.START)
    before = str(record)
    with pytest.raises(EpdbError):
        record[opcode] = value
    with pytest.raises(TypeError):
        record["id"] = object()
    assert str(record) == before


def test_errors_have_a_place() -> None:
    with pytest.raises(EpdbError) as error:
        Record("8/8/8/4k3/8/1K6/8/9 b - - 0 1")
    assert isinstance(error.value, ValueError)
    assert error.value.code == "E-FEN-PLACEMENT" or error.value.code.startswith("E-")
    assert error.value.line == 1
    assert error.value.column >= 1
    assert pickle.loads(pickle.dumps(error.value)).code == error.value.code
    with pytest.raises(EpdbError):
        Record("# a comment")
    with pytest.raises(EpdbError):
        Record(samples.START, profile="careless")
    with pytest.raises(TypeError):
        Record(5)


def test_equality() -> None:
    record = Record(WAC)
    same = copy.copy(record)
    assert same == record
    assert hash(same) == hash(record)
    same["id"] = "other"
    assert same != record
    assert record["id"] == "WAC.001"
    assert copy.deepcopy(record) == pickle.loads(pickle.dumps(record)) == record
    assert record != WAC
    assert record == record.copy()
    assert len({record, record.copy()}) == 1


def test_board() -> None:
    board = Record(samples.AFTER_E4).board()
    assert isinstance(board, chess.Board)
    assert board.fen() == samples.AFTER_E4


def test_positions_of_boards() -> None:
    boards = [
        chess.Board(),
        chess.Board(samples.AFTER_E4),
        chess.Board("r3k2r/8/8/8/8/8/8/R3K2R b Kq - 3 9"),
        chess.Board("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2"),
        chess.Board("rn2k1r1/ppp1pp1p/3p2p1/5bn1/P7/2N2B2/1PPPPP2/2BNK1RR w Gkq - 4 11", chess960=True),
    ]
    rights = chess.Board("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1")
    rights.castling_rights = chess.BB_H1 | chess.BB_A1
    for board in [*boards, rights]:
        fen = board.fen(shredder=False, en_passant="fen")
        assert epdb_chess.key(board) == epdb_chess.key(Record(board)) == epdb_chess.key(fen), fen
        assert Record(board).board().board_fen() == board.board_fen()
    assert epdb_chess.key("e4 c5") == epdb_chess.key("1. e4 c5")


def test_moves() -> None:
    for position in [samples.START, samples.AFTER_E4, "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"]:
        board = chess.Board(position)
        found = epdb_chess.moves(position)
        assert sorted(found) == sorted(move.uci() for move in board.legal_moves)
        assert sorted(move.san for move in found) == sorted(map(board.san, board.legal_moves))
    with pytest.raises(EpdbError, match="no moves"):
        epdb_chess.moves("8/8/8/8/8/8/8/8 w - - 0 1")


def test_polyglot_key() -> None:
    polyglot = pytest.importorskip("chess.polyglot")
    board = chess.Board("4k3/8/8/8/4Pp2/8/8/4K3 b - e3 0 1")
    assert epdb_chess.key(board, polyglot=True) == polyglot.zobrist_hash(board)
