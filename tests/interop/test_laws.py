"""What holds for any file, however broken: it is imported as far as it can be, and nothing else happens."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.config import load_config
from agentdbg.interop.importing import writing_aside
from agentdbg.interop.imports import Importing
from agentdbg.interop.sources import NotReadable, Source, moment_ms
from tests.interop.files import CHAT, events_of, write
from tests.interop.test_formats import GENAI, _inspect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENTS: dict[str, Any] = {
    "chat.json": [{"traj": CHAT, "task_id": 1}, {"traj": CHAT[:3]}],
    "spans.json": GENAI,
    "log.json": _inspect(),
    "step.traj": {"trajectory": [{"response": "x", "action": "ls", "observation": "y", "execution_time": 1}]},
    "events.jsonl": [{"id": "1", "kind": "ObservationEvent", "tool_call_id": "t", "observation": {"content": []}}],
    "run.json": {"spec_version": "0.1", "run": {"run_id": "00000000-0000-4000-8000-000000000001"}, "events": [{}]},
}
JUNK: list[Any] = [
    None,
    -1,
    1e308,
    10**30,
    True,
    "",
    "x",
    "[]",
    [],
    [1],
    [[]],
    {},
    {"a": 1},
    {"role": 5},
    "9" * 30,
    "\ud800",
]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from _paths(item, (*path, key))


def _damaged(document: Any, chance: random.Random) -> Any:
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        paths = list(_paths(document))
        if not paths:
            break
        *path, last = chance.choice(paths)
        place = document
        for key in path:
            place = place[key]
        if chance.random() < 0.3:
            del place[last]
        else:
            place[last] = copy.deepcopy(chance.choice(JUNK))
    return document


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_damaged_file_never_breaks_the_import(tmp_path: Path, data_dir: Path, name: str) -> None:
    """Every value of a file from elsewhere may be anything; what is stored is still valid."""
    importing = Importing(load_config())
    chance = random.Random(name)
    for _ in range(60):
        path = write(tmp_path / name, json.dumps(_damaged(DOCUMENTS[name], chance)))
        try:
            outcomes = list(importing.take(Source(path))[1])
        except NotReadable:
            continue
        for outcome in outcomes:
            assert (outcome.run is None) == bool(outcome.problem)
            if outcome.run is not None and outcome.run.is_new and name != "run.json":
                events_of(data_dir, outcome.run.run_id)


def test_the_same_run_imported_twice_at_once_is_one_run(data_dir: Path) -> None:
    """Whoever comes second finds it there, and nothing of the first is lost."""
    run_id = "00000000-0000-4000-8000-000000000002"
    with writing_aside(data_dir, run_id) as folder:
        folder.mkdir(parents=True)
        (data_dir / "runs" / run_id).mkdir(parents=True)
        (data_dir / "runs" / run_id / "run.json").write_text("{}")

    assert (data_dir / "runs" / run_id / "run.json").read_text() == "{}"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ("2025-03-19T16:40:25.243451Z", 1_742_402_425_243),
        (1_742_402_425, 1_742_402_425_000),
        (1_742_402_425_243, 1_742_402_425_243),
        ("1742402425243451000", 1_742_402_425_243),
        (10**40, None),
        (-5, None),
        ("yesterday", None),
        (True, None),
    ],
)
def test_moments_are_read_in_every_unit(given: Any, milliseconds: float | None) -> None:
    """Tools write seconds, milliseconds, nanoseconds and texts."""
    found = moment_ms(given)

    assert found == milliseconds if milliseconds is None else found == pytest.approx(milliseconds, abs=1)
