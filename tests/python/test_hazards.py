"""Interruptions, threads, processes and damage: the right answer or an exception, and no hang."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError

LINES = 300_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.epd"
    line = samples.SUITE.splitlines()[1]
    path.write_text("".join(f'{line[:-1]}; c0 "{number}";\n' for number in range(LINES)))
    return path


def test_an_exception_in_a_callback_stops_the_work(many: Path, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def progress(done: int, total: int | None) -> None:
        raise Stop

    with pytest.raises(Stop):
        epdb_chess.pack(many, tmp_path / "a.epa", progress=progress)
    with pytest.raises(Stop):
        epdb_chess.normalize(many, tmp_path / "a.epd", progress=progress)
    for name in ["a.epb", "a.epdb", "a.epd.zst"]:
        with pytest.raises(Stop):
            epdb_chess.convert(many, tmp_path / name, progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_stops_the_work(many: Path, tmp_path: Path) -> None:
    program = """
        import sys, epdb_chess
        calls = []
        def progress(done, total):
            if not calls:
                print("started", flush=True)
            calls.append(done)
        try:
            for _ in range(1000):
                epdb_chess.pack(sys.argv[1], sys.argv[2], force=True, progress=progress)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    output = tmp_path / "out.epa"
    command = [sys.executable, "-c", textwrap.dedent(program), str(many), str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(timeout=60) == 0
    assert all(path == output for path in tmp_path.iterdir())


def test_ctrl_c_stops_reading(many: Path) -> None:
    program = """
        import sys, epdb_chess
        try:
            reader = epdb_chess.read(sys.argv[1])
            print("started", flush=True)
            while True:
                for record in reader:
                    pass
                reader = epdb_chess.read(sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(many)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(timeout=60) == 0


def in_a_fork(work: Callable[[], bool]) -> None:
    child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(not work()))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks(suite: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.epa"
    epdb_chess.pack(suite, archive)
    records = list(epdb_chess.read(suite))
    with epdb_chess.open(archive) as lib:
        assert lib.get_many(records, first=True) == records
        in_a_fork(lambda: lib.get_many(records * 3000, first=True) == records * 3000)
        in_a_fork(lambda: list(epdb_chess.read(suite)) == records)
        in_a_fork(lambda: epdb_chess.pack(suite, tmp_path / "b.epa").records == 4)
        in_a_fork(lambda: lib.close() is None and lib.closed)
        assert lib.get_many(records, first=True) == records


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_reader_of_the_parent_process(many: Path) -> None:
    reader = epdb_chess.read(many)
    next(reader)

    def read_on() -> bool:
        try:
            return sum(1 for _ in reader) < 0
        except RuntimeError as error:
            return "forked" in str(error)

    in_a_fork(read_on)
    assert sum(1 for _ in reader) == LINES - 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_scans_of_the_parent_process(many: Path) -> None:
    scan = epdb_chess.scan(many, columns=["key"], batch_size=1000)
    batches = iter(scan)
    next(batches)

    def read_on() -> bool:
        try:
            return next(batches) is None
        except RuntimeError as error:
            return "forked" in str(error) and scan.count() == LINES

    in_a_fork(read_on)
    assert sum(len(batch) for batch in batches) == LINES - 1000


@pytest.mark.parametrize("name", ["a.epa", "a.epdb"])
def test_threads_share_a_library(name: str, suite: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    epdb_chess.convert(suite, path)
    records = list(epdb_chess.read(suite))
    found: list[bool] = []
    with epdb_chess.open(path) as lib:

        def look_up() -> None:
            for _ in range(50):
                found.append(lib.get_many(records * 20, first=True) == records * 20)
                found.append(all(lib[record] == [record] for record in records))

        threads = [threading.Thread(target=look_up) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert len(found) == 4 * 100
    assert all(found)


def test_a_library_is_closed_while_another_thread_reads(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.epa"
    epdb_chess.pack(suite, path)
    records = list(epdb_chess.read(suite)) * 1000
    lib = epdb_chess.open(path)
    outcomes: list[str] = []
    has_begun = threading.Event()

    def look_up() -> None:
        try:
            while True:
                assert len(lib.get_many(records)) == len(records)
                has_begun.set()
        except EpdbError as error:
            outcomes.append(str(error))

    thread = threading.Thread(target=look_up)
    thread.start()
    assert has_begun.wait(timeout=60)
    lib.close()
    thread.join(timeout=60)
    assert outcomes == ["the library is closed"]


@pytest.mark.parametrize("name", ["a.epa", "a.epdb", "a.epb", "a.epd.zst", "a.epd.gz"])
def test_truncated_files(name: str, many: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.epd"
    small.write_text("".join(many.read_text().splitlines(keepends=True)[:2000]))
    path = tmp_path / name
    epdb_chess.convert(small, path)
    data = path.read_bytes()
    for part in [len(data) // 3, len(data) - 5]:
        path.write_bytes(data[:part])
        with pytest.raises(EpdbError):
            list(epdb_chess.read(path))
        if name in ("a.epa", "a.epdb"):
            with pytest.raises(EpdbError), epdb_chess.open(path) as lib:
                lib.get_many(list(epdb_chess.read(small)))


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="faults are not caught")
@pytest.mark.parametrize("level", ["fast", "default"])
def test_a_file_that_is_cut_off_while_it_is_open(
    level: Literal["fast", "default"], many: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small.epd"
    small.write_text("".join(many.read_text().splitlines(keepends=True)[:5000]))
    path = tmp_path / "a.epa"
    epdb_chess.pack(small, path, level=level)
    record = next(epdb_chess.read(small))
    with epdb_chess.open(path) as lib:
        os.truncate(path, 4096)
        with pytest.raises(EpdbError, match="cut off at byte 4096"):
            lib[record]
