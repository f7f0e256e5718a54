"""Integrations are made of what anybody could use, and touch what is private in a framework in one place."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import agentdbg
from agentdbg.public import PUBLIC_MODULES

FOLDER = Path(agentdbg.__file__).parent / "integrations"
FILES = sorted(FOLDER.glob("*.py"))
PRIVATE_NAMES = "_private_names.py"
_PRIVATE = re.compile(r"_[a-z]\w*")
_OF_TEXTS = {"endswith", "startswith", "removeprefix", "removesuffix", "partition", "rpartition", "split"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_integration_imports_public_names_only(path: Path) -> None:
    """Whatever ours needs, that of somebody else needs too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.partition(".")[0] == "agentdbg"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "agentdbg":
            assert node.module is not None
            if not node.module.startswith("agentdbg.integrations"):
                found += [
                    f"{node.module}.{alias.name}" for alias in node.names if not _is_public(node.module, alias.name)
                ]

    assert found == []


def _is_public(module: str, name: str) -> bool:
    return module in PUBLIC_MODULES and name in importlib.import_module(module).__all__


@pytest.mark.parametrize("module", list(PUBLIC_MODULES))
def test_a_public_module_says_what_is_public_in_it(module: str) -> None:
    """A name that is not in `__all__` may change from one day to the next."""
    public = importlib.import_module(module)
    page = Path(__file__).parents[2] / "docs" / "sdk.md"
    needs_a_framework = {"AgentDbgLangChainCallbackHandler"}

    assert all(hasattr(public, name) for name in set(public.__all__) - needs_a_framework)
    assert f"| `{module}` | {PUBLIC_MODULES[module]} |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(agentdbg.around.__all__))
def test_every_name_to_stand_around_calls_with_is_explained(name: str) -> None:
    """Whoever writes an integration reads one page."""
    page = Path(__file__).parents[2] / "docs" / "sdk.md"

    assert re.search(rf"`(?:around\.)?{name}[`(]", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [path for path in FILES if path.name != PRIVATE_NAMES], ids=lambda path: path.stem)
def test_private_names_of_frameworks_stand_in_one_file(path: Path) -> None:
    """A new release of a framework breaks these first; whoever mends it should not have to look for them."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and _PRIVATE.fullmatch(node.attr) and not _is_own(node.value):
            found.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and not _is_about_text(node.func):
            given = [argument for argument in node.args if isinstance(argument, ast.Constant)]
            texts = [argument.value for argument in given if isinstance(argument.value, str)]
            found += [f"{node.lineno}: {text!r}" for text in texts if _PRIVATE.fullmatch(text)]

    assert found == []


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _is_about_text(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr in _OF_TEXTS
