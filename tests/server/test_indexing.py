"""What goes on in the background while somebody looks at a run."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from agentdbg.index import events
from agentdbg.server import open_runs
from agentdbg.server.open_runs import Views
from tests.storage.handmade import as_line, run_json, tool_call, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

RUN = str(uuid.UUID(int=9))


@pytest.fixture
def looked_at(tmp_path: Path) -> Iterator[Views]:
    """The views on a folder with one run of 20,000 events."""
    call = tool_call(RUN)
    lines = (as_line({**call, "event_id": str(uuid.UUID(int=number))}) for number in range(20_000))
    write_run(tmp_path, RUN, raw=b"".join(lines))
    found = Views(tmp_path)
    yield found
    found.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_run_is_indexed_to_its_end_and_kept_afterwards(
    looked_at: Views, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the verdict is told first: writing the columns takes a while for a million events."""
    monkeypatch.setattr(open_runs, "_SAVED_AFTER_S", 2.0)
    view = looked_at.get(RUN)
    looked_at.indexer.want(view)
    wait_until(lambda: view.index.total == 20_000)
    kept = tmp_path / "index" / f"{RUN}.columns"

    assert not kept.exists()
    assert view.summary(run_json(RUN))["total_events"] == 20_000  # type: ignore[arg-type]
    wait_until(kept.exists)


def test_a_viewer_that_is_closed_at_once_keeps_what_it_knows(looked_at: Views, tmp_path: Path) -> None:
    """Ctrl-C right after the run was read must not cost the next visitor the reading."""
    view = looked_at.get(RUN)
    looked_at.indexer.want(view)
    wait_until(lambda: view.index.total == 20_000)
    looked_at.close()

    assert (tmp_path / "index" / f"{RUN}.columns").exists()


def test_nothing_is_kept_of_a_run_that_was_deleted(looked_at: Views, tmp_path: Path) -> None:
    """What the user threw away must not come back as a cache."""
    view = looked_at.get(RUN)
    looked_at.indexer.want(view)
    wait_until(lambda: view.index.total == 20_000)
    wait_until(lambda: bool(looked_at.indexer._unsaved))
    looked_at.forget(RUN)
    looked_at.close()

    assert not (tmp_path / "index" / f"{RUN}.columns").exists()


def test_whoever_asks_does_not_wait_for_a_slice(looked_at: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows somebody scrolls to come first, however long the run that is being read."""
    monkeypatch.setattr(open_runs, "_SLICE_MS", 60_000.0)
    view = looked_at.get(RUN)
    stopped_at: list[int] = []
    read_on = events.EventIndex._go_on

    def slow(index: events.EventIndex) -> bool:
        time.sleep(0.02)
        return read_on(index)

    monkeypatch.setattr(events.EventIndex, "_go_on", slow)
    looked_at.indexer.want(view)
    wait_until(lambda: view.index.total > 0)
    with looked_at.indexer.paused(), view.index.lock:
        stopped_at.append(view.index.total)

    assert 0 < stopped_at[0] < 20_000
    wait_until(lambda: view.index.total == 20_000)


def test_a_run_that_cannot_be_read_holds_up_no_other(
    looked_at: Views, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may refuse one file; the runs beside it are still worth looking at."""
    broken, fine = looked_at.get(write_run(tmp_path)), looked_at.get(RUN)

    def refuse(*_: object) -> int:
        raise OSError("the disk is tired")

    monkeypatch.setattr(broken, "extend", refuse)
    looked_at.indexer.want(broken)
    looked_at.indexer.want(fine)

    wait_until(lambda: fine.index.total == 20_000)


def test_the_thread_ends_whatever_it_was_doing(looked_at: Views) -> None:
    """A viewer that is told to stop stops, also while it waits for something to do."""
    looked_at.indexer.want(looked_at.get(RUN))
    looked_at.close()

    assert "agentdbg-indexer" not in [thread.name for thread in threading.enumerate()]
