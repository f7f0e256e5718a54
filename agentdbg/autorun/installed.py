"""
Find the integrations that other packages bring.

A package offers one with an entry point in the group `agentdbg.integrations`: the entry point's name is the package to
wait for, its value a module with a function `enable`, or `module:function`. This reads the files that installers write
by itself, because `importlib.metadata` takes longer to load than all the rest of a start.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GROUP", "Offer", "offered_integrations"]

GROUP = "agentdbg.integrations"
_FOLDERS = (".dist-info", ".egg-info")
_LARGEST_FILE = 1 << 20


class Offer(NamedTuple):
    """One entry point: the package that it records, and what enables it."""

    package: str
    target: str


def offered_integrations() -> list[Offer]:
    """List what the installed packages offer, each once, in the order of `sys.path`."""
    found = (
        offer
        for folder in sys.path
        if type(folder) is str
        for text in _entry_points_in(folder)
        for offer in _offers(text)
    )
    return list(dict.fromkeys(found))


def _entry_points_in(folder: str) -> Iterator[str]:
    """The text of each `entry_points.txt` in a folder that mentions the group."""
    try:
        names = sorted(os.listdir(folder or os.curdir))
    except (OSError, ValueError):  # an archive, a folder that is gone, or no path at all
        return
    for name in names:
        if not name.endswith(_FOLDERS):
            continue
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read(_LARGEST_FILE)
        except (OSError, ValueError):
            continue
        if GROUP in text:
            yield text


def _offers(text: str) -> Iterator[Offer]:
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]").strip()
        elif section == GROUP and not line.startswith(("#", ";")):
            name, equals, value = line.partition("=")
            target = value.partition("[")[0].strip()  # what follows are extras that it needs
            if equals and name.strip() and target:
                yield Offer(name.strip(), target)
