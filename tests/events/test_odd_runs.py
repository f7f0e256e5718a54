"""However odd the lines of a stored run are, everybody who counts it says the same."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.storage.reader import load_run_meta
from tests.events.faces import disagreement, in_public, in_python
from tests.events.odd_runs import store_odd_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

_SEVERAL = 12
_MANY = 300


def test_readers_count_odd_runs_alike(data_dir: Path) -> None:
    """With run.json and without it: one counter counts for all of them."""
    for seed in range(_SEVERAL):
        assert _disagreement(data_dir, seed, in_python) == "", seed


@pytest.mark.slow
def test_readers_count_hundreds_of_odd_runs_alike(data_dir: Path) -> None:
    """What is odd in one line of a hundred needs many of them."""
    for seed in range(_SEVERAL, _MANY):
        assert _disagreement(data_dir, seed, in_python) == "", seed


@pytest.mark.slow
def test_commands_count_odd_runs_alike(data_dir: Path, cli: Callable[..., Ran]) -> None:
    """What a user sees: the commands, the viewer, an assistant, and a run that is exported and imported again."""
    for seed in range(_MANY, _MANY + _SEVERAL):
        assert _disagreement(data_dir, seed, lambda *run: in_public(cli, *run)) == "", seed


def _disagreement(data_dir: Path, seed: int, ask: Callable[[Path, str], dict[str, dict[str, Any]]]) -> str:
    shutil.rmtree(data_dir, ignore_errors=True)
    run_id = store_odd_run(data_dir, random.Random(seed))
    told = {f"{face}, without run.json": totals for face, totals in ask(data_dir, run_id).items()}
    shutil.rmtree(data_dir / "index", ignore_errors=True)
    (data_dir / "runs" / run_id / "run.json").write_text(json.dumps(load_run_meta(run_id, data_dir)))
    return disagreement({**told, **ask(data_dir, run_id)})
