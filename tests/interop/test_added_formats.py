"""A package can bring a format of its own: an entry point, and a module with three names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.files import CHAT, agentdbg, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

_MODULE = """
from agentdbg.interop.drafts import RunDraft, model_call, tool_call

TITLE = "tidelog"

def recognises(source):
    return source.path.suffix == ".tide"

def read(source):
    for place, entry in source.documents:
        answered = model_call(entry["model"], entry["prompt"], entry["answer"], key="1", duration_ms=5)
        used = tool_call("gauge", entry["prompt"], 3, parent="1")
        yield RunDraft(identity=entry["id"], name=entry["task"], format="tide", steps=[answered, used], entry=place)
"""


def _install(folder: Path, module: str, *points: str) -> str:
    """What installing a package leaves behind."""
    (folder / "tidelog.py").write_text(module)
    facts = folder / "tidelog-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: tidelog\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[agentdbg.importers]\n" + "\n".join(points) + "\n")
    return str(folder)


def test_an_installed_package_brings_its_format(tmp_path: Path) -> None:
    """It is found, tried before the others, and named in --format."""
    site = tmp_path / "site"
    site.mkdir()
    path = write(
        tmp_path / "a.tide", {"id": 1, "task": "measure", "model": "m", "prompt": "how high?", "answer": "3 m"}
    )
    installed = _install(site, _MODULE, "tide = tidelog")

    ran = agentdbg("import", path, PYTHONPATH=installed)
    named = agentdbg("import", path, "--format", "tide", PYTHONPATH=installed)
    without = agentdbg("import", path.rename(tmp_path / "b.tide"), "--format", "tide")

    assert ran.code == 0, ran.err
    assert "a.tide  tidelog  1 run, 4 events" in ran.out
    assert named.code == 0, named.err
    assert "no format 'tide'" in without.err


def test_a_package_that_is_broken_costs_nothing_but_itself(tmp_path: Path) -> None:
    """Somebody else's mistake must not keep a user from their own files."""
    site = tmp_path / "site"
    site.mkdir()
    installed = _install(site, "TITLE = 1 / 0", "tide = tidelog", "gone = nowhere_at_all")

    ran = agentdbg("import", write(tmp_path / "chat.json", CHAT), PYTHONPATH=installed)

    assert ran.code == 0
    assert "chat transcript  1 run" in ran.out
    assert "the importer tide cannot be loaded (ZeroDivisionError" in ran.err
    assert "the importer gone cannot be loaded (ModuleNotFoundError" in ran.err
