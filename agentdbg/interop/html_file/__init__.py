"""
A run as one HTML file: the viewer's own page with the run inside, for someone who has neither.

The file opens from disk, asks nobody for anything and says in a receipt what was left out of it. What it holds is what
the viewer's server would have answered, made by the same functions and compressed in blocks, so that a long run opens
as quickly as a short one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentdbg.index.run_index import load_run_meta
from agentdbg.interop.html_file.page import page_around
from agentdbg.storage.layout import open_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.config import Config

__all__ = ["html_pieces", "write_html"]


def write_html(run_id: str, config: Config, out_path: Path, progress: Callable[[float], object] | None = None) -> None:
    """Write the run to `out_path`, for this user alone; `progress` is told how much is done, from 0 to 1."""
    with os.fdopen(open_private(out_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        for piece in html_pieces(run_id, config, progress):
            file.write(piece)


def html_pieces(run_id: str, config: Config, progress: Callable[[float], object] | None = None) -> Iterator[bytes]:
    """The file piece by piece; what is held at any time does not grow with the run, except for its columns."""
    from agentdbg.interop.html_file.contents import Contents  # noqa: PLC0415 -- most viewers never make a file

    run = load_run_meta(run_id, config.data_dir)
    contents = Contents(run, config)
    try:
        before, script, after = page_around(run)
        yield before
        # What the first screen needs stands before the code, so that nothing is waited for.
        yield from contents.opening()
        yield script
        yield from contents.rest(progress or _quietly)
        yield after
    finally:
        contents.close()


def _quietly(_: float) -> None:
    """Nobody watches."""
