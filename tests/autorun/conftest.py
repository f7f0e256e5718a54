"""Programs run twice: by plain Python, and by `agentdbg run`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# What the installed command `agentdbg` contains.
COMMAND = "import sys\nfrom agentdbg.cli import main\nsys.exit(main())\n"


class Programs:
    """A folder of little programs, and the two ways to run them."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.folder = folder
        command = bin_folder / "agentdbg"
        command.write_text(COMMAND)
        self.run_command = [sys.executable, str(command), "run"]

    def write(self, name: str, source: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return name

    def plain(self, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        return self.start([sys.executable, *words], **options)

    def recorded(self, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        return self.start([*self.run_command, *words], **options)

    def start(
        self, command: list[str], given: bytes = b"", environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            cwd=self.folder,
            input=given,
            capture_output=True,
            timeout=60,
            check=False,
            env={**os.environ, **(environment or {})},
        )


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    folder, bin_folder = tmp_path / "programs", tmp_path / "bin"
    folder.mkdir()
    bin_folder.mkdir()
    return Programs(folder, bin_folder)


def without_our_line(stderr: bytes) -> bytes:
    """What the program itself said on stderr."""
    return b"".join(line for line in stderr.splitlines(keepends=True) if not line.startswith(b"agentdbg: "))
