"""`agentdbg mcp`: the stored runs for a coding assistant."""

from __future__ import annotations

import sys

from agentdbg.exceptions import UsageError
from agentdbg.mcp_server.protocol import serve
from agentdbg.storage.reader import default_data_dir

EXAMPLES = """
claude mcp add agentdbg -- agentdbg mcp
codex mcp add agentdbg -- agentdbg mcp
AGENTDBG_DATA_DIR=./runs agentdbg mcp
"""


def command() -> None:
    """
    Serve the stored runs to a coding assistant over the Model Context Protocol, on stdin and stdout.

    The assistant starts this itself; docs/mcp.md says how to tell it to. It only reads: nothing is changed, and
    nothing leaves this machine but what the assistant is answered. Needs the package mcp: `pip install "mcp>=1.23"`.
    """
    if sys.stdin.isatty():
        raise UsageError(
            "`agentdbg mcp` speaks to an assistant, which starts it itself; "
            "add it there, for example with `claude mcp add agentdbg -- agentdbg mcp`"
        )
    serve(default_data_dir())
