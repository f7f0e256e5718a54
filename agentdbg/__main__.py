"""`python -m agentdbg` is the command `agentdbg`."""

from __future__ import annotations

from agentdbg.cli import main

if __name__ == "__main__":
    main()
