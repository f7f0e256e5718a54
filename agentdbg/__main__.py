"""
Where the command `agentdbg` and `python -m agentdbg` begin.

`run` goes straight to its own module: an agent should not wait for a command line framework to load.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run one command and exit."""
    if sys.argv[1:2] == ["run"]:
        from agentdbg.commands.run import main as run  # noqa: PLC0415

        run(sys.argv[2:])
    from agentdbg.cli import main as command_line  # noqa: PLC0415

    command_line()


if __name__ == "__main__":
    main()
