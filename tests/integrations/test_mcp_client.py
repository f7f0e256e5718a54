"""What an MCP client asks a server for is recorded, can be answered in the server's place, and the server is linked."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentdbg import around, tool, traced_run
from agentdbg.analysis.effects import Effect, effect_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.events import Event
    from tests.conftest import Recorded

mcp = pytest.importorskip("mcp")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

SERVER = """
import sys
try:
    from mcp.server import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer
server = MCPServer("weather")
with open(sys.argv[1], "a") as file:
    file.write("started\\n")

@server.tool()
def get_weather(city: str) -> str:
    with open(sys.argv[1], "a") as file:
        file.write(city + "\\n")
    if city == "Atlantis":
        raise ValueError("no weather station in Atlantis")
    return "3 degrees in " + city

try:
    from mcp.types import ToolAnnotations
except ImportError:
    from mcp_types import ToolAnnotations

@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def frobnicate(city: str) -> str:
    return "ok"

@server.tool(annotations=ToolAnnotations(readOnlyHint=False, destructiveHint=True))
def wibble(city: str) -> str:
    return "ok"

@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def delete_station(city: str) -> str:
    return "ok"

@server.resource("note://one")
def note() -> str:
    return "a note"

@server.prompt()
def greeting(name: str) -> str:
    return "Hello " + name

server.run("stdio")
"""


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    from agentdbg.integrations import mcp_client as integration

    integration.enable()
    yield
    integration.disable()


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER)
    return [str(tmp_path / "server.py"), str(tmp_path / "log")]


async def _story(server: list[str]) -> list[Any]:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    seen: list[Any] = []
    parameters = StdioServerParameters(command=sys.executable, args=server)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as opened:
        session: Any = opened
        await session.initialize()
        seen.append([one.name for one in (await session.list_tools()).tools])
        cities = ("Oslo", "Lima", "Atlantis")
        results = await asyncio.gather(*(session.call_tool("get_weather", {"city": city}) for city in cities))
        seen += [result.content[0].text for result in results]
        seen.append((await session.read_resource("note://one")).contents[0].text)
        seen.append((await session.get_prompt("greeting", {"name": "Ada"})).messages[0].content.text)
    return seen


def test_what_is_asked_of_a_server_is_recorded(server: list[str], recorded: Recorded) -> None:
    """A tool that runs in another process is a tool of the agent all the same; its failure is one."""
    with traced_run("asks"):
        asyncio.run(_story(server))

    calls = [event["payload"] for event in recorded.only().of_type("TOOL_CALL")]
    by_city = {call["args"]["city"]: call for call in calls if "city" in call["args"]}
    assert by_city.keys() == {"Oslo", "Lima", "Atlantis"}
    assert "3 degrees in Oslo" in json.dumps(by_city["Oslo"]["result"])
    assert [by_city[city]["status"] for city in ("Oslo", "Lima", "Atlantis")] == ["ok", "ok", "error"]
    assert "get_weather" in by_city["Atlantis"]["error"]["message"]  # newer servers keep the rest to themselves
    assert [call["tool_name"] for call in calls if "city" not in call["args"]] == ["read_resource", "get_prompt"]
    assert recorded.only().meta["counts"]["tool_calls"] == 5


def test_a_recorded_session_can_be_answered_without_its_server(server: list[str], tmp_path: Path) -> None:
    """A replay starts no process: connecting, the beginning of a session and every request are answered."""
    notes: dict[str, list[Any]] = {}

    class Notes(around.Decider):
        asks_http = True

        def ended(self, call: around.AnnouncedCall, outcome: around.Outcome) -> None:
            if call.kind == "mcp":
                notes.setdefault(_key(call), []).append(json.loads(json.dumps(outcome.value)))

    class Plays(around.Decider):
        asks_http = True

        def decide(self, call: around.AnnouncedCall) -> around.Answer | None:
            return around.Answer(notes[_key(call)].pop(0)) if call.kind == "mcp" else None

    def _key(call: around.AnnouncedCall) -> str:
        return json.dumps([call.name, call.input], sort_keys=True)

    with traced_run("live"), around.deciding(Notes()):
        live = asyncio.run(_story(server))
    log = (tmp_path / "log").read_text()
    with traced_run("served"), around.deciding(Plays()):
        served = asyncio.run(_story(server))

    assert served == live
    assert (tmp_path / "log").read_text() == log
    assert not any(notes.values())


def test_a_tool_that_only_passes_the_call_on_is_not_recorded_twice(server: list[str], recorded: Recorded) -> None:
    """Frameworks wrap a server's tools in their own; one call is one event."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def main() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=server)
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()

            @tool
            async def get_weather(city: str) -> Any:
                return await session.call_tool("get_weather", {"city": city})

            await get_weather("Oslo")

    with traced_run("wrapped"):
        asyncio.run(main())

    assert recorded.only().one("TOOL_CALL")["payload"]["args"] == {"city": "Oslo"}


def test_a_server_that_a_recorded_program_starts_is_a_run_of_its_own(
    server: list[str], recorded: Recorded, tmp_path: Path
) -> None:
    """What the server does belongs to the story too; its run names the one that started it."""
    (tmp_path / "client.py").write_text(
        textwrap.dedent("""
        import asyncio, sys
        from mcp import ClientSession, StdioServerParameters, stdio_client

        async def main():
            server = StdioServerParameters(command=sys.executable, args=sys.argv[1:])
            async with stdio_client(server) as streams, ClientSession(*streams) as session:
                await session.initialize()
                print((await session.call_tool("get_weather", {"city": "Oslo"})).content[0].text)

        asyncio.run(main())
        """)
    )
    words = [sys.executable, "-m", "agentdbg", "run", str(tmp_path / "client.py"), *server]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)

    assert (result.stdout, result.returncode) == ("3 degrees in Oslo\n", 0), result.stderr
    first, *others = sorted(recorded.all(), key=lambda run: run.meta["started_at"])
    assert first.one("TOOL_CALL")["payload"]["tool_name"] == "get_weather"
    assert [run.meta["metadata"]["parent_run_id"] for run in others] == [first.meta["run_id"]]


def test_what_a_server_says_of_its_tools_is_their_effect(server: list[str], recorded: Recorded) -> None:
    """Nobody has to say again in a policy what the server's own list says; a hint that cannot be true is none."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def story() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=server)
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            await session.list_tools()
            for name in ("frobnicate", "wibble", "delete_station", "get_weather"):
                await session.call_tool(name, {"city": "Oslo"})

    with traced_run("effects"):
        asyncio.run(story())
    calls = recorded.only().of_type("TOOL_CALL")
    effects = {event["name"]: effect_of(cast("Event", event)) for event in calls}

    assert effects["frobnicate"] == Effect("read", "declared")
    assert effects["wibble"] == Effect("write", "declared")
    assert effects["delete_station"] == Effect("write", "guessed")
    assert effects["get_weather"] == Effect("read", "guessed")
