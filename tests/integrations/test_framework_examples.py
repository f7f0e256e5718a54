"""The examples run without a key and tell the same story, and the pages say what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integrations.story import SUMMARY, check_tree

if TYPE_CHECKING:
    from tests.conftest import Recorded

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "anthropic": ("anthropic", "anthropic.md"),
    "langgraph": ("langchain_openai", "langchain.md"),
    "openai": ("openai", "openai.md"),
    "openai_agents": ("agents", "openai-agents.md"),
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
    shown = (ROOT / "docs" / "integrations" / page).read_text(encoding="utf-8")
    assert re.sub(r"[0-9a-f]{8}$", "", hint) in shown
    assert said in shown
