# ruff: noqa: N999 -- the command is called `import`, and a command is found by the name of its module
"""`agentdbg import`, under the name it is called by; the work is in `import_runs`, whose name can be imported."""

from __future__ import annotations

from agentdbg.commands.import_runs import EXAMPLES, command

__all__ = ["EXAMPLES", "command"]
