"""Hints name the packages that pyproject.toml asks for."""

from __future__ import annotations

from pathlib import Path

from agentdbg.extra_packages import EXTRAS, install_hint


def test_every_extra_is_named_as_the_project_file_names_it() -> None:
    """A hint with another bound installs what does not work."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for extra, packages in EXTRAS.items():
        listed = ", ".join(f'"{package}"' for package in packages)
        assert f"\n{extra} = [{listed}]" in section
    assert section.count(" = [") == len(EXTRAS)


def test_a_hint_can_be_copied_into_a_shell() -> None:
    """An unquoted `>` would write a file."""
    assert install_hint("sql") == 'pip install "duckdb>=1.2" "pyarrow>=18"'
