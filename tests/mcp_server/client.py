"""The official client at the other end of a real `agentdbg mcp`, whichever major version of it is installed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


@dataclass(frozen=True)
class Answered:
    """What a tool answered."""

    text: str
    is_error: bool

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def bytes(self) -> int:
        return len(self.text.encode())


class Assistant:
    """A session of the official client; names differ between its major versions, what is on the wire does not."""

    def __init__(self, session: Any) -> None:
        self.session = session

    async def hello(self) -> dict[str, Any]:
        return _plain(await self.session.initialize())

    async def tools(self) -> list[dict[str, Any]]:
        return list(_plain(await self.session.list_tools())["tools"])

    async def call(self, name: str, **arguments: Any) -> Answered:
        said = _plain(await self.session.call_tool(name, arguments))
        assert [block["type"] for block in said["content"]] == ["text"]
        return Answered(said["content"][0]["text"], bool(said.get("isError")))

    async def resources(self, cursor: str | None = None) -> dict[str, Any]:
        # Both versions ask for a page with these parameters; 2.x no longer takes the bare cursor.
        from mcp import types

        given = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        return _plain(await self.session.list_resources(params=given))

    async def templates(self) -> list[dict[str, Any]]:
        return list(_plain(await self.session.list_resource_templates())["resourceTemplates"])

    async def read(self, uri: str) -> dict[str, Any]:
        contents = _plain(await self.session.read_resource(uri))["contents"]
        assert len(contents) == 1
        return dict(contents[0])


def talk(
    data_dir: Path,
    conversation: Callable[[Assistant], Awaitable[None]],
    options: tuple[str, ...] = (),
    cwd: Path | None = None,
    **environment: str,
) -> None:
    """Start the server as an assistant would, greet it, and hold the conversation."""
    asyncio.run(_talk(data_dir, conversation, environment, options, cwd))


async def _talk(
    data_dir: Path,
    conversation: Callable[[Assistant], Awaitable[None]],
    more: dict[str, str],
    options: tuple[str, ...],
    cwd: Path | None,
) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    environment = {"AGENTDBG_DATA_DIR": str(data_dir), "HOME": os.environ["HOME"], **more}
    words = ["-m", "agentdbg", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment, cwd=cwd)
    async with stdio_client(server) as (answers, questions), ClientSession(answers, questions) as session:
        assistant = Assistant(session)
        await assistant.hello()
        await conversation(assistant)


def _plain(result: Any) -> dict[str, Any]:
    said: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return said


def every_call(run: str, other: str) -> dict[str, dict[str, Any]]:
    """A sensible call of every tool, on two runs; a tool without one here fails the tests that use it."""
    return {
        "list_runs": {},
        "explain_run": {"run": run},
        "read_events": {"run": run},
        "read_event": {"run": run, "event": "2"},
        "search_run": {"run": run, "text": "o"},
        "find": {"text": "o"},
        "where_from": {"run": run, "event": "2"},
        "compare_runs": {"a": run, "b": other},
        "validate_run": {"run": run},
    }
