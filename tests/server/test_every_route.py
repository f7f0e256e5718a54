"""Every HTTP route once with an answer and once with an error, in this process: the server's fast test."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

import agentdbg.server
from agentdbg.control.again_words import again_words
from agentdbg.exceptions import UsageError
from agentdbg.server.viewer import create_app
from agentdbg.storage.control_files import new_pause_id, post_pause
from tests.storage.handmade import usual_events, write_run

TOKEN = "a-token-of-the-test"

# What is asked of a run, and a part of the answer.
ANSWERS: dict[str, tuple[str, str]] = {
    "GET /api/info": ("", "spec_version"),
    "GET /api/runs": ("?limit=5", "RUN"),
    "GET /api/find": ("?q=hi", "searched"),
    "GET /api/runs/{run_id}": ("", "RUN"),
    "GET /api/runs/{run_id}/events": ("?limit=2", "RUN_START"),
    "GET /api/runs/{run_id}/events/{event_id}": ("", "RUN_START"),
    "GET /api/runs/{run_id}/events/{event_id}/full": ("", "RUN_START"),
    "GET /api/runs/{run_id}/source": ("?n=1", "reason"),
    "GET /api/runs/{run_id}/origins": ("?n=2", "values"),
    "GET /api/runs/{run_id}/rows": ("", "RUN_START"),
    "GET /api/runs/{run_id}/skeleton": ("", ""),
    "GET /api/runs/{run_id}/summary": ("", "verdict"),
    "GET /api/runs/{run_id}/search": ("?q=run", ""),
    "GET /api/runs/{run_id}/report": ("", ""),
    "GET /api/runs/{run_id}/html": ("", "<!doctype html>"),
    "GET /api/compare": ("?a=RUN&b=RUN", ""),
    "GET /api/compare/rows": ("?a=RUN&b=RUN&at=0", ""),
    "GET /api/compare/row": ("?a=RUN&b=RUN&row=0", ""),
    "GET /api/runs/{run_id}/control": ("", "paused"),
    "GET /api/runs/{run_id}/family": ("", "relation"),
    "POST /api/runs/{run_id}/breaks": ('{"breaks": ["tool:refund"]}', "tool:refund"),
    "POST /api/runs/{run_id}/control": ('{"pause_id": "PAUSE", "do": "continue"}', "continue"),
    "POST /api/runs/{run_id}/mark": ('{"outcome": "failed", "why": "wrong order"}', "wrong order"),
    "GET /api/runs/{run_id}/again": ("", "can_run"),
    "POST /api/runs/{run_id}/again": ('{"what": "replay"}', "view --control"),
    "POST /api/runs/{run_id}/rename": ('{"run_name": "another"}', "another"),
    "DELETE /api/runs/{run_id}": ("", ""),
    "POST /api/runs/{run_id}/restore": ("", "RUN"),
}


def routes() -> set[str]:
    """The routes as the source declares them."""
    found: set[str] = set()
    for path in Path(agentdbg.server.__file__).parent.glob("*.py"):
        for method, address in re.findall(r'@router\.(get|post|delete|put)\("([^"]+)"', path.read_text("utf-8")):
            found.add(f"{method.upper()} {address}")
    return found


class Asked:
    """The application without a server around it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.app = create_app(data_dir, token=TOKEN)

    def __call__(self, route: str, query: str = "", body: bytes = b"", token: str = TOKEN) -> tuple[int, str]:
        method, path = route.split(" ", 1)
        return asyncio.run(self._ask(method, path, query, body, token))

    async def _ask(self, method: str, path: str, query: str, body: bytes, token: str) -> tuple[int, str]:
        headers = [(b"host", b"127.0.0.1:8712"), (b"content-type", b"application/json")]
        headers += [(b"content-length", str(len(body)).encode()), (b"x-agentdbg-token", token.encode())]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.lstrip("?").encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8712),
            "state": {},
        }
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return waiting.pop() if waiting else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        status = next(message["status"] for message in sent if message["type"] == "http.response.start")
        return status, b"".join(message.get("body", b"") for message in sent).decode("utf-8", "replace")


@pytest.fixture
def asked(data_dir: Path, run_id: str) -> Asked:
    return Asked(data_dir)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A folder of the test's own: some routes change it."""
    return tmp_path / "data"


@pytest.fixture
def run_id(data_dir: Path) -> str:
    run_id = str(uuid.uuid4())
    return write_run(data_dir, run_id, events=usual_events(run_id))


def test_every_route_is_tried() -> None:
    """A route that is added without a test here would be tried only by a browser."""
    assert routes() == set(ANSWERS)


@pytest.mark.parametrize("route", sorted(ANSWERS))
def test_a_route_answers(asked: Asked, run_id: str, route: str) -> None:
    """What the page and scripts ask of a healthy run."""
    given, part = ANSWERS[route]
    if route.endswith("restore"):
        asked(f"DELETE /api/runs/{run_id}")
    if "PAUSE" in given:
        pause_id = new_pause_id()
        post_pause(asked.data_dir / "runs" / run_id, {"pause_id": pause_id})
        given = given.replace("PAUSE", pause_id)
    is_body = given.startswith("{")

    status, body = asked(
        route.format(run_id=run_id, event_id="1"),
        "" if is_body else given.replace("RUN", run_id),
        given.encode() if is_body else b"",
    )

    assert status in ({403} if route == "POST /api/runs/{run_id}/again" else {200, 204}), body
    assert (run_id if part == "RUN" else part) in body


@pytest.mark.parametrize("route", sorted(ANSWERS))
def test_a_route_refuses_what_it_cannot_answer(asked: Asked, route: str) -> None:
    """An unknown run is a 404, a wrong question a 4xx, each with a sentence; nothing is a 500."""
    if route == "GET /api/info":
        status, body = asked("GET /api/nothing")
    elif route in ("GET /api/runs", "GET /api/find"):
        status, body = asked(route, "?limit=-1&offset=-1")
    else:
        nobody = str(uuid.uuid4())
        query = f"?a={nobody}&b={nobody}&row=0" if "compare" in route else "?q=x"
        wrong = b'{"run_name": "x", "pause_id": "x", "do": "continue", "breaks": []}'
        status, body = asked(route.format(run_id=nobody, event_id="1"), query, wrong)

    assert 400 <= status < 500, body
    assert json.loads(body)["error"]["message"]


@pytest.mark.parametrize("route", sorted(ANSWERS))
def test_a_route_needs_the_token_of_a_stranger(asked: Asked, run_id: str, route: str) -> None:
    """In this process nobody can tell whose request it is, so only the token opens the door."""
    status, _ = asked(route.format(run_id=run_id, event_id="1"), token="wrong")

    assert status in {401, 403}


def test_a_pause_is_answered_once_and_only_while_it_waits(asked: Asked, data_dir: Path, run_id: str) -> None:
    """Two tabs, a terminal and an assistant may look at the same pause; the second is told."""
    pause_id = new_pause_id()
    post_pause(data_dir / "runs" / run_id, {"pause_id": pause_id, "value": {"amount": 4000}, "can": ["edit"]})
    told = json.dumps({"pause_id": pause_id, "do": "continue", "value": {"amount": "4" * 100_000}}).encode()

    for senseless in (b'"do": "fly"', b'"do": "skip", "value": 1', b'"do": "raise"'):
        body = b'{"pause_id": "%s", %s}' % (pause_id.encode(), senseless)
        assert asked(f"POST /api/runs/{run_id}/control", body=body)[0] == 400
    first = asked(f"POST /api/runs/{run_id}/control", body=told)[0]
    second = asked(f"POST /api/runs/{run_id}/control", body=told)[0]
    stale = asked(f"POST /api/runs/{run_id}/control", body=told.replace(pause_id.encode(), b"0" * 32))[0]
    huge = asked(f"POST /api/runs/{run_id}/control", body=b"x" * 4_000_001)[0]
    elsewhere = asked(f"POST /api/runs/{run_id}/breaks", body=b"x" * 70_000)[0]

    assert (first, second, stale, huge, elsewhere) == (200, 409, 409, 413, 413)


def test_a_place_that_cannot_be_read_is_not_set(asked: Asked, run_id: str) -> None:
    """The page shows the sentence beside the field."""
    status, body = asked(f"POST /api/runs/{run_id}/breaks", body=b'{"breaks": ["nowhere"]}')

    assert status == 400
    assert "no place to break at" in body


@pytest.mark.parametrize(
    "wanted",
    [
        {"what": "rm"},
        {"what": "fork"},
        {"what": "fork", "at": "--writes=allow"},
        {"what": "fork", "at": "3", "set": "result=1"},
        {"what": "fork", "at": "3", "set": ["result=@/etc/passwd"]},
        {"what": "fork", "at": "3", "mocks": ["search=py:evil.py:run"]},
        {"what": "fork", "at": "3", "writes": "ask"},
    ],
)
def test_nothing_that_is_sent_becomes_a_word_of_its_own(wanted: dict[str, Any]) -> None:
    """The page sends values; files, functions and options are for the command line."""
    with pytest.raises(UsageError):
        again_words(str(uuid.uuid4()), wanted)


def test_a_fork_is_started_as_it_is_shown() -> None:
    """Every value stands behind its own option, so none can be taken for another."""
    wanted = {"what": "fork", "at": "12", "set": ["result=--writes=allow"], "writes": "recorded"}

    assert again_words("RUN", wanted) == ["fork", "RUN", "--at=12", "--set=result=--writes=allow", "--writes=recorded"]


def test_a_run_of_elsewhere_is_not_started(data_dir: Path, run_id: str) -> None:
    """What a stranger's recording names is never run."""
    asked = Asked(data_dir)
    asked.app.state.viewer.may_control = True

    status, body = asked(f"POST /api/runs/{run_id}/again", body=b'{"what": "replay"}')

    assert status == 400
    assert "no tape" in body


@pytest.mark.slow
def test_a_program_that_cannot_be_run_is_not_offered(data_dir: Path, tmp_path: Path) -> None:
    """Its command line was redacted, or its script is gone: the page says what to type instead."""
    script = tmp_path / "agent.py"
    script.write_text(
        "import agentdbg\n@agentdbg.tool\ndef look(): return 1\n@agentdbg.trace\ndef work(): look()\nwork()\n"
    )
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)}
    for words in ([], ["--api-key=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"]):
        subprocess.run([sys.executable, "agent.py", *words], cwd=tmp_path, env=env, check=True, capture_output=True)
    asked = Asked(data_dir)
    asked.app.state.viewer.may_control = True

    def told() -> list[tuple[bool, str]]:
        answers = [json.loads(asked(f"GET /api/runs/{run.name}/again")[1]) for run in (data_dir / "runs").iterdir()]
        return sorted((answer["can_run"], (answer["why"] or "").partition(";")[0][-12:]) for answer in answers)

    assert told() == [(False, "was redacted"), (True, "")]
    script.unlink()
    assert [can_run for can_run, _ in told()] == [False, False]
