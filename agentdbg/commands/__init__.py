"""
The commands of `agentdbg`, one file each.

A command's module has a function `command`, whose docstring is its help, and `EXAMPLES`. It is imported when that
command runs, and imports what it needs then, so that listing runs does not load a web server.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["command_module"]

# Words of Python's own cannot be the name of a module that somebody imports, and no two modules have one name.
_OTHER_NAMES = {
    "assert": "assert_run",
    "effects": "effects_learn",
    "gate": "gate_suite",
    "import": "import_runs",
    "prices": "price_list",
}


def command_module(name: str) -> Any:
    """The module of the command that people call `name`, or another of these modules that not every call needs."""
    return importlib.import_module(f"{__name__}.{_OTHER_NAMES.get(name, name)}")
