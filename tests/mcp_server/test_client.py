"""`agentdbg mcp` as an assistant meets it: a real process, the official client, stdin and stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.mcp_server.protocol import TOOLS
from tests.commands.stored import run_in_terminal, run_process
from tests.mcp_server.client import Assistant, every_call, talk
from tests.mcp_server.runs import hostile, huge, ordinary

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_the_official_client_lists_every_tool_with_its_schema_and_that_it_only_reads(data_dir: Path) -> None:
    """An assistant decides by these words whether and how to ask, and whether it may without its user."""
    listed: list[dict[str, Any]] = []

    async def conversation(assistant: Assistant) -> None:
        listed.extend(await assistant.tools())

    talk(data_dir, conversation)

    assert {tool["name"] for tool in listed} == set(TOOLS) == set(every_call("", ""))
    for tool in listed:
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["annotations"]["destructiveHint"] is False
        assert tool["annotations"]["openWorldHint"] is False
        assert len(tool["description"]) > 80
        assert "max_bytes" in tool["inputSchema"]["properties"]
        assert all(member["description"] for member in tool["inputSchema"]["properties"].values())


def test_the_official_client_calls_every_tool(data_dir: Path) -> None:
    """What is listed has to work, on real stdio and not only in this process."""
    run, other = ordinary(data_dir), ordinary(data_dir, "another", "Lima")
    answers: dict[str, Any] = {}

    async def conversation(assistant: Assistant) -> None:
        for name, arguments in every_call(run, other).items():
            answer = await assistant.call(name, **arguments)
            assert not answer.is_error, answer.text
            answers[name] = answer.json

    talk(data_dir, conversation)

    assert [told["run_id"] for told in answers["list_runs"]["runs"]] == sorted([run, other], reverse=True)
    assert answers["explain_run"]["run"]["run_id"] == run
    assert [event["type"] for event in answers["read_events"]["events"]][:3] == ["RUN_START", "LLM_CALL", "TOOL_CALL"]
    assert answers["read_event"]["event"]["payload"]["model"] == "gpt-4o"
    assert answers["search_run"]["matching"] > 0
    assert len(answers["find"]["found"]) == 2
    assert answers["compare_runs"]["verdict"] == "same_effects"
    assert answers["compare_runs"]["first_divergence"]["name"] == "search_flights"


def test_resources_name_the_runs_and_their_events(data_dir: Path) -> None:
    """Some assistants attach what they are shown instead of calling tools."""
    run = ordinary(data_dir)

    async def conversation(assistant: Assistant) -> None:
        listed = (await assistant.resources())["resources"]
        assert [one["uri"] for one in listed] == ["agentdbg://runs", f"agentdbg://runs/{run}"]
        assert {one["uriTemplate"] for one in await assistant.templates()} == {
            "agentdbg://runs/{run_id}",
            "agentdbg://runs/{run_id}/events",
            "agentdbg://runs/{run_id}/events/{n}",
        }
        report = await assistant.read(f"agentdbg://runs/{run}")
        assert report["mimeType"] == "text/markdown"
        assert "book a flight" in report["text"]
        event = json.loads((await assistant.read("agentdbg://runs/latest/events/3"))["text"])
        assert event["event"]["name"] == "search_flights"
        assert json.loads((await assistant.read("agentdbg://runs"))["text"])["total"] == 1
        assert json.loads((await assistant.read(f"agentdbg://runs/{run[:8]}/events"))["text"])["total"] == 6
        for address in ("agentdbg://runs/ffffffff", "agentdbg://runs/../../etc/passwd", "agentdbg://elsewhere"):
            with pytest.raises(Exception, match=r"no run matches|not an address of a run|is not a run id"):
                await assistant.read(address)

    talk(data_dir, conversation)


def test_many_runs_are_listed_as_resources_page_by_page(data_dir: Path) -> None:
    """An assistant must not be given a thousand addresses at once, nor miss the last one."""
    runs = {ordinary(data_dir, f"run {number}") for number in range(60)}
    seen: list[str] = []

    async def conversation(assistant: Assistant) -> None:
        page = await assistant.resources()
        seen.extend(one["uri"] for one in page["resources"])
        seen.extend(one["uri"] for one in (await assistant.resources(page["nextCursor"]))["resources"])

    talk(data_dir, conversation)

    assert seen[0] == "agentdbg://runs"
    assert sorted(seen[1:]) == sorted(f"agentdbg://runs/{run}" for run in runs)


def test_a_wrong_question_is_answered_with_what_would_be_right(data_dir: Path) -> None:
    """A model that reads why it was wrong asks better the next time; the server goes on."""
    run = ordinary(data_dir)
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("list_runs", {"limit": "many"}, "limit has to be a whole number"),
        ("list_runs", {"limit": 0}, "limit has to be from 1 to 200"),
        ("list_runs", {"stauts": "ok"}, "there is no argument 'stauts'; there are status, name"),
        ("list_runs", {"status": "fine"}, "status is one of ok, problems, error, running"),
        ("list_runs", {"since": "yesterday-ish"}, "neither an age nor a date"),
        ("list_runs", {"max_bytes": 5}, "max_bytes has to be from 2,000"),
        ("explain_run", {"run": "ffffffff"}, "no run matches 'ffffffff'"),
        ("explain_run", {"run": "ffffffff"}, "the tool list_runs shows what is there"),
        ("explain_run", {"run": "../../etc"}, "is not a run id"),
        ("read_event", {"run": run}, "event is missing"),
        ("read_event", {"run": run, "event": "999"}, "has no event '999'"),
        ("read_event", {"run": run, "event": "2", "path": "payload"}, "begins with a slash"),
        ("read_event", {"run": run, "event": "2", "path": "/payload/nowhere"}, "has the members model, prompt"),
        ("read_events", {"run": run, "types": {"no": "list"}}, "types has to be a list"),
        ("find", {"text": "  "}, "text is empty"),
        ("delete_run", {"run": run}, "there is no tool 'delete_run'; there are list_runs"),
    ]

    async def conversation(assistant: Assistant) -> None:
        for name, arguments, expected in wrong:
            answer = await assistant.call(name, **arguments)
            assert answer.is_error, (name, arguments)
            assert expected in answer.text
        assert not (await assistant.call("list_runs")).is_error

    talk(data_dir, conversation)


def test_nothing_is_written_whatever_is_asked(data_dir: Path) -> None:
    """An assistant may be misled; then this server must have nothing in it that changes a run, or any file."""
    run, other = ordinary(data_dir), hostile(data_dir)
    run_process("list")  # leaves a cache of the runs, which is read
    huge(data_dir)
    before = _everything_below(data_dir)

    async def conversation(assistant: Assistant) -> None:
        for name, arguments in every_call(run, other).items():
            await assistant.call(name, **arguments)
        for uri in ("agentdbg://runs", f"agentdbg://runs/{run}", f"agentdbg://runs/{run}/events/2"):
            await assistant.read(uri)
        await assistant.resources()

    talk(data_dir, conversation)

    assert _everything_below(data_dir) == before


def test_a_missing_data_folder_is_no_runs_and_stays_missing(data_dir: Path) -> None:
    """Assistants start the server in every project, recorded or not."""

    async def conversation(assistant: Assistant) -> None:
        assert (await assistant.call("list_runs")).json["runs"] == []
        assert (await assistant.call("find", text="x")).json["found"] == []
        latest = await assistant.call("explain_run")
        assert latest.is_error
        assert "no run matches 'latest'" in latest.text
        assert [one["uri"] for one in (await assistant.resources())["resources"]] == ["agentdbg://runs"]

    talk(data_dir, conversation)

    assert not data_dir.exists()


def test_a_run_recorded_meanwhile_is_seen(data_dir: Path) -> None:
    """The server lives as long as the assistant; the run to be explained has just been made."""

    async def conversation(assistant: Assistant) -> None:
        assert (await assistant.call("list_runs")).json["total"] == 0
        run = ordinary(data_dir)
        assert (await assistant.call("explain_run")).json["run"]["run_id"] == run
        newer = ordinary(data_dir, "newer")
        assert {told["run_id"] for told in (await assistant.call("list_runs")).json["runs"]} == {run, newer}

    talk(data_dir, conversation)


def test_stdout_holds_nothing_but_the_protocol(data_dir: Path) -> None:
    """One stray line on stdout and most assistants give the server up."""
    run = ordinary(data_dir)
    program = (
        "import os, sys\n"
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from agentdbg.mcp_server import protocol\n"
        "def noisy(answer):\n"
        "    def call(*args, **kwargs):\n"
        "        print('printed'); os.write(1, b'written\\n'); os.system('echo from a child')\n"
        "        return answer(*args, **kwargs)\n"
        "    return call\n"
        "for name, tool in list(protocol.TOOLS.items()):\n"
        "    protocol.TOOLS[name] = replace(tool, answer=noisy(tool.answer))\n"
        "protocol.serve(Path(sys.argv[1]))\n"
    )
    questions = [
        _request(
            1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
        ),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        _request(2, "tools/call", name="read_events", arguments={"run": run}),
        "this is not JSON",
        '{"jsonrpc": "2.0", "id": 3}',
        _request(4, "no/such/method"),
        _request(5, "tools/call", name="list_runs", arguments={}),
    ]
    lines = [question if isinstance(question, str) else json.dumps(question) for question in questions]
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "AGENTDBG_LOOP_WINDOW": "nonsense"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()
    answered: dict[Any, Any] = {}
    while {1, 2, 4, 5} - set(answered):
        message = json.loads(process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        answered[message.get("id")] = message
    rest, errors = process.communicate(timeout=30)

    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert answered[2]["result"]["isError"] is False
    assert answered[5]["result"]["isError"] is False
    assert "error" in answered[4]
    assert errors.count("printed\n") == errors.count("written\n") == errors.count("from a child\n") == 2
    assert process.returncode == 0


def _request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_a_person_at_a_terminal_is_told_what_it_is_for() -> None:
    """A server that waits in silence looks like one that hangs."""
    ran = run_in_terminal("mcp")

    assert ran.code == 2
    assert "claude mcp add agentdbg -- agentdbg mcp" in " ".join(ran.out.split())


def test_without_the_package_the_command_says_what_to_install(tmp_path: Path) -> None:
    """The extra is optional, so this is the first thing many will see."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ImportError('not here')")

    ran = run_process("mcp", PYTHONPATH=str(tmp_path))

    assert ran.code == 2
    assert 'pip install "mcp>=1.23"' in ran.err
    assert ran.out == ""


def _everything_below(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else b"",
            path.stat().st_mtime_ns,
            path.stat().st_mode,
        )
        for path in sorted(folder.rglob("*"))
    }


def test_prompts_ask_what_people_ask_and_every_answer_fits_its_schema(data_dir: Path) -> None:
    """Debugging the last failed run is one click in an editor; programs read the same answers as data."""
    run, other = ordinary(data_dir), ordinary(data_dir)

    async def conversation(assistant: Assistant) -> None:
        session = assistant.session
        names = [prompt.name for prompt in (await session.list_prompts()).prompts]
        asked = await session.get_prompt("explain_run", {"run": run[:8]})
        schemas = {tool["name"]: tool["outputSchema"] for tool in await assistant.tools()}

        assert names == ["debug_last_failed_run", "explain_run", "compare_with_last_good_run"]
        assert run[:8] in asked.messages[0].content.text
        for name, arguments in every_call(run, other).items():
            said = (await session.call_tool(name, arguments)).model_dump(mode="json", by_alias=True)
            assert said["structuredContent"] == json.loads(said["content"][0]["text"])
            assert said["structuredContent"].keys() <= schemas[name]["properties"].keys(), name

    talk(data_dir, conversation)
