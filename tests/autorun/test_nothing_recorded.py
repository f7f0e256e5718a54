"""A run in which nothing was seen says what the program used, and the doctor what would record it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentdbg.autorun.known_packages import KNOWN_PACKAGES
from agentdbg.commands.script_imports import packages_imported_by

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAM = """
import sys, types
sys.modules["ollama"] = types.ModuleType("ollama")
from agentdbg import record_tool_call
if len(sys.argv) > 1:
    record_tool_call("search")
"""


def _run(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "agentdbg", "run", "agent.py", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True).stderr


@pytest.mark.slow
def test_a_run_without_calls_names_what_was_loaded(tmp_path: Path) -> None:
    """`ok, 2 events` looks like success; the user has to hear that the model was not seen."""
    (tmp_path / "agent.py").write_text(_PROGRAM)

    empty, full = _run(tmp_path), _run(tmp_path, "record")
    assert empty.count("\n") == 2
    assert "no model or tool call was recorded, although the program used ollama" in empty
    assert empty.endswith("agentdbg doctor agent.py\n")
    assert full.count("\n") == 1


def test_the_doctor_finds_what_a_program_imports_without_running_it(tmp_path: Path) -> None:
    """Also in functions, and in the program's own modules beside it."""
    (tmp_path / "helpers.py").write_text("def f():\n    import ollama\nfrom langchain_openai import ChatOpenAI\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("from google import genai\n")
    script = tmp_path / "agent.py"
    script.write_text("import helpers\nfrom pack import x\nimport json\nraise SystemExit('not to be run')\n")

    assert packages_imported_by(str(script)) == ["google.genai", "langchain_core", "ollama"]


@pytest.mark.slow
def test_a_run_with_calls_names_what_nothing_records(tmp_path: Path) -> None:
    """One call that was seen does not make those that were not visible."""
    (tmp_path / "agent.py").write_text(
        _PROGRAM.replace("ollama", "xai_sdk") + "import httpx2\n"
        "from agentdbg.integrations._http_exchange import begin_exchange\n"
        "begin_exchange('POST', 'api.openai.com', '/v1/images/generations', None)\n"
    )

    said = _run(tmp_path, "record")
    assert "not recorded unless @llm is put around them: calls of xai_sdk, " in said
    assert "requests to api.openai.com/v1/images/generations; see agentdbg doctor agent.py" in said
    assert said.count("\n") == 2


@pytest.mark.parametrize("package", sorted(KNOWN_PACKAGES))
def test_a_package_that_is_known_is_found_by_the_doctor(tmp_path: Path, package: str) -> None:
    """Also where nothing records it, which is what its user has to hear."""
    script = tmp_path / "agent.py"
    script.write_text(f"import {package}\n")

    assert package in packages_imported_by(str(script))


@pytest.mark.slow
def test_an_installed_script_is_run_by_its_name(tmp_path: Path) -> None:
    """Nobody types the path of pytest or uvicorn."""
    (tmp_path / "test_one.py").write_text(
        "from agentdbg import record_tool_call\ndef test_one():\n    record_tool_call('search')\n"
    )
    command = [sys.executable, "-m", "agentdbg", "run", "pytest", "-q", "-p", "no:cacheprovider", "test_one.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    assert result.returncode == 0, result.stderr
    assert "1 passed" in result.stdout
    assert "3 events" in result.stderr
