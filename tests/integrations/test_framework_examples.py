"""The examples run without a key and tell the same story, and the pages say what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.fake_openai_server import Answer, FakeServer, Request
from tests.docs.pages import blocks, every_sample, lines_of, steady_output
from tests.integrations.story import SUMMARY, check_tree

if TYPE_CHECKING:
    from tests.conftest import Recorded

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "anthropic": ("anthropic", "anthropic.md"),
    "crewai": ("crewai", "crewai.md"),
    "langgraph": ("langchain_openai", "langchain.md"),
    "litellm": ("litellm", "litellm.md"),
    "openai": ("openai", "openai.md"),
    "openai_agents": ("agents", "openai-agents.md"),
    "pydantic_ai": ("pydantic_ai", "pydantic_ai.md"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_is_recorded(name: str, tmp_path: Path, recorded: Recorded) -> None:
    """It is the first thing somebody tries with their own framework."""
    package, page = EXAMPLES[name]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed here")
    script = ROOT / "examples" / name / "main.py"
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=True
    )

    run = recorded.only()
    assert (run.meta["status"], run.meta["counts"]["llm_calls"], run.meta["counts"]["tool_calls"]) == ("ok", 2, 2)
    check_tree(run)
    hint, said = done.stdout.splitlines()
    assert said == SUMMARY
    assert hint == f"recorded; see it with: agentdbg view {run.meta['run_id'][:8]}"
    with every_sample(f"docs/integrations/{page}") as was_compared:
        for command, expected in lines_of(f"docs/integrations/{page}"):
            if command.startswith("python examples/"):
                assert steady_output(done.stdout) == steady_output(expected)
                was_compared(command)
            elif command.startswith("agentdbg show "):
                words = [sys.executable, "-m", "agentdbg", "show", run.meta["run_id"]]
                shows = subprocess.run(words, env=os.environ, capture_output=True, encoding="utf-8", check=True)
                assert _whatever_order(shows.stdout) == _whatever_order(expected)
                was_compared(command)


def _whatever_order(shown: str) -> list[str]:
    """The lines of `agentdbg show`: two tools that run side by side end, and are numbered, as it happens."""
    return sorted(re.sub(r"^ *\d+ (?=[ ●■▾])", "", line) for line in steady_output(shown).splitlines())


def _shop(request: Request) -> Answer:
    """Look the order up, refund too much, and take a refusal well."""
    results = request.tool_results
    if len(results) < 2:
        calls = [("refund", {"order_id": "A-17", "amount": 400})] if results else [("find_order", {"order_id": "A-17"})]
        return Answer(calls=calls)
    return Answer(text="I cannot refund more than was paid." if "refused" in results[-1] else "I have refunded 400.")


def _order(request: Request) -> Answer:
    """Look the order up under the number that the customer wrote."""
    results = request.tool_results
    if not results:
        return Answer(calls=[("find_order", {"order_id": "a-17"})])
    return Answer(text=f"Your order: {results[-1]}.")


TUTORIALS = {"openai-agents.md": ("agents", _shop), "langgraph.md": ("langchain_openai", _order)}


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line; the model is a server on this machine, and only what is recorded asks it."""
    package, model = TUTORIALS[name]
    pytest.importorskip(package)
    with FakeServer(model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:asyncio")  # which warns of a setting that a newcomer lacks
        folder = tmp_path / "shop"
        folder.mkdir()
        compared = []
        for block in blocks((ROOT / "docs" / "tutorials" / name).read_text(encoding="utf-8")):
            if block.language == "python":
                (folder / "agent.py").write_text(block.text, encoding="utf-8")
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                words = [sys.executable, "-m", *shlex.split(command)]
                asked = len(server.requests)
                done = subprocess.run(words, cwd=folder, capture_output=True, encoding="utf-8", check=False)

                assert steady_output(done.stdout + done.stderr) == steady_output(expected), command
                compared.append(command)
                assert command.startswith(("agentdbg run", "agentdbg fork")) or len(server.requests) == asked, command
        with every_sample(f"docs/tutorials/{name}") as was_compared:
            for command in compared:
                was_compared(command)
