"""One run as one HTML file with the viewer in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.config import load_config
from agentdbg.interop.html_file import html_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.interop.exports.run_content import Progress, Put, Run

__all__ = ["write"]


def write(runs: Sequence[Run], put: Put, progress: Progress) -> None:
    """Write the one run given."""
    (run,) = runs
    for piece in html_pieces(run.run_id, load_config(), progress):
        put(piece)
