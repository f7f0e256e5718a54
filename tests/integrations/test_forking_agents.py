"""Agents of real frameworks, forked at their steps: what came before is served, what comes after has the change."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from examples.fake_openai_server import INPUT_TOKENS, OUTPUT_TOKENS, Answer, FakeServer, Request

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

TOOL = """
import asyncio, sys
base, mode = sys.argv[1:]
def visit(place: str) -> str:
    '''What is to be seen at a place.'''
    with open("ran.txt", "a") as file:
        file.write(place + "\\n")
    return "seen: " + place
"""
AGENTS = {
    "langgraph": """
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    model = ChatOpenAI(model="m-1", base_url=base, api_key="none", max_retries=0, stream_usage=True)
    agent = create_agent(model, [visit])
    asked = {"messages": [("user", "travel")]}
    async def astream():
        return [state async for _, state in agent.astream(asked, stream_mode=["messages", "values"])][-1]
    if mode == "invoke":
        state = agent.invoke(asked)
    elif mode == "ainvoke":
        state = asyncio.run(agent.ainvoke(asked))
    elif mode == "stream":
        state = [state for _, state in agent.stream(asked, stream_mode=["messages", "values"])][-1]
    else:
        state = asyncio.run(astream())
    print(state["messages"][-1].content)
    """,
    "agents": """
    from openai import AsyncOpenAI
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    client = AsyncOpenAI(base_url=base, api_key="none", max_retries=0)
    model = OpenAIResponsesModel(model="m-1", openai_client=client)
    agent = Agent(name="traveller", model=model, tools=[function_tool(visit)])
    async def run():
        return await Runner.run(agent, "travel")
    async def run_streamed():
        result = Runner.run_streamed(agent, "travel")
        async for event in result.stream_events():
            pass
        return result
    if mode == "run_sync":
        result = Runner.run_sync(agent, "travel")
    else:
        result = asyncio.run(run_streamed() if mode == "run_streamed" else run())
    print(result.final_output)
    """,
}
ROUNDS = 6
# The model asks for a place and the tool gives it, six times; then the model sums up.
STEPS = ["LLM_CALL", "TOOL_CALL"] * ROUNDS + ["LLM_CALL"]
WAYS = [
    *(("langgraph", mode) for mode in ("invoke", "ainvoke", "stream", "astream")),
    *(("agents", mode) for mode in ("run_sync", "run", "run_streamed")),
]


def travel(request: Request) -> Answer:
    """Ask for one place after the other, and tell all that was seen."""
    seen = request.tool_results
    if len(seen) < ROUNDS:
        return Answer(calls=[("visit", {"place": f"place {len(seen)}"})])
    return Answer(text="; ".join(seen))


class Travelled:
    """An agent, recorded once, and a way to fork it."""

    def __init__(self, framework: str, mode: str, folder: Path, server: FakeServer) -> None:
        self._folder, self._server = folder, server
        (folder / "agent.py").write_text(TOOL + textwrap.dedent(AGENTS[framework]))
        self._environment = {
            **os.environ,
            "AGENTDBG_DATA_DIR": str(folder / "data"),
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "OPENAI_API_KEY": "none",
            "PYTHONHASHSEED": "0",
        }
        self.recording = self._agentdbg("run", "agent.py", server.openai_url, mode)
        self.run_dir = next((folder / "data" / "runs").iterdir())

    def fork(self, *options: str) -> tuple[str, list[Request], list[str], Path]:
        """What the fork printed, the requests and the tools that were made for it, and its folder."""
        runs = set((self._folder / "data" / "runs").iterdir())
        requests, ran = len(self._server.requests), len(self.ran())
        done = self._agentdbg("fork", self.run_dir.name[:8], *options)
        assert done.returncode == 0, done.stderr
        (made,) = set((self._folder / "data" / "runs").iterdir()) - runs
        return done.stdout, self._server.requests[requests:], self.ran()[ran:], made

    def ran(self) -> list[str]:
        return (self._folder / "ran.txt").read_text().splitlines()

    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.run_dir.rglob("*") if path.is_file()}

    def _agentdbg(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentdbg", *words]
        return subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def calls_of(run_dir: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (run_dir / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event_type"] in STEPS]


def edit_of(step: int) -> str:
    """Another result of the tool, another place that the model asks for, or another last word."""
    if STEPS[step] == "TOOL_CALL":
        return "result=EDITED"
    if step == len(STEPS) - 1:
        return "response=EDITED"
    return 'response={"content": "", "tool_calls": [{"name": "visit", "arguments": {"place": "EDITED"}}]}'


@pytest.mark.parametrize(("framework", "mode"), WAYS)
def test_each_step_can_be_changed(framework: str, mode: str, tmp_path: Path) -> None:
    """Live calls come only after the cut, the change reaches the model, the parent's bytes stay."""
    if importlib.util.find_spec(framework) is None or importlib.util.find_spec("openai") is None:
        pytest.skip(f"{framework} is not installed")
    if framework == "langgraph" and importlib.util.find_spec("langchain_openai") is None:
        pytest.skip("langchain_openai is not installed")
    with FakeServer(travel) as server:
        agent = Travelled(framework, mode, tmp_path, server)
        assert agent.recording.returncode == 0, agent.recording.stderr
        assert agent.ran() == [f"place {number}" for number in range(ROUNDS)]
        assert len(server.requests) == ROUNDS + 1
        recorded = calls_of(agent.run_dir)
        assert [call["event_type"] for call in recorded] == STEPS
        before = agent.files()

        for step in range(len(STEPS)):
            options = ("--at", recorded[step]["event_id"][:12], "--set", edit_of(step), "--writes", "allow")
            output, requests, ran, made = agent.fork(*options)

            assert agent.files() == before, step
            after = STEPS[step + 1 :]
            assert (len(requests), len(ran)) == (after.count("LLM_CALL"), after.count("TOOL_CALL")), step
            told = json.dumps(requests[0].body) if requests else output
            assert "EDITED" in told, step
            assert "EDITED" in output, step
            assert ("EDITED" in ran) == (STEPS[step] == "LLM_CALL" and bool(ran)), step
            served = [call["payload"].get("served") for call in calls_of(made)]
            assert served == ["recorded"] * step + ["edited"] + [None] * len(after), step
            meta = json.loads((made / "run.json").read_text())
            assert (meta["replay"]["mode"], meta["replay"]["parent_run_id"]) == ("fork", agent.run_dir.name), step
            assert (meta["total_tokens"] or 0) == len(requests) * (INPUT_TOKENS + OUTPUT_TOKENS), step
