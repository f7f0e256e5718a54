"""Our own command in a process of its own, as the page, an assistant or another command of ours asks for it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["start_own_command"]


def start_own_command(words: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start `agentdbg` with these words. No shell reads them; `how` is what `subprocess.Popen` takes besides."""
    command = [sys.executable, "-m", "agentdbg", *words]
    process: subprocess.Popen[bytes] = subprocess.Popen(command, stdin=subprocess.DEVNULL, **how)  # noqa: S603 -- see above
    return process
