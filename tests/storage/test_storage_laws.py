"""Laws of the log: what is appended is read back; no cut and no damage hides another line."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentdbg import record_state, record_tool_call, traced_run
from agentdbg.index.events import EventIndex
from agentdbg.recorder.context import enter_scope
from agentdbg.storage import list_runs, load_events

if TYPE_CHECKING:
    from tests.conftest import Recorded

pytestmark = pytest.mark.slow


_quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@_quick
@given(value=_plain)
def test_what_is_appended_is_read_back_equal(data_dir: Path, value: Any) -> None:
    """With redaction off, a plain JSON value comes back as it went in."""
    os.environ["AGENTDBG_REDACT"] = "0"
    try:
        with traced_run("law") as run:
            record_tool_call("t", {"value": value})
    finally:
        del os.environ["AGENTDBG_REDACT"]

    (call,) = (e for e in load_events(run.run_id, data_dir=data_dir) if e["event_type"] == "TOOL_CALL")
    assert call["payload"]["args"] == json.loads(json.dumps({"value": value}))
    shutil.rmtree(run.path)


def test_any_cut_of_the_file_leaves_every_whole_line_readable(data_dir: Path, recorded: Recorded) -> None:
    """A crash, a full disk or a copy under way can end the file at any byte."""
    with traced_run("cut"):
        record_tool_call("first", {"text": "ünïcödé 漢字 🙂"}, ["x"])
        record_state({"a": [1, 2, {"b": None}]})
    path = recorded.only().path / "events.jsonl"
    whole = path.read_bytes()
    run_id = path.parent.name
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        lines = whole[:cut].split(b"\n")
        expected = len(lines) - 1 + (1 if _is_json(lines[-1]) else 0)
        assert len(list(load_events(run_id, data_dir=data_dir))) == expected, f"cut at {cut}"


@_quick
@given(garbage=st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b), max_size=4), place=st.integers(0, 3))
def test_damaged_lines_hide_no_other_line_and_are_counted(data_dir: Path, garbage: list[bytes], place: int) -> None:
    """Damage is counted and shown, never fatal."""
    with traced_run("damaged") as run:
        record_tool_call("a")
        record_tool_call("b")
    path = run.path / "events.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:place], *garbage, *lines[place:]]) + b"\n")

    events = list(load_events(run.run_id, data_dir=data_dir))
    assert [event["event_type"] for event in events] == ["RUN_START", "TOOL_CALL", "TOOL_CALL", "RUN_END"]
    damaged = sum(1 for line in garbage if line.strip())
    assert _damage(run.path) == damaged
    shutil.rmtree(run.path)


def _damage(folder: Path) -> int:
    index = EventIndex(folder, folder.name)
    index.extend()
    damaged = index.damaged_total
    index.close()
    return damaged


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


class LogMachine(RuleBasedStateMachine):
    """Start, record, nest, fork, tear, end and read in any order: the reader equals a plain list of what was done."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.before = os.environ.get("AGENTDBG_DATA_DIR")
        os.environ["AGENTDBG_DATA_DIR"] = str(self.folder)
        self.open: list[tuple[Any, Any]] = []
        self.model: dict[str, list[str]] = {}
        self.torn: dict[str, int] = {}
        self.ended: dict[str, bool] = {}
        self.number = 0

    @precondition(lambda self: not self.open)
    @rule()
    def start(self) -> None:
        block = traced_run("machine")
        run = block.__enter__()
        self.open.append((block, run))
        self.model[run.run_id] = ["RUN_START"]
        self.ended[run.run_id] = False

    @precondition(lambda self: self.open)
    @rule()
    def nest(self) -> None:
        block = traced_run("span")
        block.__enter__()
        self.open.append((block, self.open[0][1]))

    @precondition(lambda self: self.open)
    @rule(text=st.text(max_size=20))
    def record(self, text: str) -> None:
        self.number += 1
        record_tool_call(f"tool {self.number}", {"text": text})
        self.model[self.open[0][1].run_id].append("TOOL_CALL")

    @precondition(lambda self: self.open)
    @rule()
    def fork(self) -> None:
        """A child records once and dies without a word."""
        self.number += 1
        pid = os.fork()
        if pid == 0:
            record_tool_call(f"tool {self.number}")
            os._exit(0)
        os.waitpid(pid, 0)
        self.model[self.open[0][1].run_id].append("TOOL_CALL")

    @precondition(lambda self: self.open)
    @rule(amount=st.integers(1, 30))
    def tear(self, amount: int) -> None:
        """Another writer was cut off in the middle of a line; ours start on lines of their own."""
        run = self.open[0][1]
        with open(run.path / "events.jsonl", "ab") as file:
            file.write(b'{"spec_version":"0.1","event_id":"'[:amount] + b"\n")
        self.torn[run.run_id] = self.torn.get(run.run_id, 0) + 1

    @precondition(lambda self: self.open)
    @rule(fails=st.booleans())
    def leave(self, fails: bool) -> None:
        block, run = self.open.pop()
        error = ValueError("made up") if fails else None
        block.__exit__(type(error) if error else None, error, None)
        if self.open:
            self.model[run.run_id].append("STATE_UPDATE")
        else:
            self.model[run.run_id] += ["ERROR", "RUN_END"] if fails else ["RUN_END"]
            self.ended[run.run_id] = True

    @invariant()
    def reader_equals_model(self) -> None:
        found = {run["run_id"]: run for run in list_runs(data_dir=self.folder)}
        assert set(found) == set(self.model)
        for run_id, expected in self.model.items():
            events = [event["event_type"] for event in load_events(run_id, data_dir=self.folder)]
            assert [event for event in events if event != "LOOP_WARNING"] == expected
            assert (found[run_id]["status"] == "running") == (not self.ended[run_id])
            assert _damage(self.folder / "runs" / run_id) == self.torn.get(run_id, 0)

    def teardown(self) -> None:
        while self.open:
            self.open.pop()[0].__exit__(None, None, None)
        enter_scope(None)
        if self.before is None:
            del os.environ["AGENTDBG_DATA_DIR"]
        else:
            os.environ["AGENTDBG_DATA_DIR"] = self.before
        shutil.rmtree(self.folder)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
