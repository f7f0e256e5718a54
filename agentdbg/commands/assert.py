# ruff: noqa: N999 -- the command is called `assert`, and a command is found by the name of its module
"""`agentdbg assert`, under the name it is called by; the work is in `assert_run`, whose name can be imported."""

from __future__ import annotations

from agentdbg.commands.assert_run import EXAMPLES, command

__all__ = ["EXAMPLES", "command"]
