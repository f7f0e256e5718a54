"""`agentdbg prices`: what is not known in my runs, and a price of my own that counts from then on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentdbg import llm_call, record_llm_call, traced_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from tests.commands.stored import Ran
    from tests.conftest import Recorded

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "total_tokens": 1_100_000}


def test_an_unknown_model_is_named_until_it_has_a_price(cli: Callable[..., Ran], recorded: Recorded) -> None:
    """Whoever is told what is missing, and what to type, has a cost in the next run."""
    for _ in range(2):
        with traced_run("asked"):
            record_llm_call("house-model", "Hi", "Hello", USAGE)
        before = json.loads(cli("prices", "--json").out)["unknown"]
        ran = cli("prices", "--set", "house-model", "--input", "2", "--output", "10")
        assert ran.code == 0, ran.err

    assert before == {}
    assert [run.meta["cost_usd"] for run in sorted(recorded.all(), key=lambda run: run.meta["started_at"])] == [None, 3]
    assert cli("prices", "--forget", "house-model").code == 0
    assert json.loads(cli("prices", "--json").out)["unknown"] == {"house-model": {"calls": 1, "tokens": 1_100_000}}


def test_prices_come_from_a_package_only_where_it_is_installed(cli: Callable[..., Ran]) -> None:
    """A maintained table is taken when it is there and asked for, never fetched."""
    ran = cli("prices", "--from", "nowhere")

    assert (ran.code, "genai-prices or litellm" in ran.err) == (2, True)


def test_a_limit_in_dollars_says_when_it_cannot_hold(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the model is asked: afterwards the money is spent."""
    monkeypatch.setattr("agentdbg.faults.settings.said", set())
    with traced_run("asked", max_cost_usd=1):
        with llm_call("gpt-4o", prompt="Hi"):
            assert capsys.readouterr().err == ""
        with llm_call("house-model-2", prompt="Hi"):
            said = capsys.readouterr().err

    assert said.startswith("agentdbg: max_cost_usd does not hold for house-model-2")
    assert data_dir.exists()
