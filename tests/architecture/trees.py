"""The package's files as syntax trees, each read once for all tests that look at them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import agentdbg

__all__ = ["PACKAGE", "PATHS", "tree_of"]

PACKAGE = Path(agentdbg.__file__).parent
PATHS = sorted(PACKAGE.rglob("*.py"))


def tree_of(path: Path) -> ast.Module:
    """The tree of one file."""
    return _trees()[path]


@cache
def _trees() -> dict[Path, ast.Module]:
    # Two million objects that stay: the garbage collector would walk through them again and again while they are made.
    gc.disable()
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}
    finally:
        gc.freeze()
        gc.enable()
