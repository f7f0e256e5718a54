"""Every tool there is, in the order an assistant would use them."""

from __future__ import annotations

from agentdbg.mcp_server.tools_comparing import COMPARE_RUNS
from agentdbg.mcp_server.tools_events import READ_EVENT, READ_EVENTS, SEARCH_RUN
from agentdbg.mcp_server.tools_runs import FIND, LIST_RUNS
from agentdbg.mcp_server.tools_verdicts import EXPLAIN_RUN, VALIDATE_RUN

__all__ = ["TOOLS"]

TOOLS = {
    tool.name: tool
    for tool in (LIST_RUNS, EXPLAIN_RUN, READ_EVENTS, READ_EVENT, SEARCH_RUN, FIND, COMPARE_RUNS, VALIDATE_RUN)
}
