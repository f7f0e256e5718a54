"""What every test gets: a data folder of its own, faults that are loud, and a reader of what was recorded."""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import faults
from agentdbg.control import arming
from agentdbg.events import schema_problems
from agentdbg.recorder import context, deciders

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# The lanes that the fast one leaves out. A whole file joins one with `pytestmark`, a single test with its mark.
_OTHER_LANE = re.compile(rb"^pytestmark = (?:\[\s*)?pytest\.mark\.(?:slow|browser|frameworks)\b", re.MULTILINE)


def pytest_configure() -> None:
    """Let Ctrl-C end the programs that tests start, also where the tests run in the background of a script."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes stays until the end, so the garbage collector need not walk through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load no file of another lane when only the fast tests are wanted: half of their time went into that."""
    is_fast_lane = "not slow" in str(config.option.markexpr)
    if not is_fast_lane or collection_path.suffix != ".py":
        return None
    return True if _OTHER_LANE.search(collection_path.read_bytes()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever generates its cases is slow, also where it stands in a file of fast tests."""
    for item in items:
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker("slow")


class Recorded:
    """Reads the test's data folder with nothing but json, so that a reader's bug cannot hide a writer's."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def run_dirs(self) -> list[Path]:
        runs = self.data_dir / "runs"
        return sorted(runs.iterdir(), key=lambda path: path.stat().st_ctime_ns) if runs.is_dir() else []

    def only(self) -> RecordedRun:
        dirs = self.run_dirs()
        assert len(dirs) == 1, f"expected one run, found {len(dirs)}"
        return RecordedRun(dirs[0])

    def all(self) -> list[RecordedRun]:
        return [RecordedRun(path) for path in self.run_dirs()]


class RecordedRun:
    """One run's files. Reading the events checks each line against the shipped schema."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def meta(self) -> dict[str, Any]:
        return json.loads((self.path / "run.json").read_bytes())  # type: ignore[no-any-return]

    @property
    def events(self) -> list[dict[str, Any]]:
        content = (self.path / "events.jsonl").read_bytes()
        assert content.endswith(b"\n")
        events = [json.loads(line, parse_constant=_refuse) for line in content.splitlines()]
        for event in events:
            assert schema_problems(event) == [], event
        return events

    def types(self, *, call_starts: bool = False) -> list[str]:
        return [e["event_type"] for e in self.events if call_starts or e["event_type"] != "CALL_START"]

    def of_type(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event_type"] == event_type]

    def one(self, event_type: str) -> dict[str, Any]:
        found = self.of_type(event_type)
        assert len(found) == 1, f"expected one {event_type}, found {len(found)}"
        return found[0]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


@pytest.fixture(scope="session")
def _worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that are not there yet, one for each test: most touch no disk, and a folder made for each adds up."""
    root = tmp_path_factory.mktemp("worlds")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_world(_worlds: Iterator[Path]) -> Iterator[Path]:
    """No setting and no run of the machine or of another test reaches this one, and faults of ours are raised."""
    data_dir = next(_worlds)
    with pytest.MonkeyPatch.context() as world:
        for name in list(os.environ):
            if name.startswith("AGENTDBG_"):
                world.delenv(name)
        world.setenv("HOME", f"{data_dir}-home")
        world.setenv("AGENTDBG_DATA_DIR", str(data_dir))
        world.setattr(faults.settings, "raise_faults", True)
        world.setattr(faults.settings, "said", set())
        yield data_dir
        arming.disarm()
        context.enter_scope(None)
        context.set_process_scope(None)
        for run in list(context.live_runs.values()):
            run.finish()
        context.live_runs.clear()
        left = deciders.asked.chain
        for decider in left:
            deciders.remove_decider(decider)
        # It would answer the calls of every later test of this process.
        assert left == (), "a test left a decider behind"


@pytest.fixture
def data_dir(_own_world: Path) -> Path:
    """Where this test's runs go; the first one makes the folder."""
    return _own_world


@pytest.fixture
def home(_own_world: Path) -> Path:
    """The user's home, which nobody has made."""
    return Path(f"{_own_world}-home")


@pytest.fixture
def recorded(data_dir: Path) -> Recorded:
    return Recorded(data_dir)


@pytest.fixture
def swallow_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a user's program: a fault of ours ends where it happened."""
    monkeypatch.setattr(faults.settings, "raise_faults", False)
