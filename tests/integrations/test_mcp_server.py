"""`agentdbg mcp` beside the frameworks: they pin one major version of the official SDK or the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_server.client import Assistant, every_call, talk
from tests.mcp_server.runs import ordinary

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("mcp")
pytestmark = pytest.mark.frameworks


def test_the_server_speaks_with_the_sdk_that_is_installed(data_dir: Path) -> None:
    """Whoever debugs an agent has AgentDbg in the agent's environment, with the SDK its framework wants."""
    run, other = ordinary(data_dir), ordinary(data_dir, "another", "Lima")
    answers: dict[str, Any] = {}

    async def conversation(assistant: Assistant) -> None:
        listed = await assistant.tools()
        assert all(tool["annotations"]["readOnlyHint"] for tool in listed)
        for name, arguments in every_call(run, other).items():
            answers[name] = (await assistant.call(name, **arguments)).json
        assert set(answers) == {tool["name"] for tool in listed}
        assert (await assistant.call("list_runs", limit="many")).is_error
        assert "book a flight" in (await assistant.read(f"agentdbg://runs/{run}"))["text"]
        with pytest.raises(Exception, match="no run matches"):
            await assistant.read("agentdbg://runs/ffffffff")

    talk(data_dir, conversation)

    assert answers["explain_run"]["run"]["run_id"] == run
