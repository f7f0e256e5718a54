"""
What the user asked to leave out: `args.date`, `result.items[*].price`, `prompt`.

A path names a part of a step the way differences are shown. `*` stands for one key or position, and a path leaves out
everything below it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.value_text import parse_embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Ignored", "segments_of"]

_GROUPS = {"prompt": ("appended", "system", "tools", "parameters")}


def segments_of(path: str) -> list[str]:
    """`result.items[0].price` as its steps."""
    return [part for part in re.split(r"[.\[\]]+", path.strip()) if part]


class Ignored:
    """Paths to leave out. `payload.args` and `args` mean the same."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths: list[list[str]] = []
        for path in paths:
            parts = segments_of(path.removeprefix("payload."))
            for first in _GROUPS.get(parts[0], parts[:1]) if parts else ():
                self._paths.append([first, *parts[1:]])

    def strip(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content without what is left out; the original stays as it is."""
        for path in self._paths:
            content = _without(content, path)
        return content


def _without(value: Any, path: list[str]) -> Any:
    opened = parse_embedded(value)
    if isinstance(opened, dict):
        hit = [key for key in opened if fnmatchcase(str(key), path[0])]
        if not hit:
            return value
        if len(path) == 1:
            return {key: item for key, item in opened.items() if key not in hit}
        return {key: _without(item, path[1:]) if key in hit else item for key, item in opened.items()}
    if isinstance(opened, list):
        if len(path) == 1:
            return [item for at, item in enumerate(opened) if not fnmatchcase(str(at), path[0])]
        return [_without(item, path[1:]) if fnmatchcase(str(at), path[0]) else item for at, item in enumerate(opened)]
    return value
