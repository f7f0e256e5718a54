"""
A run as one HTML file: the viewer's own page with the run inside, for someone who has neither.

The file opens from disk, asks nobody for anything and says in a receipt what was left out of it. What it holds is what
the viewer's server would have answered, made by the same functions and compressed in blocks, so that a long run opens
as quickly as a short one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.index.run_index import load_run_meta
from agentdbg.interop.html_file.page import page_around

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.config import Config

__all__ = ["html_pieces"]


def html_pieces(run_id: str, config: Config, progress: Callable[[float], object] | None = None) -> Iterator[bytes]:
    """
    The file piece by piece; what is held at any time does not grow with the run, except for its columns.

    `progress` is told how much is done, from 0 to 1.
    """
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
