"""
Read a file that a project wrote by hand, as YAML that means what it says (`bounded.strict_loading` says how).

YAML takes its time to load, and few projects have such a file: it is loaded when there is one to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.bounded.files import read_small

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_strictly"]


def read_strictly(path: Path) -> Any:
    """The one document in a file; OSError where it cannot be read, ValueError that says what is wrong with it."""
    from agentdbg.bounded.strict_loading import LONGEST_YAML, load_strictly  # noqa: PLC0415 -- see above

    return load_strictly(read_small(path, LONGEST_YAML).decode())
