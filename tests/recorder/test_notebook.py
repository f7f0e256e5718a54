"""In a notebook a run shows itself below the cell that made it, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.running import viewer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

_AGENT = """\
from agentdbg import record_llm_call, tool, trace

@tool
def search(query):
    return "<b>rain</b>"

@trace("<script>pack</script>")
def agent(fails=False):
    record_llm_call("gpt-4o", prompt="hi", response="ho")
    search("Oslo")
    if fails:
        raise ValueError("no")
    return "a raincoat"
"""


@pytest.fixture(autouse=True)
def _private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter writes into the home folder, which tests have not."""
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path))


def _outputs(*cells: str) -> list[list[Any]]:
    """What a real kernel shows below each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True).execute()
    return [cell["outputs"] for cell in notebook.cells]


def test_a_run_shows_itself_below_its_cell(data_dir: Path) -> None:
    """People look at the output of the cell they ran; another window is one step too many to begin with."""
    defined, good, quiet, failed = _outputs(_AGENT, "agent()", "1 + 1", "agent(fails=True)")

    (shown,) = [output["data"] for output in good if output["output_type"] == "display_data"]
    (run,) = [folder.name for folder in (data_dir / "runs").iterdir() if folder.name[:8] in shown["text/plain"]]
    assert shown["text/plain"].startswith("✓ Finished  <script>pack</script> · ")
    assert f"1 LLM call · 1 tool call  (agentdbg view {run[:8]})" in shown["text/plain"]
    assert "&lt;script&gt;pack" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert defined == []
    assert [output["output_type"] for output in quiet] == ["execute_result"]
    assert any("✕ Failed" in output["data"]["text/plain"] for output in failed if "data" in output)


def test_many_runs_of_a_cell_are_few_lines(data_dir: Path) -> None:
    """A loop over a hundred questions must not push its own output off the screen."""
    _, many = _outputs(_AGENT, "for _ in range(9): agent()")

    assert len(list((data_dir / "runs").iterdir())) == 9
    (shown,) = [output["data"]["text/plain"] for output in many if output["output_type"] == "display_data"]
    assert len(shown.splitlines()) == 4
    assert shown.endswith("and 6 more: agentdbg list")


def test_a_terminal_shows_nothing(data_dir: Path) -> None:
    """IPython in a terminal is a program like any other."""
    code = f"import IPython\n{_AGENT}\nagent()\nIPython.get_ipython()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert len(list((data_dir / "runs").iterdir())) == 1
    assert (done.stdout, done.stderr) == ("", "")


def test_a_cell_is_no_file_and_a_viewer_that_serves_is_one_click_away(data_dir: Path) -> None:
    """A kernel's temporary folder says nothing; whoever has the page open should not have to type an id."""
    plain = _AGENT.replace('@trace("<script>pack</script>")', "@trace")
    with viewer(data_dir) as running:
        _, good = _outputs(plain, "agent()")

    (shown,) = [output["data"] for output in good if output["output_type"] == "display_data"]
    (run,) = [folder.name for folder in (data_dir / "runs").iterdir()]
    assert shown["text/plain"].startswith("✓ Finished  notebook:agent - ")
    assert f'<a href="{running.origin}/?run_id={run}" target="_blank">' in shown["text/html"]
    assert "token" not in shown["text/html"]
