"""
The functions of `os` as they were when the recorder was loaded.

A program may replace some of them later: by a file system in memory, or by a guard that refuses whatever may block an
event loop (`langgraph dev` has one). What it does is recorded all the same, and on the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["os"]

if TYPE_CHECKING:
    import os
else:
    import os as _os
    from types import SimpleNamespace

    os = SimpleNamespace(**vars(_os))
