"""
Name the optional packages that a command needs, and how to install them.

A hint names the packages themselves: it works wherever AgentDbg came from, a checkout, a wheel or a private index.
A test holds this list to the one in pyproject.toml.
"""

from __future__ import annotations

import importlib
from typing import Any

from agentdbg.exceptions import UsageError

__all__ = ["EXTRAS", "install_hint", "load_extra"]

EXTRAS: dict[str, tuple[str, ...]] = {
    "mcp": ("mcp>=1.23",),
    "otlp": ("opentelemetry-proto>=1.25",),
    "replay": ("time-machine>=2.14",),
    "sql": ("duckdb>=1.2", "pyarrow>=18"),
}


def install_hint(extra: str) -> str:
    """The command that installs what `extra` needs."""
    packages = " ".join(f'"{package}"' for package in EXTRAS[extra])
    return f"pip install {packages}"


def load_extra(extra: str, module: str, who_needs_it: str) -> Any:
    """A module of an optional package, loaded; UsageError says who needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UsageError(f"{who_needs_it}, which is not installed: {install_hint(extra)}") from None
