"""Many runs are read by several processes, and what comes out does not depend on it."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.interop.tables import table_reading
from agentdbg.interop.tables.database import _event_rows, _finding_rows
from agentdbg.interop.tables.table_reading import read_runs
from agentdbg.storage import list_runs
from tests.commands.stored import store
from tests.interop.exports.runs import rich_story

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import Popen

    from agentdbg.events import RunMeta
    from agentdbg.interop.tables.table_reading import RowsOf

pytestmark = pytest.mark.slow

_RUNS = 30


@pytest.fixture
def runs(data_dir: Path) -> list[RunMeta]:
    """Runs with every type of event, and text that does harm."""
    for _ in range(_RUNS):
        store(data_dir, rich_story(), "error", "rich")
    return list_runs(data_dir=data_dir)


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[Popen[bytes]]:
    """The helpers that were started; two of them, whatever machine this is, each asked for three runs at a time."""
    started: list[Popen[bytes]] = []
    start = table_reading._helper

    @contextlib.contextmanager
    def noted(*arguments: Any) -> Any:
        with start(*arguments) as process:
            started.append(process)
            yield process

    monkeypatch.setattr(table_reading, "_helper", noted)
    monkeypatch.setattr(table_reading, "_CORES", 3)
    monkeypatch.setattr(table_reading, "_CHUNK", 3)
    monkeypatch.setattr(table_reading, "_FEWEST_RUNS", 2)
    return started


def _here(runs: list[RunMeta], data_dir: Path, rows_of: RowsOf) -> dict[str, list[Any]]:
    return {meta["run_id"]: list(rows_of(meta, data_dir / "runs" / meta["run_id"])) for meta in runs}


@pytest.mark.parametrize("rows_of", [_event_rows, _finding_rows])
def test_helpers_give_the_rows_that_are_read_here(
    rows_of: RowsOf, runs: list[RunMeta], data_dir: Path, helpers: list[Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question must have one answer, on one core or on eight."""
    wanted = _here(runs, data_dir, rows_of)
    monkeypatch.setattr(table_reading, "_rows_of_chunk", _wait_for_helpers(helpers))

    found = {meta["run_id"]: list(rows) for meta, rows in read_runs(runs, data_dir, rows_of)}
    assert len(helpers) == 2
    assert found == wanted


def _wait_for_helpers(helpers: list[Popen[bytes]]) -> Any:
    """Leave all but the first runs to them, or they would hardly have started when everything is read."""
    read_here = table_reading._rows_of_chunk

    def slowly(*arguments: Any) -> Any:
        for process in helpers:
            with contextlib.suppress(Exception):
                process.wait(0.5)
        return read_here(*arguments)

    return slowly


def test_helpers_that_fail_cost_nothing(
    runs: list[RunMeta], data_dir: Path, helpers: list[Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine may have no memory left for another process, or an installation that only half works."""
    monkeypatch.setattr(table_reading, "_PROGRAM", "raise SystemExit(1)")

    found = {meta["run_id"]: list(rows) for meta, rows in read_runs(runs, data_dir, _event_rows)}
    assert len(helpers) == 2
    assert found == _here(runs, data_dir, _event_rows)


def test_helpers_end_with_whoever_asked(runs: list[RunMeta], data_dir: Path, helpers: list[Popen[bytes]]) -> None:
    """A question may be interrupted, or the file full, when a few runs have been read."""
    asked = read_runs(runs, data_dir, _event_rows)
    next(asked)
    asked.close()
    gc.collect()

    assert [process.poll() is not None for process in helpers] == [True, True]


def test_a_long_run_is_read_row_by_row(
    runs: list[RunMeta], data_dir: Path, helpers: list[Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million events must not be in memory at once, however many short runs lie beside them."""
    monkeypatch.setattr(table_reading, "_LARGEST_LOG", 1)

    assert not any(isinstance(rows, list) for _, rows in read_runs(runs, data_dir, _event_rows))
    assert helpers == []


def test_few_runs_need_no_helper(runs: list[RunMeta], data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a process takes longer than reading them."""

    def start(*_: Any) -> Any:
        raise AssertionError("a helper was started")

    monkeypatch.setattr(table_reading, "_helper", start)
    assert len(list(read_runs(runs, data_dir, _event_rows))) == _RUNS
