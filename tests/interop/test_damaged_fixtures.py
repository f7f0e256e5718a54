"""Every fixture with any of its values replaced: the import goes on, and what is stored is valid."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from agentdbg.config import load_config
from agentdbg.interop.imports import Importing
from agentdbg.interop.sources import NotReadable, Source, find_sources
from tests.interop.files import events_of
from tests.interop.test_fixtures import COUNTED, FIXTURES
from tests.interop.test_laws import _damaged

pytestmark = pytest.mark.slow

_FILES = [counted.path for counted in COUNTED if Path(counted.path).suffix in (".json", ".jsonl")]


@pytest.mark.parametrize("path", _FILES)
def test_a_damaged_file_of_any_format_never_breaks_the_import(tmp_path: Path, data_dir: Path, path: str) -> None:
    """A file from elsewhere may hold anything anywhere; nothing of it may end the command, or store what is invalid."""
    text = (FIXTURES / path).read_text()
    is_lines = path.endswith(".jsonl")
    document: Any = [json.loads(line) for line in text.splitlines() if _is_json(line)] if is_lines else json.loads(text)
    chance = random.Random(path)
    importing = Importing(load_config())
    target = tmp_path / Path(path).name
    for _ in range(25):
        damaged = _damaged(document, chance)
        written = "\n".join(map(json.dumps, damaged)) if is_lines and isinstance(damaged, list) else json.dumps(damaged)
        target.write_text(written)
        try:
            outcomes = list(importing.take(Source(target))[1])
        except NotReadable:
            continue
        for outcome in outcomes:
            assert (outcome.run is None) == bool(outcome.problem)
            assert "could not be stored" not in outcome.problem, outcome
            assert "all the way through" not in outcome.problem, outcome
            if outcome.run is not None and outcome.run.is_new:
                events_of(data_dir, outcome.run.run_id)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _claude(content: Any, number: int = 0, kind: str = "user") -> dict[str, Any]:
    message = {"role": kind, "id": f"m{number}", "content": content}
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s",
        "timestamp": "2025-01-01T00:00:00Z",
        "message": message,
    }


def _qwen(kind: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "sessionId": "s", "message": {"role": "model", "parts": [part] * 20_000}}


@pytest.mark.parametrize(
    "lines",
    [
        [_claude("<system-reminder>" * 100_000)],
        [_claude([{"type": "tool_use", "id": str(n), "name": "a", "input": {}} for n in range(20_000)], 1, "assistant"),
         _claude([{"type": "tool_result", "tool_use_id": f"x{n}", "content": ""} for n in range(20_000)], 2)],
        [_claude([{"type": "text", "text": "x"}], 1, "assistant") | {"uuid": f"u{n}"} for n in range(20_000)],
        [_qwen("assistant", {"functionCall": {"name": "a"}}),
         _qwen("tool_result", {"functionResponse": {"name": "b"}})],
    ],
    ids=["unclosed tags", "results of no call", "one answer in many lines", "names that do not meet"],
)  # fmt: skip
def test_a_file_made_to_take_long_does_not(tmp_path: Path, data_dir: Path, lines: list[Any]) -> None:
    """Twice the file, twice the time: no pattern or search may look at everything for each of many things."""
    path = tmp_path / "hostile.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{}\n")
    (source,) = find_sources([str(path)])
    began = time.process_time()
    list(Importing(load_config()).take(source)[1])

    assert time.process_time() - began < 30
