"""Which model and agent packages a program imports: its files are read, and nothing is run."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from agentdbg.autorun.known_packages import KNOWN_PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["packages_imported_by"]

_MOST_FILES = 500
_KIN = {"langchain": "langchain_core", "langgraph": "langgraph", "llama_index": "llama_index.core"}
"""Packages whose names begin alike belong together: `langchain_openai` is one of LangChain's."""


def packages_imported_by(script: str) -> list[str]:
    """List what a script, and the modules beside it that it imports, import of the packages that are known."""
    folder, names = os.path.dirname(os.path.abspath(script)), set[str]()
    left, seen = [os.path.abspath(script)], set[str]()
    while left and len(seen) < _MOST_FILES:
        path = left.pop()
        seen.add(path)
        for name in _imports(path):
            names.add(name)
            own = os.path.join(folder, *name.split("."))
            files = (f"{own}.py", os.path.join(own, "__init__.py"))
            left += [file for file in files if file not in seen and os.path.isfile(file)]
    return [package for package in KNOWN_PACKAGES if any(_is_part_of(name, package) for name in names)]


def _imports(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_part_of(name: str, package: str) -> bool:
    if name == package or name.startswith(f"{package}."):
        return True
    return any(name.startswith(beginning) and package == core for beginning, core in _KIN.items())
