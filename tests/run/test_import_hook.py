"""Being told when a package is imported, and leaving no trace where it is not."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest

from agentdbg.import_hook import when_imported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that can be imported, and an import system that is put back."""
    monkeypatch.syspath_prepend(str(tmp_path))
    modules, finders = set(sys.modules), list(sys.meta_path)
    yield tmp_path
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_it_is_told_after_the_package_was_executed(folder: Path) -> None:
    """An integration wraps what the package defines, so it has to be defined."""
    (folder / "framework_one.py").write_text("value = 1")
    seen: list[tuple[str, int]] = []
    when_imported(["framework_one"], lambda name: seen.append((name, sys.modules[name].value)))

    import framework_one  # type: ignore[import-not-found]

    importlib.reload(framework_one)
    assert seen == [("framework_one", 1)]


def test_the_hook_is_gone_when_nothing_is_waited_for(folder: Path) -> None:
    """Imports cost what they cost without us once every framework has come."""
    (folder / "framework_two.py").write_text("")
    before = list(sys.meta_path)
    when_imported(["framework_two"], lambda name: None)
    assert sys.meta_path != before

    module = importlib.import_module("framework_two")
    assert sys.meta_path == before
    assert "exec_module" not in vars(module.__loader__)
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__


def test_what_is_imported_already_is_told_at_once(folder: Path) -> None:
    """AGENTDBG_AUTO=1 starts when agentdbg is imported, which may be after the framework."""
    seen: list[str] = []
    when_imported(["json"], seen.append)

    assert seen == ["json"]


def test_a_package_that_fails_is_waited_for_again(folder: Path) -> None:
    """A program may try, fall back, and try again; its exception is its own."""
    (folder / "framework_three.py").write_text(
        "import sys\nif not hasattr(sys, 'ready_three'): raise OSError('not yet')"
    )
    seen: list[str] = []
    when_imported(["framework_three"], seen.append)
    with pytest.raises(OSError, match="not yet"):
        importlib.import_module("framework_three")
    sys.ready_three = True  # type: ignore[attr-defined]
    importlib.import_module("framework_three")

    assert seen == ["framework_three"]
    del sys.ready_three  # type: ignore[attr-defined]


def test_a_package_that_is_not_there_is_not_found(folder: Path) -> None:
    """Most programs try optional packages; ImportError must come as ever, and the wait go on."""
    seen: list[str] = []
    when_imported(["framework_four"], seen.append)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("framework_four")
    (folder / "framework_four").mkdir()
    (folder / "framework_four" / "__init__.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module("framework_four")

    assert seen == ["framework_four"]


def test_other_imports_are_left_alone(folder: Path) -> None:
    """One look into a set is all that other packages see of us."""
    (folder / "unrelated_five.py").write_text("")
    seen: list[str] = []
    when_imported(["framework_five"], seen.append)
    importlib.import_module("unrelated_five")

    assert seen == []
