"""A file read by several processes: the same index as by one, whatever the helpers do."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.index import events, parallel_read
from agentdbg.index.events import EventIndex
from agentdbg.index.parallel_read import Helper, is_possible
from agentdbg.index.stretch import read_stretch
from tests.index.test_event_index import varied_events
from tests.storage import handmade
from tests.storage.handmade import as_line, llm_call, tool_call, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.index.stretch import Stretch

pytestmark = pytest.mark.slow

RUN = str(uuid.UUID(int=7))
IDS = [str(uuid.UUID(int=number)) for number in range(6)] + ["call_1"]
FACTS = ("total", "line_count", "damaged_lines", "damaged_total", "indexed_bytes", "complete", *events._FACTS)


@pytest.fixture(autouse=True)
def small_files_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for hundreds of megabytes is done for a few kilobytes."""
    monkeypatch.setattr(events, "_WORTH_HELP", 0)
    monkeypatch.setattr(parallel_read, "_CHUNK", 2_000)
    monkeypatch.setattr(parallel_read, "_PATIENCE_SECONDS", 0)


def assert_same(index: EventIndex, folder: Path) -> None:
    """What one process says that reads the file from its beginning to its end."""
    alone = EventIndex(folder, index.run_id)
    alone.extend()
    for name in FACTS:
        assert getattr(index, name) == getattr(alone, name), name
    for name in events._COLUMNS:
        assert bytes(getattr(index, name)) == bytes(getattr(alone, name)), name
    assert index._linked().loose_ends() == alone._linked().loose_ends()


def extend_to_the_end(index: EventIndex, helpers: int = 2) -> None:
    index.extend(0)
    while not index.complete:
        index.extend(0, helpers)


# Any file, cut anywhere, by helpers that do as they like.


class ImaginaryHelper:
    """Reads in this process. `moods` say for each look at it whether it has something to say, or is gone."""

    moods: ClassVar[deque[str]]

    def __init__(self, descriptor: int, run_id: str, started_ms: int) -> None:
        self._facts = (descriptor, run_id, started_ms)
        self._asked: deque[tuple[int, int]] = deque()
        self.is_closed = False

    def mood(self) -> str:
        self.moods.rotate(-1)
        return self.moods[-1]

    def is_ready(self) -> bool:
        return self.mood() != "silent"

    def ask(self, start: int, end: int) -> None:
        if self.mood() == "gone":
            raise BrokenPipeError
        self._asked.append((start, end))

    def answer(self) -> Stretch | None:
        if self.mood() == "gone":
            raise EOFError
        (descriptor, run_id, started_ms), (start, end) = self._facts, self._asked.popleft()
        return read_stretch(os.pread(descriptor, end - start, start), start, run_id, started_ms)

    def close(self) -> None:
        self.is_closed = True

    @staticmethod
    def wait_for(helpers: Sequence[ImaginaryHelper], seconds: float) -> list[ImaginaryHelper]:
        return [helper for helper in helpers if helper._asked and helper.mood() != "silent"]


def line_like(made: st.DrawFn) -> bytes:
    """A line as some writer left it: ids that come again, parents that come later, no time, no event at all."""
    ids = {"event_id": made(st.sampled_from(IDS)), "parent_id": made(st.sampled_from([None, *IDS]))}
    at_ms = made(st.integers(0, 5_000))
    odd = {"event_type": "TOOL_CALL", "name": "search", "payload": {"args": {"q": 1}}, **ids}
    kinds: list[Any] = [
        llm_call(RUN, at_ms, **ids, payload={"cost_usd": 0.25}),
        tool_call(RUN, at_ms, made(st.sampled_from(["search", "book"])), **ids),
        handmade.event(RUN, "CALL_START", at_ms, **ids, payload={"call_id": made(st.sampled_from(IDS))}),
        handmade.event(RUN, "STATE_UPDATE", at_ms, **ids, meta={"span": "plan"}, payload={"state": None}),
        handmade.event(RUN, made(st.sampled_from(["MINE", "YOURS"])), at_ms, **ids),
        odd,
        {**odd, "ts": handmade.timestamp(at_ms)},
    ]
    whole = as_line(made(st.sampled_from(kinds)))
    return made(st.sampled_from([whole, whole, whole, b"\n", whole[: len(whole) // 2] + b"\n", whole.strip() + whole]))


@st.composite
def files(made: st.DrawFn) -> bytes:
    lines = [line_like(made) for _ in range(made(st.integers(0, 25)))]
    return (
        as_line(handmade.run_start(RUN)) + b"".join(lines) + made(st.sampled_from([b"", b'{"event_type":"X"', b"{}"]))
    )


@given(
    files(),
    st.integers(1, 1_500),
    st.integers(1, 3),
    st.lists(st.sampled_from(["well", "well", "well", "silent", "gone"]), min_size=1, max_size=30),
)
@settings(max_examples=150, deadline=None)
def test_one_index_however_the_file_is_cut_and_whoever_reads_it(
    raw: bytes, chunk: int, helpers: int, moods: list[str]
) -> None:
    """A run must not look different because it was long, or because a helper died over it."""
    ImaginaryHelper.moods = deque(moods)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(parallel_read, "_CHUNK", chunk)
        patched.setattr(parallel_read, "Helper", ImaginaryHelper)
        patched.setattr(parallel_read, "wait_for", ImaginaryHelper.wait_for)
        patched.setattr(events, "_WORTH_HELP", -1)
        patched.setattr("agentdbg.index.source._BLOCK", 700)
        write_run(Path(folder), RUN, raw=raw)
        index = EventIndex(Path(folder) / "runs" / RUN, RUN)
        extend_to_the_end(index, helpers)

        assert_same(index, Path(folder) / "runs" / RUN)


# Real processes.


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    """The folder of a run with everything in it."""
    return tmp_path / "runs" / write_run(tmp_path, RUN, events=varied_events(RUN, 3_000))


def process_ids(index: EventIndex) -> list[int]:
    found = [] if index._ahead is None else [helper._process.pid for helper in index._ahead._asked]
    assert all(map(is_running, found))
    return found


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until_helped(index: EventIndex, helpers: int = 2) -> Iterator[int]:
    """Go on until a helper has been asked for something, then give the process ids of all."""
    index.extend(0)
    index.extend(0, helpers)
    assert index._ahead is not None
    while not any(index._ahead._asked.values()):
        assert index._ahead._asked, "all helpers are gone"
        time.sleep(0.01)
        index._ahead._talk(0)
    return iter(process_ids(index))


def test_helpers_read_what_we_would_have_read_and_go(long_run: Path) -> None:
    """The second core is there to be used, and nothing may stay behind when the run is known."""
    index = EventIndex(long_run, RUN)
    processes = list(until_helped(index))
    answers: list[Stretch | None] = []
    told = Helper.answer

    def listened(helper: Helper) -> Stretch | None:
        answers.append(told(helper))
        return answers[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parallel_read, "_PATIENCE_SECONDS", 1)
        patched.setattr(Helper, "answer", listened)
        extend_to_the_end(index)

    assert_same(index, long_run)
    assert answers
    assert not any(map(is_running, processes))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_helper_that_dies_or_hangs_costs_nothing_but_time(number: signal.Signals, long_run: Path) -> None:
    """The machine may run out of memory; the reader of the run should not hear of it."""
    index = EventIndex(long_run, RUN)
    processes = list(until_helped(index))
    os.kill(processes[0], number)
    extend_to_the_end(index)

    assert_same(index, long_run)
    assert not any(map(is_running, processes))


@pytest.mark.parametrize("executable", ["", "/nowhere/python", "/bin/false"])
def test_where_no_helper_can_be_started_everything_goes_on_without(
    executable: str, long_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter inside another program may know no command that starts it."""
    monkeypatch.setattr(sys, "executable", executable)
    index = EventIndex(long_run, RUN)
    extend_to_the_end(index)

    assert_same(index, long_run)


def test_a_program_that_holds_python_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a frozen program calls its Python is the program itself."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert not is_possible()


@pytest.mark.parametrize("end", ["close", "del", "replaced"])
def test_helpers_go_when_nobody_needs_them(end: str, long_run: Path) -> None:
    """A reader closes a page, or a run is scrubbed while it is read."""
    index = EventIndex(long_run, RUN)
    processes = list(until_helped(index))
    if end == "close":
        index.close()
    elif end == "del":
        del index
    else:
        (long_run / "new").write_bytes(b"".join(map(as_line, handmade.usual_events(RUN))))
        (long_run / "new").replace(long_run / "events.jsonl")
        index.extend()
        assert index.total == 4

    assert len(processes) == 2
    assert not any(map(is_running, processes))


def test_helpers_end_with_whoever_started_them(long_run: Path) -> None:
    """However that one ends: a viewer that is killed leaves no process behind."""
    code = (
        "import sys, time; from agentdbg.index import events, parallel_read\n"
        "from agentdbg.index.events import EventIndex\n"
        "events._WORTH_HELP, parallel_read._CHUNK = 0, 2000\n"
        "index = EventIndex(sys.argv[1], sys.argv[2]); index.extend(0); index.extend(0, 2)\n"
        "print(*[helper._process.pid for helper in index._ahead._asked], flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(long_run), RUN], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    helpers = [int(pid) for pid in process.stdout.readline().split()]
    process.kill()
    process.communicate()

    assert len(helpers) == 2
    deadline = time.monotonic() + 20
    while any(map(is_alive, helpers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, helpers))


def is_alive(pid: int) -> bool:
    """Whether a process that is no child of ours runs: nobody may have asked yet how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_compressed_run_is_read_by_helpers_too(long_run: Path) -> None:
    """They share the unpacked file, which has no name."""
    plain = long_run / "events.jsonl"
    (long_run / "events.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    index = EventIndex(long_run, RUN)
    list(until_helped(index))
    extend_to_the_end(index)

    assert_same(index, long_run)


def test_a_file_that_grows_meanwhile_is_read_to_its_new_end(long_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may still be recorded while it is read for the first time."""
    monkeypatch.setattr(parallel_read, "Helper", ImaginaryHelper)
    monkeypatch.setattr(parallel_read, "wait_for", ImaginaryHelper.wait_for)
    ImaginaryHelper.moods = deque(["well"])
    index = EventIndex(long_run, RUN)
    index.extend(0)
    index.extend(0, 2)
    assert not index.complete
    with (long_run / "events.jsonl").open("ab") as file:
        file.write(b"".join(map(as_line, varied_events(RUN, 500)[1:])) + b'{"torn')
    extend_to_the_end(index)

    assert index.damaged_total == 1
    assert_same(index, long_run)


def test_a_line_without_end_is_no_reason_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are cut at line ends; where none is near, the rest is read as if there were no helpers."""
    monkeypatch.setattr(parallel_read, "Helper", ImaginaryHelper)
    monkeypatch.setattr(parallel_read, "wait_for", ImaginaryHelper.wait_for)
    ImaginaryHelper.moods = deque(["well"])
    calls = [as_line(tool_call(RUN, number)) for number in range(900)]
    long = as_line(tool_call(RUN, payload={"result": "x" * 3_000_000}))
    folder = tmp_path / "runs" / write_run(tmp_path, RUN, raw=b"".join([*calls, long, *calls]))
    index = EventIndex(folder, RUN)
    extend_to_the_end(index)

    assert index.total == 1801
    assert_same(index, folder)
